"""A file of answers -> its rows, each with its place, whatever kind of table the file is."""

import importlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from attunement.conversations.readers.formats import Format
from attunement.conversations.readers.jsonfile import json_of_any_kind, lines_of_json, parse_exactly
from attunement.conversations.readers.parquet import parquet_rows
from attunement.conversations.readers.record import BadRecord, Place, Record, is_object, surely_exact
from attunement.conversations.readers.sources import Source, opened
from attunement.conversations.readers.table import rows as table_rows
from attunement.errors import InputError

_WORKBOOKS = frozenset({".xlsx", ".xls", ".ods"})


class Row(NamedTuple):
    """One row of a file; `fields` is None where it cannot be read, for the `reason` given."""

    place: Place
    fields: Mapping[str, Any] | None
    reason: str = ""


def rows(path: Path) -> Iterator[Row]:
    """The rows of a JSONL, JSON, CSV, TSV or Parquet file, or of the first sheet of a workbook.

    Numbers are as the file has them, however long.

    Raises:
        InputError: The file is not there, cannot be read, or is of no such kind.
    """
    if path.suffix.lower() in _WORKBOOKS:
        yield from _sheet(path)
        return
    with opened(Source(path)) as stream:
        for record in _records(path, stream):
            place = Place(path.name, record.line)
            try:
                yield Row(place, _fields(record))
            except BadRecord as bad:
                yield Row(place, None, bad.reason)


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


def _sheet(path: Path) -> Iterator[Row]:
    """The rows of a workbook's first sheet; its first row names the columns, and rows without any cell are no rows."""
    try:
        calamine: Any = importlib.import_module("python_calamine")
    except ImportError:
        raise InputError(f"{path}: to read workbooks, install one more: pip install 'attunement[xlsx]'") from None
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
            yield Row(Place(path.name, line), fields)


def _fields(record: Record) -> Mapping[str, Any]:
    value = record.value
    if isinstance(value, BadRecord):
        raise value
    if not record.exact and not surely_exact(value):
        value = parse_exactly(record.raw)
    if not is_object(value):
        raise BadRecord("this is no record with named fields")
    return {key: _text(entry) if isinstance(entry, str) else entry for key, entry in value.items()}


def _text(value: str) -> str:
    """The text of a cell: a table gives the bytes of a lone surrogate one by one."""
    if value.isascii() or not any("\udc80" <= sign <= "\udcff" for sign in value):
        return value
    try:
        return value.encode("utf-8", "surrogateescape").decode("utf-8", "surrogatepass")
    except UnicodeError:
        return value
