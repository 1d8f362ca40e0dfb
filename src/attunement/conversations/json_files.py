"""Read JSON: one value per line, a document that holds the records, or a log of Inspect.

Lines are parsed by orjson, which is quick and strict; what it refuses is tried again with the standard library, which
takes lone surrogates and control characters and keeps numbers of any length. A document is read whole, but each
record in it is parsed on its own, so that it has a line number and one that is of no use costs no other.

A log says much about how it was made; of that only the model, the task, the sample and the epoch are kept. Texts that
Inspect put aside as attachments are put back, and its tool calls are written as other files have them.
"""

import json
import re
from collections.abc import Callable, Generator, Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple, NoReturn

import orjson

from attunement.conversations import messages
from attunement.conversations.messages import BadRecord, Record, decoded, is_list, is_object

SAMPLE, EPOCH, TASK = "inspect_sample", "inspect_epoch", "inspect_task"
"""The names in the metadata that lead back to the log."""

_ATTACHED = "attachment://"


def is_inspect_log(value: object) -> bool:
    """Whether a JSON document is a log with samples in it."""
    if not is_object(value) or not is_object(value.get("eval")) or not is_list(value.get("samples")):
        return False
    return "model" in value["eval"] and all(is_object(one) and "messages" in one for one in value["samples"])


def sample_record(log: dict[str, Any], sample: dict[str, Any]) -> dict[str, Any]:
    """A sample as a record with messages, an id and the system that took part."""
    spec = log["eval"]
    config: Any = spec.get("config")
    epochs: Any = config.get("epochs") if is_object(config) else None
    id, epoch = sample.get("id"), sample.get("epoch") or 1
    own: Any = sample.get("metadata")
    about = {SAMPLE: id, EPOCH: epoch, TASK: spec.get("task")}
    attached: Any = sample.get("attachments")
    messages: Any = sample["messages"]
    if is_list(messages):
        messages = [_message(one, attached if is_object(attached) else {}) for one in messages]
    return {
        "id": f"{id} (epoch {epoch})" if isinstance(epochs, int) and epochs > 1 else str(id),
        "system": str(spec["model"]),
        "messages": messages,
        "metadata": {"scenario": str(id)} | (own if is_object(own) else {}) | about,
    }


def _message(message: Any, attached: dict[str, Any]) -> Any:
    if not is_object(message):
        return message
    made = {"role": message.get("role"), "content": _restored(message.get("content"), attached)}
    if is_list(calls := message.get("tool_calls")):
        made["tool_calls"] = [_call(_restored(call, attached)) for call in calls]
    if message.get("role") == "tool" and message.get("function"):
        made["name"] = message["function"]
    return made


def _call(call: Any) -> Any:
    if is_object(call) and isinstance(call.get("function"), str):
        return {"function": {"name": call["function"], "arguments": call.get("arguments")}}
    return call


def _restored(value: Any, attached: dict[str, Any]) -> Any:
    """The value with the texts that stand elsewhere in the log put back."""
    if isinstance(value, str) and value.startswith(_ATTACHED):
        return attached.get(value.removeprefix(_ATTACHED), value)
    if is_list(value):
        return [_restored(one, attached) for one in value]
    if is_object(value):
        return {key: _restored(one, attached) for key, one in value.items()}
    return value


_SPACE = re.compile(r"[ \t\r\n]*")


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"there is the number {name}, which JSON does not have")


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"the number {digits[:20]} is too large")
    return number


_DECODER = json.JSONDecoder(strict=False, parse_constant=_refuse_constant, parse_float=_finite)


def parse_exactly(raw: bytes | str) -> Any:
    """The JSON value in `raw`, with numbers of any length as they are.

    Raises:
        BadRecord: `raw` is not UTF-8, or not JSON; the reason says where.
    """
    text = raw if isinstance(raw, str) else decoded(raw)
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        raise _bad(error) from None


def lines_of_json(lines: Iterable[bytes]) -> Iterator[Record]:
    """One record a line; blank lines are passed over."""
    loads = orjson.loads
    for number, line in enumerate(lines, 1):
        try:
            yield Record(number, loads(line), line, exact=False)
        except orjson.JSONDecodeError:
            if not line.isspace():
                yield Record(number, _parsed_or_bad(line), line)


def _parsed_or_bad(line: bytes) -> Any:
    try:
        return parse_exactly(line)
    except BadRecord as error:
        return error


def json_of_any_kind(lines: Iterator[bytes], is_record: Callable[[Any], bool]) -> Iterator[Record]:
    """Records from a file of which only the content shows whether it is one document or one value a line.

    It is one value a line where the first line is a whole value and another follows, or where the first line is broken
    and not just unfinished. `is_record` says whether a value is a conversation and not a list of them.
    """
    head: list[bytes] = []
    for line in lines:
        head.append(line)
        if len(head) - sum(map(bytes.isspace, head)) == 2:
            break
    filled = [line for line in head if not line.isspace()]
    if filled and (_is_broken(filled[0]) or (len(filled) == 2 and _is_whole(filled[0]))):
        return lines_of_json(chain(head, lines))
    return document(b"".join(chain(head, lines)), is_record)


def document(raw: bytes, is_record: Callable[[Any], bool]) -> Iterator[Record]:
    """The records of a JSON document: a list of them, an object with such a list in it, or a single one.

    What an object says beside its list, such as the system, is taken over by the records that do not say it.
    """
    try:
        text = decoded(raw)
    except BadRecord as error:
        yield Record(1, error, raw)
        return
    line, counted = 1, 0
    for span in _spans(text, is_record):
        line += text.count("\n", counted, span.start)
        counted = span.start
        yield Record(line, span.value, text[span.start : span.end])


class _Span(NamedTuple):
    start: int
    end: int
    value: Any


def _spans(text: str, is_record: Callable[[Any], bool]) -> Iterator[_Span]:
    """The records in `text`. Where its syntax breaks, nothing behind can be told apart: the rest is one bad record."""
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
        if text[position] == "[":
            position = yield from _in_list(text, position, is_record)
        else:
            position = yield from _in_object(text, position, is_record)


def _in_list(text: str, position: int, is_record: Callable[[Any], bool]) -> Generator[_Span, None, int]:
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
    whole = _value_at(text, position)
    if is_inspect_log(whole.value):
        yield from _in_inspect_log(text, position, whole)
        return whole.end
    inner = None if is_record(whole.value) else _inner_list(whole.value, is_record)
    if inner is None:
        yield whole
        return whole.end
    outer = {
        key: value for key, value in whole.value.items() if key != inner and messages.plain(key) not in messages.ID
    }
    start = next(span.start for key, span in _members(text, position) if key == inner)
    for span in _elements(text, start):
        value = {**outer, **span.value} if is_object(span.value) else span.value
        yield span._replace(value=value)
    return whole.end


def _in_inspect_log(text: str, position: int, log: _Span) -> Iterator[_Span]:
    start = next(span.start for key, span in _members(text, position) if key == "samples")
    for span in _elements(text, start):
        yield span._replace(value=sample_record(log.value, span.value))


def _inner_list(value: Any, is_record: Callable[[Any], bool]) -> str | None:
    if not is_object(value):
        return None
    for key, inner in value.items():
        if is_list(inner) and inner and is_record(inner[0]):
            return key
    return None


def _elements(text: str, position: int) -> Generator[_Span, None, int]:
    """The elements of the list that begins at `position`; gives back where the list ends."""
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
    """The members of the object that begins at `position`, which is known to be whole."""
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


def _is_whole(line: bytes) -> bool:
    try:
        parse_exactly(line)
    except BadRecord:
        return False
    return True


def _is_broken(line: bytes) -> bool:
    """Whether `line` is wrong JSON in itself, and not the first line of a longer text."""
    try:
        _DECODER.decode(decoded(line))
    except json.JSONDecodeError as error:
        return error.pos < len(error.doc.rstrip()) and not error.msg.startswith("Unterminated string")
    except (BadRecord, ValueError, RecursionError):
        return True
    return False


def _bad(error: ValueError | RecursionError) -> BadRecord:
    if isinstance(error, json.JSONDecodeError):
        broken_off = error.pos >= len(error.doc.rstrip())
        what = "it breaks off" if broken_off else f"{error.msg} at column {error.colno}"
        return BadRecord(f"this is not JSON ({what})")
    if isinstance(error, RecursionError):
        return BadRecord("this is nested too deeply")
    return BadRecord(str(error))
