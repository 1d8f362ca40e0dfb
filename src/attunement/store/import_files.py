"""Read files of answers: rows, columns, our own exports, and what each row means.

A long table has an item and an answer in each row. A score record has many answers in one row: in an object `scores`,
and in fields named like an item. Nothing is guessed: a value that is not on the scale is not an answer.
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
from attunement.store.export import EXPORT_COLUMNS, NOT_APPLICABLE, Column
from attunement.store.rows import AnswerRecord, from_json, outcome_of, rule_of, to_json

_WORKBOOKS = frozenset({".xlsx", ".xls", ".ods"})
_LARGEST = 2**31 - 1  # the largest whole number that both databases take
_SHOWN = 5  # how many of many similar things are named; the rest are counted


class FileRow(NamedTuple):
    """One row of a file; `fields` is None where it cannot be read, for the `reason` given."""

    place: Place
    fields: Mapping[str, Any] | None
    reason: str = ""


def read_rows(path: Path) -> Iterator[FileRow]:
    """The rows of a JSONL, JSON, CSV, TSV or Parquet file, or of the first sheet of a workbook.

    Numbers are as in the file, however long.

    Raises:
        InputError: The file does not exist, cannot be read, or is of another kind.
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
    """The rows of a workbook's first sheet, without empty ones; the first row names the columns."""
    try:
        calamine: Any = importlib.import_module("python_calamine")
    except ImportError:
        raise InputError(f"{path}: Excel files need the extra: pip install 'attunement[xlsx]'") from None
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
        raise BadRecord("this is not a record with named fields")
    return {key: _joined(entry) if isinstance(entry, str) else entry for key, entry in value.items()}


def _joined(value: str) -> str:
    """The text of a cell: a table gives the bytes of a lone surrogate one by one."""
    if value.isascii() or not any("\udc80" <= sign <= "\udcff" for sign in value):
        return value
    try:
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "surrogatepass")
    except UnicodeError:
        return value


@dataclass(frozen=True)
class Columns:
    """The columns that the user named. A column that is named is used for nothing else."""

    conversation: str | None = None
    system: str | None = None
    turn: str | None = None
    item: str | None = None
    answer: str | None = None
    rater: str | None = None
    repeat: str | None = None
    reasoning: str | None = None


# Of several that occur, the first is taken.
_USUAL = {
    "conversation": (*messages.CONVERSATION_ID, "conversation", *messages.ID),
    "system": messages.SYSTEM,  # `model` among them: the judge's model has its own names below
    "turn": ("turn",),
    "item": ("item", "criterion", "criterion_id", "dimension", "item_id"),
    "answer": ("answer", "value", "score", "rating", "label"),
    "rater": ("rater", "judge", "judge_model", "annotator", "coder", "rater_id", "judge_name"),
    "repeat": ("repeat", "repeat_idx", "repeat_index"),
    "reasoning": ("reasoning", "explanation", "rationale", "justification", "notes", "comment"),
    "at": ("at", "ts", "timestamp", "time"),
    "temperature": ("judge_temp", "judge_temperature"),
}


@lru_cache(64)  # all rows of a file have the same columns, or nearly
def find_columns(columns: Columns, present: tuple[str, ...]) -> dict[str, str | None]:
    """Which of the columns that are `present` holds what; None where none does.

    Raises:
        BadRecord: The user named a column that is not there.
    """
    named: dict[str, str | None] = {what: column for what, column in asdict(columns).items() if column is not None}
    for column in named.values():
        if column not in present:
            raise BadRecord(f"there is no column {column!r}; there are {', '.join(map(repr, present[:12]))}")
    left = [column for column in present if column not in named.values()]
    usual = {what: next(iter(messages.present(wanted, left)), None) for what, wanted in _USUAL.items()}
    return {**usual, **named}


class RaterKey(NamedTuple):
    """Who gave an answer; `settings` as JSON, so that raters can be told apart."""

    name: str
    kind: RaterKind
    settings: str


class CardKey(NamedTuple):
    """A scorecard: one rater's answers about one conversation, in one repeat."""

    identity: Identity
    rater: RaterKey
    repeat: int


class ImportedAnswer(NamedTuple):
    """An answer given elsewhere, about a known conversation and item."""

    card: CardKey
    turn: int | None
    item: str
    outcome: Outcome | None  # None where the answer is blank: that is not an answer, and not the rater's error
    reasoning: str
    detail: str
    at: str


class ExportedRating(NamedTuple):
    """A rating that Attunement exported, its rater's settings, and the judge's answer behind it, if there is one."""

    rating: Rating
    settings: dict[str, Any]
    answer: AnswerRecord | None  # its rater is not known yet


def read_answer(value: Any, instrument: Instrument) -> Outcome | None:
    """The outcome in a cell; None for a blank one, and an ERROR for what is not on the scale.

    Tables spell answers in their own ways: "yes", "N/A", and 4.0 for 4 where a column has gaps. Nothing else is an
    answer; to read 4.5, true or "maybe" as one would be a guess.
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    word = value.strip().upper() if isinstance(value, str) else ""
    word = "NA" if word == NOT_APPLICABLE.upper() else word
    if word == "ERROR":
        return MISSING
    if word == "ABSTAINED":
        return ABSTAINED
    answer: Value | None = _integer(value) if isinstance(instrument.scale, Scores) else word.replace("N/A", "NA")
    return Outcome.of(answer) if answer in instrument.scale.answers else Outcome.failed(ErrorKind.MALFORMED)


def _integer(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return int(number) if number.is_integer() else None


def _text(value: Any) -> str | None:
    """The text in a cell, or a number as text, as ids often are; None where there is nothing."""
    if isinstance(value, str):
        return value or None
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _number(value: Any, what: str) -> int | None:
    if value is None or value == "":
        return None
    number = _integer(value)
    if number is None or not 0 <= number <= _LARGEST:
        raise BadRecord(f"{what} is {_shown(value)}, which is not a valid number")
    return number


def _shown(value: Any) -> str:
    return f"{str(value)[:40]!r}"


@dataclass(frozen=True)
class ImportOptions:
    """How files of answers are to be understood."""

    system: str | None = None  # meant where an answer names none and its conversation's id occurs in several
    rater: str | None = None  # who gave the answers that name nobody
    kind: RaterKind = RaterKind.MODEL
    people: frozenset[str] = frozenset()  # raters who are people, whatever `kind` says of the others
    columns: Columns = field(default_factory=Columns)
    blind: bool | None = None  # people knew neither the system nor other answers; None: not recorded
    versions: tuple[Instrument, ...] = ()  # further instruments that exported ratings may belong to


class RowReader:
    """Turns rows into answers and ratings."""

    def __init__(
        self,
        instrument: Instrument,
        instruments: Sequence[Instrument],
        turns: Mapping[Identity, int],
        options: ImportOptions,
        origin: str,
    ) -> None:
        """`instruments` are those that exported ratings may belong to, `turns` the known conversations' lengths."""
        self.instrument = instrument
        self.instruments = {entry.hash: entry for entry in instruments}
        self.turns = turns
        self._options, self._origin = options, origin
        self._by_id: dict[str, list[Identity]] = {}
        for identity in turns:
            self._by_id.setdefault(identity.id, []).append(identity)

    def read(self, row: FileRow) -> Iterator[ImportedAnswer | ExportedRating]:
        """The answers or the exported rating in a row.

        Raises:
            BadRecord: The row cannot be read, or is about something unknown.
        """
        if row.fields is None:
            raise BadRecord(row.reason)
        if is_exported(row.fields):
            yield self._checked(_exported(row.fields))
        elif {"members", "verdict"} <= row.fields.keys():
            raise BadRecord("these are scorecards, which follow from ratings; import the ratings (attune export)")
        else:
            yield from self._answers(row.fields)

    def _checked(self, entry: ExportedRating) -> ExportedRating:
        rating = entry.rating
        if rating.conversation not in self.turns:
            raise BadRecord(f"there is no conversation {rating.conversation}; give it with --conversations")
        if rating.turn is not None and not 1 <= rating.turn <= self.turns[rating.conversation]:
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

    def _answers(self, fields: Mapping[str, Any]) -> Iterator[ImportedAnswer]:
        columns = find_columns(self._options.columns, tuple(fields))
        cells = {what: None if column is None else fields[column] for what, column in columns.items()}
        conversation = _text(cells["conversation"])
        if not conversation:
            raise BadRecord("no conversation is named; give the column with --conversation-column")
        reasoning, at = _text(cells["reasoning"]) or "", _text(cells["at"]) or ""
        temperature = cells["temperature"]
        for item, value in self._values(fields, columns):
            outcome = read_answer(value, self.instrument)
            failed = outcome is not None and outcome.error is not None
            detail = reasoning if failed else ""
            if failed and outcome != MISSING:
                detail = f"{_shown(value)} is not an answer on the scale"
            turn, repeat = _number(cells["turn"], "turn"), _number(cells["repeat"], "repeat") or 0
            identity = self._identity(_text(cells["system"]), conversation)
            settings = {} if temperature in (None, "") else {"temperature": temperature}
            card = CardKey(identity, self._rater(_text(cells["rater"]), settings), repeat)
            turn = self._turn(identity, turn)
            yield ImportedAnswer(card, turn, item, outcome, "" if failed else reasoning, detail, at)

    def _values(self, fields: Mapping[str, Any], columns: Mapping[str, str | None]) -> Iterator[tuple[str, Any]]:
        known = {item.id for item in self.instrument.items}
        if columns["item"] is not None and columns["answer"] is not None:
            names, values = [fields[columns["item"]]], [fields[columns["answer"]]]
        else:
            scores = fields.get("scores")
            given: dict[str, Any] = {**(scores if is_object(scores) else {})}
            names = list(given)  # the names of other fields need not be items
            given.update((item, fields[item]) for item in fields if item in known)
            values = list(given.values())
            names += [item for item in given if item not in names]
        for name in names:
            if _text(name) not in known:
                raise BadRecord(f"{self.instrument.id} has no item {_shown(name)}")
        if not names:
            raise BadRecord(
                "no answer is recognized; name the columns with --item-column and --answer-column "
                f"(there are {', '.join(map(repr, list(fields)[:12]))})"
            )
        yield from zip(map(str, names), values, strict=True)

    def _identity(self, system: str | None, conversation: str) -> Identity:
        if system is not None:
            identity = Identity(system, conversation)
            if identity not in self.turns:
                raise BadRecord(f"there is no conversation {conversation!r} of the system {system!r}")
            return identity
        found = self._by_id.get(conversation, [])
        if not found:
            raise BadRecord(f"there is no conversation {conversation!r}")
        if len(found) == 1:
            return found[0]
        for identity in found:
            if identity.system == self._options.system:
                return identity
        systems = ", ".join(repr(identity.system) for identity in found[:_SHOWN])
        raise BadRecord(f"{conversation!r} may be of {systems}; name it in a column 'system', or with --system")

    def _turn(self, identity: Identity, turn: int | None) -> int | None:
        last = self.turns[identity]
        if UnitKind(self.instrument.unit) is UnitKind.CONVERSATION:
            if turn is not None:
                raise BadRecord(f"{self.instrument.id} rates whole conversations, not turn {turn}")
            return None
        if turn is None and last > 1:
            raise BadRecord(f"{identity} has {last} replies; name the one that is rated in a column 'turn'")
        if turn is not None and not 1 <= turn <= last:
            raise BadRecord(f"{identity} has no turn {turn}; it has {last}")
        return turn or 1

    def _rater(self, named: str | None, settings: dict[str, Any]) -> RaterKey:
        options = self._options
        name = named or options.rater
        if name is None:
            raise BadRecord("no rater is named; name them with --rater, or the column (--rater-column)")
        kind = RaterKind.PERSON if name in options.people else options.kind
        settings = {"imported_from": self._origin, **settings}
        if kind is RaterKind.PERSON and options.blind is not None:
            settings["blind"] = options.blind
        return RaterKey(name, kind, to_json(settings, sorted=True))


# Our own exports

_COLUMNS = frozenset(column.name for column in EXPORT_COLUMNS)
_MAY_BE_ABSENT = frozenset({"error", "model", "finish_reason"})


def is_exported(fields: Mapping[str, Any]) -> bool:
    """Whether these are the columns of an export."""
    return fields.keys() >= _COLUMNS


def _exported(fields: Mapping[str, Any]) -> ExportedRating:
    try:
        return _rating(**{column.name: _value(fields[column.name], column) for column in EXPORT_COLUMNS})
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadRecord(f"this is not as Attunement exported it ({' '.join(str(error).split())[:120]})") from error


def _rating(**cells: Any) -> ExportedRating:
    rating = Rating(
        conversation=Identity(cells["system"], cells["conversation"]),
        outcome=outcome_of(cells["outcome"], cells["value"], cells["error"]),
        rater_kind=RaterKind(cells["rater_kind"]),
        round=Round(cells["round"]),
        evidence=tuple(cells["evidence"]),
        rules=tuple(rule_of(rule) for rule in cells["rules"]),
        marks=frozenset(Mark(mark) for mark in cells["marks"]),
        instrument=cells["instrument_hash"],
        **{name: cells[name] for name in ("turn", "item", "rater", "repeat", "reasoning", "item_hash", "asked")},
        **{name: cells[name] for name in ("detail", "at")},
    )
    answer = None
    if cells["attempts"] is not None:
        of_answer = ("model", "finish_reason", "prompt_tokens", "completion_tokens", "cached_tokens", "cost", "latency")
        answer = AnswerRecord(
            prompt=rating.asked,
            rater=0,
            repeat=rating.repeat,
            text=cells["reply"],
            error=rating.outcome.error,
            detail=rating.detail,
            at=rating.at,
            **{name: cells[name] for name in (*of_answer, "attempts", "logprobs")},
        )
    return ExportedRating(rating, dict(cells["rater_settings"]), answer)


def _value(value: Any, column: Column) -> Any:
    """The value of a cell; what a table holds as text becomes what it was."""
    if value is None or value == "":
        # A table writes nothing both for no text and for an empty one.
        return "" if column.kind == "text" and column.name not in _MAY_BE_ABSENT else None
    match column.kind:
        case "value":
            return "NA" if value == NOT_APPLICABLE else str(value)
        case "text":
            expected = isinstance(value, str)
        case "integer":
            value = int(value) if isinstance(value, str) else value
            expected = type(value) is int and 0 <= value <= _LARGEST
        case "number":
            return float(value)
        case _:
            return from_json(value) if isinstance(value, str) else value
    if not expected:
        raise ValueError(f"{column.name} is {_shown(value)}")
    return value


# What is reported


@dataclass
class CountedExamples:
    """Things of one kind: the first few by name, and how many there are."""

    count: int = 0
    named: list[str] = field(default_factory=list[str])

    def add(self, name: object) -> None:
        self.count += 1
        if len(self.named) < _SHOWN:
            self.named.append(str(name))

    def __str__(self) -> str:
        more = self.count - len(self.named)
        return "; ".join(self.named) + (f"; and {more:,} more" if more else "")


class Problems:
    """Lines that do not fit, by reason: the first line of each, and how many more have it."""

    def __init__(self) -> None:
        self._first: dict[str, Place] = {}
        self._more: Counter[str] = Counter()
        self._others = 0

    def add(self, place: Place, reason: str) -> None:
        if reason in self._first:
            self._more[reason] += 1
        elif len(self._first) < _SHOWN:
            self._first[reason] = place
        else:
            self._others += 1

    def __bool__(self) -> bool:
        return bool(self._first)

    def __str__(self) -> str:
        lines = [
            f"{place}: {reason}" + (f" (and {more:,} more such)" if (more := self._more[reason]) else "")
            for reason, place in self._first.items()
        ]
        return "; ".join(lines) + (f"; and {self._others:,} other lines" if self._others else "")


class AnsweredSlots:
    """Which slots of which scorecard have an answer: one bit for each, in one whole number a card."""

    def __init__(self, instrument: Instrument) -> None:
        self._positions = {item.id: position for position, item in enumerate(instrument.items)}
        self._bits: dict[CardKey, int] = {}

    def add(self, card: CardKey, slot: Slot | None) -> bool:
        """Note the card and the answered slot, if any; False where the slot had an answer already."""
        before = self._bits.setdefault(card, 0)
        bit = 0 if slot is None else self._bit(slot)
        self._bits[card] = before | bit
        return not before & bit

    def absent(self, card: CardKey, due: list[Slot]) -> list[Slot]:
        """Those of the `due` slots that have no answer."""
        return [slot for slot in due if not self._bits[card] & self._bit(slot)]

    def __iter__(self) -> Iterator[CardKey]:
        return iter(self._bits)

    def _bit(self, slot: Slot) -> int:
        return 1 << ((slot.turn or 0) * len(self._positions) + self._positions[slot.item])
