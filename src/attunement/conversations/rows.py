"""Put the rows of a table together into conversations: one message a row, one exchange a row, or one call a row.

Rows of one conversation need not follow each other: logs are written as messages arrive. They are grouped by the id of
the conversation, split by system, and sorted by the column with the number of the turn or else with the time. A table
without a conversation id is one conversation. The rows wait in a temporary file, so memory does not grow with a table.
"""

import pickle
import re
from collections.abc import Iterable, Iterator
from contextlib import closing
from datetime import UTC, datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any

from attunement.conversations.json_files import BadRecord, Record, is_object
from attunement.conversations.messages import Message
from attunement.conversations.shapes import RowShape

if TYPE_CHECKING:
    import sqlite3

_BLANK = (None, "")


class Unskippable(BadRecord):
    """A record that `--skip-invalid` must not leave out, because one option or one correction helps the whole file."""


class RowGroup(dict[str, Any]):
    """The rows of one conversation as one record: a column with one distinct value is that value, others are a list."""

    def __init__(self, shape: RowShape, rows: list[dict[str, Any]]) -> None:
        super().__init__()
        self.shape = shape
        self.rows = rows
        for key in dict.fromkeys(key for row in rows for key in row):
            cells = [row.get(key) for row in rows]
            filled = [cell for cell in cells if cell not in _BLANK]
            self[key] = next(iter(filled), cells[0]) if all(cell == filled[0] for cell in filled) else cells

    def messages(self) -> Iterator[Message]:
        """The messages of the rows. A call that repeats all messages before it adds only what is new."""
        said: list[Message] = []
        for number, row in enumerate(self.rows, 1):
            try:
                part = list(self.shape.part.read(row))
            except BadRecord as error:
                raise BadRecord(re.sub(r"^message 1\b", f"message {number}", error.reason)) from None
            said = part if len(part) > len(said) and part[: len(said)] == said else said + part
        return iter(said)


def put_together(records: Iterable[Record], shape: RowShape, notes: list[str]) -> Iterator[Record]:
    """Combine the rows of `records`, so that each record is one conversation; `notes` says how."""
    with closing(_connected()) as database:
        for number, record in enumerate(records):
            reason = _why_unfit(record.value, shape)
            if reason:
                line = record.value.line if isinstance(record.value, BadRecord) else None
                bad = Unskippable(f"{reason}; a conversation would be incomplete without this row", line)
                yield record._replace(value=bad)
                return
            id = record.value.get(shape.id) if shape.id else ""
            key = str(f"row {number}" if id in _BLANK and shape.id else f"id {id}").encode("utf-8", "surrogatepass")
            database.execute("INSERT INTO rows VALUES (?, ?, ?)", (number, key, pickle.dumps(record)))
        query = """
            SELECT id, record FROM rows JOIN (SELECT id, MIN(number) AS first FROM rows GROUP BY id) USING (id)
            ORDER BY first, number
        """
        count = 0
        by_time = set[bool]()
        for _, found in groupby(database.execute(query), key=lambda row: row[0]):
            rows: list[Record] = [pickle.loads(record) for _, record in found]  # noqa: S301 - we wrote it
            count += len(rows)
            for part in _by_system(rows, shape.system):
                yield _group(part, shape, by_time)
        if shape.id is None:
            return
        order = f" and sorted by '{shape.number}'" if shape.number else ""
        if not order and shape.time:
            unsorted = f"; the times in '{shape.time}' cannot be read, so rows stay in the order of the file"
            order = f" and sorted by '{shape.time}'" if by_time == {True} else unsorted
        notes.append(f"grouped {count:,} rows by '{shape.id}'{order}")


def _connected() -> "sqlite3.Connection":
    import sqlite3

    # With an empty name, SQLite creates a private file and deletes it.
    database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
    database.execute("PRAGMA journal_mode = OFF")
    database.execute("CREATE TABLE rows (number INTEGER PRIMARY KEY, id BLOB, record BLOB)")
    database.execute("BEGIN")
    return database


def _why_unfit(value: Any, shape: RowShape) -> str | None:
    if isinstance(value, BadRecord):
        return value.reason
    if not is_object(value):
        return "this is not a row"
    # A message without an id belongs somewhere; an exchange without one is a conversation of its own.
    blank = shape.id is not None and value.get(shape.id) in _BLANK and shape.is_message
    return f"this row has no id of its conversation in '{shape.id}'" if blank else None


def _by_system(rows: list[Record], column: str | None) -> Iterator[list[Record]]:
    """The rows of each system; a row without one belongs to the next row that has one, or to the last."""
    systems = [row.value.get(column) if column else None for row in rows]
    named = dict.fromkeys(str(system) for system in systems if system not in _BLANK)
    if len(named) < 2:
        yield rows
        return
    parts: dict[str, list[Record]] = {name: [] for name in named}
    waiting: list[Record] = []
    last = ""
    for row, system in zip(rows, systems, strict=True):
        waiting.append(row)
        if system not in _BLANK:
            last = str(system)
            parts[last] += waiting
            waiting = []
    parts[last] += waiting
    yield from parts.values()


def _group(rows: list[Record], shape: RowShape, by_time: set[bool]) -> Record:
    value: RowGroup | BadRecord
    ordered: list[dict[str, Any]] = [row.value for row in rows]
    try:
        if (number := shape.number) is not None and len(rows) > 1:
            # Rows with equal numbers stay in file order, as when both messages of a turn have the same number.
            ordered.sort(key=lambda row: float(row[number]))
        elif shape.time is not None and len(rows) > 1:
            times = [time for row in ordered if (time := _time(row.get(shape.time))) is not None]
            by_time.add(len(times) == len(ordered))
            if len(times) == len(ordered):
                if times == sorted(times, reverse=True):
                    ordered.reverse()  # the newest is first, so rows of the same second are in reverse, too
                    times.reverse()
                places = sorted(range(len(times)), key=times.__getitem__)
                ordered = [ordered[place] for place in places]
        value = RowGroup(shape, ordered)
    except (KeyError, TypeError, ValueError):
        value = BadRecord(f"the turns of this conversation are not numbered in the column '{shape.number}'")
    whole = [row.raw if isinstance(row.raw, str) else row.raw.decode("utf-8", "surrogateescape") for row in rows]
    return Record(rows[0].line, value, "".join(whole))


def _time(value: Any) -> float | None:
    """A time as a number: ISO 8601, seconds and their fractions since 1970, or a time of day; else None."""
    text = str(value).strip()
    if re.fullmatch(r"\d{1,20}(?:\.\d+)?", text):
        return float(text)
    try:
        if re.fullmatch(r"\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?", text):
            text = f"1970-01-01 {text.zfill(5) if text.count(':') == 1 else text.zfill(8)}"
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
