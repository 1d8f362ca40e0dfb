"""Read a table of ratings from any file into the same columns, and find out what its words mean as answers.

Long tables have one rating a row: which unit, by whom, on what, and the value. Wide ones have one column a rater.
Values are read as they are written: "NA" is an answer, ids keep all their digits, and the scale is the one that was
named, or else what occurs. What does not fit is refused and counted.

The scale is the one that was named, or else what occurs, and that is said. Case, blanks and the zeros behind a number
do not tell answers apart; "NA" is an answer, not a gap.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

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
from attunement.errors import InputError
from attunement.ratings import RaterKind
from attunement.statistics.tables import Floats, Ints
from attunement.store.import_files import read_rows

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)")
_NA = frozenset({"na", "n/a"})
_NO_YES = ("no", "yes")
_MOST_WORDS = 12
"""More different words than this are no scale but remarks."""


class Understood(NamedTuple):
    """What each of the words that occur means."""

    scale: Scale
    values: Floats  # for each word its value, NaN for none
    states: Ints  # for each word an `Answered`; NOT_ASKED where it is not on the scale
    notes: tuple[str, ...]


def understood(words: Sequence[str], answers: tuple[str, ...], also_na: Collection[str] = ()) -> Understood:
    """What each of `words` means: a value, "does not apply", or nothing on the scale.

    Args:
        words: The different words that occur.
        answers: The scale from the lowest to the highest, or one text such as "1-5"; empty where it is not known.
        also_na: Words that mean "does not apply", beside NA and N/A.

    Raises:
        InputError: The scale that was named is none, or too many different words occur to be one.
    """
    na = _NA | {_folded(word) for word in also_na}
    scale, notes = _named(answers) if answers else _observed([word for word in words if _folded(word) not in na])
    number = {_folded(word): value for word, value in zip(scale.words, scale.values, strict=True)}
    values, states = np.full(len(words), np.nan), np.zeros(len(words), dtype=np.int64)
    spelled: dict[str, set[str]] = {}
    for place, word in enumerate(words):
        folded = _folded(word)
        if folded in na:
            states[place] = AnswerState.NA
        elif folded in number:
            values[place], states[place] = number[folded], AnswerState.VALUE
            spelled.setdefault(folded, set()).add(word)
    folds = [f"{_quoted(sorted(forms))} were read as the same answer." for forms in spelled.values() if len(forms) > 1]
    return Understood(scale, values, states, (*notes, *folds))


def _folded(word: str) -> str:
    """The word without what does not change its meaning: case, blanks around it, and zeros behind a number."""
    word = " ".join(word.split()).casefold()
    return f"{float(word):g}" if NUMBER.fullmatch(word) else word


def _named(answers: tuple[str, ...]) -> tuple[Scale, tuple[str, ...]]:
    if len(answers) == 1 and (span := re.fullmatch(r"\s*(-?\d+)\s*(?:-|to|\.\.)\s*(-?\d+)\s*", answers[0])):
        low, high = int(span[1]), int(span[2])
        if not low < high <= low + 1000:
            raise InputError(f"--scale {answers[0]}: name the lowest and the highest answer, such as 1-5")
        values = tuple(float(number) for number in range(low, high + 1))
        return Scale(values, tuple(f"{value:g}" for value in values)), ()
    if len(answers) < 2 or len({_folded(answer) for answer in answers}) < len(answers):
        raise InputError("--scale: name at least two different answers, lowest first, such as 1-5 or no,yes")
    if all(NUMBER.fullmatch(answer.strip()) for answer in answers):
        ordered = sorted(float(answer) for answer in answers)
        return Scale(tuple(ordered), tuple(f"{value:g}" for value in ordered)), ()
    return Scale(tuple(map(float, range(len(answers)))), tuple(" ".join(answer.split()) for answer in answers)), ()


def _observed(words: Sequence[str]) -> tuple[Scale, tuple[str, ...]]:
    folded = sorted({_folded(word) for word in words})
    if folded and all(NUMBER.fullmatch(word) for word in folded):
        values = sorted(float(word) for word in folded)
        shown = f"{values[0]:g} to {values[-1]:g} ({len(values)} different values)"
        note = f"No scale was named, so it is taken to be what occurs: {shown}; --scale names it."
        return Scale(tuple(values), tuple(f"{value:g}" for value in values), observed=True), (note,)
    if len(folded) > _MOST_WORDS:
        raise InputError(
            f"there are {len(folded)} different answers, from {folded[0][:40]!r} to {folded[-1][:40]!r}: name the "
            "scale with --scale"
        )
    if set(folded) <= set(_NO_YES):
        note = "No scale was named, so it is taken to be what occurs: no and yes."
        return Scale((0.0, 1.0), _NO_YES, observed=True), (note,)
    note = (
        f"No scale was named, so it is taken to be what occurs, without an order: {_quoted(folded)}; --scale names it "
        "from the lowest to the highest."
    )
    return Scale(tuple(map(float, range(len(folded)))), tuple(folded), ordered=False, observed=True), (note,)


def _quoted(words: Sequence[str]) -> str:
    return ", ".join(f"“{word[:40]}”" for word in words)


UNREADABLE = "in rows that cannot be read"


class FileColumns(NamedTuple):
    """Which columns say what, and how the values are to be understood."""

    unit: tuple[str, ...] = ()  # the columns that together say which unit is meant; without any each row is a unit
    rater: tuple[str, ...] = ()  # the column that names the rater; in a wide table one column a person
    value: str | None = None  # the column of the values; None for a wide table
    item: str | None = None  # the column that says what was rated; None where all ratings are of one item
    system: str | None = None
    conversation: str | None = None  # the column that says which conversation a unit belongs to, where one gave several
    repeat: str | None = None
    judges: tuple[str, ...] = ()  # raters who are judges; in a wide table their columns. All others are people
    scale: tuple[str, ...] = ()  # the answers from the lowest to the highest
    na: tuple[str, ...] = ()  # words that mean "does not apply", beside NA and N/A
    by: str | None = None  # a column whose values part the conversations


def read_ratings(path: Path, reading: FileColumns) -> RatingsTable:
    """The ratings in a CSV, TSV, JSONL, JSON, Parquet or XLSX file.

    Raises:
        InputError: The file cannot be read, a column is not there, or it holds no ratings.
    """
    book = _Book(reading)
    for fields in _rows(path, book.left_out):
        book.add(fields, path)
    if not book.values:
        raise InputError(f"{path} holds no ratings: each row needs a unit, a rater and a value")
    return book.gathered()


def _rows(path: Path, left_out: Counter[str]) -> Iterator[Mapping[str, Any]]:
    for row in read_rows(path):
        if row.fields is None:
            left_out[UNREADABLE] += 1
        else:
            yield row.fields


class _Book:
    """Ratings in the making, numbered as they come."""

    def __init__(self, reading: FileColumns) -> None:
        self._reading = reading
        self._wide = reading.value is None
        self.left_out: Counter[str] = Counter()
        self._units: dict[tuple[str, ...], int] = {}
        self._talks: dict[tuple[str, str], int] = {}
        self._metadata: list[dict[str, Any]] = []
        self._unit_talk: list[int] = []
        self._items: dict[str, int] = {}
        self._raters: dict[str, int] = {}
        self._repeats: dict[str, int] = {}
        self._words: dict[str, int] = {}
        self._columns: list[tuple[int, int, int, int]] = []
        self.values: list[int] = []
        self._checked: set[tuple[str, ...]] = set()

    def add(self, fields: Mapping[str, Any], path: Path) -> None:
        self._check(fields, path)
        reading = self._reading
        unit = self._unit(fields)
        item = "value" if reading.item is None else _text(fields[reading.item])
        repeat = "0" if reading.repeat is None else _text(fields[reading.repeat])
        number = self._items.setdefault(item, len(self._items)), self._repeats.setdefault(repeat, len(self._repeats))
        if self._wide:
            answers = [(column, fields[column]) for column in (*reading.rater, *reading.judges)]
        else:
            answers = [(_text(fields[reading.rater[0]]), fields[reading.value or ""])]
        for rater, value in answers:
            word = _text(value)
            if word and rater:  # a blank cell is no rating
                self._columns.append((unit, number[0], self._raters.setdefault(rater, len(self._raters)), number[1]))
                self.values.append(self._words.setdefault(word, len(self._words)))

    def _check(self, fields: Mapping[str, Any], path: Path) -> None:
        there = tuple(fields)
        if there in self._checked:
            return
        reading = self._reading
        judges = reading.judges if self._wide else ()
        named = (*reading.unit, *reading.rater, *judges)
        single = (reading.value, reading.item, reading.system, reading.conversation, reading.repeat, reading.by)
        for column in (*named, *(each for each in single if each is not None)):
            if column not in fields:
                raise InputError(f"{path} has no column {column!r}; it has {', '.join(map(repr, there[:12]))}")
        self._checked.add(there)

    def _unit(self, fields: Mapping[str, Any]) -> int:
        reading = self._reading
        names = tuple(_text(fields[column]) for column in reading.unit) or (str(len(self._units) + 1),)
        system = "" if reading.system is None else _text(fields[reading.system])
        key = (*names, system)
        if key not in self._units:
            self._units[key] = len(self._units)
            talk = " / ".join(names) if reading.conversation is None else _text(fields[reading.conversation])
            if (system, talk) not in self._talks:
                self._talks[system, talk] = len(self._talks)
                self._metadata.append({} if reading.by is None else {reading.by: _text(fields[reading.by])})
            self._unit_talk.append(self._talks[system, talk])
        return self._units[key]

    def gathered(self) -> RatingsTable:
        """All of it."""
        judges = set(self._reading.judges)
        if absent := judges - set(self._raters):
            raise InputError(f"there is no rater {min(absent)!r}; there are {', '.join(list(self._raters)[:8])}")
        who = tuple(
            RaterRef(name, RaterKind.MODEL if name in judges else RaterKind.PERSON, {}) for name in self._raters
        )
        meaning = understood(list(self._words), self._reading.scale, self._reading.na)
        unit, item, rater, repeat = np.array(self._columns, dtype=np.int64).T
        place = np.array(self.values, dtype=np.int64)
        ratings = Long(
            conversation=np.array(self._unit_talk)[unit],
            turn=unit,
            item=item,
            rater=rater,
            repeat=self._in_order()[repeat],
            state=meaning.states[place],
            value=meaning.values[place],
        )
        off = ratings.state == AnswerState.NOT_ASKED
        if off.any():
            self.left_out[OFF_SCALE] += int(off.sum())
        kept = ratings.only(~off)
        self._check_once(kept)
        items = tuple(RatedItem(name, "", meaning.scale) for name in self._items)
        identities = [Identity(system, talk) for system, talk in self._talks]
        talks = [ConversationInfo(0, *pair) for pair in zip(identities, self._metadata, strict=True)]
        return numbered(
            kept,
            items,
            who,
            lambda keys: [talks[key] for key in keys.tolist()],
            self.left_out,
            meaning.notes,
        )

    def _check_once(self, ratings: Long) -> None:
        """Refuse two ratings of one unit by one rater, because which of them counts is for the user to say."""
        key = np.zeros(len(ratings.value), dtype=np.int64)
        for column in (ratings.turn, ratings.item, ratings.rater, ratings.repeat):
            key = key * (int(column.max(initial=0)) + 1) + column
        order = np.argsort(key, kind="stable")
        twice = np.flatnonzero(np.diff(key[order]) == 0)
        if twice.size:
            place = order[twice[0]]
            unit, rater = list(self._units)[ratings.turn[place]], list(self._raters)[ratings.rater[place]]
            more = f" ({twice.size} such ratings)" if twice.size > 1 else ""
            raise InputError(
                f"{rater} rated {' / '.join(filter(None, unit))} twice{more}: name the column that tells "
                "them apart with --repeat, --item or --unit"
            )

    def _in_order(self) -> Ints:
        """The repeats in the order of their numbers, or where they are words in the order of appearance."""
        names = list(self._repeats)
        if all(NUMBER.fullmatch(name) for name in names):
            return np.argsort(np.argsort([float(name) for name in names]))
        return np.arange(len(names))


def _text(value: Any) -> str:
    """What stands in a cell. Whole numbers come out of workbooks and tables with gaps as 4.0."""
    if value is None:
        return ""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value).strip()
