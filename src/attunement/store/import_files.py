"""Read files of answers: rows, columns, our own exports, and what each row means.

A long table has an item and an answer in each row. A score record has many answers in one row: in an object `scores`,
and in fields that are called like an item. Nothing is guessed: what is not on the scale is no answer.
"""

import importlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from attunement.conversations import Identity, UnitKind, messages
from attunement.conversations.files import Source, opened, parquet_rows
from attunement.conversations.files import rows as table_rows
from attunement.conversations.json_files import json_of_any_kind, lines_of_json, parse_exactly
from attunement.conversations.messages import BadRecord, Format, Place, Record, is_object, surely_exact
from attunement.errors import InputError
from attunement.instruments import Instrument, Value
from attunement.instruments.model import Scores
from attunement.ratings import ABSTAINED, MISSING, ErrorKind, Mark, Outcome, RaterKind, Rating, Round
from attunement.scoring import Slot
from attunement.store.export import EXPORT_COLUMNS, Column
from attunement.store.rows import AnswerRecord, from_json, outcome_of, rule_of, to_json

_WORKBOOKS = frozenset({".xlsx", ".xls", ".ods"})


class FileRow(NamedTuple):
    """One row of a file; `fields` is None where it cannot be read, for the `reason` given."""

    place: Place
    fields: Mapping[str, Any] | None
    reason: str = ""


def read_rows(path: Path) -> Iterator[FileRow]:
    """The rows of a JSONL, JSON, CSV, TSV or Parquet file, or of the first sheet of a workbook.

    Numbers are as the file has them, however long.

    Raises:
        InputError: The file is not there, cannot be read, or is of no such kind.
    """
    if path.suffix.lower() in _WORKBOOKS:
        yield from _sheet(path)
        return
    with opened(Source(path)) as stream:
        for record in _records(path, stream):
            place = Place(path.name, record.line)
            try:
                yield FileRow(place, _fields(record))
            except BadRecord as bad:
                yield FileRow(place, None, bad.reason)


def _records(path: Path, stream: Any) -> Iterator[Record]:
    match Source(path).kind:
        case Format.JSONL:
            return lines_of_json(stream)
        case Format.JSON:
            return json_of_any_kind(iter(stream), is_object)
        case Format.CSV:
            return table_rows(stream)
        case Format.TSV:
            return table_rows(stream, "\t")
        case Format.PARQUET:
            return parquet_rows(stream, str(path))
        case _:
            raise InputError(f"{path}: answers are read from .jsonl, .json, .csv, .tsv, .parquet and .xlsx files")


def _sheet(path: Path) -> Iterator[FileRow]:
    """The rows of a workbook's first sheet; its first row names the columns, and rows without any cell are no rows."""
    try:
        calamine: Any = importlib.import_module("python_calamine")
    except ImportError:
        raise InputError(f"{path}: to read workbooks, install one more: pip install 'attunement[xlsx]'") from None
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    try:
        sheet = calamine.CalamineWorkbook.from_path(str(path)).get_sheet_by_index(0)
        table: list[list[Any]] = sheet.to_python(skip_empty_area=False)
    except Exception as error:
        raise InputError(f"{path} is not readable as a workbook ({error})") from error
    header = [str(cell).strip() for cell in table[0]] if table else []
    if double := next((name for name in header if name and header.count(name) > 1), None):
        raise InputError(f"{path}: the header has the column {double!r} twice; give each column its own name")
    for line, cells in enumerate(table[1:], 2):
        if any(cell not in ("", None) for cell in cells):
            fields = {name: cell for name, cell in zip(header, cells, strict=False) if name}
            yield FileRow(Place(path.name, line), fields)


def _fields(record: Record) -> Mapping[str, Any]:
    value = record.value
    if isinstance(value, BadRecord):
        raise value
    if not record.exact and not surely_exact(value):
        value = parse_exactly(record.raw)
    if not is_object(value):
        raise BadRecord("this is no record with named fields")
    return {key: _text(entry) if isinstance(entry, str) else entry for key, entry in value.items()}


def _text(value: str) -> str:
    """The text of a cell: a table gives the bytes of a lone surrogate one by one."""
    if value.isascii() or not any("\udc80" <= sign <= "\udcff" for sign in value):
        return value
    try:
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "surrogatepass")
    except UnicodeError:
        return value


@dataclass(frozen=True)
class Columns:
    """The names of columns, where the usual ones are not to be taken. A column that is named says nothing else."""

    conversation: str | None = None
    system: str | None = None
    turn: str | None = None
    item: str | None = None
    answer: str | None = None
    rater: str | None = None
    repeat: str | None = None
    reasoning: str | None = None


@lru_cache(64)  # all rows of a file have the same columns, or nearly
def find_columns(columns: Columns, present: tuple[str, ...]) -> dict[str, str | None]:
    """Which of the columns that are `present` says what; None where none does.

    Raises:
        BadRecord: The user named a column that is not there.
    """
    named: dict[str, str | None] = asdict(columns)
    for column in named.values():
        if column is not None and column not in present:
            raise BadRecord(f"there is no column {column!r}; there are {', '.join(map(repr, present[:12]))}")
    left = [column for column in present if column not in named.values()]
    usual = {what: next(iter(messages.present(wanted, left)), None) for what, wanted in _USUAL.items()}
    return {**usual, **{what: column for what, column in named.items() if column is not None}}


_USUAL = {
    "conversation": (*messages.CONVERSATION_ID, "conversation", *messages.ID),
    "system": messages.SYSTEM,  # `model` among them: the judge's model has a name of its own below
    "turn": ("turn",),
    "item": ("item", "criterion", "criterion_id", "dimension", "item_id"),
    "answer": ("answer", "value", "score", "rating", "label"),
    "rater": ("rater", "judge", "judge_model", "annotator", "coder", "rater_id", "judge_name"),
    "repeat": ("repeat", "repeat_idx", "repeat_index"),
    "reasoning": ("reasoning", "explanation", "rationale", "justification", "notes", "comment"),
    "at": ("at", "ts", "timestamp", "time"),
    "temperature": ("judge_temp", "judge_temperature"),
}
"""Of several that occur, the first is taken."""


LARGEST = 2**31 - 1
"""The largest whole number that both databases take."""


class Given(NamedTuple):
    """One answer as a row gives it."""

    conversation: str
    system: str | None
    turn: int | None
    item: str
    outcome: Outcome | None
    """None where the answer is left blank: that is no answer, and no error of the rater."""
    rater: str | None
    repeat: int
    reasoning: str
    detail: str
    settings: dict[str, Any]
    at: str


def answers(fields: Mapping[str, Any], instrument: Instrument, columns: Columns) -> Iterator[Given]:
    """The answers in a row.

    Raises:
        BadRecord: The row does not say what it is about.
    """
    found = find_columns(columns, tuple(fields))
    said = {what: None if column is None else fields[column] for what, column in found.items()}
    conversation = _answer_text(said["conversation"])
    if not conversation:
        raise BadRecord("nothing says which conversation is meant; name the column with --conversation-column")
    reasoning = _answer_text(said["reasoning"]) or ""
    temperature = said["temperature"]
    for item, value in _values(fields, found, instrument):
        outcome = read_answer(value, instrument)
        failed = outcome is not None and outcome.error is not None
        off_scale = failed and outcome != MISSING
        yield Given(
            conversation=conversation,
            system=_answer_text(said["system"]),
            turn=_number(said["turn"], "turn"),
            item=item,
            outcome=outcome,
            rater=_answer_text(said["rater"]),
            repeat=_number(said["repeat"], "repeat") or 0,
            reasoning="" if failed else reasoning,
            detail=f"{_shown(value)} is no answer on the scale" if off_scale else reasoning if failed else "",
            settings={} if temperature in (None, "") else {"temperature": temperature},
            at=_answer_text(said["at"]) or "",
        )


def _values(
    fields: Mapping[str, Any], found: Mapping[str, str | None], instrument: Instrument
) -> Iterator[tuple[str, Any]]:
    known = {item.id for item in instrument.items}
    if found["item"] is not None and found["answer"] is not None:
        item = _answer_text(fields[found["item"]])
        if item not in known:
            raise BadRecord(f"{instrument.id} has no item {_shown(fields[found['item']])}")
        yield item, fields[found["answer"]]
        return
    scores = fields.get("scores")
    inner: dict[str, Any] = scores if is_object(scores) else {}
    if unknown := [item for item in inner if item not in known]:
        raise BadRecord(f"{instrument.id} has no item {_shown(unknown[0])}")
    values = {**inner, **{item: fields[item] for item in fields if item in known}}
    if not values:
        raise BadRecord(
            "no answer is recognised; name the columns with --item-column and --answer-column "
            f"(there are {', '.join(map(repr, list(fields)[:12]))})"
        )
    yield from values.items()


def read_answer(value: Any, instrument: Instrument) -> Outcome | None:
    """The outcome that stands in a cell; None for a blank one, and an ERROR for what is not on the scale.

    Tables spell answers in their own ways: "yes", "N/A", and 4.0 for 4 where a column has gaps. Nothing else is taken
    for an answer; that 4.5, true or "maybe" were meant as one would be a guess.
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    word = value.strip().upper() if isinstance(value, str) else ""
    if word == "ERROR":
        return MISSING
    if word == "ABSTAINED":
        return ABSTAINED
    answer: Value | None = _score(value) if isinstance(instrument.scale, Scores) else word.replace("N/A", "NA")
    return Outcome.of(answer) if answer in instrument.scale.answers else Outcome.failed(ErrorKind.MALFORMED)


def _score(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return int(number) if number.is_integer() else None


def _answer_text(value: Any) -> str | None:
    """The text in a cell, or a number as text, as ids often are; None where there is nothing."""
    if isinstance(value, str):
        return value or None
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _number(value: Any, what: str) -> int | None:
    if value is None or value == "":
        return None
    number = _score(value)
    if number is None or not 0 <= number <= LARGEST:
        raise BadRecord(f"{what} is {_shown(value)}, which is no number to count with")
    return number


def _shown(value: Any) -> str:
    return f"{str(value)[:40]!r}"


_NEEDED = frozenset(column.name for column in EXPORT_COLUMNS)


class Exported(NamedTuple):
    """A rating, its rater's settings, and the judge's answer behind it if there is one, its rater still unknown."""

    rating: Rating
    settings: dict[str, Any]
    answer: AnswerRecord | None


def is_exported(fields: Mapping[str, Any]) -> bool:
    """Whether these are the columns of an export."""
    return fields.keys() >= _NEEDED


def exported(fields: Mapping[str, Any]) -> Exported:
    """What was exported as `fields`.

    Raises:
        BadRecord: Something in it is not what an export writes.
    """
    try:
        said = {column.name: _value(fields[column.name], column) for column in EXPORT_COLUMNS}
        return _made(said)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadRecord(f"this is not as Attunement exported it ({' '.join(str(error).split())[:120]})") from error


def _made(said: dict[str, Any]) -> Exported:
    rating = Rating(
        conversation=Identity(said["system"], said["conversation"]),
        turn=said["turn"],
        item=said["item"],
        outcome=outcome_of(said["outcome"], said["value"], said["error"]),
        rater=said["rater"],
        rater_kind=RaterKind(said["rater_kind"]),
        repeat=said["repeat"],
        round=Round(said["round"]),
        reasoning=said["reasoning"],
        evidence=tuple(said["evidence"]),
        rules=tuple(rule_of(rule) for rule in said["rules"]),
        marks=frozenset(Mark(mark) for mark in said["marks"]),
        item_hash=said["item_hash"],
        asked=said["asked"],
        instrument=said["instrument_hash"],
        detail=said["detail"],
        at=said["at"],
    )
    return Exported(rating, dict(said["rater_settings"]), _answer(said, rating))


def _answer(said: dict[str, Any], rating: Rating) -> AnswerRecord | None:
    if said["attempts"] is None:
        return None
    return AnswerRecord(
        prompt=rating.asked,
        rater=0,
        repeat=rating.repeat,
        text=said["reply"],
        error=rating.outcome.error,
        detail=rating.detail,
        model=said["model"],
        finish_reason=said["finish_reason"],
        prompt_tokens=said["prompt_tokens"],
        completion_tokens=said["completion_tokens"],
        cached_tokens=said["cached_tokens"],
        cost=said["cost"],
        latency=said["latency"],
        attempts=said["attempts"],
        logprobs=said["logprobs"],
        at=rating.at,
    )


def _value(value: Any, column: Column) -> Any:
    """The value of a cell; what a table holds as text becomes what it was."""
    if value is None or value == "":
        # A table writes nothing both for no text and for an empty one.
        return "" if column.kind == "text" and column.name not in _MAY_BE_ABSENT else None
    match column.kind:
        case "value":
            return str(value)
        case "text":
            return _of(str, value, column)
        case "integer":
            number = _of(int, int(value) if isinstance(value, str) else value, column)
            if not 0 <= number <= LARGEST:
                raise ValueError(f"{column.name} is {number}")
            return number
        case "number":
            return float(value)
        case _:
            return from_json(value) if isinstance(value, str) else value


_MAY_BE_ABSENT = frozenset({"error", "model", "finish_reason"})


def _of(kind: type, value: Any, column: Column) -> Any:
    if type(value) is not kind:
        raise ValueError(f"{column.name} is {str(value)[:40]!r}")
    return value


SHOWN = 5
"""How many of many like things are named; the rest are counted."""


@dataclass
class CountedExamples:
    """Things of one kind: the first few by name, and how many there are."""

    count: int = 0
    named: list[str] = field(default_factory=list[str])

    def add(self, name: object) -> None:
        """One more."""
        self.count += 1
        if len(self.named) < SHOWN:
            self.named.append(str(name))

    def __str__(self) -> str:
        more = self.count - len(self.named)
        return "; ".join(self.named) + (f"; and {more:,} more" if more else "")


class Problems:
    """Lines that do not fit, told by reason: the first line of each, and how many more have it."""

    def __init__(self) -> None:
        """None yet."""
        self._first: dict[str, Place] = {}
        self._more: Counter[str] = Counter()
        self._others = 0

    def add(self, place: Place, reason: str) -> None:
        """One more line."""
        if reason in self._first:
            self._more[reason] += 1
        elif len(self._first) < SHOWN:
            self._first[reason] = place
        else:
            self._others += 1

    def __bool__(self) -> bool:
        return bool(self._first)

    def __str__(self) -> str:
        told = [
            f"{place}: {reason}" + (f" (and {more:,} more such)" if (more := self._more[reason]) else "")
            for reason, place in self._first.items()
        ]
        return "; ".join(told) + (f"; and {self._others:,} other lines" if self._others else "")


class Voice(NamedTuple):
    """Who gave an answer; `settings` as JSON, so that voices can be told apart."""

    name: str
    kind: RaterKind
    settings: str


class Card(NamedTuple):
    """What one rater answered about one conversation, in one go."""

    identity: Identity
    voice: Voice
    repeat: int


class Answered:
    """Which slots of which card have an answer: one bit for each, in one whole number a card."""

    def __init__(self, instrument: Instrument) -> None:
        """For the items of `instrument`."""
        self._positions = {item.id: position for position, item in enumerate(instrument.items)}
        self._bits: dict[Card, int] = {}

    def add(self, card: Card, slot: Slot | None) -> bool:
        """Note the card and the answered slot, if any; False where the slot had an answer already."""
        before = self._bits.setdefault(card, 0)
        bit = 0 if slot is None else self._bit(slot)
        self._bits[card] = before | bit
        return not before & bit

    def absent(self, card: Card, due: list[Slot]) -> list[Slot]:
        """Those of the `due` slots that have no answer."""
        return [slot for slot in due if not self._bits[card] & self._bit(slot)]

    def __iter__(self) -> Iterator[Card]:
        return iter(self._bits)

    def _bit(self, slot: Slot) -> int:
        return 1 << ((slot.turn or 0) * len(self._positions) + self._positions[slot.item])


@dataclass(frozen=True)
class ImportOptions:
    """How files of answers are to be understood."""

    system: str | None = None
    """The system that is meant where an answer names none and its conversation's id occurs in several."""
    rater: str | None = None
    """Who gave the answers that do not name anybody."""
    kind: RaterKind = RaterKind.MODEL
    """What the raters are."""
    people: frozenset[str] = frozenset()
    """Raters who are people, whatever `kind` says of the others."""
    columns: Columns = field(default_factory=Columns)
    blind: bool | None = None
    """Whether the people among them knew neither the system nor anybody else's answers; None: nobody says it."""
    versions: tuple[Instrument, ...] = ()
    """Further instruments in whose words exported ratings may have been asked."""


class Foreign(NamedTuple):
    """An answer made elsewhere, about a conversation and an item that are known."""

    card: Card
    turn: int | None
    given: Given


class Reader:
    """Understands rows."""

    def __init__(
        self,
        instrument: Instrument,
        instruments: Sequence[Instrument],
        directory: Mapping[Identity, int],
        wishes: ImportOptions,
        origin: str,
    ) -> None:
        """`instruments` are those that exported ratings may refer to; `origin` names the files."""
        self.instrument = instrument
        self.instruments = {entry.hash: entry for entry in instruments}
        self.directory = directory
        self._wishes = wishes
        self._origin = origin
        self._by_id: dict[str, list[Identity]] = {}
        for identity in directory:
            self._by_id.setdefault(identity.id, []).append(identity)

    def read(self, row: FileRow) -> Iterator[Foreign | Exported]:
        """The answers or the exported rating in a row.

        Raises:
            BadRecord: The row cannot be read, or is about something that is not known.
        """
        if row.fields is None:
            raise BadRecord(row.reason)
        if is_exported(row.fields):
            yield self._known(exported(row.fields))
            return
        if {"members", "verdict"} <= row.fields.keys():
            raise BadRecord("these are scorecards, which follow from ratings; import the ratings (attune export)")
        for given in answers(row.fields, self.instrument, self._wishes.columns):
            identity = self._identity(given)
            yield Foreign(Card(identity, self._voice(given), given.repeat), self._turn(identity, given.turn), given)

    def _known(self, entry: Exported) -> Exported:
        rating = entry.rating
        if rating.conversation not in self.directory:
            raise BadRecord(f"there is no conversation {rating.conversation}; give it with --conversations")
        if rating.turn is not None and not 1 <= rating.turn <= self.directory[rating.conversation]:
            raise BadRecord(f"{rating.conversation} has no turn {rating.turn}")
        instrument = self.instruments.get(rating.instrument)
        if instrument is not None and rating.item in instrument.item_hashes:
            return entry
        # Another version may ask this item in the same words: then only weights, rules or other items differ.
        for other in (self.instrument, *self.instruments.values()):
            if other.item_hashes.get(rating.item) == rating.item_hash:
                return entry._replace(rating=rating._replace(instrument=other.hash))
        raise BadRecord(
            f"{rating.item!r} was asked in words that no instrument here has; name the version that has them with a "
            "further --instrument"
        )

    def _identity(self, given: Given) -> Identity:
        if given.system is not None:
            identity = Identity(given.system, given.conversation)
            if identity not in self.directory:
                raise BadRecord(f"there is no conversation {given.conversation!r} of the system {given.system!r}")
            return identity
        found = self._by_id.get(given.conversation, [])
        if not found:
            raise BadRecord(f"there is no conversation {given.conversation!r}")
        if len(found) == 1:
            return found[0]
        for identity in found:
            if identity.system == self._wishes.system:
                return identity
        systems = ", ".join(repr(identity.system) for identity in found[:SHOWN])
        raise BadRecord(f"{given.conversation!r} may be of {systems}; say which in a column 'system', or with --system")

    def _turn(self, identity: Identity, turn: int | None) -> int | None:
        last = self.directory[identity]
        if UnitKind(self.instrument.unit) is UnitKind.CONVERSATION:
            if turn is not None:
                raise BadRecord(f"{self.instrument.id} rates whole conversations, not turn {turn}")
            return None
        if turn is None and last > 1:
            raise BadRecord(f"{identity} has {last} replies; say which one is rated in a column 'turn'")
        if turn is not None and not 1 <= turn <= last:
            raise BadRecord(f"{identity} has no turn {turn}; it has {last}")
        return turn or 1

    def _voice(self, given: Given) -> Voice:
        name = given.rater or self._wishes.rater
        if name is None:
            raise BadRecord("nothing says who gave this answer; name them with --rater, or the column (--rater-column)")
        kind = RaterKind.PERSON if name in self._wishes.people else self._wishes.kind
        settings: dict[str, Any] = {"imported_from": self._origin, **given.settings}
        if kind is RaterKind.PERSON and self._wishes.blind is not None:
            settings["blind"] = self._wishes.blind
        return Voice(name, kind, to_json(settings, sorted=True))
