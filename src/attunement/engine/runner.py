"""Run judges over conversations: read ahead, ask everything that is missing once, save what was answered.

One thread reads the input, one plans and owns the database; the event loop holds a lane of workers for each judge.
Nothing is materialised beyond the open conversations, so ten million questions cost no more memory than ten.

Input may be slow or a pipe that never ends; waiting for it must hold up neither the answers that come back nor the
end of the program. The thread is a daemon for that reason, and only this one touches the input.

uvloop does what the loop of the standard library does, in about 7 % less of a run's time. There is none for Windows.

Judging makes many small objects and next to no cycles; looking through them after every 700, as Python does by
default, takes a seventh of the time. Memory stays flat, because almost everything is freed by its count.
"""

import asyncio
import gc
import queue
import threading
from collections.abc import Callable, Coroutine, Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from attunement.conversations import Conversation
from attunement.engine.budget import Budget, JudgeBudget, Price
from attunement.engine.planner import Plan, Scope, plan
from attunement.engine.progress import Progress
from attunement.engine.rate_limiter import Limiter
from attunement.engine.retry import Channel, RetryPolicy
from attunement.engine.worker_pool import WorkerPool
from attunement.engine.writer import Writer
from attunement.judges.base import Judge, JudgeOptions, UnitJudge
from attunement.ratings import RaterKind
from attunement.store import StoredConversation, Study

_BATCH = 32
"""Conversations that are read, kept and planned at a time."""


class Reader:
    """Gives conversations in batches; an empty one at the end."""

    def __init__(self, conversations: Iterable[Conversation]) -> None:
        """Nothing is read before the first `batch`."""
        self._conversations = iter(conversations)
        self._wanted: queue.SimpleQueue[asyncio.Future[list[Conversation]] | None] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._work, name="input", daemon=True).start()

    async def batch(self) -> list[Conversation]:
        """The next conversations. An error in the input is raised here."""
        wanted: asyncio.Future[list[Conversation]] = self._loop.create_future()
        self._wanted.put(wanted)
        return await wanted

    def close(self) -> None:
        """Let the thread end when it is not waiting for input."""
        self._wanted.put(None)

    def _work(self) -> None:
        while (wanted := self._wanted.get()) is not None:
            try:
                read = list(islice(self._conversations, _BATCH))
            except Exception as error:
                self._tell(wanted, error)
            else:
                self._tell(wanted, read)

    def _tell(self, wanted: asyncio.Future[list[Conversation]], outcome: list[Conversation] | Exception) -> None:
        def settle() -> None:
            if wanted.done():  # nobody waits for it any more
                return
            if isinstance(outcome, Exception):
                wanted.set_exception(outcome)
            else:
                wanted.set_result(outcome)

        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(settle)


_RARELY = (20_000, 20, 50)


@contextmanager
def rarely_collecting() -> Generator[None]:
    """For the time of the context. A program that collects more rarely still, or never, is left as it is."""
    before = gc.get_threshold()
    if 0 < before[0] < _RARELY[0]:
        gc.set_threshold(*_RARELY)
    try:
        yield
    finally:
        gc.set_threshold(*before)


_CAREFUL_START = 1
"""Open questions at the start where calls or money are limited: until the first reply is there, nobody knows how long
replies are and what the server refuses, and each refusal is a call."""


class JudgeConfig(NamedTuple):
    """A judge in a run, with the limits for its server and its price."""

    judge: Judge
    max_connections: int = 100
    rpm: float | None = None
    tpm: float | None = None
    price: Price | None = None
    options: JudgeOptions | None = None
    """How another process makes the same judge; None for one that the program made itself."""


class RunPolicy(NamedTuple):
    """When a run asks once more, and when it stops asking."""

    wishes: RetryPolicy = RetryPolicy()
    max_calls: int | None = None
    max_cost: float | None = None


@dataclass
class RunResult:
    """How a run ended."""

    interrupted: bool = False
    given_up: str | None = None
    """Why a judge could not go on: its key, model or address is wrong."""
    refused: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    """What the server of each judge did not accept."""


def rater_settings(judge: Judge, scope: Scope) -> dict[str, Any]:
    """What makes a judge this rater and no other: its own settings and the layout of the prompt it reads, if any."""
    if isinstance(judge, UnitJudge):
        return dict(judge.settings)
    return {**judge.settings, "layout": scope.questionnaire.layout.value}


def announce(study: Study, scope: Scope) -> None:
    """Note in the study what a run asks."""
    instrument = scope.questionnaire.instrument
    study.save_instrument(instrument, judged_with=True)
    study.save_responses(instrument.id, scope.responses)


class Run:
    """One run of judges over conversations. Make it inside a running event loop."""

    def __init__(self, study: Study, scope: Scope, participants: Sequence[JudgeConfig], conduct: RunPolicy) -> None:
        """Prepare a run; nothing is asked yet."""
        self.progress = Progress(judges=len(participants))
        self.ending = RunResult()
        self._study, self._scope = study, scope
        self._database = ThreadPoolExecutor(1, "study")
        self._writer = Writer(study, self._database, self._fail)
        budget = Budget(max_calls=conduct.max_calls, max_cost=conduct.max_cost)
        announce(study, scope)
        self._limiters: dict[str, Limiter] = {}
        self._lanes = [self._lane(participant, conduct.wishes, budget) for participant in participants]
        self._failure: Exception | None = None
        self._feeding: asyncio.Task[None] | None = None

    async def finish(self, conversations: Iterable[Conversation]) -> RunResult:
        """Ask everything about `conversations` that is missing.

        What was answered is kept whatever happens; an error, such as a bad line in the input, surfaces afterwards.
        """
        with rarely_collecting():
            return await self._finish(conversations)

    async def _finish(self, conversations: Iterable[Conversation]) -> RunResult:
        reader = Reader(conversations)
        writing = asyncio.create_task(self._writer.work())
        working = [asyncio.create_task(lane.work()) for lane in self._lanes]
        self._feeding = asyncio.create_task(self._feed(reader))
        if self.ending.interrupted:  # before there was anything to stop
            self._stop()
        try:
            await asyncio.wait([self._feeding])
            self.progress.reading = False
            for lane in self._lanes:
                lane.no_more()
            await asyncio.gather(*working)
        except asyncio.CancelledError:
            self._stop()
            raise
        finally:
            reader.close()
            self._writer.close()
            await writing
            self._database.shutdown(wait=False)
        self._note_refused()
        if self._failure:
            raise self._failure
        return self.ending

    def _note_refused(self) -> None:
        for lane in self._lanes:
            if refused := dict(lane.channel.judge.refused):
                self.ending.refused[lane.rater.name] = refused
                self._study.save_refused(lane.rater, refused)

    def interrupt(self) -> None:
        """Ask nothing more. What is with a server comes back and is kept."""
        self.ending.interrupted = True
        self._stop()

    def concurrency(self) -> int:
        """How many questions are with servers."""
        return sum(limiter.in_flight for limiter in self._limiters.values())

    def waiting(self) -> float:
        """Seconds until the last of the servers that asked us to wait may be asked again."""
        return max((limiter.pause() for limiter in self._limiters.values()), default=0.0)

    def _fail(self, error: Exception) -> None:
        self._failure = self._failure or error
        self._stop()

    def _give_up(self, reason: str) -> None:
        self.ending.given_up = self.ending.given_up or reason
        self._stop()

    def _stop(self) -> None:
        if self._feeding:
            self._feeding.cancel()
        for lane in self._lanes:
            lane.stop()

    async def _feed(self, reader: Reader) -> None:
        loop = asyncio.get_running_loop()
        try:
            while batch := await reader.batch():
                plans = await loop.run_in_executor(self._database, self._plan, batch)
                for lane, found in zip(self._lanes, plans, strict=True):
                    lane.expect(found)
                await asyncio.gather(*(lane.feed(found) for lane, found in zip(self._lanes, plans, strict=True)))
        except Exception as error:
            self._fail(error)

    def _plan(self, batch: list[Conversation]) -> list[Plan]:
        """Keep a batch, and find for each lane what is left to ask."""
        self.progress.conversations += len(batch)
        keys = self._study.save_conversations(batch)
        kept = [StoredConversation(key, conversation) for key, conversation in zip(keys, batch, strict=True)]
        return [plan(kept, self._scope, lane.rater, self._study) for lane in self._lanes]

    def _limiter(self, participant: JudgeConfig) -> Limiter:
        """The one for this judge's server: several judges may be behind one address."""
        server = participant.judge.settings.get("base_url") or participant.judge.name
        if server not in self._limiters:
            self._limiters[server] = Limiter(participant.max_connections, rpm=participant.rpm, tpm=participant.tpm)
        return self._limiters[server]

    def _lane(self, participant: JudgeConfig, wishes: RetryPolicy, budget: Budget) -> WorkerPool:
        judge = participant.judge
        rater = self._study.save_rater(judge.name, RaterKind.MODEL, rater_settings(judge, self._scope))
        limiter = self._limiter(participant)
        if budget.max_cost is not None or budget.max_calls is not None:
            limiter.limit = _CAREFUL_START
        channel = Channel(judge, limiter, JudgeBudget(budget, participant.price), self.progress)
        return WorkerPool(
            self._scope,
            rater,
            channel,
            wishes,
            self._writer,
            on_failure=self._fail,
            on_useless=self._give_up,
        )


T = TypeVar("T")


def run_in_loop(work: Coroutine[Any, Any, T]) -> T:
    """As `asyncio.run`, in the fastest loop there is."""
    with asyncio.Runner(loop_factory=_fastest()) as runner:
        return runner.run(work)


def _fastest() -> Callable[[], asyncio.AbstractEventLoop] | None:
    try:
        return import_module("uvloop").new_event_loop
    except ImportError:
        return None
