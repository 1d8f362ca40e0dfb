"""One question to one judge, until there is an answer or a typed ERROR.

This is the only place that asks again: after a fault that may pass, after a reply that could not be read (at most
twice, saying what was wrong), and once more where the reasoning is too long or rests on nothing, if the user wants
that. Every loop here has an end.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from attunement.engine.budget import JudgeBudget, Size
from attunement.engine.progress import Progress
from attunement.engine.rate_limiter import Limiter
from attunement.errors import AttunementError, JudgeError
from attunement.judges.base import Answer, Exchange, Failure, Judge, Request, Usage
from attunement.judges.reply_parser import ParsedAnswer, Readable, Unreadable, read_reply
from attunement.prompts import Question
from attunement.ratings import ErrorKind

REPAIRS = 2
"""How often a judge is told that its reply could not be read."""

_TRIES = {ErrorKind.RATE_LIMITED: 12, ErrorKind.SERVER: 5, ErrorKind.TIMEOUT: 3}
"""How often a question is sent in all when the fault is of this kind. Being told to wait is no fault of the question,
so it may happen often; a server that did not answer three times will not."""

_FIRST_WAIT, _LONGEST_WAIT = 0.5, 60.0

_LONGEST_ASKED = 900.0
"""Seconds a server may ask us to wait. Beyond that the run stops and a later one goes on: a quota of the day is nothing
to sit out in silence."""

_TROUBLED = 3
"""So many questions that met faults, and none that was ever answered: it is not the questions."""


@dataclass
class Channel:
    """What every question to one judge goes through."""

    judge: Judge
    limiter: Limiter
    purse: JudgeBudget
    progress: Progress
    closed: bool = False
    """No further request may be sent; those under way come back."""
    calling: set[asyncio.Task[Any]] = field(default_factory=set[asyncio.Task[Any]])
    """The tasks whose request is with the server."""
    rest: Callable[[float], Awaitable[object]] = asyncio.sleep
    """Waits so many seconds before a question is asked again: another can be asked meanwhile."""
    heard: bool = False
    """Whether the judge has ever answered."""
    troubled: int = 0
    """Questions that met a fault of the server."""

    async def send(self, request: Request, size: Size, asked: "Asked") -> Answer | Failure:
        """Send one request, when the limits allow it."""
        if self.closed:
            raise asyncio.CancelledError
        if refused := self.purse.refusal(size):  # known without waiting for its turn
            return refused
        await self.limiter.acquire(size.prompt)
        task = asyncio.current_task()
        reply: Answer | Failure | None = None
        reserved = 0.0
        try:
            if self.closed:
                raise asyncio.CancelledError
            taken = self.purse.take(size)
            if isinstance(taken, Failure):
                return taken
            reserved = taken
            if task:
                self.calling.add(task)
            asked.attempts += 1
            self.progress.calls += 1
            reply = await self._ask(request)
            asked.attempts += reply.requests - 1
            self.progress.calls += reply.requests - 1
            if isinstance(reply, Answer):
                self.progress.spend(reply.usage, self.purse.price)
            return reply
        finally:
            if task:
                self.calling.discard(task)
            self.limiter.release()
            self.purse.settle(reserved, reply)

    async def _ask(self, request: Request) -> Answer | Failure:
        """What the judge says. One that breaks off instead of saying what went wrong cannot be used."""
        try:
            return await self.judge.ask(request)
        except AttunementError:
            raise
        except (Exception, asyncio.CancelledError) as error:
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and task and task.cancelling():
                raise
            raise JudgeError(f"{self.judge.name} broke off with {type(error).__name__}: {error}") from error

    def judged(self, failure: Failure) -> Failure:
        """What a question ends with that no further try will mend: asking others is of no use where all fail."""
        if failure.kind is not ErrorKind.SERVER or self.heard or self.troubled < _TROUBLED:
            return failure
        detail = f"{failure.detail}; nothing was ever answered there, so the address may be wrong"
        return failure._replace(detail=detail, fatal=True)


class RetryPolicy(NamedTuple):
    """When to ask once more although the reply could be read."""

    enforce_length: bool = False
    require_evidence: bool = False


@dataclass
class Asked:
    """What came of a question."""

    given: dict[str, ParsedAnswer] | None = None
    """The answers by item; None where there is an error."""
    error: ErrorKind | None = None
    detail: str = ""
    fenced: bool = False
    repaired: bool = False
    answer: Answer | None = None
    """The reply that was used, or the last one that could not be."""
    usage: Usage = field(default_factory=Usage)
    """Over all calls that were made."""
    attempts: int = 0
    fatal: bool = False
    """Asking other questions is of no use either."""


async def ask(
    question: Question,
    channel: Channel,
    *,
    wishes: RetryPolicy,
    evidence_holds: Callable[[Question, ParsedAnswer], bool],
) -> Asked:
    """Ask until there is an answer or an error that asking again does not mend."""
    text = question.render()
    request = Request(text.system, text.shared, text.own, question.schema)
    asked = Asked()
    unread = 0
    wished = False
    while True:
        try:
            reply = await _send(request, channel, asked, len(question.items))
        except asyncio.CancelledError:
            if asked.given is not None:  # only a wish was left
                return asked
            raise
        if isinstance(reply, Failure):
            return _failed(asked, reply.kind, reply.detail, fatal=reply.fatal)
        read = read_reply(
            reply.text,
            reply.finish_reason,
            question.questionnaire.instrument,
            question.items,
            together=question.together,
        )
        if isinstance(read, Unreadable):
            if asked.given is not None:
                return asked  # the reply before this one could be read; only a wish was left
            if read.kind is ErrorKind.REFUSED or unread == REPAIRS:
                asked.answer = reply
                return _failed(asked, read.kind, read.complaint)
            unread += 1
            request = _once_more(request, reply, read.complaint)
            continue
        asked.answer, asked.given, asked.fenced, asked.repaired = reply, read.answers, read.fenced, unread > 0
        wish = None if wished else _unmet(question, read, wishes, evidence_holds)
        if wish is None:
            return asked
        if channel.closed:
            return asked
        wished = True
        request = _once_more(request, reply, wish)


async def _send(request: Request, channel: Channel, asked: Asked, items: int) -> Answer | Failure:
    """One request, sent again after faults that may pass."""
    faults: dict[ErrorKind, int] = {}
    # About four characters a token; only the pace of requests and what is reserved for them rest on it.
    size = Size((len(request.system) + len(request.shared) + len(request.own)) // 4, items)
    while True:
        reply = await channel.send(request, size, asked)
        if isinstance(reply, Answer):
            channel.limiter.succeeded()
            channel.heard = True
            asked.usage = asked.usage.plus(reply.usage)
            return reply
        if (reply.retry_after or 0) > _LONGEST_ASKED:
            return reply._replace(fatal=True)
        if reply.kind is ErrorKind.RATE_LIMITED:
            channel.limiter.rate_limited(reply.retry_after)
        elif reply.transient:
            channel.limiter.faulted()
        channel.troubled += reply.kind is ErrorKind.SERVER and not faults
        faults[reply.kind] = faults.get(reply.kind, 0) + 1
        if not reply.transient or (reply.requests and faults[reply.kind] >= _TRIES.get(reply.kind, 1)):
            return channel.judged(reply)
        if channel.closed:
            raise asyncio.CancelledError
        channel.progress.retries[reply.kind] += 1
        unreached = reply.requests == 0
        channel.progress.unreached += unreached
        try:
            await channel.rest(_wait(faults[reply.kind], reply.retry_after))
        finally:
            channel.progress.unreached -= unreached


def _wait(fault: int, retry_after: float | None) -> float:
    """Seconds before the next try: what the server asked for, or twice as long each time, never all at once."""
    spread = random.uniform(0.75, 1.25)  # noqa: S311 - spreading requests out is no secret
    if retry_after is not None:
        return retry_after + spread * 0.1
    return min(_FIRST_WAIT * 2 ** (fault - 1), _LONGEST_WAIT) * spread


def _once_more(request: Request, reply: Answer, complaint: str) -> Request:
    return request._replace(repairs=(*request.repairs, Exchange(reply.text, f"{complaint} {_AGAIN}")))


_AGAIN = "Answer the same question again, with only the JSON object that was asked for."


def _unmet(
    question: Question, read: Readable, wishes: RetryPolicy, evidence_holds: Callable[[Question, ParsedAnswer], bool]
) -> str | None:
    """What the user wishes that the reply does not meet, in words for the judge."""
    limit = question.questionnaire.instrument.prompt.reasoning_limit
    unmet: list[str] = []
    if wishes.enforce_length and any(len(given.reasoning) > limit for given in read.answers.values()):
        unmet.append(f"The reasoning was longer than {limit} characters.")
    if wishes.require_evidence and not all(evidence_holds(question, given) for given in read.answers.values()):
        unmet.append(
            "The reasoning cited no turn of the transcript, or quoted words that do not stand in the turn it cites."
        )
    return " ".join(unmet) or None


def _failed(asked: Asked, kind: ErrorKind, detail: str, *, fatal: bool = False) -> Asked:
    if asked.given is None:
        asked.error, asked.detail, asked.fatal = kind, detail, fatal
    return asked
