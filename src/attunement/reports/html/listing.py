"""The list of conversations: their order, and which of them fit a filter.

A scorecard is made when it is read, so a list of all conversations would have to score the whole study each time. One
pass writes a row for each conversation into a scratch database on disk; from then on rows are read in order of
seriousness, page by page, whatever the size of the study. What is written can be read at once, from other threads too.
"""

import json
import re
import sqlite3
import tempfile
import threading
from array import array
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import chain, islice
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from attunement.errors import InputError

NEEDS_PERSON = "needs a person"

_PAGE = 500
_BATCH = 200  # Rows that are kept at a time: what is kept can be read
_MOST_NAMES = 500  # Systems, and scenarios, that are offered; a longer choice helps nobody
_REMEMBERED = 16  # Filters whose rows are remembered
_MAPPED = 1 << 28  # Bytes of the scratch database that are read as memory, without asking the system for each page

Named = Literal["system", "scenario", "status"]


class Row(NamedTuple):
    """A conversation as a list shows and filters it. Its texts are as they are shown."""

    key: int
    system: str
    id: str
    scenario: str
    turns: int
    status: str  # The word of its status
    rank: int  # The rank of its status
    score: float | None
    score_words: str
    failed: tuple[str, ...]  # The items that are not met
    # For each item of the instrument the answers it got, as bits in the order of `possible_answers`
    answers: tuple[int, ...]
    flags: tuple[str, ...]  # What is worth knowing, in words that are also filters
    words: str = ""  # What was said and why it was judged so, for the search. It is not kept with the row.


class Placed(NamedTuple):
    place: int
    row: Row


class Filter(NamedTuple):
    """What a reader is looking for; what is None or empty does not choose."""

    system: str | None = None
    scenario: str | None = None
    status: str | None = None
    item: int | None = None  # The number of an item of the instrument, from 0
    answers: int | None = None  # Any of these answers to `item`, or to any item, as bits
    flags: tuple[str, ...] = ()  # Each of these; of several between bars, any
    # Words that all stand in the names of the conversation; where the list knows what was said, also beginnings of
    # words in either
    text: str = ""


class Listing:
    """The rows of a study in a scratch database, which is deleted when it is closed."""

    def __init__(self, *, words: bool = False) -> None:
        """An empty list; with `words` it can be searched for what was said, where SQLite knows how to."""
        self._folder = tempfile.TemporaryDirectory(prefix="attunement-")
        self._own = threading.local()
        self._opened: list[sqlite3.Connection] = []
        self._names: dict[Named, dict[str, None]] = {"system": {}, "scenario": {}, "status": {}}
        self._known: dict[Filter, array[int]] = {}  # By filter the keys that fit, in order; empty while rows come in
        self._whole = False
        self._base.executescript(_SCHEMA)
        self.knows_words = words and self._make_index()

    def _make_index(self) -> bool:
        try:
            # Only which words occur in which conversation is kept, neither the texts nor the places in them.
            self._base.execute("CREATE VIRTUAL TABLE words USING fts5(text, content='', detail='none')")
        except sqlite3.OperationalError:  # this SQLite was built without it
            return False
        return True

    @property
    def _base(self) -> sqlite3.Connection:
        base: sqlite3.Connection | None = getattr(self._own, "base", None)
        if base is None:
            path = Path(self._folder.name) / "rows.db"
            base = self._own.base = sqlite3.connect(path, timeout=60, check_same_thread=False)
            base.execute("PRAGMA synchronous = OFF")
            base.execute(f"PRAGMA mmap_size = {_MAPPED}")
            self._opened.append(base)
        return base

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        for base in self._opened:
            base.close()
        self._folder.cleanup()

    def fill(self, rows: Iterable[Row]) -> None:
        """Add all rows. Their order is by status, those that need a person first, the lowest score first."""
        remaining = iter(rows)
        while batch := list(islice(remaining, _BATCH)):
            self._save(batch)
        self._whole = True

    def _save(self, rows: list[Row]) -> None:
        for column, names in self._names.items():
            for row in rows:
                if len(names) < _MOST_NAMES and (name := getattr(row, column)):
                    names[name] = None
        try:
            with self._base as base:
                base.executemany(_INSERT, map(_stored, rows))
                if self.knows_words:
                    base.executemany(
                        "INSERT INTO words (rowid, text) VALUES (?, ?)",
                        ((row.key, f"{row.system} {row.id} {row.scenario} {row.words}") for row in rows),
                    )
        except sqlite3.Error as error:
            raise InputError(f"the list of conversations cannot be kept in {self._folder.name}: {error}") from error

    def count(self, chosen: Filter | None = None) -> int:
        return len(self._keys(chosen or Filter()))

    def rows(self, chosen: Filter | None = None, *, after: int = 0, most: int | None = None) -> Iterator[Placed]:
        """The rows that fit, in order, without the first `after`, and at most so many; read page by page."""
        keys = self._keys(chosen or Filter())
        end = len(keys) if most is None else min(after + most, len(keys))
        for start in range(after, end, _PAGE):
            yield from self._placed(keys, start, min(start + _PAGE, end))

    def page(self, chosen: Filter, *, after: int, most: int) -> tuple[int, list[Placed]]:
        """How many rows fit, and those without the first `after`, at most so many.

        What was found is remembered, so that the next page of the same filter comes at once.
        """
        keys = self._keys(chosen)
        return len(keys), self._placed(keys, after, min(after + most, len(keys)))

    def find(self, key: int) -> Placed | None:
        """The row of the conversation with this key, and its place in the whole list."""
        keys = self._keys(Filter())
        if key not in keys:
            return None
        place = keys.index(key)
        return self._placed(keys, place, place + 1)[0]

    def _placed(self, keys: "array[int]", start: int, end: int) -> list[Placed]:
        wanted = keys[start:end]
        query = f"{_SELECT} WHERE key IN ({','.join('?' * len(wanted))})"
        found = {row[-1]: row for row in self._base.execute(query, wanted)}
        return [Placed(place, _row(found[key])) for place, key in enumerate(wanted, start=start + 1)]

    def _keys(self, chosen: Filter) -> "array[int]":
        known = self._known.get(chosen)
        if known is not None:
            return known
        if chosen == Filter():
            found = array("q", self._column(f"SELECT key FROM rows{_ORDER}"))  # noqa: S608 - no value is in the text
        else:
            # What fits is looked for as the rows lie, and then put in the order of all, which is known already: to look
            # up each row in that order, or to sort those that fit, would take several times as long.
            fitting = self._fitting(chosen)
            found = array("q", filter(fitting.__contains__, self._keys(Filter())))
        if self._whole:
            while len(self._known) >= _REMEMBERED:
                self._known.pop(next(iter(self._known)), None)
            self._known[chosen] = found
        return found

    def _fitting(self, chosen: Filter) -> set[int]:
        where, values = _where(chosen)
        said = self._said(chosen.text) if chosen.text.split() else None
        if said is not None and not where:
            return said
        fitting = set(self._column(f"SELECT key FROM rows NOT INDEXED{where}", values))  # noqa: S608 - values are bound
        return fitting if said is None else fitting & said

    def _said(self, text: str) -> set[int]:
        words = text.casefold().split()
        where = " AND ".join(["instr(names, ?)"] * len(words))
        found = set(self._column(f"SELECT key FROM rows NOT INDEXED WHERE {where}", words))  # noqa: S608 - as above
        if self.knows_words and (parts := _PARTS.findall(text)):
            sought = " AND ".join(f'"{part}"*' for part in parts)
            found.update(self._column("SELECT rowid FROM words WHERE words MATCH ?", [sought]))
        return found

    def _column(self, query: str, values: Sequence[Any] = ()) -> Iterator[int]:
        return chain.from_iterable(self._base.execute(query, values))

    def names(self, column: Named, most: int) -> list[str]:
        """The systems, scenarios or words of statuses that occur, in order; no more than `most`, nor than 500."""
        return sorted(self._names[column].copy())[:most]


_PARTS = re.compile(r"[^\W_]+")
_SCHEMA = """
    PRAGMA journal_mode = WAL;
    CREATE TABLE rows (system, id, scenario, turns, status, score, score_words, failed, answers, flags,
        any_answers, names, rank, calm, low, key INTEGER PRIMARY KEY);
    CREATE INDEX rows_in_order ON rows (rank, calm, low, key);
"""
_INSERT = "INSERT INTO rows VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"
_SELECT = "SELECT system, id, scenario, turns, status, rank, score, score_words, failed, answers, flags, key FROM rows"
_ORDER = " ORDER BY rank, calm, low, key"


def _stored(row: Row) -> tuple[Any, ...]:
    return (
        *(row.system, row.id, row.scenario, row.turns, row.status, row.score, row.score_words),
        *(json.dumps(listed) for listed in (row.failed, row.answers, row.flags)),
        reduce(lambda one, other: one | other, row.answers, 0),
        f"{row.system} {row.id} {row.scenario}".casefold(),
        row.rank,
        NEEDS_PERSON not in row.flags,
        -1.0 if row.score is None else row.score,  # no score comes before the lowest
        row.key,
    )


def _row(found: tuple[Any, ...]) -> Row:
    *plain, failed, answers, flags, key = found
    return Row(key, *plain, *(tuple(json.loads(listed)) for listed in (failed, answers, flags)))


def _where(chosen: Filter) -> tuple[str, list[Any]]:
    terms, values = list[str](), list[Any]()
    for column, wanted in (("system", chosen.system), ("scenario", chosen.scenario), ("status", chosen.status)):
        if wanted is not None:
            terms.append(f"{column} = ?")
            values.append(wanted)
    if chosen.item is not None or chosen.answers is not None:
        terms.append("any_answers & ?" if chosen.item is None else "json_extract(answers, ?) & ?")
        values += [] if chosen.item is None else [f"$[{chosen.item}]"]
        values.append(-1 if chosen.answers is None else chosen.answers)
    for flag in chosen.flags:
        terms.append("(" + " OR ".join(["flags LIKE ?"] * len(flag.split("|"))) + ")")
        values += [f'%"{one}"%' for one in flag.split("|")]
    return (" WHERE " + " AND ".join(terms) if terms else ""), values
