"""What a server means when it does not answer the question.

Every provider words its errors differently. This module finds the sentence in an error's body and decides what it means
for the question and for the run: wait, retry, give up this question, or stop.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple, cast

import orjson

from attunement.judges.base import Failure, ServerLimits
from attunement.ratings import ErrorKind

_LONGEST = 300  # characters of a server's message that are shown: enough for a sentence, not for a page of HTML


class Complaint(NamedTuple):
    """What an error's body says."""

    message: str  # for people: one line
    words: str  # for us: the message, the code and the parameter that it names, in lower case


class Server(NamedTuple):
    """Where the error comes from, in words for an error message."""

    address: str
    model: str
    key: str  # the variable with the key
    key_sent: bool = True


def read_complaint(body: bytes, document: Any = None) -> Complaint:
    """What an error's body says, in any of the shapes in use; `document` is the body if it is parsed already."""
    if document is None:
        try:
            document = orjson.loads(body)
        except orjson.JSONDecodeError:
            text = re.sub(r"<(script|style).*?</\1>|<[^>]*>", " ", body[:20_000].decode("utf-8", "replace"), flags=re.S)
            message = _one_line(text)
            return Complaint(message, message.lower())
    message, names = _sentence(document)
    message = _one_line(message)
    return Complaint(message, " ".join([*names, message]).lower()[:4000])


def _sentence(document: Any) -> tuple[str, list[str]]:
    """The message in an error's document, and the codes and parameter names next to it."""
    if isinstance(document, str):
        return document, []
    if isinstance(document, list):
        # A list of validation errors. What was sent is repeated there under `input`; it must not count as named.
        parts = [_sentence(entry) for entry in cast(list[Any], document)[:8]]
        return "; ".join(part[0] for part in parts), [name for part in parts for name in part[1]]
    if not isinstance(document, dict):
        return "", []
    fields = cast(dict[str, Any], document)
    names = [str(fields[name]) for name in ("param", "code", "type", "status", "loc") if fields.get(name)]
    for inner in ("error", "detail", "message", "msg", "errors"):
        if fields.get(inner):
            message, more = _sentence(fields[inner])
            metadata = fields.get("metadata")  # with the words of the provider behind a router
            raw = cast(dict[str, Any], metadata).get("raw") if isinstance(metadata, dict) else None
            return (f"{message}: {raw}" if isinstance(raw, str) and raw else message), names + more
    return "", names


def _one_line(text: str) -> str:
    return " ".join("".join(char if char.isprintable() else " " for char in text[:20_000]).split())


def failure(
    status: int, headers: Mapping[str, str], complaint: Complaint, server: Server, *, answered: bool
) -> Failure:
    """What an error means. `answered`: the server has answered questions before, so key, model and address are right.

    The detail is one sentence. It may contain what the server was sent; the caller hides keys in it.
    """
    quoted = f" ({complaint.message[:_LONGEST]})" if complaint.message else ""
    words = complaint.words
    if status < 400:
        return Failure(
            ErrorKind.SERVER,
            f"{server.address} redirects to {headers.get('Location', '?')}: use that address",
            fatal=True,
        )
    if status == 402 or _QUOTA.search(words):
        return Failure(ErrorKind.AUTH, f"the account behind {server.key} has no credit left{quoted}", fatal=True)
    if status == 429:
        return Failure(
            ErrorKind.RATE_LIMITED, f"too many requests{quoted}", retry_after=retry_after(headers), transient=True
        )
    if status in {400, 403, 422} and _MODERATED.search(words):
        return Failure(ErrorKind.REFUSED, f"the provider's filter blocked the question{quoted}")
    if status in {401, 403, 407}:
        wants = f"refuses the key in {server.key}" if server.key_sent else f"wants a key: set {server.key}"
        return Failure(ErrorKind.AUTH, f"{server.address} {wants}{quoted}", fatal=True)
    if status == 413 or _TOO_LONG.search(words):
        return Failure(ErrorKind.PROMPT_TOO_LONG, f"the question does not fit the model's context{quoted}")
    if status < 500 and not answered and (status in {404, 405} or _NO_MODEL.search(words)):
        version = "" if "/v1" in server.address else "; most addresses end in /v1"
        where = f"{server.address} has no model {server.model}, or the address is wrong"
        return Failure(ErrorKind.SERVER, f"{where} (HTTP {status}){quoted}{version}", fatal=True)
    detail = f"the server answered HTTP {status}{quoted}"
    if status >= 500 or status in _PASSING or "json_validate_failed" in words:
        return Failure(ErrorKind.SERVER, detail, retry_after=retry_after(headers), transient=True)
    # Nothing was ever accepted and this fault will not pass: every other question would end the same way.
    return Failure(ErrorKind.SERVER, detail, fatal=not answered)


_PASSING = {404, 408, 409, 421, 425}  # statuses of a client's mistake that a busy or restarting server sends as well

_QUOTA = re.compile(
    r"insufficient[_ ](?:quota|balance|credit|funds)|credit balance is too low|billing[_ ](?:hard|not)|payment required"
)

_TOO_LONG = re.compile(
    r"context[_ ](?:length|window|size|limit)[_ ]?exceeded|exceed_context_size|string_above_max_length"
    r"|(?:maximum|model'?s|available|supported) context (?:length|window|size)|exceeds? .{0,40}context"
    r"|(?:context|input) length.{0,60}exceed|(?:longer|greater|larger) than .{0,30}context"
    r"|prompt (?:is|was) too long|input is too long|prompt contains \d+ tokens|too many (?:input )?tokens"
    r"|input (?:token count|tokens?|length).{0,60}(?:exceed|too|limit|maximum|must)"
    r"|reduce the length of the (?:messages|prompt)"
    r"|must have less than \d+ tokens|tokens `?\+ `?max_new_tokens|max_(?:completion_)?tokens must be at least 1, got -"
    r"|request_too_large|request too large for model"
)

_MODERATED = re.compile(
    r"content[_ -](?:filter|management|policy|moderation)|responsibleai|flagged|moderation|invalid_prompt"
    r"|safety (?:system|setting|polic)|prohibited_content|usage polic"
)

_NO_MODEL = re.compile(
    r"model_not_found|invalid_model|no such model|(?:unknown|invalid) model|not a valid model|deploymentnotfound"
    r"|model\b.{0,80}\b(?:not found|not exist|not available|is not (?:a )?(?:valid|supported) model|no longer)"
)


def announced_limits(headers: Mapping[str, str]) -> ServerLimits | None:
    """The requests and tokens a minute that a server announces with a reply."""
    requests = _number(headers.get("x-ratelimit-limit-requests") or headers.get("anthropic-ratelimit-requests-limit"))
    tokens = _number(headers.get("x-ratelimit-limit-tokens") or headers.get("anthropic-ratelimit-tokens-limit"))
    return ServerLimits(requests or None, tokens or None) if requests or tokens else None


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds the server asks to wait, from Retry-After in both forms or from a provider's reset headers."""
    now = now or datetime.now(UTC)
    if (wait := _number(headers.get("retry-after-ms"))) is not None:
        return wait / 1000
    if (header := headers.get("Retry-After")) is not None and (wait := _moment(header, now)) is not None:
        return wait
    # Several limits (requests, tokens, ...) reset at their own times; we wait for those that are used up.
    resets: dict[bool, list[float]] = {True: [], False: []}
    for name, value in headers.items():
        name = name.lower()
        if "ratelimit" in name and "reset" in name and (wait := _moment(value, now)) is not None:
            resets[headers.get(name.replace("reset", "remaining"), "").strip() == "0"].append(wait)
    if resets[True]:
        return max(resets[True])
    return min(resets[False], default=None)


_SPAN = re.compile(
    r"(?:(?P<d>\d+)d)?(?:(?P<h>\d+)h)?(?:(?P<m>\d+)m(?!s))?(?:(?P<s>\d+(?:\.\d+)?)s)?(?:(?P<ms>\d+(?:\.\d+)?)ms)?"
)
_UNITS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}


def _moment(text: str, now: datetime) -> float | None:
    """Seconds from `now`: a number, a span such as 6m0s, seconds or milliseconds since 1970, or a date."""
    text = text.strip()
    if (number := _number(text)) is not None:
        if number > 1e12:
            number /= 1000
        return max(0.0, number - now.timestamp()) if number > 1e9 else number
    span = _SPAN.fullmatch(text)
    if span and text:
        return sum(float(value) * _UNITS[unit] for unit, value in span.groupdict().items() if value)
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            moment = read(text)
        except (ValueError, TypeError):
            continue
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return max(0.0, (moment - now).total_seconds())
    return None


def _number(text: str | None) -> float | None:
    return float(text) if text is not None and re.fullmatch(r"\s*\d{1,16}(?:\.\d+)?\s*", text) else None
