"""What all judges behind an HTTP service have in common: sending requests, and finding out what the service accepts.

Each adapter says how a request and a reply look. Requests are repeated here only to find out which parameters the
service accepts; retries after a fault are the engine's work.
"""

import asyncio
import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from typing import Any, NamedTuple, cast

import orjson

from attunement.judges.base import HOSTED_TIMEOUT, Answer, Failure, JudgeOptions, Request
from attunement.judges.client import Access, Address, Client, Reply
from attunement.judges.fallback import Fallbacks, Levels
from attunement.judges.provider_errors import Complaint, Server, announced_limits, failure, read_complaint
from attunement.ratings import ErrorKind

_NEGOTIABLE = {400, 404, 422, 500, 501}  # statuses with which services refuse a parameter
_SILENT_500S = 3  # a 500 without a reason is a passing fault, until the same question has met it this often
_VAIN_SEARCHES = 2  # searches for what is refused that find nothing are not made more often
_LONGEST_REPLY = 200_000  # characters of an answer: ten times what the longest limit on tokens allows


class _Refused(NamedTuple):
    """A reply that may mean that the service does not accept one of the parameters."""

    failure: Failure
    status: int
    words: str


class HttpJudge(ABC):
    """A judge behind an HTTP service."""

    def __init__(
        self, name: str, model: str, target: Address, access: Access, options: JudgeOptions, fallbacks: Fallbacks
    ) -> None:
        """Nothing is sent before the first question."""
        self.name = name
        self.settings: Mapping[str, Any] = {
            "model": model,
            "base_url": target.shown,
            "temperature": options.temperature,
            "seed": options.seed,
            "max_tokens": options.reply_limit(model),
            "logprobs": options.logprobs,
        }
        self._server = Server(target.shown, model, access.key, key_sent=access.key_sent)
        self._secrets = access.secrets
        timeout = options.timeout or HOSTED_TIMEOUT
        self._client = Client(target, access, timeout=timeout, max_connections=options.max_connections)
        self._fallbacks = fallbacks
        self._searching = asyncio.Lock()
        self._vain_searches = 0
        self._silent: Counter[int] = Counter()

    @property
    def refused(self) -> Mapping[str, str]:
        """What the service did not accept: parameter -> what is done instead."""
        return self._fallbacks.refused

    async def ask(self, request: Request) -> Answer | Failure:
        """Send one request, and again with weaker variants of parameters that the service refuses."""
        levels = self._fallbacks.levels
        sent: list[Levels] = []
        reply = await self._send(request, levels, sent)
        while isinstance(reply, _Refused):  # each round raises a level, and levels have an end
            if not (self._fallbacks.refuse(levels, reply.words) or await self._search(request, levels, reply, sent)):
                reply = reply.failure
                break
            levels, reply = await self._send_again(request, sent)
        return reply if len(sent) == 1 else reply._replace(requests=len(sent) - 1 + reply.requests)

    async def close(self) -> None:
        """Close the connections; a later request opens new ones."""
        # A lock belongs to the loop in which it was waited for, and the next run may have another.
        self._searching = asyncio.Lock()
        await self._client.close()

    @abstractmethod
    def _body(self, request: Request, levels: Levels) -> dict[str, Any]:
        """The request as the service wants it."""

    @abstractmethod
    def _read(self, document: dict[str, Any], request: Request, latency: float) -> Answer | Failure | None:
        """The answer in a reply; None if there is none."""

    async def _send(self, request: Request, levels: Levels, sent: list[Levels]) -> Answer | Failure | _Refused:
        """Send one request and append its levels to `sent`."""
        sent.append(levels)
        reply = await self._client.post(_dump(self._body(request, levels)))
        if isinstance(reply, Failure):
            return reply
        try:
            document = self._secrets.hide_in_document(_parse(reply.body))
        except RecursionError:
            document = None
        if reply.status < 300 and isinstance(document, dict):
            fields = cast(dict[str, Any], document)
            answer = self._answer(fields, request, reply)
            if answer is not None:
                self._fallbacks.accept(levels)
                self._silent.clear()
                return answer
            if "error" in fields:
                # Routers report the faults of the provider behind them inside a reply with status 200.
                return self._fault(_status_inside(fields), reply, read_complaint(reply.body, document))
        if reply.status < 300:
            return self._no_answer(reply)
        return self._fault(reply.status, reply, read_complaint(reply.body, document))

    def _answer(self, document: dict[str, Any], request: Request, reply: Reply) -> Answer | Failure | None:
        """The answer in a reply; None if the reply does not have the form that the service documents."""
        try:
            answer = self._read(document, request, reply.latency)
        except (LookupError, TypeError, AttributeError):
            return None
        if isinstance(answer, Answer):
            if len(answer.text) > _LONGEST_REPLY:
                return Failure(ErrorKind.MALFORMED, f"the reply has {len(answer.text):,} characters", billable=True)
            answer = answer._replace(limits=announced_limits(reply.headers))
        return answer

    async def _send_again(self, request: Request, sent: list[Levels]) -> tuple[Levels, Answer | Failure | _Refused]:
        """Send a refused request at the current levels, and return which they are.

        Of several questions that were refused at the same time one tries the levels; the others wait for the result.
        """
        async with self._searching:
            levels = self._fallbacks.levels
            if not self._fallbacks.settled:
                return levels, await self._send(request, levels, sent)
        return levels, await self._send(request, levels, sent)

    def _fault(self, status: int, reply: Reply, complaint: Complaint) -> Failure | _Refused:
        # Hidden before the message is shortened, which might leave a part of a key; and after, for what headers say.
        clean = complaint._replace(message=self._secrets.hide(complaint.message))
        found = failure(status, reply.headers, clean, self._server, answered=self._fallbacks.answered)
        found = found._replace(detail=self._secrets.hide(found.detail), limits=announced_limits(reply.headers))
        # A 400 that may pass is about the reply that the model wrote, not about the request.
        passing = status == 400 and found.transient
        negotiable = (found.kind is ErrorKind.SERVER or status == 404) and not passing
        return _Refused(found, status, complaint.words) if negotiable and status in _NEGOTIABLE else found

    def _no_answer(self, reply: Reply) -> Failure:
        """A reply of status 200 without an answer: cut off on its way, or a page of something else."""
        if "html" in reply.headers.get("Content-Type", "") and not self._fallbacks.answered:
            detail = f"{self._server.address} answers with a web page: it is not the address of a model service"
            return Failure(ErrorKind.SERVER, detail, fatal=True)
        return Failure(ErrorKind.SERVER, "the server's reply was broken or incomplete", transient=True, billable=True)

    async def _search(self, request: Request, levels: Levels, refused: _Refused, sent: list[Levels]) -> bool:
        """Find out what a service refuses without saying so. False if it is none of our parameters.

        After a request at these levels was answered, an error is about the question, unless several questions in a row
        got the same one; then only that parameter is tested. Of several questions that are refused at the same time
        one searches and the others wait for the result.
        """
        fallbacks = self._fallbacks
        question = hash((request.shared, request.own))
        if refused.status == 404 and "parameter" not in refused.words:
            return False
        if refused.status >= 500 and not fallbacks.settled:
            self._silent[question] += 1
            if self._silent[question] < _SILENT_500S:
                return False
        async with self._searching:
            if fallbacks.levels != levels:
                return True
            if fallbacks.settled:
                steps = fallbacks.suspected(levels, refused.words, question)
            else:
                steps = fallbacks.steps(levels) if self._vain_searches < _VAIN_SEARCHES else []
            before = levels
            for name, weaker in steps:
                reply = await self._send(request, weaker, sent)
                if isinstance(reply, Failure):
                    return False
                if isinstance(reply, Answer):
                    # A fault that passed by itself looks like a refusal: it must fail again with the parameter.
                    if isinstance(await self._send(request, before, sent), _Refused):
                        fallbacks.raise_to(name, weaker.of(name))
                        return True
                    break
                before = weaker
            self._vain_searches += bool(steps)
            return False


def _dump(body: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(body)
    except TypeError:  # a lone surrogate in a text, which no request can carry
        return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _parse(body: bytes) -> Any:
    """The JSON in `body`; None if it is not JSON."""
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError:
        pass
    try:
        # orjson refuses a lone surrogate, left by a server that counts its limit in UTF-16. The rest is usable.
        return orjson.loads(json.dumps(json.loads(body), ensure_ascii=False).encode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None


def _status_inside(document: dict[str, Any]) -> int:
    error = document["error"]
    code = cast(dict[str, Any], error).get("code") if isinstance(error, dict) else None
    return code if isinstance(code, int) and 400 <= code < 600 else 502


_MOST_TOKENS = 10**9  # what no call has; a larger number is a mistake of the server


def count(value: Any) -> int:
    """A number of tokens as a server gives it; 0 if it gives none."""
    return value if type(value) is int and 0 < value <= _MOST_TOKENS else 0


def word(value: Any) -> str | None:
    """A name as a server gives it, such as that of a model; None if it is something else."""
    return value[:200] if isinstance(value, str) else None


def without_lengths(schema: Any) -> Any:
    """`schema` without length limits, which some services do not know."""
    if isinstance(schema, Mapping):
        fields = cast(Mapping[str, Any], schema)
        return {name: without_lengths(value) for name, value in fields.items() if name != "maxLength"}
    return schema
