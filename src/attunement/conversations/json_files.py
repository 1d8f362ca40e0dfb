"""Read JSON: one value per line, or a document that contains the records.

Lines are parsed by orjson, which is fast and strict. What it rejects is parsed again with the standard library, which
accepts lone surrogates, control characters and numbers of any length. A document is read whole, but each record in it
is parsed separately, so that it has a line number and a bad record does not affect others.
"""

import json
import re
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple, NoReturn

import orjson

from attunement.conversations.logs import LOGS
from attunement.conversations.messages import ID, BadRecord, Record, decoded, is_list, is_object, plain

_SPACE = re.compile(r"[ \t\r\n]*")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a valid number in JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"the number {digits[:20]} is too large")
    return number


_DECODER = json.JSONDecoder(strict=False, parse_constant=_refuse_constant, parse_float=_finite)


def parse_exactly(raw: bytes | str) -> Any:
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
    loads = orjson.loads
    for number, line in enumerate(lines, 1):
        try:
            yield Record(number, loads(line), line, exact=False)
        except orjson.JSONDecodeError:
            if not line.isspace():
                yield Record(number, _parsed(line), line)


def _parsed(line: bytes) -> Any:
    try:
        return parse_exactly(line)
    except BadRecord as error:
        return error


def json_of_any_kind(lines: Iterator[bytes], is_record: Callable[[Any], bool]) -> Iterator[Record]:
    """Records from a file that may be one document or one value per line.

    It is one value per line if the first line is a complete value and another follows, or if the first line is invalid
    and not just incomplete. `is_record` tells whether a value is one conversation and not a list of them.
    """
    head: list[bytes] = []
    filled: list[bytes] = []
    while len(filled) < 2 and (line := next(lines, None)) is not None:
        head.append(line)
        filled += [] if line.isspace() else [line]
    lines = chain(head, lines)
    if filled and (_is_broken(filled[0]) or (len(filled) == 2 and not isinstance(_parsed(filled[0]), BadRecord))):
        return lines_of_json(lines)
    return document(b"".join(lines), is_record)


def _is_broken(line: bytes) -> bool:
    """Whether `line` is invalid JSON, and not just the first line of a longer text."""
    try:
        _DECODER.decode(decoded(line))
    except json.JSONDecodeError as error:
        return error.pos < len(error.doc.rstrip()) and not error.msg.startswith("Unterminated string")
    except (BadRecord, ValueError, RecursionError):
        return True
    return False


def document(raw: bytes, is_record: Callable[[Any], bool]) -> Iterator[Record]:
    """The records of a JSON document: a list of them, an object with such a list in it, or a single one.

    Fields next to the list, such as the system, are copied to records that lack them.
    """
    try:
        text = decoded(raw)
    except BadRecord as error:
        yield Record(1, error, raw)
        return
    line, counted = 1, 0
    for start, end, value in _spans(text, is_record):
        line += text.count("\n", counted, start)
        counted = start
        yield Record(line, value, text[start:end])


class _Span(NamedTuple):
    start: int
    end: int
    value: Any


def _spans(text: str, is_record: Callable[[Any], bool]) -> Iterator[_Span]:
    """The records in `text`. After a syntax error, records cannot be separated: the rest is one bad record."""
    end = 0
    try:
        for span in _values(text, is_record):
            end = span.end
            yield span
    except (ValueError, RecursionError) as error:
        start = _skip(text, end)
        bad = _bad(error)
        if isinstance(error, json.JSONDecodeError):
            bad.line = text.count("\n", start, error.pos) + 1
        yield _Span(start, len(text), bad)


def _values(text: str, is_record: Callable[[Any], bool]) -> Iterator[_Span]:
    position = 0
    while (position := _skip(text, position)) < len(text):
        position = yield from (_in_list if text[position] == "[" else _in_object)(text, position, is_record)


def _in_list(text: str, position: int, is_record: Callable[[Any], bool]) -> Generator[_Span, None, int]:
    """The records in the list that begins at `position`, or the list if it is a record; returns where it ends."""
    elements = _elements(text, position)
    first = next(elements, None)
    if first is None or is_record([first.value]):
        whole = _value_at(text, position)
        if first is not None:
            yield whole
        return whole.end
    yield first
    return (yield from elements)


def _in_object(text: str, position: int, is_record: Callable[[Any], bool]) -> Generator[_Span, None, int]:
    """The records in a list in the object that begins at `position`, or the object; returns where it ends."""
    whole = _value_at(text, position)
    log = next((log for log in LOGS if log.matches(whole.value)), None)
    key = log.key if log else None if is_record(whole.value) else _inner_list(whole.value, is_record)
    if key is None:
        yield whole
        return whole.end
    outer = {name: value for name, value in whole.value.items() if name != key and plain(name) not in ID}
    start = next(span.start for name, span in _members(text, position) if name == key)
    for span in _elements(text, start):
        value = span.value
        if log:
            value = log.record(whole.value, value)
        elif is_object(value):
            value = {**outer, **value}
        yield span._replace(value=value)
    return whole.end


def _inner_list(value: Any, is_record: Callable[[Any], bool]) -> str | None:
    if not is_object(value):
        return None
    return next((key for key, inner in value.items() if is_list(inner) and inner and is_record(inner[0])), None)


def _elements(text: str, position: int) -> Generator[_Span, None, int]:
    """The elements of the list that begins at `position`; returns where the list ends."""
    position = _skip(text, position + 1)
    if text.startswith("]", position):
        return position + 1
    while True:
        span = _value_at(text, position)
        yield span
        position = _skip(text, span.end)
        if text.startswith("]", position):
            return position + 1
        position = _expect(text, position, ",")


def _members(text: str, position: int) -> Iterator[tuple[str, _Span]]:
    """The members of the object that begins at `position`, which is known to be complete."""
    while text[position] != "}":
        key = _value_at(text, _skip(text, position + 1))
        value = _value_at(text, _expect(text, _skip(text, key.end), ":"))
        yield key.value, value
        position = _skip(text, value.end)


def _value_at(text: str, position: int) -> _Span:
    value, end = _DECODER.raw_decode(text, position)
    return _Span(position, end, value)


def _expect(text: str, position: int, sign: str) -> int:
    if not text.startswith(sign, position):
        raise json.JSONDecodeError(f"Expecting '{sign}'", text, position)
    return _skip(text, position + 1)


def _skip(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return position if found is None else found.end()
