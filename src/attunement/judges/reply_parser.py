"""Is a judge's reply an answer?

It is if it is exactly one JSON object with exactly the expected keys and an answer from the allowed set; a code fence
around it is tolerated and noted. Everything else is not: prose next to the object, a second object, an extra key or a
repeated one, a truncated object, a number as text, `"yes"` in lower case. Nothing is guessed and nothing is repaired
here: the judge is told what was wrong and asked again.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import orjson

from attunement.instruments import Criteria, Instrument, Item, Scores, Value
from attunement.ratings import ErrorKind, Mark


class ParsedAnswer(NamedTuple):
    """The answer to one item."""

    value: Value
    reasoning: str


class Readable(NamedTuple):
    """A reply that answers the question, by item id."""

    answers: dict[str, ParsedAnswer]
    fenced: bool


class Unreadable(NamedTuple):
    """A reply that does not."""

    kind: ErrorKind
    complaint: str  # what was wrong, in words for the judge


def read_reply(
    text: str, finish_reason: str | None, instrument: Instrument, items: Sequence[Item], *, together: bool
) -> Readable | Unreadable:
    """Read the reply to a question about `items`."""
    if finish_reason in _REFUSALS:
        return Unreadable(ErrorKind.REFUSED, "The reply was withheld by a filter.")
    if not together and (plain := _plainly(text, instrument.scale)):
        return Readable({items[0].id: plain}, fenced=False)
    try:
        body, fenced = _unfence(text)
        content = _one_object(body)
        if not together:
            given = {items[0].id: _given(content, instrument)}
        else:
            _expect_keys(content, [item.id for item in items])
            given = {item.id: _given(content[item.id], instrument, f'"{item.id}": ') for item in items}
    except _Wrong as wrong:
        if _looks_refused(text):
            return Unreadable(ErrorKind.REFUSED, "The judge declined to answer.")
        cut = " It was cut off before its end." if finish_reason in _CUT else ""
        return Unreadable(ErrorKind.MALFORMED, f"{wrong}{cut}")
    return Readable(given, fenced)


def marks_of(given: ParsedAnswer, item: Item, instrument: Instrument, *, fenced: bool) -> frozenset[Mark]:
    """What is worth noting about an answer that was read."""
    marks: list[Mark] = []
    if fenced:
        marks.append(Mark.FENCED)
    if len(given.reasoning) > instrument.prompt.reasoning_limit:
        marks.append(Mark.LONG_REASONING)
    if given.value == "NA" and not item.na_valid:
        marks.append(Mark.NA_INVALID)
    return frozenset(marks)


_REFUSALS = {"refusal", "content_filter", "safety"}
_CUT = {"length", "max_tokens"}


class _Wrong(Exception):
    """Why a reply cannot be used."""


def _plainly(text: str, scale: Criteria | Scores) -> ParsedAnswer | None:
    """The answer in a reply that is one beyond doubt; None if the reply needs a closer look.

    orjson is fast, but it accepts a repeated key. There is none if each key is written once and none with escapes.
    """
    if "\\u" in text or text.count('"reasoning"') != 1 or text.count(f'"{scale.key}"') != 1:
        return None
    try:
        content = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(content, dict) or len(fields := cast(dict[str, Any], content)) != 2:
        return None
    value, reasoning = fields.get(scale.key), fields.get("reasoning")
    if type(value) not in (int, str) or value not in scale.answers or not isinstance(reasoning, str):
        return None
    return ParsedAnswer(value, reasoning)


_FENCE = re.compile(r"\A```[A-Za-z]*\s*(?P<body>.*?)\s*```\Z", re.DOTALL)


def _unfence(text: str) -> tuple[str, bool]:
    text = text.strip()
    fence = _FENCE.match(text)
    return (fence["body"], True) if fence else (text, False)


def _one_object(body: str) -> dict[str, Any]:
    if not body:
        raise _Wrong("The reply was empty.")
    if not body.startswith("{"):
        raise _Wrong("The reply did not start with the JSON object; nothing may come before it.")
    try:
        content, end = _DECODER.raw_decode(body)
    except json.JSONDecodeError as error:
        raise _Wrong(f"The reply was not valid JSON: {error.msg} at character {error.pos}.") from error
    except RecursionError as error:
        raise _Wrong("The reply was nested too deeply.") from error
    rest = body[end:].strip()
    if rest.startswith("{"):
        raise _Wrong("The reply contained more than one JSON object.")
    if rest:
        raise _Wrong("There was text after the JSON object.")
    return content


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) != len(pairs):
        raise _Wrong("A key appeared twice in the JSON object.")
    return content


def _no_constant(name: str) -> Any:
    raise _Wrong(f"{name} is not JSON.")


def _integer(digits: str) -> int:
    if len(digits) > 20:  # Python refuses to read numbers of thousands of digits, and no answer has even two
        raise _Wrong("A number was too long.")
    return int(digits)


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant, parse_int=_integer, strict=False)


def _expect_keys(content: Any, keys: Sequence[str], where: str = "") -> None:
    if not isinstance(content, dict):
        raise _Wrong(f"{where}a JSON object was expected.")
    names = cast(dict[str, Any], content).keys()
    if names == set(keys):  # nearly always; to list what is wrong takes far longer
        return
    if missing := [key for key in keys if key not in names]:
        raise _Wrong(f"{where}the key {_quoted(missing)} was missing.")
    if extra := sorted(names - set(keys)):
        raise _Wrong(f"{where}the key {_quoted(extra[:3])} was not asked for.")


def _given(content: Any, instrument: Instrument, where: str = "") -> ParsedAnswer:
    scale = instrument.scale
    _expect_keys(content, ["reasoning", scale.key], where)
    value, reasoning = content[scale.key], content["reasoning"]
    # `True` equals 1 and 4.0 equals 4 in Python; neither is an answer.
    if type(value) not in (int, str) or value not in scale.answers:
        allowed = ", ".join(json.dumps(answer) for answer in scale.answers)
        shown = "a nested value" if isinstance(value, dict | list) else json.dumps(value)[:40]
        raise _Wrong(f'{where}"{scale.key}" was {shown}; it must be exactly one of {allowed}.')
    if not isinstance(reasoning, str):
        raise _Wrong(f'{where}"reasoning" must be text.')
    return ParsedAnswer(value, reasoning)


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(json.dumps(name[:40]) for name in names)  # escaped: a name may contain what no request can carry


def _looks_refused(text: str) -> bool:
    """Whether a reply declines to answer. One that holds JSON or cites a turn has answered, if badly."""
    return "{" not in text and not _CITES.search(text) and _DECLINES.search(text[:400]) is not None


_CITES = re.compile(r"\bturn\s+\d", re.IGNORECASE)
_DECLINES = re.compile(
    r"\b(?:I(?:'|’)?m|I am) (?:(?:very |so |really )?sorry\b.{0,60}\b(?:can(?:no|'|’)?t|unable|not able)"
    r"|unable to|not able to|not comfortable)"
    r"|\bI (?:can(?:no|'|’)t|can not|won(?:'|’)t|will not|must decline)\b.{0,40}"
    r"\b(?:help|assist|provide|assess|evaluate|rate|score|judge|engage|continue|comply|respond|answer|fulfil|do that)"
    r"|\bI must decline\b|\bI decline\b|\bagainst (?:my|our) (?:guidelines|policy|policies)\b",
    re.IGNORECASE | re.DOTALL,
)
