"""What the readers of public data sets share: the record they return, folder checks, and their instruments.

Everything is read and checked before anything is kept, so a folder that does not fit leaves no trace in a study.

Cells stay text as they stand in the file: "NA" is an answer, not a gap, and an id of 20 digits keeps its digits.
Columns are found by name, never by place. What does not fit is one sentence with the file and what was expected.

They are short on purpose. A set's own rubric is other people's text; what a judge is asked here is the same thing in
few words, so a low agreement can come from the wording, too. `about` says so in each of them.
"""

import csv
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from attunement.conversations import Conversation, Identity, Turn, UnitKind
from attunement.errors import InputError
from attunement.instruments import Instrument
from attunement.instruments.model import Anchor, Criteria, GateItem, Item, Prompt, Scores
from attunement.ratings import ErrorKind, Outcome, RaterKind

NO_TEXT = (Turn("", ""),)
"""What stands for a talk whose words are not in the set: one exchange that was rated and cannot be read."""


class DatasetRater(NamedTuple):
    """A rater of the set: a person with what is known of them, or a model whose answers came with the set."""

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
    detail: str = ""
    """What stood in the file, where it is no answer on the scale."""


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
    """Figures to be shown: a title, the names of the columns, rows of text, and what is to be said about them."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    remarks: Sequence[str] = ()


class MatchCount(NamedTuple):
    """How many of the published figures came out."""

    what: str
    same: int
    of: int

    def __str__(self) -> str:
        return f"{self.same} of {self.of} {self.what}"


@dataclass
class PublishedFigures:
    """The published figures beside ours."""

    tables: list[FigureTable] = field(default_factory=list[FigureTable])
    details: list[FigureTable] = field(default_factory=list[FigureTable])
    """Long tables, shown only on request."""
    counts: list[MatchCount] = field(default_factory=list[MatchCount])


@dataclass(frozen=True)
class LoadedDataset:
    """A data set as it was read."""

    parts: Sequence[Part]
    raters: Sequence[DatasetRater]
    notes: Sequence[str]
    """What a user must know of it: what is absent, what was refused and how often."""
    figures: Callable[[], PublishedFigures]
    """Computes the published figures again, from what stands in the files."""
    people: str | None = None
    """Whom judges are held against, where not everybody who rated is meant: a word that is known of them."""

    def counts(self) -> Counter[RaterKind]:
        """How many answers people and models gave."""
        kinds = {who.name: who.kind for who in self.raters}
        return Counter(kinds[answer.rater] for part in self.parts for answer in part.answers)

    def refused(self) -> Counter[str]:
        """What stood in the files and is no answer, and how often."""
        return Counter(answer.detail for part in self.parts for answer in part.answers if answer.detail)


class Dataset(NamedTuple):
    """A data set that `attune bench` can read."""

    name: str
    what: str
    people: str
    licence: str
    where: str
    """The public repository, or what the folder must hold."""
    shows: str
    """What it can tell about a judge."""
    read: Callable[[Path], LoadedDataset]


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table, with the words for its place."""

    place: str
    cells: dict[str, str]

    def __getitem__(self, column: str) -> str:
        """The text of a cell, without white space around it."""
        return self.cells[column].strip()


def require_file(path: Path, what: str) -> Path:
    """The path, which must exist.

    Raises:
        InputError: It does not; `what` says in the message what should be there.
    """
    if not path.exists():
        raise InputError(f"{path} is not there: {what}")
    return path


def require_folder(path: Path, hint: str) -> Path:
    """The folder that the user named.

    Raises:
        InputError: There is none; `hint` says what it should hold.
    """
    if not path.is_dir():
        what = "is no folder" if path.exists() else "does not exist"
        raise InputError(f"{path} {what}: {hint}")
    return path


def read_text(path: Path) -> str:
    """The text of a file.

    Raises:
        InputError: It cannot be read, or is not UTF-8.
    """
    try:
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text ({error.reason} at byte {error.start})") from error


def read_table(path: Path, columns: Iterable[str], what: str) -> list[Row]:
    """The rows of a CSV file that has at least these columns, in any order.

    Raises:
        InputError: The file is absent, is no CSV in UTF-8, lacks a column, or has no row.
    """
    require_file(path, what)
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file, strict=True)
            names = reader.fieldnames or []
            if missing := [column for column in columns if column not in names]:
                raise InputError(f"{path} has no column {missing[0]!r}, which is expected; it has {_listed(names)}")
            rows = [Row(f"{path}, line {reader.line_num}", row) for row in reader if _complete(row, path, reader)]
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text ({error.reason} at byte {error.start})") from error
    except (OSError, csv.Error) as error:
        raise InputError(f"{path} cannot be read as a table: {error}") from error
    if not rows:
        raise InputError(f"{path} has no rows: {what}")
    return rows


def by_key(rows: Sequence[Row], keys: Sequence[str]) -> dict[tuple[str, ...], Row]:
    """The rows under the values of these columns.

    Raises:
        InputError: Two rows have the same key.
    """
    found: dict[tuple[str, ...], Row] = {}
    for row in rows:
        key = tuple(row[column] for column in keys)
        if key in found:
            raise InputError(f"{row.place}: {' '.join(key)} stands there for the second time, after {found[key].place}")
        found[key] = row
    return found


def number(row: Row, column: str) -> float:
    """The number in a cell.

    Raises:
        InputError: There is none.
    """
    try:
        value = float(row[column])
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{row.place}: {column} is {row[column][:40]!r}, and a number is expected")
    return value


def _complete(row: dict[str | None, str | None], path: Path, reader: "csv.DictReader[str]") -> bool:
    """Refuse a row that is shorter or longer than the heading; its cells would stand under the wrong names."""
    if None in row or None in row.values():
        raise InputError(
            f"{path}, line {reader.line_num}: this row does not have {len(reader.fieldnames or [])} cells, as many as "
            "the heading"
        )
    return True


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:12])
    return f"{shown} and {len(names) - 12} more" if len(names) > 12 else shown or "none"


EXTENT = ("Not at all.", "A little.", "To some extent.", "Clearly.", "Very much.")
"""Five levels of how much of something there is."""
PRESENCE = ("Absent.", "Weak: hinted at or only in a set phrase.", "Strong: specific and plain to see.")
"""Three levels of how much of something there is."""
AGREEMENT = (
    "The statement does not hold at all.",
    "It hardly holds.",
    "It holds a little.",
    "It holds by half.",
    "It holds for the greater part.",
    "It holds almost fully.",
    "It holds fully.",
)
"""Seven levels of how far a statement holds."""

_PROMPT = Prompt(
    system="You rate a recorded conversation. Follow the instructions exactly.\n\n{reply_format}\n\n{criterion_prompt}",
    user="{conversation}",
    ask="together",
)
_OWN_WORDS = "The items are those of the set; their wording is ours and shorter than the one its raters read."


def scores(
    id: str,
    title: str,
    items: Mapping[str, tuple[str, str]],
    levels: Sequence[str],
    *,
    lowest: int,
    source: str,
    about: str = "",
    guidance: Sequence[str] = (),
    fails_at: int | None = None,
) -> Instrument:
    """An instrument of dimensions that share one scale.

    Args:
        id: The id of the instrument.
        title: Its title.
        items: The title and the definition of each dimension, by its id in the set.
        levels: What each score means, from the lowest.
        lowest: The lowest score.
        source: Where the set was published.
        about: What else is to be known.
        guidance: Rules for every item.
        fails_at: Where every dimension is a safety item: the score at which it fails.
    """
    anchors = {score: Anchor(text=text) for score, text in enumerate(levels, start=lowest)}
    return Instrument(
        id=id,
        version="1",
        title=title,
        about=f"{about} {_OWN_WORDS}".strip(),
        source=(source,),
        unit=UnitKind.CONVERSATION,
        scale=Scores(kind="scores", lowest=lowest, highest=lowest + len(levels) - 1),
        guidance=tuple(guidance),
        items=tuple(
            Item(id=item, title=name, definition=definition, anchors=anchors)
            for item, (name, definition) in items.items()
        ),
        gate=() if fails_at is None else tuple(GateItem(item=item, fails_at=fails_at) for item in items),
        prompt=_PROMPT,
    )


def criteria(id: str, title: str, items: Sequence[Item], *, source: str, about: str, gate: Sequence[str]) -> Instrument:
    """An instrument of YES / NO criteria; those whose ids stand in `gate` are safety items."""
    return Instrument(
        id=id,
        version="1",
        title=title,
        about=f"{about} {_OWN_WORDS}".strip(),
        source=(source,),
        unit=UnitKind.CONVERSATION,
        scale=Criteria(kind="criteria"),
        items=tuple(items),
        gate=tuple(GateItem(item=item) for item in gate),
        prompt=_PROMPT,
    )


def generated(id: str, title: str, items: Sequence[str], scale: Scores | Criteria, unit: UnitKind) -> Instrument:
    """An instrument of which only the ids and the scale are known."""
    return Instrument(
        id=id,
        version="1",
        title=title,
        about="Made from a table of ratings: the ids and the scale are known, the wording is not.",
        unit=unit,
        scale=scale,
        items=tuple(Item(id=item, title=item.replace("_", " "), definition=_plain(item, scale)) for item in items),
        prompt=_PROMPT,
    )


def _plain(item: str, scale: Scores | Criteria) -> str:
    name = item.replace("_", " ")
    if isinstance(scale, Scores):
        return f"How much {name} does the assistant show, from {scale.lowest} (least) to {scale.highest} (most)?"
    return f"Does this hold for the assistant: {name}?"


def on_scale(text: str, instrument: Instrument) -> tuple[Outcome, str]:
    """The outcome of a number in a cell, such as 4 or 4.0; an ERROR with its reason where it is not on the scale."""
    scale = instrument.scale
    try:
        value = float(text)
    except ValueError:
        value = None
    if value is not None and value.is_integer() and isinstance(scale, Scores) and int(value) in scale.answers:
        return Outcome.of(int(value)), ""
    return refused(text)


def refused(text: str) -> tuple[Outcome, str]:
    """The outcome of what is not on the scale: an ERROR, with what stood there."""
    return Outcome.failed(ErrorKind.MALFORMED), f"{text[:40]!r} is no answer on the scale"
