"""One question to one judge, until there is an answer or a typed ERROR.

This is the only place that asks again: after a fault that may pass, after a reply that could not be read (at most
twice, saying what was wrong), and once more if the user wants that for reasoning that is too long or cites nothing.
Every loop here ends.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from attunement import evidence
from attunement.engine.budget import REPLY_TOKENS, JudgeBudget, Size, estimated_usage
from attunement.engine.progress import Progress
from attunement.engine.rate_limiter import RateLimiter
from attunement.errors import AttunementError, JudgeError
from attunement.judges.base import Answer, Exchange, Failure, Judge, Request, Usage
from attunement.judges.reply_parser import ParsedAnswer, Unreadable, read_reply
from attunement.prompts import Question
from attunement.ratings import ErrorKind

REPAIRS = 2  # how often a judge is told that its reply could not be read

_TRIES = {ErrorKind.SERVER: 5, ErrorKind.TIMEOUT: 3}
"""How often a question is sent in all when the fault is of this kind: a server that did not answer three times will
not."""

_LONGEST_REFUSAL = 3600.0
"""Seconds for which one question may be refused, again and again, while others are answered. Being told to wait is not
the question's fault."""

_FIRST_WAIT, _LONGEST_WAIT = 0.5, 60.0

_LONGEST_RETRY_AFTER = 900.0
"""Seconds a server may ask us to wait, or answer nothing but that. Beyond that the run stops and a later one continues:
nobody should sit out a daily quota."""

_FAILED_QUESTIONS = 3
"""If so many questions met faults and none was ever answered, the questions are not the reason."""


class RetryPolicy(NamedTuple):
    """When to ask once more although the reply could be read."""

    enforce_length: bool = False
    require_evidence: bool = False


@dataclass
class QuestionResult:
    """What came of a question."""

    answers: dict[str, ParsedAnswer] | None = None  # by item; None for an error
    error: ErrorKind | None = None
    detail: str = ""
    fenced: bool = False
    repaired: bool = False
    answer: Answer | None = None  # the reply that was used, or the last one that could not be
    usage: Usage = field(default_factory=Usage)  # of all calls
    attempts: int = 0
    fatal: bool = False  # asking other questions is useless, too

    def failed(self, kind: ErrorKind, detail: str, *, fatal: bool = False) -> "QuestionResult":
        """This result with an error, unless an earlier reply could be read."""
        if self.answers is None:
            self.error, self.detail, self.fatal = kind, detail, fatal
        return self


@dataclass
class Channel:
    """What every question to one judge goes through."""

    judge: Judge
    limiter: RateLimiter
    budget: JudgeBudget
    progress: Progress
    closed: bool = False  # no further request may be sent; those under way come back
    calling: set[asyncio.Task[Any]] = field(default_factory=set[asyncio.Task[Any]])  # tasks with a request under way
    backoff: Callable[[float, ErrorKind], Awaitable[object]] = lambda wait, _: asyncio.sleep(wait)  # before a retry
    _answered: bool = False  # whether the judge has ever answered
    _failed_questions: int = 0

    async def send(self, request: Request, result: QuestionResult, items: int) -> Answer | Failure:
        """Send one request, and again after faults that may pass."""
        faults: dict[ErrorKind, int] = {}
        refused_since: float | None = None
        # About four characters a token: only the pace of requests and the reserved budget depend on it.
        size = Size((len(request.system) + len(request.shared) + len(request.own)) // 4, items)
        while True:
            reply = await self._call(request, size, result)
            if isinstance(reply, Failure) and (reply.retry_after or 0) > _LONGEST_RETRY_AFTER:
                return reply._replace(fatal=True)
            self.limiter.record(reply, size.prompt)
            if isinstance(reply, Answer):
                self._answered = True
                return reply
            self._failed_questions += reply.kind is ErrorKind.SERVER and not faults
            faults[reply.kind] = faults.get(reply.kind, 0) + 1
            if reply.kind is ErrorKind.RATE_LIMITED:
                now = asyncio.get_running_loop().time()
                refused_since = now if refused_since is None else refused_since
                if now - refused_since > _LONGEST_RETRY_AFTER < self.limiter.silent():
                    return reply._replace(fatal=True)
                if now - refused_since > _LONGEST_REFUSAL:
                    return reply
            elif not reply.transient or (reply.requests and faults[reply.kind] >= _TRIES.get(reply.kind, 1)):
                return self._final(reply)
            if self.closed:
                raise asyncio.CancelledError
            self.progress.retries[reply.kind] += 1
            unreached = reply.requests == 0
            self.progress.unreached += unreached
            try:
                await self.backoff(_wait(faults[reply.kind], reply.retry_after), reply.kind)
            finally:
                self.progress.unreached -= unreached

    async def _call(self, request: Request, size: Size, result: QuestionResult) -> Answer | Failure:
        """Send one request when the limits allow it."""
        if self.closed:
            raise asyncio.CancelledError
        if refused := self.budget.refusal(size):  # known without waiting for a place
            return refused
        await self.limiter.acquire(size.prompt)
        task = asyncio.current_task()
        reply: Answer | Failure | None = None
        reserved: float | None = None  # nothing was sent
        try:
            if self.closed:
                raise asyncio.CancelledError
            taken = self.budget.reserve(size)
            if isinstance(taken, Failure):
                return taken
            reserved = taken
            if task:
                self.calling.add(task)
            result.attempts += 1
            self.progress.calls += 1
            reply = await self._ask_judge(request)
            result.attempts += reply.requests - 1
            self.progress.calls += reply.requests - 1
            if isinstance(reply, Answer) and not (reply.usage.prompt and reply.usage.completion):
                self.progress.estimated += 1
                reply = reply._replace(usage=estimated_usage(reply, size))
            return reply
        finally:
            if task:
                self.calling.discard(task)
            self.limiter.release()
            self._charge(result, reserved, size, reply)

    def _charge(
        self, result: QuestionResult, reserved: float | None, size: Size, reply: Answer | Failure | None
    ) -> None:
        """Count what a call cost; one that was broken off counts with the longest reply, which it may have cost."""
        if reserved is None:
            return
        usage = Usage()
        if isinstance(reply, Answer):
            usage = reply.usage
        elif reply is None or reply.billable:
            limit = self.judge.settings.get("max_tokens")
            usage = Usage(size.prompt, limit if isinstance(limit, int) else REPLY_TOKENS * size.items)
            self.progress.broken_off += 1
        result.usage = result.usage.plus(usage)
        self.progress.spend(usage, self.budget.price)
        self.budget.settle(reserved, reply, usage)

    async def _ask_judge(self, request: Request) -> Answer | Failure:
        """The judge's reply. A judge that raises an error instead of returning a Failure cannot be used."""
        try:
            return await self.judge.ask(request)
        except AttunementError:
            raise
        except (Exception, asyncio.CancelledError) as error:
            task = asyncio.current_task()
            if isinstance(error, asyncio.CancelledError) and task and task.cancelling():
                raise
            raise JudgeError(f"{self.judge.name} broke off with {type(error).__name__}: {error}") from error

    def _final(self, failure: Failure) -> Failure:
        """A failure that no further retry follows. It is fatal if every question fails."""
        if failure.kind is not ErrorKind.SERVER or self._answered or self._failed_questions < _FAILED_QUESTIONS:
            return failure
        detail = f"{failure.detail}; nothing was ever answered there, so the address may be wrong"
        return failure._replace(detail=detail, fatal=True)


async def ask(question: Question, channel: Channel, policy: RetryPolicy, repeat: int = 0) -> QuestionResult:
    """Ask until there is an answer or an error that asking again does not change."""
    text = question.render()
    request = Request(text.system, text.shared, text.own, question.schema, prompt=question.hash, repeat=repeat)
    result = QuestionResult()
    instrument = question.questionnaire.instrument
    unread = 0
    complained = False
    while True:
        try:
            reply = await channel.send(request, result, len(question.items))
        except asyncio.CancelledError:
            if result.answers is not None:  # only the policy wanted another reply
                return result
            raise
        if isinstance(reply, Failure):
            return result.failed(reply.kind, reply.detail, fatal=reply.fatal)
        read = read_reply(reply.text, reply.finish_reason, instrument, question.items, together=question.together)
        if isinstance(read, Unreadable):
            if result.answers is not None:
                return result  # the reply before this one could be read; only the policy wanted another
            if read.kind is ErrorKind.REFUSED or unread == REPAIRS:
                result.answer = reply
                return result.failed(read.kind, read.complaint)
            unread += 1
            complaint = read.complaint
        else:
            result.answer, result.answers = reply, read.answers
            result.fenced, result.repaired = read.fenced, unread > 0
            complaint = "" if complained else _complaint(question, read.answers, policy)
            if not complaint or channel.closed:
                return result
            complained = True
        exchange = Exchange(reply.text, f"{complaint} {_AGAIN}")
        request = request._replace(repairs=(*request.repairs, exchange))


_AGAIN = "Answer the same question again, with only the JSON object that was asked for."


def _complaint(question: Question, answers: dict[str, ParsedAnswer], policy: RetryPolicy) -> str:
    """What the policy demands and the reply does not meet, in words for the judge."""
    limit = question.questionnaire.instrument.prompt.reasoning_limit
    unmet: list[str] = []
    if policy.enforce_length and any(len(answer.reasoning) > limit for answer in answers.values()):
        unmet.append(f"The reasoning was longer than {limit} characters.")
    turns = question.unit.turns
    if policy.require_evidence and not all(
        evidence.has_verified_quote(evidence.verify(answer.reasoning, turns)) for answer in answers.values()
    ):
        unmet.append(
            "The reasoning cited no turn of the transcript, or quoted words that are not in the turn it cites."
        )
    return " ".join(unmet)


def _wait(fault: int, retry_after: float | None) -> float:
    """Seconds before the next try: what the server asked for, or twice as long each time, never all at once."""
    spread = random.uniform(0.75, 1.25)  # noqa: S311 - spreading requests out needs no secrecy
    if retry_after is not None:
        return retry_after * (1 + (spread - 0.75) / 4) + 0.1 * spread  # never earlier than the server asks
    return min(_FIRST_WAIT * 2 ** (fault - 1), _LONGEST_WAIT) * spread
