"""Servers with limits, and a run against them in virtual time: an hour of waiting takes no time.

The engine's own parts are at work: `Channel`, which retries, and `RateLimiter`. Only the server and the workers are
stand-ins.
"""

import asyncio
import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from attunement.engine.budget import Budget, JudgeBudget
from attunement.engine.progress import Progress
from attunement.engine.rate_limiter import RateLimiter
from attunement.engine.retry import Channel, QuestionResult
from attunement.judges.base import Answer, Failure, Request, ServerLimits, Usage
from attunement.ratings import ErrorKind
from tests import virtual_time


@dataclass
class Server:
    """Answers after `latency` seconds, or refuses at once. The rules of the kinds below say which."""

    latency: float = 1.0
    retry_after: float | None = None
    announces: ServerLimits | None = None
    tokens: int = 1000
    name: str = "fake"
    settings: dict[str, Any] = field(default_factory=dict[str, Any])
    refused: dict[str, str] = field(default_factory=dict[str, str])
    answered_at: list[float] = field(default_factory=list[float])
    refusals: int = 0
    slowest: float = 0.0

    def refuses(self, now: float) -> bool:
        return False

    def duration(self) -> float:
        return self.latency

    async def ask(self, request: Request) -> Answer | Failure:
        loop = asyncio.get_running_loop()
        if self.refuses(loop.time()):
            self.refusals += 1
            await asyncio.sleep(0.03)
            return Failure(ErrorKind.RATE_LIMITED, "429", self.retry_after, transient=True, limits=self.announces)
        sent = loop.time()
        await asyncio.sleep(self.duration() * random.uniform(0.8, 1.2))
        self.answered_at.append(loop.time())
        return Answer("{}", Usage(len(request.own) // 4, 50), loop.time() - sent, limits=self.announces)

    async def close(self) -> None: ...


@dataclass
class Erratic(Server):
    """Refuses a share at random, whatever is sent."""

    share: float = 0.05

    def refuses(self, now: float) -> bool:
        return random.random() < self.share


@dataclass
class Limited(Server):
    """Accepts `rate(now)` calls a second, and up to `burst` at once."""

    rate: Callable[[float], float] = lambda now: 50.0
    burst: float = 50.0
    _level: float = -1.0
    _at: float = 0.0

    def cost(self) -> float:
        return 1.0

    def refuses(self, now: float) -> bool:
        level = self.burst if self._level < 0 else self._level
        self._level = min(self.burst, level + (now - self._at) * self.rate(now))
        self._at = now
        if self._level < self.cost():
            return True
        self._level -= self.cost()
        return False


@dataclass
class LimitedTokens(Limited):
    """The same in tokens, which differ from call to call."""

    def cost(self) -> float:
        return self.tokens + 50.0

    async def ask(self, request: Request) -> Answer | Failure:
        self.tokens = len(request.own) // 4
        return await super().ask(request)


@dataclass
class FixedMinutes(Server):
    """Accepts so many calls in each minute by the clock."""

    calls: int = 3000
    _minute: int = -1
    _used: int = 0

    def refuses(self, now: float) -> bool:
        if int(now // 60) != self._minute:
            self._minute, self._used = int(now // 60), 0
        self._used += 1
        if self._used > self.calls:
            self.retry_after = 60 - now % 60
            return True
        return False


@dataclass
class Queueing(Server):
    """Works on `slots` calls at a time; the others wait."""

    slots: int = 32
    _open: int = 0

    async def ask(self, request: Request) -> Answer | Failure:
        if not hasattr(self, "_places"):
            self._places = asyncio.Semaphore(self.slots)
        loop = asyncio.get_running_loop()
        sent = loop.time()
        async with self._places:
            await asyncio.sleep(self.duration() * random.uniform(0.8, 1.2))
        self.answered_at.append(loop.time())
        if sent > 20:
            self.slowest = max(self.slowest, loop.time() - sent)
        return Answer("{}", Usage(1000, 50), loop.time() - sent)


class Outcome(NamedTuple):
    answered: int
    refused: int
    errors: list[Failure]
    answered_at: list[float]
    slowest: float  # seconds of an answer, after the first twenty

    @property
    def wasted(self) -> float:
        return self.refused / max(1, self.answered + self.refused)

    def rate(self, start: float, end: float) -> float:
        return sum(start <= at < end for at in self.answered_at) / (end - start)


def ask_for(seconds: float, server: Server, connections: int = 100, seed: int = 0, **limits: float) -> Outcome:
    """Keep asking for so long."""
    random.seed(seed)
    return virtual_time.run(_ask_for(seconds, server, connections, **limits))


async def _ask_for(seconds: float, server: Server, connections: int, **limits: float) -> Outcome:
    loop = asyncio.get_running_loop()
    limiter = RateLimiter(connections, **limits)
    channel = Channel(server, limiter, JudgeBudget(Budget(), None), Progress())
    errors: list[Failure] = []
    workers: set[asyncio.Task[None]] = set()
    resting = 0

    async def backoff(wait: float, _: ErrorKind) -> None:
        nonlocal resting
        resting += 1
        if len(workers) < connections + 4096:
            workers.add(asyncio.create_task(work()))
        try:
            await asyncio.sleep(wait)
        finally:
            resting -= 1

    async def work() -> None:
        while loop.time() < seconds:
            tokens = random.choice((300, 1000, 4000))
            request = Request("", "", "x" * 4 * tokens, {})
            reply = await channel.send(request, QuestionResult(), 1)
            if isinstance(reply, Failure):
                errors.append(reply)
            if len(workers) - resting > connections:
                workers.discard(asyncio.current_task())  # type: ignore[arg-type]
                return

    channel.backoff = backoff
    workers |= {asyncio.create_task(work()) for _ in range(connections)}
    await asyncio.sleep(seconds)
    for worker in list(workers):
        worker.cancel()
    await asyncio.gather(*list(workers), return_exceptions=True)
    return Outcome(len(server.answered_at), server.refusals, errors, server.answered_at, server.slowest)
