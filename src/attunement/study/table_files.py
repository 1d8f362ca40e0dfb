"""Rows -> a file that other programs read: JSONL, CSV or Parquet.

Rows are written as they come, so that memory stays flat, and a file appears whole or not at all.
"""

import csv
import importlib
import io
import sys
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple

from attunement.conversations.writing import STDOUT, encode, replacing
from attunement.errors import InputError
from attunement.study.encoding import to_json

Format = Literal["jsonl", "csv", "parquet"]
Record = dict[str, Any]


class Column(NamedTuple):
    """A column. JSONL holds its values as they are; a table holds `json` as JSON text and `value` as text."""

    name: str
    kind: Literal["text", "value", "integer", "number", "flag", "json"] = "text"


class Export(NamedTuple):
    """Rows to be written, and their columns. A row may leave out what it does not have."""

    columns: Sequence[Column]
    records: Iterable[Record]


def write(export: Export, target: str | Path, format: Format) -> int:
    """Write to a file, or to standard output for `-`, and say how many rows there were.

    Raises:
        InputError: The file cannot be written, or a text does not fit the format.
    """
    writer = _WRITERS[format]
    if str(target) == STDOUT:
        return writer(export, sys.stdout.buffer)
    with replacing(Path(target)) as stream:
        return writer(export, stream)


def format_of(target: str) -> Format:
    """The format that a file's name asks for; standard output gets JSONL."""
    suffix = Path(target).suffix.lower()
    for format in ("jsonl", "csv", "parquet"):
        if suffix == f".{format}":
            return format
    if target == STDOUT:
        return "jsonl"
    raise InputError(f"{target}: say what to write with --format jsonl, csv or parquet, or let the name end so")


def _write_lines(export: Export, stream: Any) -> int:
    count = 0
    for record in export.records:
        stream.write(encode({column.name: record.get(column.name) for column in export.columns}) + b"\n")
        count += 1
    return count


def _write_csv(export: Export, stream: Any) -> int:
    # Lone surrogates are written as our own reader reads them; no other encoding of them exists.
    text = io.TextIOWrapper(stream, "utf-8", errors="surrogatepass", newline="", write_through=True)
    try:
        # Lines end in CRLF, as CSV has it: the writer then quotes a text with either sign in it.
        writer = csv.writer(text, lineterminator="\r\n")
        writer.writerow([column.name for column in export.columns])
        count = 0
        for record in export.records:
            writer.writerow([_cell(record.get(column.name), column) for column in export.columns])
            count += 1
        return count
    finally:
        text.detach()


def _cell(value: Any, column: Column) -> Any:
    """The value as a table can hold it."""
    if value is None:
        return None
    if column.kind == "json":
        return to_json(value)
    return str(value) if column.kind == "value" else value


def _write_parquet(export: Export, stream: Any) -> int:
    try:
        arrow: Any = importlib.import_module("pyarrow")
        parquet: Any = importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise InputError(
            "to write Parquet files, install one more package: pip install 'attunement[parquet]'"
        ) from error
    kinds = {"integer": arrow.int64(), "number": arrow.float64(), "flag": arrow.bool_()}
    schema = arrow.schema([(column.name, kinds.get(column.kind, arrow.string())) for column in export.columns])
    count, records = 0, iter(export.records)
    with parquet.ParquetWriter(stream, schema) as writer:
        while batch := list(islice(records, _ROWS)):
            columns = {
                column.name: [_cell(record.get(column.name), column) for record in batch] for column in export.columns
            }
            try:
                writer.write_table(arrow.Table.from_pydict(columns, schema))
            except UnicodeEncodeError as error:
                raise InputError(
                    "a text holds half of a character (a lone surrogate), which no Parquet file can: use --format jsonl"
                ) from error
            count += len(batch)
    return count


_ROWS = 1000
"""Rows of a Parquet file that are in memory at a time."""

_WRITERS: dict[Format, Callable[[Export, Any], int]] = {
    "jsonl": _write_lines,
    "csv": _write_csv,
    "parquet": _write_parquet,
}
