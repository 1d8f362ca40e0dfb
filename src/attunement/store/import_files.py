"""What the rows of a file of answers mean: answers given elsewhere, or ratings that Attunement exported.

A long table has an item and an answer in each row. A score record has many answers in one row: in an object `scores`,
and in fields named like an item. Nothing is guessed: a value that is not on the scale is not an answer.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from attunement.conversations import Identity, UnitKind
from attunement.conversations.json_files import BadRecord, Place, is_object
from attunement.instruments import Instrument, Value
from attunement.instruments.model import Scores
from attunement.ratings import ABSTAINED, MISSING, ErrorKind, Outcome, RaterKind, Rating
from attunement.store.export import EXPORT_COLUMNS, NOT_APPLICABLE, Column
from attunement.store.rows import AnswerRecord, answer_of, from_json, rating_of, to_json
from attunement.store.tables import (
    LARGEST,
    Columns,
    TableRow,
    cell_number,
    cell_text,
    find_columns,
    is_na,
    is_spreadsheet,
    list_columns,
    quoted,
    unguarded_cells,
    whole_number,
)

_SHOWN = 5  # how many of many similar things are named; the rest are counted


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
    text = value.strip().upper() if isinstance(value, str) else ""
    if value is None or (isinstance(value, str) and not text):
        return None
    if text == "ERROR":
        return MISSING
    if text == "ABSTAINED":
        return ABSTAINED
    answer: Value | None = "NA" if is_na(text) else text
    if isinstance(instrument.scale, Scores):
        answer = whole_number(value)
    return Outcome.of(answer) if answer in instrument.scale.answers else Outcome.failed(ErrorKind.MALFORMED)


@dataclass(frozen=True)
class ImportOptions:
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

    def read(self, row: TableRow) -> Iterator[ImportedAnswer | ExportedRating]:
        """The answers or the exported rating in a row.

        Raises:
            BadRecord: The row cannot be read, or is about something unknown.
        """
        if row.fields is None:
            raise BadRecord(row.reason)
        if is_exported(row.fields):
            yield self._checked(
                _exported(unguarded_cells(row.fields) if is_spreadsheet(row.place.file) else row.fields)
            )
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
            f"{rating.item!r} was asked in a wording that no instrument here has; name the version that has it with "
            "another --instrument"
        )

    def _answers(self, fields: Mapping[str, Any]) -> Iterator[ImportedAnswer]:
        columns = find_columns(self._options.columns, tuple(fields))
        cells = {what: None if column is None else fields[column] for what, column in columns.items()}
        texts = {what: cell_text(cell) if _is_plain(cell) else "" for what, cell in cells.items()}
        if not texts["conversation"]:
            raise BadRecord("no conversation is named; give the column with --conversation-column")
        values = self._values(fields, columns)
        turn, repeat = cell_number(cells["turn"], "turn"), cell_number(cells["repeat"], "repeat") or 0
        identity = self._identity(texts["system"], texts["conversation"])
        settings = {} if cells["temperature"] in (None, "") else {"temperature": cells["temperature"]}
        card = CardKey(identity, self._rater(texts["rater"], settings), repeat)
        turn = self._turn(identity, turn)
        for item, value in values.items():
            outcome = read_answer(value, self.instrument)
            failed = outcome is not None and outcome.error is not None
            reasoning, detail = ("", texts["reasoning"]) if failed else (texts["reasoning"], "")
            if failed and outcome != MISSING:
                detail = f"{quoted(value)} is not an answer on the scale"
            yield ImportedAnswer(card, turn, item, outcome, reasoning, detail, texts["at"])

    def _values(self, fields: Mapping[str, Any], columns: Mapping[str, str | None]) -> dict[str, Any]:
        """The answers in a row by item."""
        known = self.instrument.item_hashes
        values: dict[str, Any] = {}
        if columns["item"] is not None and columns["answer"] is not None:
            values[cell_text(fields[columns["item"]])] = fields[columns["answer"]]
        else:
            scores = fields.get("scores")
            values.update(scores if is_object(scores) else {})
            # The names of other fields need not be items.
            values.update({name: value for name, value in fields.items() if name in known})
        for name in values:
            if name not in known:
                raise BadRecord(f"{self.instrument.id} has no item {quoted(name)}")
        if not values:
            raise BadRecord(
                "no answer is recognized; name the columns with --item-column and --answer-column "
                f"(there are {list_columns(tuple(fields))})"
            )
        return values

    def _identity(self, system: str, conversation: str) -> Identity:
        if system:
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

    def _rater(self, named: str, settings: dict[str, Any]) -> RaterKey:
        options = self._options
        name = named or options.rater
        if name is None:
            raise BadRecord("no rater is named; name them with --rater, or the column (--rater-column)")
        kind = RaterKind.PERSON if name in options.people else options.kind
        settings = {"imported_from": self._origin, **settings}
        if kind is RaterKind.PERSON and options.blind is not None:
            settings["blind"] = options.blind
        return RaterKey(name, kind, to_json(settings, sorted=True))


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


# Our own exports

_COLUMNS = frozenset(column.name for column in EXPORT_COLUMNS)
_MAY_BE_ABSENT = frozenset({"error", "model", "finish_reason"})


def is_exported(fields: Mapping[str, Any]) -> bool:
    """Whether these are the columns of an export."""
    return fields.keys() >= _COLUMNS


def _exported(fields: Mapping[str, Any]) -> ExportedRating:
    try:
        cells = {column.name: _value(fields[column.name], column) for column in EXPORT_COLUMNS}
        rating = rating_of(
            [
                *(cells[name] for name in ("system", "conversation", "turn", "item", "outcome", "value", "error")),
                *(cells[name] for name in ("rater", "rater_kind", "repeat", "round", "rules", "item_hash")),
                *(cells["reasoning"], cells["evidence"], " ".join(from_json(cells["marks"]))),
                *(cells[name] for name in ("asked", "instrument_hash", "detail", "at")),
            ]
        )._replace(turn=cells["turn"])  # a turn 0 is refused later, not taken for the whole conversation
        answer = None
        if cells["attempts"] is not None:
            reply = {**cells, "prompt": rating.asked, "rater": 0, "text": cells["reply"]}
            answer = answer_of([reply[name] for name in AnswerRecord._fields])
        return ExportedRating(rating, dict(from_json(cells["rater_settings"])), answer)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadRecord(f"this is not as Attunement exported it ({' '.join(str(error).split())[:120]})") from error


def _value(value: Any, column: Column) -> Any:
    """The value of a cell as the study stores it, whether it comes from a table or from JSON."""
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
            expected = type(value) is int and 0 <= value <= LARGEST
        case "number":
            return float(value)
        case _:
            return value if isinstance(value, str) else to_json(value)
    if not expected:
        raise ValueError(f"{column.name} is {quoted(value)}")
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
    """Lines that do not fit, by reason: the first line of each, and how many have it."""

    def __init__(self) -> None:
        self._found: dict[str, tuple[Place, int]] = {}
        self._others = 0

    def add(self, place: Place, reason: str) -> None:
        if reason in self._found or len(self._found) < _SHOWN:
            first, count = self._found.get(reason, (place, 0))
            self._found[reason] = first, count + 1
        else:
            self._others += 1

    def __bool__(self) -> bool:
        return bool(self._found)

    def __str__(self) -> str:
        lines = [
            f"{place}: {reason}" + (f" (and {count - 1:,} more such)" if count > 1 else "")
            for reason, (place, count) in self._found.items()
        ]
        return "; ".join(lines) + (f"; and {self._others:,} other lines" if self._others else "")
