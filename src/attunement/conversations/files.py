"""Open files of any kind (JSON, JSONL, CSV, Parquet, workbooks, plain text, compressed or from standard input).

The file type comes from `--format`, from the name (`.jsonl`, `.csv`, `.txt`, with or without `.gz`), or from the first
line that is not blank.
"""

import csv
import glob
import gzip
import importlib
import io
import math
import shutil
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Self

from attunement.conversations.json_files import BadRecord, Record, decoded, is_list, is_object, lines_of_json
from attunement.errors import InputError


class Format(StrEnum):
    """A shape of records or a type of file. If one is given, the other is still detected."""

    MESSAGES = "messages"
    SHAREGPT = "sharegpt"
    TURNS = "turns"
    EXCHANGES = "exchanges"
    PAIRS = "pairs"
    FLAT = "flat"
    ROWS = "rows"
    TRANSCRIPT = "transcript"
    JSONL = "jsonl"
    JSON = "json"
    CSV = "csv"
    TSV = "tsv"
    TEXT = "text"
    PARQUET = "parquet"
    XLSX = "xlsx"

    @property
    def is_kind(self) -> bool:
        """Whether this is a type of file and not a shape of records."""
        return self in _KINDS


_KINDS = frozenset({Format.JSONL, Format.JSON, Format.CSV, Format.TSV, Format.TEXT, Format.PARQUET, Format.XLSX})
STDIN = "-"
BAD_LINES = ".bad.jsonl"  # the suffix of files with invalid records from an earlier run
_SUFFIXES = {
    ".jsonl": Format.JSONL,
    ".ndjson": Format.JSONL,
    ".json": Format.JSON,
    ".csv": Format.CSV,
    ".tsv": Format.TSV,
    ".tab": Format.TSV,
    ".txt": Format.TEXT,
    ".parquet": Format.PARQUET,
    ".xlsx": Format.XLSX,
    ".xls": Format.XLSX,
    ".ods": Format.XLSX,
}
_BUFFER = 1 << 20  # conversations are long lines
_GZIP = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"


class Source(NamedTuple):
    """One file to read. `path` is None for standard input."""

    path: Path | None

    def __str__(self) -> str:
        return "standard input" if self.path is None else str(self.path)

    @property
    def kind(self) -> Format | None:
        """The file type from the name, with or without `.gz`; None if unknown."""
        return _SUFFIXES.get(self._name.suffix.lower())

    @property
    def stem(self) -> str | None:
        """The name without extensions; the id of a file that is one conversation."""
        return self._name.stem or None

    @property
    def _name(self) -> Path:
        name = "" if self.path is None else self.path.name
        return Path(name[:-3] if name.lower().endswith(".gz") else name)


def find(inputs: Sequence[str | Path]) -> list[Source]:
    """The files that match `inputs`, each once, in the given order, sorted by name within a folder or a pattern.

    A folder stands for all files in it and its subfolders that have a known extension (`.jsonl`, `.csv`, `.txt.gz`,
    ...) and are not hidden. Files with invalid records from an earlier run are read only if given by name.

    Raises:
        InputError: A name, folder or pattern matches no file.
    """
    found: dict[Path | None, Source] = {}
    for given in map(str, inputs):
        for path in [None] if given == STDIN else _paths(given):
            found.setdefault(path and path.resolve(), Source(path))
    if not found:
        raise InputError("No input files; give at least one.")
    return list(found.values())


def _paths(given: str) -> list[Path]:
    path = Path(given)
    if path.is_dir():
        files = sorted(each for each in path.rglob("*") if _is_meant(each.relative_to(path)) and each.is_file())
        if not files:
            raise InputError(f"{given}: this folder contains no conversation files (.jsonl, .json, .csv, .tsv, .txt).")
        return files
    if path.exists():
        return [path]
    # `Path.glob` does not accept absolute patterns.
    matches = sorted(Path(match) for match in glob.glob(given, recursive=True))  # noqa: PTH207
    files = [match for match in matches if match.is_file() and not match.name.endswith(BAD_LINES)]
    if not files:
        raise InputError(f"{given}: no such file, and no file matches this pattern.")
    return files


def _is_meant(path: Path) -> bool:
    hidden = any(part.startswith(".") for part in path.parts)
    return not hidden and Source(path).kind is not None and not path.name.endswith(BAD_LINES)


@contextmanager
def opened(source: Source) -> Generator[io.BufferedReader]:
    """The bytes of `source`, uncompressed and without a byte order mark.

    Raises:
        InputError: The file cannot be opened, read or uncompressed.
    """
    try:
        with _as_stored(source) as stored:
            compressed = stored.peek(len(_GZIP)).startswith(_GZIP)
            stream = _buffered(gzip.GzipFile(fileobj=stored)) if compressed else stored
            if stream.peek(len(_BOM)).startswith(_BOM):
                stream.read(len(_BOM))
            yield stream
    except (OSError, EOFError, zlib.error) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(f"{source}: the file cannot be read: {reason}.") from error


@contextmanager
def _as_stored(source: Source) -> Generator[io.BufferedReader]:
    if source.path is not None:
        with _buffered(io.FileIO(source.path)) as stream:
            yield stream
        return
    # A pipe is read as data arrives. Python's own buffer would wait until it is full, and a thread that waits in it at
    # exit would crash the program.
    stream = _buffered(getattr(sys.stdin.buffer, "raw", sys.stdin.buffer))
    try:
        yield stream
    finally:
        stream.detach()  # do not close standard input


def _buffered(raw: Any) -> io.BufferedReader:
    return io.BufferedReader(raw, _BUFFER)


# A whole conversation may be in one field. The limit prevents an unclosed quotation mark from loading the rest of a
# large file into memory.
_LONGEST_FIELD = 1 << 28
_DELIMITERS = (",", "\t", ";", "|")


class _Lines:
    """Lines of text for the CSV parser, which remember the lines of the current row."""

    def __init__(self, lines: Iterable[bytes]) -> None:
        self._lines = iter(lines)
        self.number = 0
        self.row: list[bytes] = []

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> str:
        line = next(self._lines)
        self.number += 1
        self.row.append(line)
        # Invalid bytes are reported once the row is complete, so that the next row is still found.
        return line.decode("utf-8", "surrogateescape")


def rows(lines: Iterable[bytes], delimiter: str | None = None) -> Iterator[Record]:
    """One record per row, with the header's names as keys; its line is where the row begins.

    Without a `delimiter`, it uses the one that splits the header into the most fields.
    """
    csv.field_size_limit(max(_LONGEST_FIELD, csv.field_size_limit()))
    first, lines = first_line(iter(lines))
    source = _Lines(lines)
    parser = csv.reader(source, delimiter=delimiter or _likely_delimiter(first), strict=True)
    header: list[str] | None = None
    while True:
        line = source.number + 1
        source.row.clear()
        value: BadRecord | dict[str, str]
        try:
            fields = next(parser)
            raw = b"".join(source.row)
            if not fields or (header is None and raw.isspace()):
                continue
            if not raw.isascii():
                decoded(raw)
            if header is None:
                header = _checked(fields)
                continue
            value = _named(fields, header)
        except StopIteration:
            return
        except csv.Error as error:
            value = BadRecord(_why(error, b"".join(source.row)))
        except BadRecord as error:
            value = error
        yield Record(line, value, b"".join(source.row))
        if header is None:
            return  # no row can be read without the header


def _why(error: csv.Error, raw: bytes) -> str:
    """Why a row cannot be read, and what to do: spreadsheets can also save tables in other encodings."""
    if b"\0" in raw:
        return "this is not UTF-8 text; save the table as CSV in UTF-8"
    if b"\r" in raw.rstrip(b"\r\n"):
        return "unsupported line endings (CR only); save the table as CSV in UTF-8"
    return f"this row cannot be read ({error}); look for a quotation mark that is not closed"


def _named(fields: list[str], header: list[str]) -> dict[str, str]:
    if len(fields) != len(header):
        raise BadRecord(f"this row has {len(fields)} fields where the header has {len(header)}")
    return dict(zip(header, fields, strict=True))


def _checked(header: list[str]) -> list[str]:
    twice = [name for name, count in Counter(header).items() if count > 1]
    if twice:
        raise BadRecord(f"the header has the column {twice[0]!r} twice; give each column its own name")
    return header


def first_line(lines: Iterator[bytes]) -> tuple[bytes, Iterator[bytes]]:
    """The first line that is not blank (empty if there is none), and all lines."""
    head: list[bytes] = []
    for line in lines:
        head.append(line)
        if not line.isspace():
            return line, chain(head, lines)
    return b"", iter(head)


def column_names(header: bytes, delimiter: str | None = None) -> list[str]:
    """The names in the line `header`; none if it is not a row of a table."""
    text = header.decode("utf-8", "replace")
    try:
        return next(csv.reader([text], delimiter=delimiter or _likely_delimiter(header)))
    except csv.Error:
        return []


def _likely_delimiter(header: bytes) -> str:
    return max(_DELIMITERS, key=lambda delimiter: len(column_names(header, delimiter)))


_ROWS_AT_ONCE = 512  # conversations are large; this many fit into memory
_IN_MEMORY = 1 << 24


def parquet_rows(stream: io.BufferedReader, name: str) -> Iterator[Record]:
    """One record per row, numbered from 1.

    Raises:
        InputError: pyarrow is not installed, or the file is not Parquet.
    """
    try:
        parquet: Any = importlib.import_module("pyarrow.parquet")
    except ImportError:
        raise InputError(f"{name}: Parquet files need an extra: pip install 'attunement[parquet]'.") from None
    arrow: Any = importlib.import_module("pyarrow")
    with tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY) as copy:
        seekable: Any = stream
        if not (isinstance(stream.raw, io.FileIO) and stream.seekable()):
            # Parquet is read from its end, so compressed files and pipes are copied first.
            shutil.copyfileobj(stream, copy)
            seekable = copy
        try:
            batches = parquet.ParquetFile(seekable).iter_batches(batch_size=_ROWS_AT_ONCE)
            number = 0
            for batch in batches:
                for row in batch.to_pylist():
                    number += 1
                    value = {key: _plain(cell) for key, cell in row.items()}
                    yield Record(number, value, repr(row))
        except arrow.ArrowException as error:
            raise InputError(f"{name}: cannot be read as Parquet ({error}).") from error


def _plain(value: Any) -> Any:
    """`value` as JSON: times, decimals and the like become text, and NaN becomes null."""
    if is_object(value):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if is_list(value):
        return [_plain(inner) for inner in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (str, int)):
        return value
    return str(value)


def sheet_rows(stream: io.BufferedReader, name: str) -> Iterator[Record]:
    """The rows of a workbook's first sheet, without empty ones; the first row names the columns.

    Raises:
        InputError: python-calamine is not installed, the file is not a workbook, or a column occurs twice.
    """
    try:
        calamine: Any = importlib.import_module("python_calamine")
    except ImportError:
        raise InputError(f"{name}: Excel files need the extra: pip install 'attunement[xlsx]'") from None
    try:
        sheet = calamine.CalamineWorkbook.from_filelike(io.BytesIO(stream.read())).get_sheet_by_index(0)
        table: list[list[Any]] = sheet.to_python(skip_empty_area=False)
    except Exception as error:
        raise InputError(f"{name} is not readable as a workbook ({error})") from error
    header = [str(cell).strip() for cell in table[0]] if table else []
    if double := next((name for name in header if name and header.count(name) > 1), None):
        raise InputError(f"{name}: the header has the column {double!r} twice; give each column its own name")
    for line, cells in enumerate(table[1:], 2):
        if any(cell not in ("", None) for cell in cells):
            fields = {title: _plain(cell) for title, cell in zip(header, cells, strict=False) if title}
            yield Record(line, fields, repr(fields))


def records_of(kind: Format | None, stream: io.BufferedReader, lines: Iterator[bytes], name: str) -> Iterator[Record]:
    """The records of a file of lines, a table or a workbook; `lines` are those of `stream`.

    Raises:
        InputError: The kind is another one, or the file cannot be read at all.
    """
    match kind:
        case Format.JSONL:
            return lines_of_json(lines)
        case Format.CSV:
            return rows(lines)
        case Format.TSV:
            return rows(lines, "\t")
        case Format.PARQUET:
            return parquet_rows(stream, name)
        case Format.XLSX:
            return sheet_rows(stream, name)
        case _ if name.endswith(".eval"):
            raise InputError(
                f"{name}: this is an Inspect log in binary format; convert it to JSON first: inspect log convert "
                f"{name} --to json --output-dir logs --resolve-attachments full."
            )
        case _:
            raise InputError(f"{name}: unknown file type; use --format jsonl, json, csv, tsv or text.")
