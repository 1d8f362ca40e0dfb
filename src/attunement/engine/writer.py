"""One writer for all workers: what waits is committed together.

A worker hands in what it was told and goes on; when that is in the study the writer calls back, and only then a
question counts as done. Batches form by themselves while the transaction before them is under way. What an answer
means is found out here too: to check the evidence of many answers in a row takes half as long as of each between two
requests.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, wait
from contextlib import suppress
from time import thread_time
from typing import NamedTuple

from attunement.study import AnswerRecord, KeptRating, Rater, Study

_FEW, _GATHER = 48, 0.03
"""So few entries wait so many seconds for company: a transaction costs as much as writing a dozen ratings."""

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


Making = Callable[[], list[KeptRating]]
"""Makes the ratings of a question."""

_Made = list[list[KeptRating]]

Kept = Callable[[_Made], object]
"""Is told what the makings of a question made, when it is in the study."""


class _Entry(NamedTuple):
    answers: list[AnswerRecord]
    makings: Sequence[Making]
    kept: Kept | None


class Writer:
    """Commits what workers hand in, in the thread that owns the database."""

    def __init__(self, study: Study, database: Executor, on_failure: Callable[[Exception], None]) -> None:
        """`on_failure` is told when the study cannot be written or a rating cannot be made."""
        self._study, self._database, self._on_failure = study, database, on_failure
        self._entries: list[_Entry] = []
        self._some, self._enough = asyncio.Event(), asyncio.Event()
        self._closed = False
        self._quick = True
        """Whether the last ratings took as little time to make as they mostly do."""
        self._finished: dict[tuple[int, str], dict[int, int]] = {}

    def keep(self, answers: list[AnswerRecord], makings: Sequence[Making], kept: Kept | None = None) -> None:
        """Keep all of it, and call `kept` when that is done."""
        self._entries.append(_Entry(answers, makings, kept))
        self._some.set()
        if len(self._entries) >= _FEW:
            self._enough.set()

    def hurry(self) -> None:
        """Write what is there: nothing more will come before that."""
        self._enough.set()

    def finished(self, rater: Rater, scope: str, conversation: int, questions: int) -> None:
        """Note that everything of `scope` is answered; it is written with others."""
        self._finished.setdefault((rater.key, scope), {})[conversation] = questions

    async def work(self) -> None:
        """Write until `close`."""
        while self._entries or not self._closed:
            await self._some.wait()
            await self._gather()
            batch, self._entries = self._entries, []
            if not self._closed:
                self._some.clear()
                self._enough.clear()
            if batch:
                await self._commit(batch)
            await self._note_finished(_MANY_FINISHED)
        await self._note_finished(1)

    async def _gather(self) -> None:
        """Wait for more entries, but not when there are enough."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_GATHER):
                await self._enough.wait()

    def close(self) -> None:
        """Let `work` end after what has been handed in."""
        self._closed = True
        self._some.set()
        self._enough.set()

    async def _note_finished(self, least: int) -> None:
        """Write which conversations are finished, where there are at least so many."""
        loop = asyncio.get_running_loop()
        for (rater, scope), questions in list(self._finished.items()):
            if len(questions) >= least:
                del self._finished[rater, scope]
                try:
                    await loop.run_in_executor(self._database, self._study.note_finished, rater, scope, questions)
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
        writing = self._database.submit(self._write, batch, steps, outcomes)
        wait([writing], _STILL if len(batch) >= _FEW else _STILL_FEW)
        try:
            # What is done already is not waited for: workers could go on only a turn of the loop later.
            _ = writing.result() if writing.done() else await asyncio.wrap_future(writing)
        except Exception as error:
            self._on_failure(error)
            return
        for entry, made in zip(batch, outcomes, strict=True):
            try:
                if isinstance(made, Exception):
                    raise made
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
        long = any(len(answer.text) > _LONG for answer in entry.answers)
        made: _Made = []
        try:
            for make in entry.makings:
                yield long
                made.append(make())
        except Exception as error:
            outcomes.append(error)
        else:
            outcomes.append(made)
