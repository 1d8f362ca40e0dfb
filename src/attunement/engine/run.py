"""Ask everything that is missing, once, and keep what was answered.

One thread reads conversations, plans them and owns the database; the event loop holds a lane of workers for each
judge. Nothing is materialised beyond the open conversations, so ten million questions cost no more memory than ten.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from attunement.conversations import Conversation
from attunement.engine.asking import Channel, Wishes
from attunement.engine.budget import Budget, Price, Purse
from attunement.engine.lane import Lane
from attunement.engine.limits import Limiter
from attunement.engine.plan import Plan, Scope, plan
from attunement.engine.progress import Progress
from attunement.engine.writer import Writer
from attunement.judges.protocol import Judge
from attunement.ratings import RaterKind
from attunement.study import Kept, Study

_BATCH = 32
"""Conversations that are read, kept and planned at a time."""


class Participant(NamedTuple):
    """A judge in a run, with the limits for its server and its price."""

    judge: Judge
    max_connections: int = 100
    rpm: float | None = None
    tpm: float | None = None
    price: Price | None = None


class Conduct(NamedTuple):
    """When a run asks once more, and when it stops asking."""

    wishes: Wishes = Wishes()
    max_calls: int | None = None
    max_cost: float | None = None


@dataclass
class Ending:
    """How a run ended."""

    interrupted: bool = False
    given_up: str | None = None
    """Why a judge could not go on: its key, model or address is wrong."""
    refused: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    """What the server of each judge did not accept."""


def rater_settings(judge: Judge, scope: Scope) -> dict[str, Any]:
    """What makes a judge this rater and no other: its own settings and the layout it is asked in."""
    return {**judge.settings, "layout": scope.questionnaire.layout.value}


class Run:
    """One run of judges over conversations. Make it inside a running event loop."""

    def __init__(self, study: Study, scope: Scope, participants: Sequence[Participant], conduct: Conduct) -> None:
        """Prepare a run; nothing is asked yet."""
        self.progress = Progress()
        self.ending = Ending()
        self._study, self._scope = study, scope
        self._database = ThreadPoolExecutor(1, "study")
        self._writer = Writer(study, self._database, self._fail)
        budget = Budget(max_calls=conduct.max_calls, max_cost=conduct.max_cost)
        instrument = scope.questionnaire.instrument
        study.keep_instrument(instrument)
        study.note_responses(instrument.id, scope.responses)
        self._lanes = [self._lane(participant, conduct.wishes, budget) for participant in participants]
        self._failure: Exception | None = None
        self._stopping = False

    async def finish(self, conversations: Iterable[Conversation]) -> Ending:
        """Ask everything about `conversations` that is missing.

        What was answered is kept whatever happens; an error, such as a bad line in the input, surfaces afterwards.
        """
        writing = asyncio.create_task(self._writer.work())
        working = [asyncio.create_task(lane.work()) for lane in self._lanes]
        try:
            await self._feed(iter(conversations))
        except Exception as error:
            self._fail(error)
        self.progress.reading = False
        for lane in self._lanes:
            lane.no_more()
        await asyncio.gather(*working)
        self._writer.close()
        await writing
        for lane in self._lanes:
            if refused := dict(lane.channel.judge.refused):
                self.ending.refused[lane.rater.name] = refused
                self._study.note_refused(lane.rater, refused)
        self._database.shutdown()
        if self._failure:
            raise self._failure
        return self.ending

    def interrupt(self) -> None:
        """Ask nothing more. What is with a server comes back and is kept."""
        self.ending.interrupted = True
        self._stop()

    def concurrency(self) -> int:
        """How many questions are with servers."""
        return sum(lane.channel.limiter.in_flight for lane in self._lanes)

    def _fail(self, error: Exception) -> None:
        self._failure = self._failure or error
        self._stop()

    def _give_up(self, reason: str) -> None:
        self.ending.given_up = self.ending.given_up or reason
        self._stop()

    def _stop(self) -> None:
        self._stopping = True
        for lane in self._lanes:
            lane.stop()

    async def _feed(self, conversations: Iterator[Conversation]) -> None:
        loop = asyncio.get_running_loop()
        while not self._stopping:
            plans = await loop.run_in_executor(self._database, self._next_plans, conversations)
            if plans is None:
                return
            await asyncio.gather(*(lane.feed(found) for lane, found in zip(self._lanes, plans, strict=True)))

    def _next_plans(self, conversations: Iterator[Conversation]) -> list[Plan] | None:
        """Read and keep a batch, and find for each lane what is left to ask; None at the end."""
        batch = list(islice(conversations, _BATCH))
        if not batch:
            return None
        self.progress.conversations += len(batch)
        keys = self._study.keep_conversations(batch)
        kept = [Kept(key, conversation) for key, conversation in zip(keys, batch, strict=True)]
        return [plan(kept, self._scope, lane.rater, self._study) for lane in self._lanes]

    def _lane(self, participant: Participant, wishes: Wishes, budget: Budget) -> Lane:
        judge = participant.judge
        rater = self._study.keep_rater(judge.name, RaterKind.MODEL, rater_settings(judge, self._scope))
        limiter = Limiter(participant.max_connections, rpm=participant.rpm, tpm=participant.tpm)
        channel = Channel(judge, limiter, Purse(budget, participant.price), self.progress)
        return Lane(
            self._scope,
            rater,
            channel,
            wishes,
            self._writer,
            on_failure=self._fail,
            on_useless=self._give_up,
        )
