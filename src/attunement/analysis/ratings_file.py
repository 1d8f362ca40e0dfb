"""Read the ratings in any table as columns of numbers, and find out what its words mean as answers.

Long tables have one rating a row: which unit, by whom, on what, and the value. Wide ones have one column a rater.
The scale is the one that was named, or else what occurs, which a note tells. Case, blanks and the zeros behind a number
do not tell answers apart; "NA" is an answer, not a gap. What is not on the scale is left out and counted.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from itertools import count
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
from attunement.conversations.messages import BadRecord
from attunement.errors import InputError
from attunement.ratings import RaterKind
from attunement.statistics.tables import Floats, Ints
from attunement.store.tables import cell_text, is_na, read_rows, require_columns

UNREADABLE = "in rows that cannot be read"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)")
_NO_YES = ("no", "yes")
_MOST_WORDS = 12  # more different words than this are no scale but remarks


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
    scale: tuple[str, ...] = ()  # the answers from the lowest to the highest, or one text such as "1-5"
    na: tuple[str, ...] = ()  # more words that mean "does not apply"
    by: str | None = None  # a column whose values part the conversations


def read_ratings(path: Path, columns: FileColumns) -> RatingsTable:
    """The ratings in a CSV, TSV, JSONL, JSON, Parquet or XLSX file.

    Raises:
        InputError: The file cannot be read, a column is not there, or it holds no ratings.
    """
    ratings, left_out = _Ratings(columns), Counter[str]()
    for row in read_rows(path):
        if row.fields is None:
            left_out[UNREADABLE] += 1
            continue
        try:
            ratings.add(row.fields)
        except BadRecord as bad:
            raise InputError(f"{path}: {bad.reason}") from bad
    if not ratings.rows:
        raise InputError(f"{path} holds no ratings: each row needs a unit, a rater and a value")
    return ratings.table(left_out)


def _numbers() -> defaultdict[Any, int]:
    """Numbers what it is asked for in the order of appearance."""
    return defaultdict(count().__next__)


class _Ratings:
    """Ratings as they are read, numbered as they come."""

    def __init__(self, columns: FileColumns) -> None:
        self.rows: list[tuple[int, int, int, int, int]] = []  # unit, item, rater, repeat, word
        self._columns = columns
        several = columns.rater if columns.value else (*columns.rater, *columns.judges)
        single = (columns.value, columns.item, columns.system, columns.conversation, columns.repeat, columns.by)
        self._needed = (*columns.unit, *several, *(column for column in single if column is not None))
        self._raters_in_columns = () if columns.value else several
        self._units, self._items, self._raters = _numbers(), _numbers(), _numbers()
        self._repeats, self._words, self._conversations = _numbers(), _numbers(), _numbers()
        self._unit_conversation: list[int] = []
        self._metadata: list[dict[str, Any]] = []

    def add(self, fields: Mapping[str, Any]) -> None:
        require_columns(self._needed, tuple(fields))
        columns = self._columns

        def cell(column: str | None, absent: str = "") -> str:
            return absent if column is None else cell_text(fields[column]).strip()

        names = tuple(map(cell, columns.unit)) or (str(len(self._units) + 1),)
        system = cell(columns.system)
        unit = self._units[*names, system]
        if unit == len(self._unit_conversation):
            conversation = self._conversations[system, cell(columns.conversation, " / ".join(names))]
            self._unit_conversation.append(conversation)
            if conversation == len(self._metadata):
                self._metadata.append({columns.by: cell(columns.by)} if columns.by else {})
        item, repeat = self._items[cell(columns.item, "value")], self._repeats[cell(columns.repeat, "0")]
        answers = [(name, cell(name)) for name in self._raters_in_columns]
        for rater, word in answers or [(cell(columns.rater[0]), cell(columns.value))]:
            if rater and word:  # a blank cell is no rating
                self.rows.append((unit, item, self._raters[rater], repeat, self._words[word]))

    def table(self, left_out: Counter[str]) -> RatingsTable:
        columns, raters = self._columns, list(self._raters)
        for judge in sorted(columns.judges):
            if judge not in raters:
                raise InputError(f"there is no rater {judge!r}; there are {', '.join(raters[:8])}")
        meaning = _understand(list(self._words), columns.scale, columns.na)
        unit, item, rater, repeat, word = np.array(self.rows, dtype=np.int64).T
        ratings = Long(
            conversation=np.array(self._unit_conversation)[unit],
            turn=unit,
            item=item,
            rater=rater,
            repeat=self._repeat_order()[repeat],
            state=meaning.states[word],
            value=meaning.values[word],
        )
        off = ratings.state == AnswerState.NOT_ASKED
        if off.any():
            left_out[OFF_SCALE] += int(off.sum())
        ratings = ratings.only(~off)
        self._check_once(ratings)
        conversations = [
            ConversationInfo(0, Identity(*names), metadata)
            for names, metadata in zip(self._conversations, self._metadata, strict=True)
        ]
        return numbered(
            ratings,
            tuple(RatedItem(name, "", meaning.scale) for name in self._items),
            tuple(
                RaterRef(name, RaterKind.MODEL if name in columns.judges else RaterKind.PERSON, {}) for name in raters
            ),
            lambda keys: [conversations[key] for key in keys.tolist()],
            left_out,
            meaning.notes,
        )

    def _check_once(self, ratings: Long) -> None:
        """Refuse two ratings of one unit by one rater, because which of them counts is for the user to say."""
        keys = np.stack([ratings.turn, ratings.item, ratings.rater, ratings.repeat])
        order = np.lexsort(keys[::-1])
        twice = order[:-1][(np.diff(keys[:, order]) == 0).all(axis=0)]
        if twice.size:
            unit, rater = list(self._units)[ratings.turn[twice[0]]], list(self._raters)[ratings.rater[twice[0]]]
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
    """What each of the words that occur means."""

    scale: Scale
    values: Floats  # for each word its value, NaN for none
    states: Ints  # for each word an `AnswerState`; NOT_ASKED where it is not on the scale
    notes: tuple[str, ...]


def _understand(words: Sequence[str], answers: tuple[str, ...], also_na: Collection[str]) -> _Meaning:
    na = {_folded(word) for word in also_na} | {_folded(word) for word in words if is_na(word)}
    scale, notes = _named(answers) if answers else _observed({*map(_folded, words)} - na)
    number = {_folded(word): value for word, value in zip(scale.words, scale.values, strict=True)}
    values, states = np.full(len(words), np.nan), np.zeros(len(words), dtype=np.int64)
    spelled: dict[str, list[str]] = {}
    for place, word in enumerate(words):
        folded = _folded(word)
        if folded in na:
            states[place] = AnswerState.NA
        elif folded in number:
            values[place], states[place] = number[folded], AnswerState.VALUE
            spelled.setdefault(folded, []).append(word)
    folds = [f"{_quoted(sorted(forms))} were read as the same answer." for forms in spelled.values() if len(forms) > 1]
    return _Meaning(scale, values, states, (*notes, *folds))


def _folded(word: str) -> str:
    """The word without what does not change its meaning: case, blanks around it, and zeros behind a number."""
    word = " ".join(word.split()).casefold()
    return f"{float(word):g}" if _NUMBER.fullmatch(word) else word


def _numeric(values: Sequence[float], *, observed: bool = False) -> Scale:
    return Scale(tuple(values), tuple(f"{value:g}" for value in values), observed=observed)


def _named(answers: tuple[str, ...]) -> tuple[Scale, tuple[str, ...]]:
    if len(answers) == 1 and (span := re.fullmatch(r"\s*(-?\d+)\s*(?:-|to|\.\.)\s*(-?\d+)\s*", answers[0])):
        low, high = int(span[1]), int(span[2])
        if not low < high <= low + 1000:
            raise InputError(f"--scale {answers[0]}: name the lowest and the highest answer, such as 1-5")
        return _numeric([float(number) for number in range(low, high + 1)]), ()
    if len(answers) < 2 or len({_folded(answer) for answer in answers}) < len(answers):
        raise InputError("--scale: name at least two different answers, lowest first, such as 1-5 or no,yes")
    if all(_NUMBER.fullmatch(answer.strip()) for answer in answers):
        return _numeric(sorted(float(answer) for answer in answers)), ()
    return Scale(tuple(map(float, range(len(answers)))), tuple(" ".join(answer.split()) for answer in answers)), ()


def _observed(folded: Collection[str]) -> tuple[Scale, tuple[str, ...]]:
    words = tuple(sorted(folded))
    taken = "No scale was named, so it is taken to be what occurs"
    if words and all(_NUMBER.fullmatch(word) for word in words):
        values = sorted(float(word) for word in words)
        shown = f"{values[0]:g} to {values[-1]:g} ({len(values)} different values)"
        return _numeric(values, observed=True), (f"{taken}: {shown}; --scale names it.",)
    if len(words) > _MOST_WORDS:
        raise InputError(
            f"there are {len(words)} different answers, from {words[0][:40]!r} to {words[-1][:40]!r}: name the "
            "scale with --scale"
        )
    if set(words) <= set(_NO_YES):
        return Scale((0.0, 1.0), _NO_YES, observed=True), (f"{taken}: no and yes.",)
    note = f"{taken}, without an order: {_quoted(words)}; --scale names it from the lowest to the highest."
    return Scale(tuple(map(float, range(len(words)))), words, ordered=False, observed=True), (note,)


def _quoted(words: Sequence[str]) -> str:
    return ", ".join(f"“{word[:40]}”" for word in words)
