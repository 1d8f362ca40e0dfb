"""CSV and TSV: a header and rows, read as text. "NA" is a word here, and an empty field is an empty text."""

import csv
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Self

from attunement.conversations.readers.record import BadRecord, Record, decoded

# A whole conversation may stand in one field. The limit keeps a quotation mark that is never closed from filling the
# memory with the rest of a large file.
_LONGEST_FIELD = 1 << 28
_DELIMITERS = (",", "\t", ";", "|")


class _Lines:
    """Lines of text for the CSV parser, which remember what the row at hand was made of."""

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
        # Wrong bytes are reported once the row is whole, so that the next row is still found.
        return line.decode("utf-8", "surrogateescape")


def rows(lines: Iterable[bytes], delimiter: str | None = None) -> Iterator[Record]:
    """One record a row, with the names of the header as keys; its line is where the row begins.

    Without a `delimiter`, the one that splits the header into most fields is taken.
    """
    csv.field_size_limit(max(_LONGEST_FIELD, csv.field_size_limit()))
    lines = iter(lines)
    head = _up_to_header(lines)
    if not head:
        return
    source = _Lines(chain(head, lines))
    parser = csv.reader(source, delimiter=delimiter or _likely_delimiter(head[-1]), strict=True)
    header: list[str] | None = None
    while True:
        line = source.number + 1
        source.row.clear()
        value: BadRecord | dict[str, str]
        try:
            fields = next(parser)
            raw = b"".join(source.row)
            if not fields:
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
            return  # without its header, no row of the table can be read


def _why(error: csv.Error, raw: bytes) -> str:
    """Why a row cannot be read, and what to do: spreadsheets have other kinds of text to save a table as."""
    if b"\0" in raw:
        return "this is not UTF-8 text; save the table as CSV in UTF-8"
    if b"\r" in raw.rstrip(b"\r\n"):
        return "the lines end as no program of today ends them; save the table as CSV in UTF-8"
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


def _up_to_header(lines: Iterator[bytes]) -> list[bytes]:
    head: list[bytes] = []
    for line in lines:
        head.append(line)
        if not line.isspace():
            return head
    return []


def column_names(header: bytes, delimiter: str | None = None) -> list[str]:
    """The names in the line `header`; none where it is no row of a table."""
    text = header.decode("utf-8", "replace")
    try:
        return next(csv.reader([text], delimiter=delimiter or _likely_delimiter(header)))
    except csv.Error:
        return []


def _likely_delimiter(header: bytes) -> str:
    return max(_DELIMITERS, key=lambda delimiter: len(column_names(header, delimiter)))
