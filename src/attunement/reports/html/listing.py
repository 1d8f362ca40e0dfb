"""The list of conversations: their order, and which of them match a filter.

Scorecards are computed when they are read, so a list would have to score the whole study for each page. Instead, one
pass writes a row for each conversation into a temporary SQLite file and numbers the rows by seriousness. The file has
no name and disappears when the list is closed or no longer used.
"""

import json
import re
import sqlite3
import weakref
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from itertools import islice
from threading import Lock
from typing import Any, Literal, NamedTuple, Self

from attunement.errors import InputError

NEEDS_PERSON = "needs a person"

_PAGE = 1000


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
    words: str = ""  # What was said and why it was judged so, for the search. It is not saved with the row.


class Placed(NamedTuple):
    place: int  # in the whole list, from 1
    row: Row


class Filter(NamedTuple):
    """What a reader is looking for; what is None or empty does not choose."""

    system: str | None = None
    scenario: str | None = None
    status: str | None = None
    item: int | None = None  # The number of an item of the instrument, from 0
    answers: int | None = None  # Any of these answers to `item`, or to any item, as bits
    flags: tuple[str, ...] = ()  # Each of these; of several between bars, any
    # Words that all occur in the names of the conversation; where the list knows what was said, also beginnings of
    # words in either
    text: str = ""


class Listing:
    """The rows of a study. Several threads may read it once it is filled."""

    def __init__(self, *, words: bool = False) -> None:
        """An empty list; with `words` it can be searched for what was said, where SQLite has a full-text index."""
        self._lock = Lock()
        self._base = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self._close = weakref.finalize(self, self._base.close)
        self._base.executescript(_SCHEMA)
        self.knows_words = words and self._make_index()

    def _make_index(self) -> bool:
        try:
            # Only which words occur in which conversation is saved, neither the texts nor the places in them.
            self._base.execute("CREATE VIRTUAL TABLE words USING fts5(text, content='', detail='none')")
        except sqlite3.OperationalError:  # this SQLite was built without it
            return False
        return True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._close()

    def fill(self, rows: Iterable[Row]) -> None:
        """Add all rows, once: by status, in it those that need a person first, then the lowest score."""
        remaining = iter(rows)
        try:
            while batch := list(islice(remaining, _PAGE)):
                with self._lock:
                    self._base.executemany(_INSERT, map(_stored, batch))
                    if self.knows_words:
                        said = ((row.key, f"{row.system} {row.id} {row.scenario} {row.words}") for row in batch)
                        self._base.executemany("INSERT INTO words (rowid, text) VALUES (?, ?)", said)
            with self._lock:
                self._base.executescript(_SORT)
        except sqlite3.Error as error:
            raise InputError(f"the list of conversations cannot be saved in a temporary file: {error}") from error

    def count(self, chosen: Filter | None = None) -> int:
        where, values = self._where(chosen or Filter())
        return self._select(f"SELECT count(*) FROM rows WHERE {where}", values)[0][0]  # noqa: S608 - values are bound

    def rows(self, chosen: Filter | None = None, *, after: int = 0, most: int | None = None) -> Iterator[Placed]:
        """The rows that match, in order, without the first `after`, and at most so many; read page by page."""
        where, values = self._where(chosen or Filter())
        query = f"SELECT place, row FROM rows WHERE {where} ORDER BY place LIMIT ? OFFSET ?"  # noqa: S608 - as above
        end = None if most is None else after + most
        while page := self._select(query, [*values, _PAGE if end is None else min(end - after, _PAGE), after]):
            after += len(page)
            yield from (Placed(place, _row(row)) for place, row in page)

    def find(self, key: int) -> Placed | None:
        """The row of the conversation with this key, and its place in the whole list."""
        return next(
            (Placed(at, _row(row)) for at, row in self._select("SELECT place, row FROM rows WHERE key = ?", [key])),
            None,
        )

    def around(self, key: int, chosen: Filter) -> tuple[int, Placed | None, Placed | None]:
        """How many rows that match come before this conversation, and those directly before and after it."""
        own = self.find(key)
        if own is None:
            return 0, None, None
        where, values = self._where(chosen)
        query = f"SELECT count(*) FROM rows WHERE {where} AND place < ?"  # noqa: S608 - as above
        earlier = self._select(query, [*values, own.place])[0][0]
        near = list(self.rows(chosen, after=max(earlier - 1, 0), most=3))
        before = next((one for one in near if one.place < own.place), None)
        return earlier, before, next((one for one in near if one.place > own.place), None)

    def names(self, column: Literal["system", "scenario", "status"], most: int) -> list[str]:
        """The systems, scenarios or words of statuses that occur, in order; no more than `most`."""
        query = f"SELECT DISTINCT {column} FROM rows WHERE {column} != '' ORDER BY 1 LIMIT ?"  # noqa: S608
        return [name for (name,) in self._select(query, [most])]

    def _select(self, query: str, values: Sequence[Any]) -> list[Any]:
        with self._lock:
            return self._base.execute(query, values).fetchall()

    def _where(self, chosen: Filter) -> tuple[str, list[Any]]:
        terms, values = ["TRUE"], list[Any]()
        for column in ("system", "scenario", "status"):
            if (wanted := getattr(chosen, column)) is not None:
                terms.append(f"{column} = ?")
                values.append(wanted)
        if chosen.item is not None or chosen.answers is not None:
            terms.append(
                "any_answers & ?" if chosen.item is None else f"json_extract(answers, '$[{chosen.item:d}]') & ?"
            )
            values.append(-1 if chosen.answers is None else chosen.answers)
        for flag in chosen.flags:
            terms.append("(" + " OR ".join(["flags LIKE ?"] * len(flag.split("|"))) + ")")
            values += [f'%"{one}"%' for one in flag.split("|")]
        if words := chosen.text.casefold().split():
            named = " AND ".join(["instr(names, ?)"] * len(words))
            values += words
            if self.knows_words and (parts := _PARTS.findall(chosen.text)):
                named = f"({named}) OR key IN (SELECT rowid FROM words WHERE words MATCH ?)"  # noqa: S608
                values.append(" AND ".join(f'"{part}"*' for part in parts))
            terms.append(f"({named})")
        return " AND ".join(terms), values


_PARTS = re.compile(r"[^\W_]+")
_COLUMNS = "key, system, scenario, status, any_answers, answers, flags, names, row, rank, calm, low"
_SCHEMA = f"""
    PRAGMA journal_mode = OFF;
    CREATE TABLE unsorted ({_COLUMNS});
    CREATE TABLE rows (place INTEGER PRIMARY KEY, {_COLUMNS});
"""
_INSERT = f"INSERT INTO unsorted ({_COLUMNS}) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)"  # noqa: S608 - our own names
_SORT = f"""
    INSERT INTO rows ({_COLUMNS}) SELECT {_COLUMNS} FROM unsorted ORDER BY rank, calm, low, key;
    DROP TABLE unsorted;
    CREATE UNIQUE INDEX by_key ON rows (key);
"""  # noqa: S608 - our own names


def _stored(row: Row) -> tuple[Any, ...]:
    return (
        *(row.key, row.system, row.scenario, row.status, reduce(lambda one, other: one | other, row.answers, 0)),
        *(json.dumps(row.answers), json.dumps(row.flags), f"{row.system} {row.id} {row.scenario}".casefold()),
        json.dumps(row._replace(words="")),
        row.rank,
        NEEDS_PERSON not in row.flags,
        -1.0 if row.score is None else row.score,  # no score comes before the lowest
    )


def _row(stored: str) -> Row:
    row = Row(*json.loads(stored))
    return row._replace(failed=tuple(row.failed), answers=tuple(row.answers), flags=tuple(row.flags))
