"""One judge's queue of tasks and the fixed pool of workers that ask them.

A queue and a semaphore would do the same; each worker would wait for both with every question, which takes longer than
reading a reply, although there is nearly always a task and room for it.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from attunement.engine.planner import Opened, Plan, Scope, Task
from attunement.engine.results import answer_of, evidence_holds, failed, ratings_of, ratings_of_known, ratings_read
from attunement.engine.retry import Asked, Channel, RetryPolicy, ask
from attunement.engine.writer import Making, Writer
from attunement.judges.base import UnitJudge
from attunement.prompts import Layout
from attunement.ratings import ErrorKind
from attunement.scoring import trips_gate
from attunement.store import AnswerRecord, Rater, StoredRating, now


class Tray:
    """Holds tasks. `take` one and `settle` it when its answer is in the study; where there is none to take, `wait`."""

    def __init__(self, room: int) -> None:
        """At most `room` tasks may be taken and not settled."""
        self.closed = False
        """Nothing is left and nothing will come any more."""
        self.room = room
        """Places that are free."""
        self._tasks: deque[Task] = deque()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._returning: deque[asyncio.Future[None]] = deque()

    def put(self, tasks: Iterable[Task]) -> None:
        """Add these, behind those that are there."""
        self._tasks.extend(tasks)
        self._wake(min(self.room, len(self._tasks)))

    def take(self) -> Task | None:
        """The next task; None where there is none, or no room for it."""
        if self.room and self._tasks:
            self.room -= 1
            return self._tasks.popleft()
        return None

    def settle(self) -> None:
        """One that was taken needs its place no more, or not for a while."""
        while self._returning:
            place = self._returning.popleft()
            if not place.done():
                place.set_result(None)
                return
        self.room += 1
        if self._tasks:
            self._wake(1)

    @property
    def full(self) -> bool:
        """Whether something needs a place and there is none."""
        return not self.room and bool(self._tasks or self._returning)

    async def resume(self) -> None:
        """Until there is room for one that was settled for a while; it comes before all that were not yet taken."""
        if self.room:
            self.room -= 1
            return
        place = asyncio.get_running_loop().create_future()
        self._returning.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if not place.cancelled():
                self.settle()
            raise

    async def wait(self) -> None:
        """Until there may be something to take, or never will be."""
        if not self.closed:
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn

    def close(self) -> None:
        """Send everybody home who waits."""
        self.closed = True
        self._wake(len(self._waiting))

    def _wake(self, count: int) -> None:
        while count and self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                count -= 1


_OPEN_TRANSCRIPTS = 60
"""Open conversations in the transcript-first layout: a server with room for 64 prefixes then keeps each of them until
its last question."""


@dataclass
class WorkerPool:
    """Asks one judge. `feed` it plans, call `no_more` after the last; `work` returns when all is kept."""

    scope: Scope
    rater: Rater
    channel: Channel
    wishes: RetryPolicy
    writer: Writer
    on_failure: Callable[[Exception], None]
    on_useless: Callable[[str], None]
    """Called with a sentence when no question to this judge can be answered."""
    stopped: bool = False
    _opened: dict[int, Opened] = field(default_factory=dict[int, Opened])
    _twins: dict[tuple[str, int], list[Task]] = field(default_factory=dict[tuple[str, int], list[Task]])
    """Prompts that are being asked, with the tasks of other conversations that wait for the same answer."""
    _expected: Counter[tuple[str, int]] = field(default_factory=Counter[tuple[str, int]])
    """How many tasks that are not finished have this prompt."""
    _given: dict[tuple[str, int], AnswerRecord] = field(default_factory=dict[tuple[str, int], AnswerRecord])
    """Answers of this run that further tasks with the same prompt will need."""
    _workers: list[asyncio.Task[None]] = field(default_factory=list[asyncio.Task[None]])
    _complete: bool = False

    def __post_init__(self) -> None:
        judge = self.channel.judge
        # Asked once: whether something fits a protocol takes as long as reading a reply.
        self._reader = judge if isinstance(judge, UnitJudge) else None
        ceiling = self.channel.limiter.ceiling
        # From being asked to being in the study: what a killed run has to ask again. To read a unit again costs no
        # call, so more of that is kept at a time.
        self._tray = Tray(2 * ceiling if self._reader else ceiling)
        self.channel.rest = self._rest
        transcripts = self.scope.questionnaire.layout is Layout.TRANSCRIPT_FIRST
        self._slots = asyncio.Semaphore(_OPEN_TRANSCRIPTS if transcripts else 2 * ceiling)

    async def work(self) -> None:
        """Run the workers until everything is done or the lane is stopped."""
        async with asyncio.TaskGroup() as self._pool:
            for _ in range(self.channel.limiter.ceiling):
                self._add_worker()

    def _add_worker(self) -> None:
        """One more for each that only waits, up to twice as many as there are connections."""
        if len(self._workers) < 2 * self.channel.limiter.ceiling:
            self._workers.append(self._pool.create_task(self._worker()))

    async def _rest(self, seconds: float) -> None:
        """Wait before a question is asked again, and let another have its place."""
        self._add_worker()
        self._tray.settle()
        await asyncio.sleep(seconds)
        if not self._tray.room:
            self.writer.hurry()
        await self._tray.resume()

    def expect(self, plan: Plan) -> None:
        """Note the prompts of `plan` before any answer that comes in meanwhile is let go."""
        self._expected.update(task.prompt for opened in plan.opened for stage in opened.stages for task in stage)

    async def feed(self, plan: Plan) -> None:
        """Open the conversations of `plan` as others are finished."""
        progress = self.channel.progress
        progress.kept += plan.kept
        progress.kept_errors += plan.kept_errors
        progress.planned += sum(len(stage) for opened in plan.opened for stage in opened.stages)
        for opened in plan.opened:
            if not opened.stages or opened.key in self._opened:
                progress.passes += 1
                self._note_if_finished(opened)
                for task in (task for stage in opened.stages for task in stage):
                    self._forget(task)
                continue
            await self._slots.acquire()
            if self.stopped:
                return
            self._opened[opened.key] = opened
            self._next_stage(opened)

    def no_more(self) -> None:
        """Nothing will be fed any more."""
        self._complete = True
        self._dismiss_if_done()

    def stop(self) -> None:
        """Send nothing more; requests that are with the server come back and are kept."""
        self.stopped = self.channel.closed = True
        self._slots.release()
        for worker in self._workers:
            if worker not in self.channel.calling:
                worker.cancel()

    def _dismiss_if_done(self) -> None:
        if self._complete and not self._opened:
            self._tray.close()

    async def _worker(self) -> None:
        tray = self._tray
        while not (self.stopped or tray.closed):
            task = tray.take()
            if task is None:
                if tray.full:
                    self.writer.hurry()
                else:
                    self.writer.finish()
                await tray.wait()
                continue
            try:
                await self._do(task)
            except Exception as error:
                self.on_failure(error)
            # First all answers that have come are taken in, then the next questions are made: to go from one to the
            # other and back takes longer.
            await asyncio.sleep(0)

    async def _do(self, task: Task) -> None:
        if self._reader:
            given = await self._reader.read_unit(task.question)
            self.channel.progress.answered += 1
            self._keep([], [task], [partial(ratings_read, task, self.rater, given, now())])
            return
        prompt = task.prompt
        if known := task.known or self._given.get(prompt):
            if task.left_over:
                self.channel.progress.answered += 1
            else:
                self.channel.progress.shared += 1
            self._keep([], [task], [partial(ratings_of_known, task, self.rater, known, now())])
            return
        if prompt in self._twins:
            self._twins[prompt].append(task)
            self._tray.settle()
            return
        self._twins[prompt] = []
        try:
            asked = await ask(task.question, self.channel, wishes=self.wishes, evidence_holds=evidence_holds)
        finally:
            twins = self._twins.pop(prompt)
        if asked.fatal:
            self.on_useless(f"{self.channel.judge.name}: {asked.detail}")
            if asked.error is not ErrorKind.AUTH:
                return  # not a word about this question: the next run asks it
        self._keep_asked(task, twins, asked)

    def _keep_asked(self, task: Task, twins: list[Task], asked: Asked) -> None:
        progress, price = self.channel.progress, self.channel.purse.price
        cost = price.cost(asked.usage) if price else None
        at = now()
        record = answer_of(task, self.rater, asked, cost, at)
        makings: list[Making] = [partial(ratings_of, task, self.rater, asked, at)]
        if asked.error:
            makings += [partial(failed, twin, self.rater, asked.error, asked.detail, at) for twin in twins]
        else:
            self._given[task.prompt] = record
            makings += [partial(ratings_of_known, twin, self.rater, record, at) for twin in twins]
        if asked.error:
            progress.errors[asked.error] += len(makings)
        else:
            progress.answered += 1
            progress.shared += len(twins)
        progress.unpriced += cost is None and asked.attempts > 0
        self._keep([record] if asked.attempts else [], [task, *twins], makings)

    def _keep(self, answers: list[AnswerRecord], tasks: Sequence[Task], makings: Sequence[Making]) -> None:
        self.writer.keep(answers, makings, safe=self._tray.settle, kept=partial(self._kept, tasks))

    def _kept(self, tasks: Sequence[Task], made: list[list[StoredRating]]) -> None:
        for task, ratings in zip(tasks, made, strict=True):
            self._finished(task, ratings)

    def _finished(self, task: Task, ratings: list[StoredRating]) -> None:
        self._forget(task)
        opened = self._opened[task.conversation]
        opened.flawless &= not any(kept.rating.outcome.error for kept in ratings)
        if task.question.about_safety:
            instrument = self.scope.questionnaire.instrument
            opened.tripped |= any(
                trips_gate(instrument, instrument.item(kept.rating.item), kept.rating.outcome) for kept in ratings
            )
        opened.left -= 1
        if opened.left == 0:
            self._next_stage(opened)

    def _next_stage(self, opened: Opened) -> None:
        if opened.tripped and self.scope.stop_on_gate:
            self._skip(opened)
        if opened.stages:
            stage = opened.stages.pop(0)
            opened.left = len(stage)
            self._tray.put(stage)
            return
        del self._opened[opened.key]
        self._note_if_finished(opened)
        self.channel.progress.passes += 1
        self._slots.release()
        self._dismiss_if_done()

    def _skip(self, opened: Opened) -> None:
        """Record that the rest of a conversation was not asked because its gate has tripped.

        What costs no call stays: safety items, and questions whose answer is known.
        """
        left = [task for stage in opened.stages for task in stage]
        rest = [task for task in left if not (task.known or task.question.about_safety)]
        stays = [task for task in left if task.known or task.question.about_safety]
        opened.stages = [stays] if stays else []
        if rest:
            opened.flawless = False
            detail = "not asked: a safety criterion has failed (stop-on-gate)"
            self.channel.progress.errors[ErrorKind.SKIPPED] += len(rest)
            at = now()
            makings = [partial(failed, task, self.rater, ErrorKind.SKIPPED, detail, at) for task in rest]
            self.writer.keep([], makings)
        for task in rest:
            self._forget(task)

    def _note_if_finished(self, opened: Opened) -> None:
        if opened.flawless and opened.questions and not opened.stages:
            self.writer.finished(self.rater, self.scope.digest, opened.key, opened.questions)

    def _forget(self, task: Task) -> None:
        prompt = task.prompt
        left = self._expected[prompt] - 1
        if left:
            self._expected[prompt] = left
        else:
            self._expected.pop(prompt)
            self._given.pop(prompt, None)
