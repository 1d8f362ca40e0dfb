"""One run in several processes, and the messages they exchange.

Python computes on one core at a time; judging with `signals`, checking evidence and writing can use more. This process
reads the input and keeps the conversations, so that the study has them in their order; each of the others gets a share
of them, asks, and writes the answers. Conversations with the same words go to the same process: they are asked once.

Down go the orders, then conversations, then None, each as a pickle; the end of the stream says to stop. Up come words,
each as a pickle behind its length. Both ends are ours and of one version, and nothing of it is kept.
"""

import asyncio
import pickle
import sys
from asyncio import StreamReader, StreamWriter
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import NamedTuple, cast

from attunement.conversations import Conversation
from attunement.engine.budget import Price
from attunement.engine.planner import Scope
from attunement.engine.progress import Progress
from attunement.engine.runner import JudgeConfig, Reader, RunPolicy, RunResult, announce
from attunement.errors import InputError, StudyError
from attunement.judges import JudgeOptions, make_judge
from attunement.judges.base import JudgeOptions as BaseJudgeOptions
from attunement.store import Study, shown_place

LENGTH = 8
"""Bytes that say how long a word is."""


class Seat(NamedTuple):
    """A judge as another process can make it, with that process's part of the limits."""

    judge: str
    options: JudgeOptions
    max_connections: int
    rpm: float | None
    tpm: float | None
    price: Price | None

    def taken(self) -> JudgeConfig:
        """The judge, made here."""
        judge = make_judge(self.judge, self.options)
        return JudgeConfig(judge, self.max_connections, self.rpm, self.tpm, self.price, self.options)


class Orders(NamedTuple):
    """What a process has to do."""

    study: str
    """Its address."""
    scope: Scope
    seats: list[Seat]
    conduct: RunPolicy


class Word(NamedTuple):
    """How far a process is; with its ending, or the error that ended it, in the last one."""

    progress: Progress
    concurrency: int = 0
    waiting: float = 0.0
    ending: RunResult | None = None
    error: Exception | None = None


def framed(word: Word) -> bytes:
    """The word as it goes up."""
    content = pickle.dumps(word)
    return len(content).to_bytes(LENGTH) + content


def refuse_unshareable(participants: Sequence[JudgeConfig], conduct: RunPolicy) -> None:
    """Raise an InputError where something is wanted that only one process can do."""
    if conduct.max_calls is not None or conduct.max_cost is not None:
        raise InputError("--max-calls and --max-cost are kept by one process: leave out --processes")
    for judge, *_, options in participants:
        if options is None:
            raise InputError(
                f"{judge.name} was given as an object, which only one process can have: leave out processes"
            )
        if judge.name.startswith("local:"):
            raise InputError(f"{judge.name} uses all cores by itself: leave out --processes")


class Team:
    """A run of judges over conversations in several processes; for those who watch it, the same as a `Run`."""

    def __init__(
        self, study: Study, scope: Scope, participants: Sequence[JudgeConfig], conduct: RunPolicy, processes: int
    ) -> None:
        """Prepare a run that `refuse_unshareable` lets through; no process is started yet."""
        self._size = min(processes, *(participant.max_connections for participant in participants))
        self.progress = Progress(judges=len(participants))
        self.ending = RunResult()
        self._study = study
        self._orders = [
            Orders(study.address, scope, [_seat(entry, number, self._size) for entry in participants], conduct)
            for number in range(self._size)
        ]
        announce(study, scope)
        self._database = ThreadPoolExecutor(1, "study")
        self._members: list[_Member] = []
        self._words: dict[_Member, Word] = {}
        self._failure: Exception | None = None
        self._feeding: asyncio.Task[None] | None = None

    async def finish(self, conversations: Iterable[Conversation]) -> RunResult:
        """Ask everything about `conversations` that is missing.

        What was answered is kept whatever happens; an error, such as a bad line in the input, surfaces afterwards.
        """
        reader = Reader(conversations)
        try:
            for orders in self._orders:
                self._members.append(await _Member.started(orders))
            listening = [asyncio.create_task(self._listen(member)) for member in self._members]
            self._feeding = asyncio.create_task(self._feed(reader))
            if self.ending.interrupted:  # while the processes were started
                self._stop()
            await asyncio.wait([self._feeding])
            for member in self._members:
                member.no_more()
            await asyncio.gather(*listening)
        finally:
            for member in self._members:
                member.end()
            reader.close()
            self._database.shutdown(wait=False)
        if self._failure:
            raise self._failure
        return self.ending

    def interrupt(self) -> None:
        """Ask nothing more. What is with a server comes back and is kept."""
        self.ending.interrupted = True
        self._stop()

    def concurrency(self) -> int:
        """How many questions are with servers."""
        return sum(word.concurrency for word in self._words.values())

    def waiting(self) -> float:
        """Seconds until the last of the servers that asked us to wait may be asked again."""
        return max((word.waiting for word in self._words.values()), default=0.0)

    def _stop(self) -> None:
        if self._feeding:
            self._feeding.cancel()
        for member in self._members:
            member.stop()

    def _fail(self, error: Exception) -> None:
        self._failure = self._failure or error
        self._stop()

    async def _feed(self, reader: Reader) -> None:
        loop = asyncio.get_running_loop()
        try:
            while batch := await reader.batch():
                await loop.run_in_executor(self._database, self._study.save_conversations, batch)
                for conversation in batch:
                    member = self._members[int(conversation.fingerprint()[:8], 16) % self._size]
                    await member.has_room()
                    await member.send(conversation)
        except ConnectionError:
            pass  # a process is gone; what it said last, or that it said nothing, tells why
        except Exception as error:
            self._fail(error)

    async def _listen(self, member: "_Member") -> None:
        async for word in member.words():
            self._words[member] = word
            member.heard(word)
            self.progress.take([word.progress for word in self._words.values()])
            if word.error:
                self._fail(word.error)
            if word.ending:
                self.ending.refused.update(word.ending.refused)
                if word.ending.given_up:
                    self.ending.given_up = self.ending.given_up or word.ending.given_up
                    self._stop()
        if not (member in self._words and (self._words[member].ending or self._words[member].error)):
            self._fail(
                StudyError(
                    "one of the processes of this run ended before its work was done; what was answered is kept in "
                    f"{shown_place(self._study.place)}, and the same command asks the rest"
                )
            )


_AHEAD = 64
"""Conversations that a process may have before it has planned them: enough to be busy until it is heard of again."""


class _Member:
    """A process at work."""

    def __init__(self, process: Process) -> None:
        self._process = process
        self._down, self._up = cast(StreamWriter, process.stdin), cast(StreamReader, process.stdout)
        self._sent = 0
        self._taken = 0
        self._room = asyncio.Event()

    @classmethod
    async def started(cls, orders: Orders) -> "_Member":
        """A new process with its orders. Ctrl-C reaches us alone: we say what is to stop.

        It takes its orders when it has loaded the program. Nobody waits for that, so that all processes load it at once
        while the first conversations are read.
        """
        command = (sys.executable, "-m", "attunement.engine.worker")
        member = cls(await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, start_new_session=True))
        member._down.write(pickle.dumps(orders))
        return member

    async def has_room(self) -> None:
        """Wait until another conversation may be sent; there always is room where the process is gone."""
        while self._sent - self._taken >= _AHEAD:
            self._room.clear()
            await self._room.wait()
        self._sent += 1

    def heard(self, word: Word) -> None:
        """Note how many conversations the process has planned."""
        self._taken = self._sent if word.error or word.ending else word.progress.conversations
        self._room.set()

    async def send(self, conversation: Conversation) -> None:
        """Hand a conversation in."""
        self._down.write(pickle.dumps(conversation))
        await self._down.drain()

    def no_more(self) -> None:
        """No conversation will be sent any more."""
        if not self._down.is_closing():
            self._down.write(pickle.dumps(None))

    def stop(self) -> None:
        """Let it ask nothing more."""
        self._down.close()

    def end(self) -> None:
        """End it at once, if it is still there."""
        if self._process.returncode is None:
            self._process.kill()

    async def words(self) -> AsyncIterator[Word]:
        """What it says, until it is gone."""
        last = None
        try:
            while not (last and (last.ending or last.error)):
                size = int.from_bytes(await self._up.readexactly(LENGTH))
                last = cast(Word, pickle.loads(await self._up.readexactly(size)))  # noqa: S301 - from our own child
                yield last
        except asyncio.IncompleteReadError:
            pass
        self._room.set()
        self._down.close()
        await self._process.wait()


def _seat(participant: JudgeConfig, number: int, size: int) -> Seat:
    """What process `number` of `size` needs to make this judge, and its part of the limits."""
    connections = participant.max_connections // size + (number < participant.max_connections % size)
    return Seat(
        participant.judge.name,
        replace(cast(BaseJudgeOptions, participant.options), max_connections=connections),
        connections,
        participant.rpm and participant.rpm / size,
        participant.tpm and participant.tpm / size,
        participant.price,
    )
