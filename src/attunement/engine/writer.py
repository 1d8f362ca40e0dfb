"""One writer for all workers: what waits is committed together.

A worker hands in what it was told and goes on; when that is in the study the writer calls back, and only then a
question counts as done. Batches form by themselves while the transaction before them is under way. What an answer
means is found out here too: to check the evidence of many answers in a row takes half as long as of each between two
requests.

When workers wait for room, the answers are written before anything else, and the ratings that follow from them later,
while the next questions are with the judge. Should the run be killed in between, the next one makes the ratings from
the answers that are there.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from time import thread_time
from typing import Any

from attunement.store import AnswerRecord, Rater, StoredRating, Study

_FEW, _GATHER, _SOON = 48, 0.1, 0.01
"""So few entries wait so many seconds for company, or as little as the last when workers have nothing else to do: a
transaction costs as much as writing a dozen ratings."""

_HANDFUL, _MOMENT = 8, 0.001
"""So few answers wait so many seconds for company when workers wait for them."""

_STILL, _STILL_FEW = 0.02, 0.002
"""Seconds for which everything else stands still while a full batch, or one of few entries, is written. Requests
would take the interpreter from the thread of the database at every row, and both would take longer; a database that is
slow or locked by another process holds up no more than this."""

_HOLD = 0.02
"""Seconds of a batch for which ratings are made between requests, three times as long as a full one mostly takes. Where
many quotes stand nowhere, finding that out takes a thousand times as long: the rest, and the next batches, are then
made in the thread of the database. Requests share the interpreter with it, which takes longer and holds up none."""

_LONG = 4000
"""Characters of an answer that may take long to check: it is left to that thread at once."""

_MANY_FINISHED = 200
"""Conversations whose end is recorded together. They only save the next run a look, so they can wait."""


Making = Callable[[], list[StoredRating]]
"""Makes the ratings of a question."""

_Made = list[list[StoredRating]]

Kept = Callable[[_Made], object]
"""Is told what the makings of a question made, when it is in the study."""


@dataclass(slots=True, eq=False)
class _Entry:
    answers: list[AnswerRecord]
    makings: Sequence[Making]
    safe: Callable[[], object] | None
    kept: Kept | None
    long: bool
    """Whether an answer may take long to check."""

    def is_safe(self) -> None:
        """Say so, once."""
        if self.safe:
            safe, self.safe = self.safe, None
            safe()


class Writer:
    """Commits what workers hand in, in the thread that owns the database."""

    def __init__(self, study: Study, database: Executor, on_failure: Callable[[Exception], None]) -> None:
        """`on_failure` is told when the study cannot be written or a rating cannot be made."""
        self._study, self._database, self._on_failure = study, database, on_failure
        self._entries: list[_Entry] = []
        self._unsafe: list[_Entry] = []
        """Entries whose answers can be written before the rest."""
        self._some, self._enough, self._news = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._hurried = self._awaited = False
        self._closed = False
        self._quick = True
        """Whether the last ratings took as little time to make as they mostly do."""
        self._finished: dict[tuple[int, str], dict[int, int]] = {}

    def keep(
        self,
        answers: list[AnswerRecord],
        makings: Sequence[Making],
        *,
        safe: Callable[[], object] | None = None,
        kept: Kept | None = None,
    ) -> None:
        """Keep all of it: call `safe` when nothing of it need be asked again, `kept` when it is done."""
        lasting, long = bool(answers), False
        for answer in answers:
            lasting &= answer.error is None  # an ERROR is asked again if it has no rating
            long |= len(answer.text) > _LONG
        entry = _Entry(answers, makings, safe, kept, long)
        self._entries.append(entry)
        if lasting:
            self._unsafe.append(entry)
        self._some.set()
        if len(self._entries) >= _FEW:
            self._enough.set()
            self._news.set()

    def hurry(self) -> None:
        """Make safe what is there: nothing more will come before that."""
        self._hurried = True
        self._news.set()

    def finish(self) -> None:
        """Keep what is there soon: nothing can be asked before that."""
        self._awaited = True
        self._news.set()

    def finished(self, rater: Rater, scope: str, conversation: int, questions: int) -> None:
        """Note that everything of `scope` is answered; it is written with others."""
        self._finished.setdefault((rater.key, scope), {})[conversation] = questions

    async def work(self) -> None:
        """Write until `close`."""
        while self._entries or not self._closed:
            await self._some.wait()
            await self._gather()
            batch, self._entries, self._unsafe = self._entries, [], []
            if not self._closed:
                self._some.clear()
                self._enough.clear()
                self._awaited = False
            if batch:
                await self._commit(batch)
            await self._note_finished(_MANY_FINISHED)
        await self._note_finished(1)

    async def _gather(self) -> None:
        """Wait for more entries, but not when there are enough; write their answers when workers wait for that."""
        loop = asyncio.get_running_loop()
        since = loop.time()
        while True:
            self._news.clear()
            if self._hurried:
                if len(self._unsafe) < _HANDFUL:
                    await asyncio.sleep(_MOMENT)
                self._hurried = False
                if len(self._unsafe) < _FEW:  # a full batch is written as fast with all that follows
                    await self._secure()
            left = since + (_SOON if self._awaited else _GATHER) - loop.time()
            if self._enough.is_set() or left <= 0:
                return
            alarm = loop.call_later(left, self._news.set)
            await self._news.wait()
            alarm.cancel()

    async def _secure(self) -> None:
        """Write the answers that wait; without any, workers wait for the rest."""
        entries, self._unsafe = self._unsafe, []
        if not entries:
            self._enough.set()
            return
        answers = [answer for entry in entries for answer in entry.answers]
        try:
            await self._written(self._database.submit(self._study.write, answers, []), len(entries))
        except Exception as error:
            self._on_failure(error)
            return
        for entry in entries:
            entry.is_safe()  # its answers are written again with its ratings: somebody may delete them meanwhile
        await asyncio.sleep(0)  # the next questions first: their answers take longer than what follows from these

    async def _written(self, writing: Future[Any], entries: int) -> None:
        """Wait until so many entries are written."""
        try:
            # Not even a turn of the loop is waited for what is done by then.
            writing.result(_STILL if entries >= _FEW else _STILL_FEW)
        except TimeoutError:
            await asyncio.wrap_future(writing)

    def close(self) -> None:
        """Let `work` end after what has been handed in."""
        self._closed = True
        self._some.set()
        self._enough.set()
        self._news.set()

    async def _note_finished(self, least: int) -> None:
        """Write which conversations are finished, where there are at least so many."""
        loop = asyncio.get_running_loop()
        for (rater, scope), questions in list(self._finished.items()):
            if len(questions) >= least:
                del self._finished[rater, scope]
                try:
                    await loop.run_in_executor(self._database, self._study.save_finished, rater, scope, questions)
                except Exception as error:
                    self._on_failure(error)

    async def _commit(self, batch: list[_Entry]) -> None:
        """Make the ratings and commit them. An entry whose ratings cannot be made holds up no other."""
        outcomes: list[_Made | Exception] = []
        steps = _making(batch, outcomes)
        if self._quick:
            until = thread_time() + _HOLD
            for long in steps:
                if long or thread_time() > until:
                    break
        try:
            await self._written(self._database.submit(self._write, batch, steps, outcomes), len(batch))
        except Exception as error:
            self._on_failure(error)
            return
        for entry, made in zip(batch, outcomes, strict=True):
            try:
                if isinstance(made, Exception):
                    raise made
                entry.is_safe()
                if entry.kept:
                    entry.kept(made)
            except Exception as error:
                self._on_failure(error)

    def _write(self, batch: list[_Entry], steps: Iterator[bool], outcomes: list[_Made | Exception]) -> None:
        """Make the ratings that are left, and commit all."""
        started = thread_time()
        for _ in steps:
            pass
        self._quick = thread_time() - started < _HOLD
        whole = [(entry.answers, made) for entry, made in zip(batch, outcomes, strict=True) if isinstance(made, list)]
        answers = [answer for entry, _ in whole for answer in entry]
        ratings = [rating for _, made in whole for ratings in made for rating in ratings]
        self._study.write(answers, ratings)


def _making(batch: list[_Entry], outcomes: list[_Made | Exception]) -> Iterator[bool]:
    """Make the ratings one step after the other; before each it says whether the answer is a long one."""
    for entry in batch:
        made: _Made = []
        try:
            for make in entry.makings:
                yield entry.long
                made.append(make())
        except Exception as error:
            outcomes.append(error)
        else:
            outcomes.append(made)
