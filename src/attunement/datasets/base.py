"""What the readers of public data sets share: the records they return, checked tables, and their instruments.

A set is read and checked as a whole before anything is saved. Cells stay text: "NA" is an answer, and an id of 20
digits keeps its digits. Columns are found by name. What does not fit is reported in one sentence with the file and
what was expected.

The instruments are in YAML files next to the readers. Their items are short on purpose: a set's own rubric is other
people's text, and a judge is asked the same in few words. So a low agreement can also come from the wording; `about`
of each instrument says so.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
import yaml

from attunement.conversations import Conversation, Identity, Turn, UnitKind
from attunement.conversations.json_files import BadRecord
from attunement.conversations.messages import Side
from attunement.errors import InputError
from attunement.instruments import Instrument
from attunement.instruments.model import Anchor, Criteria, GateItem, Item, Prompt, Scores
from attunement.ratings import ErrorKind, Outcome, RaterKind
from attunement.statistics.results import Undefined
from attunement.statistics.tables import Floats
from attunement.store.tables import cell_text, quoted, read_rows, require_columns, whole_number

NO_TEXT = (Turn("", ""),)
"""The turns of a conversation whose text is not in the set."""


class DatasetRater(NamedTuple):
    """A person, or a model whose answers came with the set."""

    name: str
    kind: RaterKind
    settings: dict[str, Any]


class DatasetAnswer(NamedTuple):
    """One rater's outcome for one item of one conversation, or of one turn in it."""

    conversation: Identity
    item: str
    rater: str
    outcome: Outcome
    repeat: int = 0
    turn: int | None = None
    reasoning: str = ""
    detail: str = ""  # the text in the file, where it is not an answer on the scale


@dataclass(frozen=True)
class Part:
    """What was asked with one instrument. A set that was rated on several scales has several parts."""

    title: str
    instrument: Instrument
    conversations: Sequence[Conversation]
    answers: Sequence[DatasetAnswer]

    @property
    def has_text(self) -> bool:
        """Whether there is anything that a judge could read."""
        return any(turn.assistant for conversation in self.conversations for turn in conversation.turns)


class FigureTable(NamedTuple):
    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    remarks: Sequence[str] = ()


class MatchCount(NamedTuple):
    """How many of the published figures were reproduced."""

    what: str
    same: int
    of: int

    def __str__(self) -> str:
        return f"{self.same} of {self.of} {self.what}"


@dataclass
class PublishedFigures:
    """The published figures next to ours."""

    tables: list[FigureTable] = field(default_factory=list[FigureTable])
    details: list[FigureTable] = field(default_factory=list[FigureTable])  # long tables, shown only on request
    counts: list[MatchCount] = field(default_factory=list[MatchCount])


@dataclass(frozen=True)
class LoadedDataset:
    """A data set as it was read."""

    parts: Sequence[Part]
    raters: Sequence[DatasetRater]
    notes: Sequence[str]  # what a user must know: what is missing, what was refused
    figures: Callable[[], PublishedFigures]  # computes the published figures again from the files
    people: str | None = None  # with whom judges are compared, if not with everybody: a word in the raters' settings

    def counts(self) -> Counter[RaterKind]:
        """How many answers people and models gave."""
        kinds = {rater.name: rater.kind for rater in self.raters}
        return Counter(kinds[answer.rater] for part in self.parts for answer in part.answers)

    def refused(self) -> Counter[str]:
        """Values in the files that are not answers, and how often each occurs."""
        return Counter(answer.detail for part in self.parts for answer in part.answers if answer.detail)


class Dataset(NamedTuple):
    """A data set that `attune bench` can read, in words for its users."""

    name: str
    what: str
    people: str
    licence: str
    where: str
    shows: str
    read: Callable[[Path], LoadedDataset]  # raises InputError where a file is missing or not as expected


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table; `place` names its file and line."""

    place: str
    cells: Mapping[str, Any]

    def __getitem__(self, column: str) -> str:
        return cell_text(self.cells[column]).strip()


def require_folder(path: Path, hint: str) -> Path:
    """The folder that the user named, or an InputError with the `hint` what it should hold."""
    if not path.is_dir():
        raise InputError(f"{path} {'is not a folder' if path.exists() else 'does not exist'}: {hint}")
    return path


def read_table(path: Path, columns: Iterable[str], what: str) -> list[Row]:
    """The rows of a table that has at least these columns, in any order.

    Raises:
        InputError: The file is absent or is not a table, lacks a column, or has no row.
    """
    if not path.exists():
        raise InputError(f"{path} is not there: {what}")
    needed = tuple(columns)
    found: list[Row] = []
    for row in read_rows(path):
        place = f"{path}, line {row.place.line}"
        try:
            if row.fields is None:
                raise BadRecord(row.reason)
            require_columns(needed, tuple(row.fields))
        except BadRecord as bad:
            raise InputError(f"{place}: {bad.reason}") from bad
        found.append(Row(place, row.fields))
    if not found:
        raise InputError(f"{path} has no rows: {what}")
    return found


def by_key(rows: Sequence[Row], column: str) -> dict[str, Row]:
    """The rows by their value in this column.

    Raises:
        InputError: Two rows have the same value, or one has none.
    """
    found: dict[str, Row] = {}
    for row in rows:
        if not (key := row[column]):
            raise InputError(f"{row.place}: {column} is empty")
        if key in found:
            raise InputError(f"{row.place}: {key} occurs for the second time, after {found[key].place}")
        found[key] = row
    return found


def number(row: Row, column: str) -> float:
    """The finite number in a cell, or an InputError."""
    try:
        value = float(row[column])
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{row.place}: {column} is {quoted(row[column])}, and a number is expected")
    return value


def split_messages(text: str, speakers: Mapping[str, Side], place: object) -> list[tuple[Side, str]]:
    """The messages in a text in which each begins with its speaker and a colon, on a line of its own."""
    pieces = re.split(rf"^[^\S\n]*({'|'.join(speakers)}):", text, flags=re.MULTILINE)
    if pieces[0].strip() or len(pieces) < 3:
        expected = " or ".join(f"'{speaker}:'" for speaker in speakers)
        raise InputError(f"{place}: a text that begins with {expected} is expected")
    return [(speakers[who], words.strip()) for who, words in zip(pieces[1::2], pieces[2::2], strict=True)]


PROMPT = Prompt(
    system="You rate a recorded conversation. Follow the instructions exactly.\n\n{reply_format}\n\n{criterion_prompt}",
    user="{conversation}",
    ask="together",
)
_OWN_WORDS = "The items are those of the set; their wording is ours and shorter than the one its raters read."


def load_yaml(name: str) -> Any:
    """The content of a YAML file of this package."""
    return yaml.safe_load((resources.files("attunement.datasets") / f"{name}.yaml").read_text("utf-8"))


def build_instrument(spec: Mapping[str, Any]) -> Instrument:
    """The instrument that a YAML file describes.

    Items that share `levels` are scores, from `lowest` on; without `levels` they are YES / NO criteria.
    """
    levels: Sequence[str] = spec.get("levels", ())
    lowest: int = spec.get("lowest", 0)
    anchors = {score: Anchor(text=text) for score, text in enumerate(levels, lowest)}
    return Instrument(
        id=spec["id"],
        version="1",
        title=spec["title"],
        about=f"{spec.get('about', '')} {_OWN_WORDS}".strip(),
        source=(spec["source"],),
        unit=UnitKind.CONVERSATION,
        scale=Scores(kind="scores", lowest=lowest, highest=lowest + len(levels) - 1)
        if levels
        else Criteria(kind="criteria"),
        items=tuple(Item(id=id, anchors=anchors, **content) for id, content in spec["items"].items()),
        gate=tuple(GateItem(**entry) for entry in spec.get("gate", ())),
        prompt=PROMPT,
    )


def on_scale(text: str, instrument: Instrument) -> tuple[Outcome, str]:
    """The outcome of a number in a cell, such as 4 or 4.0; an ERROR with its reason where it is not on the scale."""
    value = whole_number(text)
    if value is not None and value in instrument.scale.answers:
        return Outcome.of(value), ""
    return refused(text)


def refused(text: str) -> tuple[Outcome, str]:
    """The outcome of a text that is not on the scale: an ERROR, with the text."""
    return Outcome.failed(ErrorKind.MALFORMED), f"{quoted(text)} is not an answer on the scale"


def pivot(ratings: Iterable[tuple[Hashable, Hashable, float]]) -> Floats:
    """Ratings, each with its unit and its rater, as a table: one row a unit, one column a rater, NaN for no rating."""
    cells: dict[tuple[Hashable, Hashable], float] = {}
    for unit, rater, value in ratings:
        if (unit, rater) in cells:
            raise InputError(f"{rater} rated {unit} twice; keep one of the two ratings")
        cells[unit, rater] = value
    if not cells:
        return np.empty((0, 0))
    units, raters = ({key: place for place, key in enumerate(dict.fromkeys(keys))} for keys in zip(*cells, strict=True))
    values = np.full((len(units), len(raters)), np.nan)
    for (unit, rater), value in cells.items():
        values[units[unit], raters[rater]] = value
    return values


class _Statistic(Protocol):
    @property
    def value(self) -> float: ...


def figure(result: _Statistic | Undefined, digits: int = 3) -> str:
    """The value of a statistic as tables show it."""
    return "none" if isinstance(result, Undefined) else f"{result.value:.{digits}f}"
