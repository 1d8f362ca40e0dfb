"""One run in several processes, and the messages they exchange.

Python computes on one core at a time; judging with `signals`, checking evidence and writing can use more. The parent
reads the input and saves the conversations, so that they are in the study in their order; each child gets some of
them, asks, and writes the answers into the study itself. Conversations with the same words go to the same child, so
they are asked once.

Down go the job, then conversations, then None, each as a pickle; the end of the stream means stop. Up come statuses,
each as a pickle after its length. Both ends belong to one run of one version, and nothing of it is stored.
"""

import asyncio
import os
import pickle
import sys
import threading
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from io import RawIOBase
from queue import SimpleQueue
from typing import BinaryIO, NamedTuple, cast

from attunement.conversations import Conversation
from attunement.engine.budget import Price
from attunement.engine.planner import Scope
from attunement.engine.progress import Progress
from attunement.engine.runner import BatchReader, JudgeConfig, Run, RunPolicy, RunResult, record_scope, run_in_loop
from attunement.errors import AttunementError, InputError, StudyError
from attunement.judges import JudgeOptions, make_judge
from attunement.store import Study, shown_place

_LENGTH = 8  # bytes that give the length of a status
_STATUS_SECONDS = 0.2

_AHEAD = 64
"""Conversations that a child may have before it has planned them: enough to be busy until its next status."""


class _JudgePart(NamedTuple):
    """A judge that a child makes for itself, with the child's part of the limits."""

    name: str
    options: JudgeOptions
    max_connections: int
    rpm: float | None
    tpm: float | None
    price: Price | None


class _Job(NamedTuple):
    """What a child has to do."""

    study: str  # its address
    scope: Scope
    judges: list[_JudgePart]
    policy: RunPolicy


class _Status(NamedTuple):
    """How far a child is. The last one has its result, or the error that ended it."""

    progress: Progress
    concurrency: int = 0
    waiting: float = 0.0
    result: RunResult | None = None
    error: Exception | None = None

    @property
    def last(self) -> bool:
        return bool(self.result or self.error)


def check_processes(judges: Sequence[JudgeConfig], policy: RunPolicy) -> None:
    """Raise an InputError if something is wanted that only one process can do."""
    if policy.max_calls is not None or policy.max_cost is not None:
        raise InputError("--max-calls and --max-cost work in one process only: leave out --processes")
    for judge, *_, options in judges:
        if options is None:
            raise InputError(
                f"{judge.name} was given as an object, which only one process can have: leave out processes"
            )
        if judge.name.startswith("local:"):
            raise InputError(f"{judge.name} uses all cores by itself: leave out --processes")


class MultiprocessRun:
    """A run of judges over conversations in several processes; for its callers, the same as a `Run`."""

    def __init__(
        self, study: Study, scope: Scope, judges: Sequence[JudgeConfig], policy: RunPolicy, processes: int
    ) -> None:
        """Prepare a run that `check_processes` accepts; no process is started yet."""
        size = min(processes, *(config.max_connections for config in judges))
        self.progress = Progress(judges=len(judges))
        self._result = RunResult()
        self._study = study
        self._jobs = [
            _Job(study.address, scope, [_part(config, number, size) for config in judges], policy)
            for number in range(size)
        ]
        record_scope(study, scope)
        self._database = ThreadPoolExecutor(1, "study")
        self._children: list[_Child] = []
        self._failure: Exception | None = None
        self._feeding: asyncio.Task[None] | None = None

    async def finish(self, conversations: Iterable[Conversation]) -> RunResult:
        """Ask everything about `conversations` that is missing.

        What was answered is saved whatever happens; an error, such as a bad line in the input, is raised afterwards.
        """
        reader = BatchReader(conversations)
        try:
            for job in self._jobs:
                self._children.append(await _Child.started(job))
            following = [asyncio.create_task(self._follow(child)) for child in self._children]
            self._feeding = asyncio.create_task(self._feed(reader))
            if self._result.interrupted:  # while the processes were started
                self._stop()
            await asyncio.wait([self._feeding])
            for child in self._children:
                child.no_more()
            await asyncio.gather(*following)
        finally:
            for child in self._children:
                child.kill()
            reader.close()
            self._database.shutdown(wait=False)
        if self._failure:
            raise self._failure
        return self._result

    def interrupt(self) -> None:
        """Ask nothing more. Requests under way come back and are saved."""
        self._result.interrupted = True
        self._stop()

    def concurrency(self) -> int:
        """How many questions are with servers."""
        return sum(child.status.concurrency for child in self._children)

    def waiting(self) -> float:
        """Seconds until the last of the servers that asked us to wait may be asked again."""
        return max((child.status.waiting for child in self._children), default=0.0)

    def _stop(self) -> None:
        if self._feeding:
            self._feeding.cancel()
        for child in self._children:
            child.stop()

    def _fail(self, error: Exception) -> None:
        self._failure = self._failure or error
        self._stop()

    async def _feed(self, reader: BatchReader) -> None:
        loop = asyncio.get_running_loop()
        try:
            while batch := await reader.batch():
                await loop.run_in_executor(self._database, self._study.save_conversations, batch)
                for conversation in batch:
                    child = self._children[int(conversation.fingerprint()[:8], 16) % len(self._children)]
                    await child.send(conversation)
        except ConnectionError:
            pass  # a child is gone; its last status, or its absence, tells why
        except Exception as error:
            self._fail(error)

    async def _follow(self, child: "_Child") -> None:
        async for status in child.statuses():
            self.progress.sum_up([other.status.progress for other in self._children])
            if status.error:
                self._fail(status.error)
            if status.result:
                self._result.refused.update(status.result.refused)
                if status.result.given_up:
                    self._result.given_up = self._result.given_up or status.result.given_up
                    self._stop()
        if not child.status.last:
            self._fail(
                StudyError(
                    "one of the processes of this run ended before its work was done; what was answered is saved in "
                    f"{shown_place(self._study.place)}, and the same command asks the rest"
                )
            )


def _part(config: JudgeConfig, number: int, size: int) -> _JudgePart:
    """The part of child `number` of `size`."""
    connections = config.max_connections // size + (number < config.max_connections % size)
    options = cast(JudgeOptions, config.options)  # `check_processes` refuses a judge without
    return _JudgePart(
        config.judge.name,
        replace(options, max_connections=connections),
        connections,
        config.rpm and config.rpm / size,
        config.tpm and config.tpm / size,
        config.price,
    )


class _Child:
    """A process at work, as its parent sees it."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._down = cast(asyncio.StreamWriter, process.stdin)
        self._up = cast(asyncio.StreamReader, process.stdout)
        self.status = _Status(Progress())
        self._sent = 0
        self._room = asyncio.Event()

    @classmethod
    async def started(cls, job: _Job) -> "_Child":
        """A new process with its job. Ctrl-C reaches only the parent, which decides what to stop.

        Nobody waits until the child has loaded the program, so that all children load it at once while the first
        conversations are read.
        """
        command = (sys.executable, "-c", "from attunement.engine.multiprocess import main; main()")
        child = cls(await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, start_new_session=True))
        child._down.write(pickle.dumps(job))
        return child

    async def send(self, conversation: Conversation) -> None:
        """Send a conversation when there is room for it; there always is if the process is gone."""
        while not self.status.last and self._sent - self.status.progress.conversations >= _AHEAD:
            self._room.clear()
            await self._room.wait()
        self._sent += 1
        self._down.write(pickle.dumps(conversation))
        await self._down.drain()

    def no_more(self) -> None:
        """No conversation will be sent any more."""
        if not self._down.is_closing():
            self._down.write(pickle.dumps(None))

    def stop(self) -> None:
        """Let it ask nothing more."""
        self._down.close()

    def kill(self) -> None:
        """End it at once if it is still running."""
        if self._process.returncode is None:
            self._process.kill()

    async def statuses(self) -> AsyncIterator[_Status]:
        """Its statuses, until it is gone."""
        try:
            while not self.status.last:
                size = int.from_bytes(await self._up.readexactly(_LENGTH))
                self.status = cast(_Status, pickle.loads(await self._up.readexactly(size)))  # noqa: S301 - our own child
                self._room.set()
                yield self.status
        except asyncio.IncompleteReadError:
            pass
        self._down.close()
        self._room.set()
        await self._process.wait()


def main() -> None:
    """Do a job as a child. When the parent is gone or wants to stop, nothing more is asked and results are saved."""
    # What a library prints must not get among the statuses, and no status may be left when nobody listens any more.
    with os.fdopen(os.dup(1), "wb", buffering=0) as up:
        os.dup2(2, 1)
        run_in_loop(_report(pickle.load(sys.stdin.buffer), sys.stdin.buffer, up))  # noqa: S301 - from our own parent


async def _report(job: _Job, down: BinaryIO, up: RawIOBase) -> None:
    try:
        last = await _do(job, down, up)
    except Exception as error:
        # Not every error can be pickled; those that are meant for the user can.
        last = _Status(Progress(), error=error if isinstance(error, AttunementError) else RuntimeError(repr(error)))
    _send_status(up, last)


async def _do(job: _Job, down: BinaryIO, up: RawIOBase) -> _Status:
    judges = [
        JudgeConfig(make_judge(part.name, part.options), part.max_connections, part.rpm, part.tpm, part.price)
        for part in job.judges
    ]
    loop = asyncio.get_running_loop()
    received: SimpleQueue[Conversation | None] = SimpleQueue()
    try:
        with Study(job.study) as study:
            run = Run(study, job.scope, judges, job.policy)

            def stop() -> None:
                with suppress(RuntimeError):  # the loop has ended, and the run before it
                    loop.call_soon_threadsafe(run.interrupt)

            # Not a daemon: the stream ends with the parent or after our last status, and nothing may read while Python
            # ends.
            threading.Thread(target=_receive, args=(down, received, stop)).start()
            reporting = asyncio.create_task(_report_progress(run, up))
            try:
                return _Status(run.progress, result=await run.finish(iter(received.get, None)))
            finally:
                reporting.cancel()
    finally:
        for config in judges:
            await config.judge.close()


def _receive(down: BinaryIO, received: SimpleQueue[Conversation | None], stop: Callable[[], object]) -> None:
    """Receive conversations, up to the None after the last; at the end of the stream nothing more is to be asked."""
    with suppress(EOFError, pickle.UnpicklingError):
        while True:
            received.put(pickle.load(down))  # noqa: S301 - from our own parent
    stop()
    received.put(None)


async def _report_progress(run: Run, up: RawIOBase) -> None:
    while True:
        await asyncio.sleep(_STATUS_SECONDS)
        _send_status(up, _Status(run.progress, run.concurrency(), run.waiting()))


def _send_status(up: RawIOBase, status: _Status) -> None:
    content = pickle.dumps(status)
    with suppress(BrokenPipeError):  # the parent is gone, which also ends what comes in
        up.write(len(content).to_bytes(_LENGTH) + content)
