"""A folder of other people's files: is what we need in it, and do its tables have the columns we know?

Cells stay text as they stand in the file: "NA" is an answer, not a gap, and an id of 20 digits keeps its digits.
Columns are found by name, never by place. What does not fit is one sentence with the file and what was expected.
"""

import csv
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from attunement.errors import InputError


@dataclass(frozen=True, slots=True)
class Row:
    """One row of a table, with the words for its place."""

    place: str
    cells: dict[str, str]

    def __getitem__(self, column: str) -> str:
        """The text of a cell, without white space around it."""
        return self.cells[column].strip()


def needed(path: Path, what: str) -> Path:
    """The path, which must exist.

    Raises:
        InputError: It does not; `what` says in the message what should be there.
    """
    if not path.exists():
        raise InputError(f"{path} is not there: {what}")
    return path


def some_folder(path: Path, hint: str) -> Path:
    """The folder that the user named.

    Raises:
        InputError: There is none; `hint` says what it should hold.
    """
    if not path.is_dir():
        what = "is no folder" if path.exists() else "does not exist"
        raise InputError(f"{path} {what}: {hint}")
    return path


def text(path: Path) -> str:
    """The text of a file.

    Raises:
        InputError: It cannot be read, or is not UTF-8.
    """
    try:
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text ({error.reason} at byte {error.start})") from error


def table(path: Path, columns: Iterable[str], what: str) -> list[Row]:
    """The rows of a CSV file that has at least these columns, in any order.

    Raises:
        InputError: The file is absent, is no CSV in UTF-8, lacks a column, or has no row.
    """
    needed(path, what)
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file, strict=True)
            names = reader.fieldnames or []
            if missing := [column for column in columns if column not in names]:
                raise InputError(f"{path} has no column {missing[0]!r}, which is expected; it has {_listed(names)}")
            rows = [Row(f"{path}, line {reader.line_num}", row) for row in reader if _complete(row, path, reader)]
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text ({error.reason} at byte {error.start})") from error
    except (OSError, csv.Error) as error:
        raise InputError(f"{path} cannot be read as a table: {error}") from error
    if not rows:
        raise InputError(f"{path} has no rows: {what}")
    return rows


def by_key(rows: Sequence[Row], keys: Sequence[str]) -> dict[tuple[str, ...], Row]:
    """The rows under the values of these columns.

    Raises:
        InputError: Two rows have the same key.
    """
    found: dict[tuple[str, ...], Row] = {}
    for row in rows:
        key = tuple(row[column] for column in keys)
        if key in found:
            raise InputError(f"{row.place}: {' '.join(key)} stands there for the second time, after {found[key].place}")
        found[key] = row
    return found


def number(row: Row, column: str) -> float:
    """The number in a cell.

    Raises:
        InputError: There is none.
    """
    try:
        value = float(row[column])
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(f"{row.place}: {column} is {row[column][:40]!r}, and a number is expected")
    return value


def _complete(row: dict[str | None, str | None], path: Path, reader: "csv.DictReader[str]") -> bool:
    """Refuse a row that is shorter or longer than the heading; its cells would stand under the wrong names."""
    if None in row or None in row.values():
        raise InputError(
            f"{path}, line {reader.line_num}: this row does not have {len(reader.fieldnames or [])} cells, as many as "
            "the heading"
        )
    return True


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:12])
    return f"{shown} and {len(names) - 12} more" if len(names) > 12 else shown or "none"
