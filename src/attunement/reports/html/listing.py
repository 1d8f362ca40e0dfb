"""Which conversations are there, in which order, and which of them fit a filter?

A scorecard is made when it is read, so a list of all conversations would have to score the whole study each time. One
pass writes a row for each conversation into a scratch database on disk; from then on rows are read in order of
seriousness, page by page, whatever the size of the study.
"""

import json
import sqlite3
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self

from attunement.errors import InputError

NEEDS_PERSON = "needs a person"

_PAGE = 500


class Row(NamedTuple):
    """A conversation as a list shows and filters it. Its texts are as they are shown."""

    key: int
    system: str
    id: str
    scenario: str
    turns: int
    status: str
    """The word of its status."""
    rank: int
    """The rank of its status."""
    score: float | None
    score_words: str
    failed: tuple[str, ...]
    """The items that are not met."""
    answers: tuple[int, ...]
    """For each item of the instrument the answers it got, as bits in the order of `statuses.possible`."""
    flags: tuple[str, ...]
    """What is worth knowing, in words that are also filters."""


class Placed(NamedTuple):
    """A row and its place in the list, from 1."""

    place: int
    row: Row


class Filter(NamedTuple):
    """What a reader is looking for; what is None or empty does not choose."""

    system: str | None = None
    scenario: str | None = None
    status: str | None = None
    item: int | None = None
    """The number of an item of the instrument, from 0."""
    answers: int | None = None
    """Any of these answers to `item`, or to any item, as bits."""
    flags: tuple[str, ...] = ()
    """Each of these; of several between bars, any."""
    text: str = ""
    """Words in the names of the conversation."""


class Listing:
    """The rows of a study in a scratch database, which is deleted when it is closed."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="attunement-")
        # Pages may be served from several threads; by then the list does not change any more.
        self._base = sqlite3.connect(Path(self._folder.name) / "rows.db", check_same_thread=False)
        self._base.executescript(_SCHEMA)
        self._base.create_function("answered", 3, _answered, deterministic=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Delete the list."""
        self._base.close()
        self._folder.cleanup()

    def fill(self, rows: Iterable[Row]) -> None:
        """Take in all rows and put them in order: by status, those that need a person first, the lowest score first."""
        try:
            self._base.executemany("INSERT INTO rows VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)", map(_stored, rows))
            self._base.execute("INSERT INTO places (key) SELECT key FROM rows ORDER BY rank, calm, score, key")
            self._base.commit()
        except sqlite3.Error as error:
            raise InputError(f"the list of conversations cannot be kept in {self._folder.name}: {error}") from error

    def count(self, chosen: Filter | None = None) -> int:
        """How many conversations there are, or fit a filter."""
        where, values = _where(chosen or Filter())
        query = "SELECT count(*) FROM rows" + where  # noqa: S608 - values are bound, none is in the text
        return self._base.execute(query, values).fetchone()[0]

    def rows(self, chosen: Filter | None = None, *, after: int = 0, most: int | None = None) -> Iterator[Placed]:
        """The rows behind a place in order, at most so many; read page by page."""
        where, values = _where(chosen or Filter(), "place > ?")
        query = _SELECT + where + " ORDER BY place LIMIT ?"
        while most is None or most > 0:
            size = _PAGE if most is None else min(most, _PAGE)
            page = self._base.execute(query, [after, *values, size]).fetchall()
            for found in page:
                yield _placed(found)
            if len(page) < size:
                return
            after = page[-1][0]
            most = None if most is None else most - size

    def find(self, key: int) -> Placed | None:
        """The row of the conversation with this key."""
        found = self._base.execute(_SELECT + " WHERE rows.key = ?", [key]).fetchone()
        return None if found is None else _placed(found)

    def names(self, column: Literal["system", "scenario"], most: int) -> list[str]:
        """The systems or scenarios that occur, in order; no more than `most`."""
        return [name for (name,) in self._base.execute(_NAMES[column], [most])]


_NAMES = {
    "system": "SELECT DISTINCT system FROM rows ORDER BY 1 LIMIT ?",
    "scenario": "SELECT DISTINCT scenario FROM rows WHERE scenario != '' ORDER BY 1 LIMIT ?",
}
_SCHEMA = """
    PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;
    CREATE TABLE rows (key INTEGER PRIMARY KEY, system, id, scenario, turns, status, rank, score, score_words,
        failed, answers, flags, calm);
    CREATE TABLE places (place INTEGER PRIMARY KEY, key INTEGER UNIQUE);
"""
_SELECT = (
    "SELECT place, rows.key, system, id, scenario, turns, status, rank, score, score_words, failed, answers, flags "
    "FROM places JOIN rows ON rows.key = places.key"
)


def _stored(row: Row) -> tuple[Any, ...]:
    listed = (json.dumps(listed) for listed in (row.failed, row.answers, row.flags))
    return *row[:9], *listed, NEEDS_PERSON not in row.flags


def _placed(found: tuple[Any, ...]) -> Placed:
    row = Row(*found[1:])
    failed, answers, flags = (json.loads(listed) for listed in found[-3:])
    return Placed(found[0], row._replace(failed=tuple(failed), answers=tuple(answers), flags=tuple(flags)))


def _where(chosen: Filter, *first: str) -> tuple[str, list[Any]]:
    """The condition and its values; those of `first` are the caller's and come first."""
    terms, values = list(first), list[Any]()
    for column, wanted in (("system", chosen.system), ("scenario", chosen.scenario), ("status", chosen.status)):
        if wanted is not None:
            terms.append(f"{column} = ?")
            values.append(wanted)
    if chosen.item is not None or chosen.answers is not None:
        terms.append("answered(answers, ?, ?)")
        values += [chosen.item, -1 if chosen.answers is None else chosen.answers]
    for flag in chosen.flags:
        terms.append("(" + " OR ".join(["flags LIKE ?"] * len(flag.split("|"))) + ")")
        values += [f'%"{one}"%' for one in flag.split("|")]
    for word in chosen.text.split():
        terms.append("instr(lower(system || ' ' || id || ' ' || scenario), lower(?))")
        values.append(word)
    return (" WHERE " + " AND ".join(terms) if terms else ""), values


def _answered(answers: str, item: int | None, bits: int) -> bool:
    given: list[int] = json.loads(answers)
    return any(one & bits for one in (given if item is None else given[item : item + 1]))
