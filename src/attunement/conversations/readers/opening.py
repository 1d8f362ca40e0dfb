"""What kind of file is it, and which records does it hold?

`--format` says it, or the name (`.jsonl`, `.csv`, `.txt`, with or without `.gz`), or the first line that is not blank.
"""

import io
from collections.abc import Iterator
from itertools import chain

from attunement.conversations.readers.chat import ChatText, begins_like_a_chat
from attunement.conversations.readers.fields import Fields
from attunement.conversations.readers.formats import Format
from attunement.conversations.readers.jsonfile import json_of_any_kind, lines_of_json
from attunement.conversations.readers.lists import ListShape
from attunement.conversations.readers.messages import message_keys
from attunement.conversations.readers.parquet import parquet_rows
from attunement.conversations.readers.recognition import recognise
from attunement.conversations.readers.record import BadRecord, Record, decoded
from attunement.conversations.readers.rows import RowShape, grouped, row_shape
from attunement.conversations.readers.sources import Source, opened
from attunement.conversations.readers.table import column_names, rows
from attunement.errors import InputError

_PARQUET = b"PAR1"


def records(source: Source, wanted: Format | None, fields: Fields) -> Iterator[Record]:
    """The records of `source`, each of which should be one conversation; rows that make one are put together.

    Raises:
        InputError: The file cannot be read at all, or nothing says what kind of file it is.
    """
    with opened(source) as stream:
        found = _records_of_kind(source, stream, wanted, fields)
        for record in found:
            shape = _row_shape(record.value, wanted, fields)
            if isinstance(record.value, BadRecord):
                yield record
            elif shape is None:
                yield record
                yield from found
            else:
                yield from grouped(chain([record], found), shape)


def _row_shape(value: object, wanted: Format | None, fields: Fields) -> RowShape | None:
    if wanted is Format.ROWS:
        return row_shape(value, fields, forced=True)
    if wanted is not None and not wanted.is_kind:
        return None
    whole = isinstance(recognise(value, None, fields), ListShape)
    return None if whole else row_shape(value, fields)


def _records_of_kind(
    source: Source, stream: io.BufferedReader, wanted: Format | None, fields: Fields
) -> Iterator[Record]:
    forced = wanted if wanted is not None and wanted.is_kind else None
    kind = forced or source.kind
    if kind is Format.PARQUET or (kind is None and stream.peek(len(_PARQUET)).startswith(_PARQUET)):
        return parquet_rows(stream, str(source))
    lines: Iterator[bytes] = iter(stream)
    if forced is None and kind in (None, Format.TEXT):
        # Anything may be called `.txt`, and what comes through a pipe has no name.
        head = _head(lines)
        lines = chain(head, lines)
        kind = _kind_of(head[-1] if head else b"", fields) or kind
    match kind:
        case Format.JSONL:
            return lines_of_json(lines)
        case Format.JSON:
            return json_of_any_kind(lines, lambda value: recognise(value, wanted, fields) is not None)
        case Format.CSV:
            return rows(lines)
        case Format.TSV:
            return rows(lines, "\t")
        case Format.TEXT:
            return iter([_whole_text(b"".join(lines))])
        case _ if source.path and source.path.suffix == ".eval":
            raise InputError(
                f"{source}: this log of Inspect is packed; write it as JSON first: inspect log convert {source} "
                "--to json --output-dir logs --resolve-attachments full."
            )
        case _:
            raise InputError(
                f"{source}: nothing says what kind of file this is; give --format jsonl, json, csv, tsv or text."
            )


def _head(lines: Iterator[bytes]) -> list[bytes]:
    head: list[bytes] = []
    for line in lines:
        head.append(line)
        if not line.isspace():
            break
    return head


def _kind_of(line: bytes, fields: Fields) -> Format | None:
    """What a file is that has `line` as its first line that is not blank; None where the line does not show it."""
    if begins_like_a_chat(line.decode("utf-8", "replace")):
        return Format.TEXT
    if line.lstrip().startswith((b"{", b"[")):
        return Format.JSON
    columns = dict.fromkeys(column_names(line), "")
    if message_keys(columns) or any(recognise(columns, shape, fields) for shape in (None, Format.TRANSCRIPT)):
        return Format.CSV
    return None


def _whole_text(raw: bytes) -> Record:
    try:
        return Record(1, ChatText(decoded(raw)), raw)
    except BadRecord as error:
        return Record(1, error, raw)
