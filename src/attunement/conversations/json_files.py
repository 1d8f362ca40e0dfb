"""Read JSON: one value per line, or a document that contains the records.

The standard library's parser is used for all of it: it keeps numbers of any length, accepts lone surrogates and
control characters, and lets us refuse an object that has a key twice. A document is read whole, but each record in it
is parsed separately, so that it has a line number and a bad record does not affect others.
"""

import json
import re
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple, NoReturn, TypeGuard


class BadRecord(Exception):
    """One record cannot be read; the others may be fine.

    `reason` is a clause that follows the place; `line` is the line of the error within the record, if known (from 1).
    """

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


class Place(NamedTuple):
    """Where a record begins; lines count from 1. For Parquet, `line` is the row."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Record(NamedTuple):
    """One record of a file: the parsed value, or a `BadRecord` with the reason why it could not be parsed."""

    line: int
    value: Any
    raw: bytes | str


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def decoded(raw: bytes) -> str:
    """The text of `raw`, in which lone surrogates may occur.

    Raises:
        BadRecord: `raw` is not UTF-8; the reason names the first invalid byte.
    """
    try:
        return raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start)
        column = error.start - (raw.rfind(b"\n", 0, error.start) + 1)
        raise BadRecord(
            f"this is not UTF-8 text (the line has 0x{raw[error.start]:02x} as byte {column + 1}); save it as UTF-8",
            line + 1,
        ) from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a valid number in JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"the number {digits[:20]} is too large")
    return number


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"an object has the key {twice!r} twice, so one of the values would be lost")
    return made


_DECODER = json.JSONDecoder(
    strict=False, parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=_unique
)
_SPACE = re.compile(r"[ \t\r\n]*")


def parse(raw: bytes | str) -> Any:
    """Parse the JSON value in `raw`, with exact numbers of any length.

    Raises:
        BadRecord: `raw` is not UTF-8, or not JSON; the reason says where.
    """
    text = raw if isinstance(raw, str) else decoded(raw)
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        raise _bad(error) from None


def _bad(error: ValueError | RecursionError) -> BadRecord:
    if isinstance(error, json.JSONDecodeError):
        broken_off = error.pos >= len(error.doc.rstrip())
        return BadRecord(
            f"this is not JSON ({'it is incomplete' if broken_off else f'{error.msg} at column {error.colno}'})"
        )
    return BadRecord("nested too deeply" if isinstance(error, RecursionError) else str(error))


def lines_of_json(lines: Iterable[bytes]) -> Iterator[Record]:
    """One record per line; blank lines are skipped."""
    for number, line in enumerate(lines, 1):
        if not line.isspace():
            yield Record(number, _parsed(line), line)


def _parsed(line: bytes) -> Any:
    try:
        return parse(line)
    except BadRecord as error:
        return error


IsRecord = Callable[[Any], bool]
"""Whether a value is one conversation and not a list of them."""

Merge = Callable[[dict[str, Any], Any], Any]
FindList = Callable[[dict[str, Any]], tuple[str, Merge] | None]
"""The field of an object that has a list of records, and how a record is made of the object and one entry."""


def json_of_any_kind(
    lines: Iterator[bytes], is_record: IsRecord, find_list: FindList = lambda _: None
) -> Iterator[Record]:
    """Records from a file that may be one document or one value per line.

    It is one value per line if the first line is a complete value and another follows, or if the first line is invalid
    and not just incomplete.
    """
    head: list[bytes] = []
    filled: list[bytes] = []
    while len(filled) < 2 and (line := next(lines, None)) is not None:
        head.append(line)
        filled += [] if line.isspace() else [line]
    lines = chain(head, lines)
    if filled and (_is_broken(filled[0]) or (len(filled) == 2 and not isinstance(_parsed(filled[0]), BadRecord))):
        return lines_of_json(lines)
    return _document(b"".join(lines), is_record, find_list)


def _is_broken(line: bytes) -> bool:
    """Whether `line` is invalid JSON, and not just the first line of a longer text."""
    try:
        _DECODER.decode(decoded(line))
    except json.JSONDecodeError as error:
        return error.pos < len(error.doc.rstrip()) and not error.msg.startswith("Unterminated string")
    except (BadRecord, ValueError, RecursionError):
        return True
    return False


def _document(raw: bytes, is_record: IsRecord, find_list: FindList) -> Iterator[Record]:
    """The records of a JSON document: a list of them, an object with such a list in it, or a single one."""
    try:
        text = decoded(raw)
    except BadRecord as error:
        yield Record(1, error, raw)
        return
    line, counted, end = 1, 0, 0
    try:
        for start, stop, value in _values(text, is_record, find_list):
            line += text.count("\n", counted, start)
            counted, end = start, stop
            yield Record(line, value, text[start:stop])
    except (ValueError, RecursionError) as error:
        # After an error, records cannot be separated: the rest is one bad record.
        start = _skip(text, end)
        bad = _bad(error)
        if isinstance(error, json.JSONDecodeError):
            bad.line = text.count("\n", start, error.pos) + 1
        yield Record(text.count("\n", 0, start) + 1, bad, text[start:])


_Span = tuple[int, int, Any]  # start, end and value


def _values(text: str, is_record: IsRecord, find_list: FindList) -> Iterator[_Span]:
    position = 0
    while (position := _skip(text, position)) < len(text):
        if text[position] == "[":
            first = next(_elements(text, position), None)
            if first is None or not is_record([first[2]]):
                position = yield from _elements(text, position)
                continue
        value, end = _DECODER.raw_decode(text, position)
        found = find_list(value) if is_object(value) else None
        if found is None:
            yield position, end, value
        else:
            key, merge = found
            for start, stop, entry in _elements(text, _place_of(text, position, value, key)):
                yield start, stop, merge(value, entry)
        position = end


def _place_of(text: str, position: int, value: dict[str, Any], key: str) -> int:
    """Where the list under `key` of the object at `position` begins."""
    for found in re.compile(rf"{re.escape(json.dumps(key))}\s*:\s*(?=\[)").finditer(text, position):
        if _DECODER.raw_decode(text, found.end())[0] == value[key]:
            return found.end()
    raise ValueError(f"the list {key!r} cannot be found; write its name without escape sequences")


def _elements(text: str, position: int) -> Generator[_Span, None, int]:
    """The elements of the list that begins at `position`; returns where the list ends."""
    position = _skip(text, position + 1)
    while not text.startswith("]", position):
        value, end = _DECODER.raw_decode(text, position)
        yield position, end, value
        position = _skip(text, end)
        if not text.startswith((",", "]"), position):
            raise json.JSONDecodeError("Expecting ',' delimiter", text, position)
        if text[position] == ",":
            position = _skip(text, position + 1)
            if text.startswith("]", position):
                raise json.JSONDecodeError("Illegal trailing comma", text, position)
    return position + 1


def _skip(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return position if found is None else found.end()
