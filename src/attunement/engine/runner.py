"""Run judges over conversations: read ahead, ask everything that is missing once, save what was answered.

One thread reads the input, one plans and owns the database; in the event loop each judge has a pool of workers. Only
the open conversations are in memory, so ten million questions cost no more than ten.
"""

import asyncio
import gc
import queue
import threading
from collections import Counter
from collections.abc import Callable, Coroutine, Generator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from attunement.conversations import Conversation
from attunement.engine.budget import Budget, JudgeBudget, Price
from attunement.engine.planner import OpenConversation, Plan, Scope, Task, plan
from attunement.engine.progress import Progress
from attunement.engine.rate_limiter import RateLimiter
from attunement.engine.results import (
    MakeRatings,
    ResultWriter,
    answer_of,
    error_ratings,
    ratings_from_known,
    ratings_from_result,
    ratings_from_unit,
)
from attunement.engine.retry import Channel, QuestionResult, RetryPolicy, ask
from attunement.errors import StudyError
from attunement.judges.base import Judge, UnitJudge
from attunement.prompts import Layout
from attunement.ratings import ErrorKind, RaterKind
from attunement.scoring import trips_gate
from attunement.store import AnswerRecord, Rater, StoredConversation, StoredRating, Study, now
from attunement.store.queries import study_cost
from attunement.store.runs import SIGN_OF_LIFE, begin_run, claim, end_run, keep_run

T = TypeVar("T")


class JudgeConfig(NamedTuple):
    """A judge in a run, with the limits for its server and its price."""

    judge: Judge
    max_connections: int = 100
    rpm: float | None = None
    tpm: float | None = None
    price: Price | None = None


class RunPolicy(NamedTuple):
    """When a run asks once more, and when it stops asking."""

    retry: RetryPolicy = RetryPolicy()
    max_calls: int | None = None
    max_cost: float | None = None
    max_study_cost: float | None = None


@dataclass
class RunResult:
    """How a run ended."""

    interrupted: bool = False
    given_up: str | None = None  # why a judge could not go on: its key, model or address is wrong
    refused: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    """What the server of each judge did not accept."""


def rater_settings(judge: Judge, scope: Scope) -> dict[str, Any]:
    """What makes a judge this rater and no other: its own settings and the layout of the prompt it reads, if any."""
    if isinstance(judge, UnitJudge):
        return dict(judge.settings)
    return {**judge.settings, "layout": scope.questionnaire.layout.value}


def record_scope(study: Study, scope: Scope) -> None:
    """Record in the study what a run asks."""
    instrument = scope.questionnaire.instrument
    study.save_instrument(instrument, judged_with=True)
    study.save_responses(instrument.id, scope.responses)


_CAREFUL_START = 1
"""Open questions at the start of a run with a limit on calls or money: until the first reply is there, nobody knows how
long replies are and what the server refuses, and each refusal is a call."""


class Run:
    """One run of judges over conversations. Make it inside a running event loop."""

    def __init__(self, study: Study, scope: Scope, judges: Sequence[JudgeConfig], policy: RunPolicy) -> None:
        """Prepare a run; nothing is asked yet."""
        self.progress = Progress(judges=len(judges))
        self._result = RunResult()
        self._study, self._scope = study, scope
        self._database = ThreadPoolExecutor(1, "study")
        self._writer = ResultWriter(study, self._database, self._fail)
        self._failure: Exception | None = None
        self._feeding: asyncio.Task[None] | None = None
        self._limiters: dict[str, RateLimiter] = {}
        self._run = 0  # the key of this run in the study
        record_scope(study, scope)
        before = study_cost(study) if policy.max_study_cost is not None else 0.0
        budget = Budget(
            max_calls=policy.max_calls, max_cost=policy.max_cost, max_study_cost=policy.max_study_cost, before=before
        )
        self._pools = [self._pool(config, policy.retry, budget) for config in judges]

    def _pool(self, config: JudgeConfig, policy: RetryPolicy, budget: Budget) -> "WorkerPool":
        judge = config.judge
        rater = self._study.save_rater(judge.name, RaterKind.MODEL, rater_settings(judge, self._scope))
        server = judge.settings.get("base_url") or judge.name  # several judges may be behind one address
        if server not in self._limiters:
            self._limiters[server] = RateLimiter(config.max_connections, rpm=config.rpm, tpm=config.tpm)
        limiter = self._limiters[server]
        if (budget.max_cost, budget.max_study_cost, budget.max_calls) != (None, None, None):
            limiter.limit = _CAREFUL_START
        channel = Channel(judge, limiter, JudgeBudget(budget, config.price), self.progress)
        return WorkerPool(self._scope, rater, channel, policy, self._writer, self._fail, self._give_up)

    async def finish(self, conversations: Iterable[Conversation]) -> RunResult:
        """Ask everything about `conversations` that is missing.

        What was answered is saved whatever happens; an error, such as a bad line in the input, is raised afterwards.
        """
        with _rare_garbage_collection():
            return await self._finish(conversations)

    async def _finish(self, conversations: Iterable[Conversation]) -> RunResult:
        self._run = await self._in_database(begin_run, self._study)
        reader = BatchReader(conversations)
        living = asyncio.create_task(self._live())
        writing = asyncio.create_task(self._writer.work())
        working = [asyncio.create_task(pool.work()) for pool in self._pools]
        self._feeding = asyncio.create_task(self._feed(reader))
        if self._result.interrupted:  # before there was anything to stop
            self._stop()
        try:
            await asyncio.wait([self._feeding])
            self.progress.reading = False
            for pool in self._pools:
                pool.no_more()
            await asyncio.gather(*working)
        except asyncio.CancelledError:
            self._stop()
            raise
        finally:
            reader.close()
            self._writer.close()
            await writing
            living.cancel()
            with suppress(StudyError):  # it lapses by itself
                await self._in_database(end_run, self._study, self._run)
            self._database.shutdown(wait=False)
        for pool in self._pools:
            if refused := dict(pool.channel.judge.refused):
                self._result.refused[pool.rater.name] = refused
                self._study.save_refused(pool.rater, refused)
        if self._failure:
            raise self._failure
        return self._result

    async def _in_database(self, work: Callable[..., T], *arguments: Any) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._database, work, *arguments)

    async def _live(self) -> None:
        try:
            while True:
                await asyncio.sleep(SIGN_OF_LIFE)
                await self._in_database(keep_run, self._study, self._run)
        except Exception as error:
            self._fail(error)

    def interrupt(self) -> None:
        """Ask nothing more. Requests under way come back and are saved."""
        self._result.interrupted = True
        self._stop()

    def concurrency(self) -> int:
        """How many questions are with servers."""
        return sum(limiter.in_flight for limiter in self._limiters.values())

    def waiting(self) -> float:
        """Seconds until a question is sent again, if all wait because a server asked them to."""
        if self.concurrency():
            return 0.0
        return min((wait for pool in self._pools if (wait := pool.waiting()) > 0), default=0.0)

    def _fail(self, error: Exception) -> None:
        self._failure = self._failure or error
        self._stop()

    def _give_up(self, reason: str) -> None:
        self._result.given_up = self._result.given_up or reason
        self._stop()

    def _stop(self) -> None:
        if self._feeding:
            self._feeding.cancel()
        for pool in self._pools:
            pool.stop()

    async def _feed(self, reader: "BatchReader") -> None:
        try:
            while batch := await reader.batch():
                plans = await self._in_database(self._plan, batch)
                for pool, found in zip(self._pools, plans, strict=True):
                    pool.expect(found)
                await asyncio.gather(*(pool.feed(found) for pool, found in zip(self._pools, plans, strict=True)))
        except Exception as error:
            self._fail(error)

    def _plan(self, batch: list[Conversation]) -> list[Plan]:
        """Save a batch, and find out what is left to ask each judge."""
        self.progress.conversations += len(batch)
        keys = self._study.save_conversations(batch)
        stored = [StoredConversation(key, conversation) for key, conversation in zip(keys, batch, strict=True)]
        plans = [plan(stored, self._scope, pool.rater, self._study) for pool in self._pools]
        for pool, found in zip(self._pools, plans, strict=True):
            if not isinstance(pool.channel.judge, UnitJudge):  # nobody pays for what is read on this machine
                claim(self._study, self._run, pool.rater, [one.key for one in found.conversations if one.stages])
        return plans


_MOST_RESTING = 4096  # questions of a judge that may wait before a retry while others are asked

_OPEN_TRANSCRIPTS = 60
"""Open conversations in the transcript-first layout: a server with room for 64 prefixes then has each of them until its
last question."""


@dataclass
class WorkerPool:
    """The workers of one judge. `feed` it plans, call `no_more` after the last; `work` returns when all is saved."""

    scope: Scope
    rater: Rater
    channel: Channel
    policy: RetryPolicy
    writer: ResultWriter
    on_failure: Callable[[Exception], None]
    on_fatal: Callable[[str], None]  # called with a sentence when no question to this judge can be answered
    _open: dict[int, OpenConversation] = field(default_factory=dict[int, OpenConversation])
    # Prompts that are being asked, with the tasks of other conversations that wait for the same answer.
    _twins: dict[tuple[str, int], list[Task]] = field(default_factory=dict[tuple[str, int], list[Task]])
    # How many unfinished tasks have each prompt, and the answers of this run that some of them will need.
    _expected: Counter[tuple[str, int]] = field(default_factory=Counter[tuple[str, int]])
    _answers: dict[tuple[str, int], AnswerRecord] = field(default_factory=dict[tuple[str, int], AnswerRecord])
    _workers: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])
    _backing_off: dict[asyncio.Task[None] | None, float] = field(
        default_factory=dict[asyncio.Task[None] | None, float]
    )  # workers that wait before a retry, and until when
    _lent_slots: int = 0
    _all_fed: bool = False

    def __post_init__(self) -> None:
        judge, connections = self.channel.judge, self.channel.limiter.ceiling
        # Found out once: checking whether an object fits a protocol takes as long as reading a reply.
        self._unit_judge = judge if isinstance(judge, UnitJudge) else None
        self._tasks: asyncio.Queue[Task] = asyncio.Queue()
        transcripts = self.scope.questionnaire.layout is Layout.TRANSCRIPT_FIRST
        self._slots = asyncio.Semaphore(_OPEN_TRANSCRIPTS if transcripts else 2 * connections)
        self._finished = asyncio.Event()
        self.channel.backoff = self._backoff

    async def work(self) -> None:
        """Run the workers until everything is done or the pool is stopped."""
        for _ in range(self.channel.limiter.ceiling):
            self._add_worker()
        try:
            await self._finished.wait()
            await asyncio.wait(self._workers)
        finally:
            for worker in self._workers:
                worker.cancel()
            await asyncio.gather(*self._workers, return_exceptions=True)

    def _add_worker(self) -> None:
        self._workers.add(asyncio.create_task(self._worker()))

    async def _backoff(self, seconds: float, kind: ErrorKind) -> None:
        """Wait before a retry while another worker asks other questions, for which another conversation is opened."""
        worker = asyncio.current_task()
        self._backing_off[worker] = asyncio.get_running_loop().time() + seconds
        # Of a server that fails, rather than refuses, not much more is asked.
        resting = _MOST_RESTING if kind is ErrorKind.RATE_LIMITED else self.channel.limiter.ceiling
        if len(self._workers) < self.channel.limiter.ceiling + resting:
            self._add_worker()
        self._lent_slots += 1
        self._slots.release()
        try:
            await asyncio.sleep(seconds)
        finally:
            del self._backing_off[worker]

    def waiting(self) -> float:
        """Seconds until a question that waits before a retry is sent."""
        if not self._backing_off:
            return 0.0
        earliest = min(self._backing_off.values()) - asyncio.get_running_loop().time()
        return max(earliest, self.channel.limiter.pause())

    def expect(self, plan: Plan) -> None:
        """Register the prompts of `plan`, so that answers that it needs are not dropped meanwhile."""
        self._expected.update(task.prompt for opened in plan.conversations for stage in opened.stages for task in stage)

    async def feed(self, plan: Plan) -> None:
        """Open the conversations of `plan` as others are finished."""
        progress = self.channel.progress
        progress.already_done += plan.already_done
        progress.already_failed += plan.already_failed
        progress.planned += sum(len(stage) for opened in plan.conversations for stage in opened.stages)
        for opened in plan.conversations:
            if not opened.stages or opened.key in self._open:
                progress.passes += 1
                self._note_if_finished(opened)
                for task in (task for stage in opened.stages for task in stage):
                    self._forget(task)
                continue
            await self._slots.acquire()
            if self.channel.closed:
                return
            self._open[opened.key] = opened
            self._next_stage(opened)

    def no_more(self) -> None:
        """Nothing more will be fed."""
        self._all_fed = True
        self._end_if_done()

    def stop(self) -> None:
        """Send nothing more; requests that are with the server come back and are saved."""
        self.channel.closed = True
        self._slots.release()
        self._end()

    def _end_if_done(self) -> None:
        if self._all_fed and not self._open:
            self._end()

    def _end(self) -> None:
        self._finished.set()
        for worker in self._workers:
            if worker not in self.channel.calling:
                worker.cancel()

    async def _worker(self) -> None:
        """Answer one question after the other. The next one waits until the answer is committed.

        So after a kill only as many questions are asked again as there are workers.
        """
        while not self._finished.is_set():
            task = await self._tasks.get()
            try:
                await self._answer(task)
            except Exception as error:
                self.on_failure(error)
            if len(self._workers) - len(self._backing_off) > self.channel.limiter.ceiling:
                self._workers -= {asyncio.current_task()}
                return

    async def _answer(self, task: Task) -> None:
        progress, prompt = self.channel.progress, task.prompt
        if self._unit_judge:
            answers = await self._unit_judge.read_unit(task.question)
            progress.answered += 1
            self._save([], [task], [partial(ratings_from_unit, task, self.rater, answers, now())])
            await asyncio.sleep(0)  # a judge that never waits must leave time to others
        elif known := task.known or self._answers.get(prompt):
            progress.answered += task.recovered
            progress.shared += not task.recovered
            self._save([], [task], [partial(ratings_from_known, task, self.rater, known, now())])
        elif prompt in self._twins:
            self._twins[prompt].append(task)
        else:
            self._twins[prompt] = []
            try:
                result = await ask(task.question, self.channel, self.policy, task.repeat)
            finally:
                twins = self._twins.pop(prompt)
            if result.fatal:
                self.on_fatal(f"{self.channel.judge.name}: {result.detail}")
                if result.error is not ErrorKind.AUTH:
                    return  # this says nothing about the question: the next run asks it
            await self._save_result(task, twins, result)

    async def _save_result(self, task: Task, twins: list[Task], result: QuestionResult) -> None:
        progress, price = self.channel.progress, self.channel.budget.price
        cost = price.cost(result.usage) if price else None
        progress.unpriced += cost is None and result.attempts > 0
        at = now()
        record = answer_of(task, self.rater, result, cost, at)
        ratings: list[MakeRatings] = [partial(ratings_from_result, task, self.rater, result, at)]
        if result.error:
            ratings += [partial(error_ratings, twin, self.rater, result.error, result.detail, at) for twin in twins]
            progress.errors[result.error] += len(ratings)
        else:
            self._answers[task.prompt] = record
            ratings += [partial(ratings_from_known, twin, self.rater, record, at) for twin in twins]
            progress.answered += 1
            progress.shared += len(twins)
        if result.attempts:
            safe = asyncio.Event()
            self._save([record], [task, *twins], ratings, on_safe=safe.set)
            await safe.wait()
        else:
            self._save([], [task, *twins], ratings)

    def _save(
        self,
        answers: list[AnswerRecord],
        tasks: Sequence[Task],
        ratings: Sequence[MakeRatings],
        on_safe: Callable[[], object] | None = None,
    ) -> None:
        def saved(made: list[list[StoredRating]]) -> None:
            for task, of_task in zip(tasks, made, strict=True):
                self._task_done(task, of_task)

        self.writer.save(answers, ratings, on_safe=on_safe, on_saved=saved)

    def _task_done(self, task: Task, ratings: list[StoredRating]) -> None:
        self._forget(task)
        opened = self._open[task.conversation]
        outcomes = {stored.rating.item: stored.rating.outcome for stored in ratings}
        opened.flawless &= not any(outcome.error for outcome in outcomes.values())
        if task.question.about_safety:
            instrument = self.scope.questionnaire.instrument
            opened.tripped |= any(
                trips_gate(instrument, instrument.item(item), outcome) for item, outcome in outcomes.items()
            )
        opened.left -= 1
        if opened.left == 0:
            self._next_stage(opened)

    def _next_stage(self, opened: OpenConversation) -> None:
        if opened.tripped and self.scope.stop_on_gate:
            self._skip(opened)
        if opened.stages:
            stage = opened.stages.pop(0)
            opened.left = len(stage)
            for task in stage:
                self._tasks.put_nowait(task)
            return
        del self._open[opened.key]
        self._note_if_finished(opened)
        self.channel.progress.passes += 1
        if self._lent_slots:
            self._lent_slots -= 1
        else:
            self._slots.release()
        self._end_if_done()

    def _skip(self, opened: OpenConversation) -> None:
        """Record that the rest of a conversation was not asked because its gate has tripped.

        What costs no call stays: safety items, and questions whose answer is known.
        """
        left = [task for stage in opened.stages for task in stage]
        skipped = [task for task in left if not (task.known or task.question.about_safety)]
        stays = [task for task in left if task.known or task.question.about_safety]
        opened.stages = [stays] if stays else []
        if skipped:
            opened.flawless = False
            detail = "not asked: a safety criterion has failed (stop-on-gate)"
            self.channel.progress.errors[ErrorKind.SKIPPED] += len(skipped)
            at = now()
            error = ErrorKind.SKIPPED
            self.writer.save([], [partial(error_ratings, task, self.rater, error, detail, at) for task in skipped])
        for task in skipped:
            self._forget(task)

    def _note_if_finished(self, opened: OpenConversation) -> None:
        if opened.flawless and opened.questions and not opened.stages:
            self.writer.note_finished(self.rater, self.scope.digest, opened.key, opened.questions)

    def _forget(self, task: Task) -> None:
        self._expected[task.prompt] -= 1
        if not self._expected[task.prompt]:
            del self._expected[task.prompt]
            self._answers.pop(task.prompt, None)


_BATCH = 32  # conversations that are read, saved and planned at a time


class BatchReader:
    """Reads conversations in batches, in a thread of its own.

    Input may be slow, or a pipe that never ends. Waiting for it must hold up neither the answers that come back nor the
    end of the program, so the thread is a daemon, and only this thread touches the input.
    """

    def __init__(self, conversations: Iterable[Conversation]) -> None:
        """Nothing is read before the first `batch`."""
        self._conversations = iter(conversations)
        self._requests: queue.SimpleQueue[asyncio.Future[list[Conversation]] | None] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._read, name="input", daemon=True).start()

    async def batch(self) -> list[Conversation]:
        """The next conversations; none at the end. An error in the input is raised here."""
        request: asyncio.Future[list[Conversation]] = self._loop.create_future()
        self._requests.put(request)
        return await request

    def close(self) -> None:
        """Let the thread end when it is not waiting for input."""
        self._requests.put(None)

    def _read(self) -> None:
        while (request := self._requests.get()) is not None:
            try:
                resolve = partial(request.set_result, list(islice(self._conversations, _BATCH)))
            except Exception as error:
                resolve = partial(request.set_exception, error)

            def resolve_if_awaited(request: asyncio.Future[Any] = request, resolve: Any = resolve) -> None:
                if not request.done():
                    resolve()

            if not self._loop.is_closed():
                self._loop.call_soon_threadsafe(resolve_if_awaited)


@contextmanager
def _rare_garbage_collection() -> Generator[None]:
    """Collect more rarely; a program that collects even more rarely, or never, is left as it is.

    Judging makes many small objects and next to no cycles. With Python's default of a collection every 700 objects, a
    run takes 17 % more CPU (`benchmarks/bench_engine.py`). Memory stays flat, as almost everything is freed at once.
    """
    before = gc.get_threshold()
    if 0 < before[0] < 20_000:
        gc.set_threshold(20_000, 20, 50)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def run_in_loop(work: Coroutine[Any, Any, T]) -> T:
    """Like `asyncio.run`, with uvloop if it is installed; it takes about 7 % less of a run's time."""
    try:
        factory = import_module("uvloop").new_event_loop
    except ImportError:
        factory = None
    with asyncio.Runner(loop_factory=factory) as runner:
        return runner.run(work)
