"""Read the ratings in any table as one `RatingsTable`, and find out what its words mean as answers.

A long table has one rating a row: which unit, by whom, on what, and the value. A wide one has one column a rater. The
scale of an item is the one that was named, or else what occurs, which a note tells. Case, blanks and the zeros behind
a number do not tell answers apart; "NA" is an answer, "ERROR" is none. What is not on the scale is refused by line.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

from attunement.analysis.ratings_table import (
    OFF_SCALE,
    AnswerState,
    ConversationInfo,
    Long,
    RatedItem,
    RaterRef,
    RatingsTable,
    Scale,
    numbered,
)
from attunement.conversations import Identity
from attunement.conversations.json_files import BadRecord
from attunement.errors import InputError
from attunement.ratings import RaterKind, Round
from attunement.statistics.tables import Floats, Ints
from attunement.store.tables import Columns, cell_number, cell_text, find_columns, is_na, read_rows, require_columns

UNREADABLE = "in rows that cannot be read"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)")
_NO_YES = ("no", "yes")
_MOST_WORDS = 12  # more different words than this are no scale but remarks
_MOST_TURNS = 9999  # a larger number is an id in the wrong column
_NAMED = 5  # refused ratings that a note names
_OUTCOMES = {"value": AnswerState.VALUE, "na": AnswerState.NA, "abstained": AnswerState.ABSTAINED,
             "error": AnswerState.ERROR, "not_due": AnswerState.NOT_ASKED}  # fmt: skip

Source = Any
"""Files, a pandas data frame, an Arrow table, or rows with named fields."""


class FileColumns(NamedTuple):
    """Which columns say what, and how the values are to be understood. Without any, the usual names are looked for."""

    unit: tuple[str, ...] = ()  # the columns that together say which unit is meant; without any each row is a unit
    rater: tuple[str, ...] = ()  # the column that names the rater; in a wide table one column a person
    value: str | None = None  # the column of the values; None for a wide table
    item: str | None = None  # the column that says what was rated; None where all ratings are of one item
    system: str | None = None
    conversation: str | None = None  # the column that says which conversation a unit belongs to, where one gave several
    repeat: str | None = None
    judges: tuple[str, ...] = ()  # raters who are judges; in a wide table their columns. All others are people
    scale: tuple[str, ...] = ()  # the answers from the lowest to the highest, or one text such as "1-5"
    scales: Mapping[str, tuple[str, ...]] = {}  # the same for single items
    na: tuple[str, ...] = ()  # more words that mean "does not apply"
    metadata: tuple[str, ...] = ()  # further columns about the conversations, such as the scenario
    turn: str | None = None  # the column with the number of the reply that is meant

    def found(self, present: tuple[str, ...]) -> "FileColumns":
        """The columns as named, or the usual ones where none are."""
        if self.rater or self.value or self.unit:
            return self
        usual = find_columns(Columns(item=self.item, system=self.system, repeat=self.repeat), present)
        for what in ("conversation", "rater", "answer"):
            if usual[what] is None:
                raise BadRecord(f"no column for the {what}; name the columns with --unit, --rater and --value")
        unit = tuple(filter(None, (usual["conversation"], usual["turn"])))
        return self._replace(
            unit=unit,
            rater=(str(usual["rater"]),),
            value=usual["answer"],
            item=usual["item"],
            system=usual["system"],
            conversation=self.conversation or usual["conversation"],
            turn=usual["turn"],
            repeat=usual["repeat"],
        )


def read_ratings(source: Source, columns: FileColumns) -> RatingsTable:
    """The ratings in CSV, TSV, JSONL, JSON, Parquet or XLSX files, or in a data frame.

    Raises:
        InputError: A file cannot be read, a column is not there, or there are no ratings.
    """
    ratings, left_out = _Ratings(columns), Counter[str]()
    for place, line, fields in _rows(source):
        if fields is None:
            left_out[UNREADABLE] += 1
            continue
        try:
            ratings.add(fields, place, line)
        except BadRecord as bad:
            raise InputError(f"{place} {line}: {bad.reason}") from bad
    if not ratings.rows:
        named = source if isinstance(source, Path) else "the table"
        raise InputError(f"{named} holds no ratings: each row needs a unit, a rater and a value")
    return ratings.table(left_out)


def _rows(source: Source) -> Iterator[tuple[str, int, Mapping[str, Any] | None]]:
    """Where each row is, its number there, and its fields."""
    paths: Sequence[Any] = [source] if isinstance(source, Path) else source
    if isinstance(paths, list | tuple) and paths and isinstance(paths[0], Path):
        for path in cast("Sequence[Path]", paths):
            place = f"{path.name}, line"
            for row in read_rows(path):
                yield place, row.place.line, row.fields
        return
    arrow, pandas = getattr(source, "to_pylist", None), getattr(source, "to_dict", None)
    records: Any = arrow() if arrow else pandas("records") if pandas else source
    for number, record in enumerate(cast("Iterable[Mapping[str, Any]]", records), 1):
        yield "row", number, {name: None if value != value else value for name, value in record.items()}


def _numbers() -> defaultdict[Any, int]:
    """Numbers what it is asked for in the order of appearance."""
    return defaultdict(count().__next__)


class _Ratings:
    """Ratings as they are read, numbered as they come."""

    def __init__(self, columns: FileColumns) -> None:
        self.rows: list[tuple[int, int, int, int, int, int]] = []  # unit, item, rater, repeat, word, row
        self._columns = columns
        self._found: FileColumns | None = None
        self._units, self._items, self._raters = _numbers(), _numbers(), _numbers()
        self._repeats, self._words, self._conversations = _numbers(), _numbers(), _numbers()
        self._unit_conversation: list[int] = []
        self._unit_turn: list[int] = []
        self._units_of = Counter[int]()
        self._metadata: list[dict[str, Any]] = []
        self._kinds: dict[str, RaterKind] = {}
        self._places: list[str] = []
        self._lines: list[int] = []
        self._other_rounds = Counter[str]()

    def _prepare(self, fields: Mapping[str, Any]) -> FileColumns:
        columns = self._columns.found(tuple(fields))
        several = columns.rater if columns.value else (*columns.rater, *columns.judges)
        single = (columns.value, columns.item, columns.system, columns.conversation, columns.repeat, *columns.metadata)
        self._needed = (*columns.unit, *several, *(column for column in single if column is not None))
        self._raters_in_columns = () if columns.value else several
        taken = set(self._needed)
        self._kind, self._outcome, self._round = (
            next((name for name in names if name in fields and name not in taken and columns.value), None)
            for names in (("rater_kind", "kind"), ("outcome",), ("round",))
        )
        self._found = columns
        return columns

    def add(self, fields: Mapping[str, Any], place: str, line: int) -> None:
        columns = self._found or self._prepare(fields)
        require_columns(self._needed, tuple(fields))

        def cell(column: str | None, absent: str = "") -> str:
            return absent if column is None else cell_text(fields[column]).strip()

        if self._round and (round := cell_text(fields.get(self._round)).strip()) not in {"", Round.MAIN}:
            self._other_rounds[f"of the {round} round"] += 1
            return
        names = tuple(map(cell, columns.unit)) or (str(len(self._units) + 1),)
        system = cell(columns.system)
        unit = self._units[*names, system]
        if unit == len(self._unit_conversation):
            conversation = self._conversations[system, cell(columns.conversation, " / ".join(names))]
            self._unit_conversation.append(conversation)
            self._units_of[conversation] += 1
            # Without turns, the units of a conversation are numbered.
            given = cell_number(cell(columns.turn), "turn", 1, _MOST_TURNS) or 0
            self._unit_turn.append(given if columns.turn else self._units_of[conversation])
            if conversation == len(self._metadata):
                self._metadata.append({name: cell(name) for name in columns.metadata})
        item, repeat = self._items[cell(columns.item, "value")], self._repeats[cell(columns.repeat) or "0"]
        answers = [(name, cell(name)) for name in self._raters_in_columns]
        if not answers:
            word, rater = cell(columns.value), cell(columns.rater[0])
            if self._outcome and not word and cell_text(fields.get(self._outcome)) in _OUTCOMES:
                word = cell_text(fields[self._outcome])
            answers = [(rater, word)]
            if self._kind and rater:
                self._set_kind(rater, cell_text(fields.get(self._kind)).strip())
        for rater, word in answers:
            if rater and word:  # a blank cell is no rating
                self.rows.append((unit, item, self._raters[rater], repeat, self._words[word], len(self._places)))
        self._places.append(place)
        self._lines.append(line)

    def _set_kind(self, rater: str, kind: str) -> None:
        if kind and kind not in set(RaterKind):
            raise BadRecord(f"the kind of a rater is person, model or simulation, not {kind!r}")
        known = self._kinds.setdefault(rater, RaterKind(kind or "person"))
        if kind and known != kind:
            raise BadRecord(f"{rater} is a {kind} here and a {known.value} before; give them two names")

    def table(self, left_out: Counter[str]) -> RatingsTable:
        columns, raters = self._found or self._columns, list(self._raters)
        for judge in sorted(columns.judges):
            if judge not in raters:
                raise InputError(f"there is no rater {judge!r}; there are {', '.join(raters[:8])}")
        unit, item, rater, repeat, word, row = np.array(self.rows, dtype=np.int64).T
        words, names = list(self._words), list(self._items)
        for name in columns.scales:
            if name not in names:
                raise InputError(f"--scale {name}=…: there is no item {name!r}; there are {', '.join(names[:12])}")
        values, states = np.full(len(word), np.nan), np.zeros(len(word), dtype=np.int64)
        scales: list[Scale] = []
        notes: dict[str, list[str]] = {}
        for number, name in enumerate(names):
            here = item == number
            used, place = np.unique(word[here], return_inverse=True)
            answers = columns.scales.get(name, columns.scale)
            meaning = _understand([words[each] for each in used.tolist()], answers, columns.na, name)
            values[here], states[here] = meaning.values[place], meaning.states[place]
            scales.append(meaning.scale)
            for note in meaning.notes:
                notes.setdefault(note, []).append(name)
        off = states == AnswerState.NOT_ASKED
        said = [
            note if len(about) == len(names) else f"{', '.join(about[:12])}: {note[:1].lower()}{note[1:]}"
            for note, about in notes.items()
        ]
        if off.any():
            left_out[OFF_SCALE] += int(off.sum())
            shown: list[str] = []
            for each in np.flatnonzero(off)[:_NAMED].tolist():
                place = f"{self._places[row[each]]} {self._lines[row[each]]}"
                answer = f"“{words[word[each]][:20]}”, {raters[rater[each]]}, {names[item[each]]}"
                shown.append(f"{place} ({answer})")
            more = f" and {int(off.sum()) - _NAMED:,} more" if off.sum() > _NAMED else ""
            said.append(f"Refused because it is not on the scale: {'; '.join(shown)}{more}.")
        kinds = {name: self._kinds.get(name, RaterKind.PERSON) for name in raters}
        kinds |= dict.fromkeys(columns.judges, RaterKind.MODEL)
        simulated = np.array([kinds[name] is RaterKind.SIMULATION for name in raters])[rater]
        if simulated.any():
            left_out["by simulated raters, who are not people"] += int(simulated.sum())
        left_out.update(self._other_rounds)
        repeat = self._repeat_order()[repeat]
        self._check_once(unit, item, rater, repeat)
        conversation = np.array(self._unit_conversation)
        alone = np.array([self._units_of[each] == 1 and not columns.turn for each in self._unit_conversation])
        turn = np.where(alone, 0, self._unit_turn)
        ratings = Long(conversation[unit], turn[unit], item, rater, repeat, states, values).only(~off & ~simulated)
        conversations = [
            ConversationInfo(0, Identity(*names), metadata)
            for names, metadata in zip(self._conversations, self._metadata, strict=True)
        ]
        return numbered(
            ratings,
            tuple(RatedItem(name, "", scale) for name, scale in zip(names, scales, strict=True)),
            tuple(RaterRef(name, kinds[name], {}) for name in raters),
            lambda keys: [conversations[key] for key in keys.tolist()],
            left_out,
            tuple(said),
        )

    def _check_once(self, *columns: Ints) -> None:
        """Refuse two ratings of one unit by one rater, because which of them counts is for the user to say."""
        keys = np.stack(columns)
        order = np.lexsort(keys[::-1])
        twice = order[:-1][(np.diff(keys[:, order]) == 0).all(axis=0)]
        if twice.size:
            unit, rater = list(self._units)[columns[0][twice[0]]], list(self._raters)[columns[2][twice[0]]]
            more = f" ({twice.size} such ratings)" if twice.size > 1 else ""
            raise InputError(
                f"{rater} rated {' / '.join(filter(None, unit))} twice{more}: name the column that tells "
                "them apart with --repeat, --item or --unit"
            )

    def _repeat_order(self) -> Ints:
        """The repeats in the order of their numbers, or where they are words in the order of appearance."""
        names = list(self._repeats)
        if all(_NUMBER.fullmatch(name) for name in names):
            return np.argsort(np.argsort([float(name) for name in names]))
        return np.arange(len(names))


class _Meaning(NamedTuple):
    """What each of the words that occur for an item means."""

    scale: Scale
    values: Floats  # for each word its value, NaN for none
    states: Ints  # for each word an `AnswerState`; NOT_ASKED where it is not on the scale
    notes: list[str]


def _understand(words: Sequence[str], answers: tuple[str, ...], also_na: Collection[str], item: str) -> _Meaning:
    na = {_folded(word) for word in also_na} | {_folded(word) for word in words if is_na(word)}
    special = dict.fromkeys(na, AnswerState.NA)
    special |= {name: state for name, state in _OUTCOMES.items() if name in {"error", "abstained"}}
    given = {*map(_folded, words)} - special.keys()
    scale, notes = _named(answers, given) if answers else _observed(given, item)
    number = {_folded(word): value for word, value in zip(scale.words, scale.values, strict=True)}
    values, states = np.full(len(words), np.nan), np.zeros(len(words), dtype=np.int64)
    spelled: dict[str, list[str]] = {}
    for place, word in enumerate(words):
        folded = _folded(word)
        if folded in number:
            values[place], states[place] = number[folded], AnswerState.VALUE
            spelled.setdefault(folded, []).append(word)
        else:
            states[place] = special.get(folded, AnswerState.NOT_ASKED)
    folds = [f"{_quoted(sorted(forms))} were read as the same answer." for forms in spelled.values() if len(forms) > 1]
    return _Meaning(scale, values, states, [*notes, *folds])


def _folded(word: str) -> str:
    """The word without what does not change its meaning: case, blanks around it, and zeros behind a number."""
    word = " ".join(word.split()).casefold()
    return f"{float(word):g}" if _NUMBER.fullmatch(word) else word


def _numeric(values: Iterable[float], *, observed: bool = False) -> Scale:
    ordered = tuple(sorted(values))
    return Scale(ordered, tuple(f"{value:g}" for value in ordered), observed=observed)


def _named(answers: tuple[str, ...], given: Collection[str]) -> tuple[Scale, list[str]]:
    if len(answers) == 1 and (span := re.fullmatch(r"\s*(-?\d+)\s*(?:-|to|\.\.)\s*(-?\d+)\s*", answers[0])):
        low, high = int(span[1]), int(span[2])
        if not low < high <= low + 1000:
            raise InputError(f"--scale {answers[0]}: name the lowest and the highest answer, such as 1-5")
        whole = {float(number) for number in range(low, high + 1)}
        numbers = {float(word) for word in given if _NUMBER.fullmatch(word)}
        between = {value for value in numbers - whole if low <= value <= high and math.isfinite(value)}
        return _numeric(whole | between), ["Values between the whole numbers are kept as they are."] if between else []
    if len(answers) < 2 or len({_folded(answer) for answer in answers}) < len(answers):
        raise InputError("--scale: name at least two different answers, lowest first, such as 1-5 or no,yes")
    if all(_NUMBER.fullmatch(answer.strip()) for answer in answers):
        return _numeric(float(answer) for answer in answers), []
    return Scale(tuple(map(float, range(len(answers)))), tuple(" ".join(answer.split()) for answer in answers)), []


def _observed(given: Collection[str], item: str) -> tuple[Scale, list[str]]:
    taken = "No scale was named, so it is taken to be what occurs"
    numbers = [float(word) for word in given if _NUMBER.fullmatch(word)]
    words = tuple(sorted(given))
    if 2 * len(numbers) > len(given):  # the few words among numbers are refused
        shown = f"{min(numbers):g} to {max(numbers):g} ({len(numbers)} different values)"
        return _numeric(numbers, observed=True), [f"{taken}: {shown}; --scale names it."]
    if len(words) > _MOST_WORDS:
        raise InputError(
            f"{item} has {len(words)} different answers, from {words[0][:40]!r} to {words[-1][:40]!r}: name the "
            "scale with --scale"
        )
    if set(words) <= set(_NO_YES):
        return Scale((0.0, 1.0), _NO_YES, observed=True), [f"{taken}: no and yes."]
    note = f"{taken}, without an order: {_quoted(words)}; --scale names it from the lowest to the highest."
    return Scale(tuple(map(float, range(len(words)))), words, ordered=False, observed=True), [note]


def _quoted(words: Sequence[str]) -> str:
    return ", ".join(f"“{word[:40]}”" for word in words)
