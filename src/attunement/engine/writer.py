"""One writer for all workers: what waits is committed together.

A worker waits for its commit, so a rating counts as done only when it is in the study, and batches form by
themselves while the transaction before them is under way. What an answer means is found out here too: to check the
evidence of many answers in a row takes half as long as of each between two requests, and holds up no request.
"""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from typing import NamedTuple

from attunement.study import AnswerRecord, KeptRating, Rater, Study

_FEW, _GATHER = 16, 0.03
"""So few entries wait so many seconds for company: a transaction costs as much as writing a dozen ratings."""

_MANY_FINISHED = 200
"""Conversations whose end is recorded together. They only save the next run a look, so they can wait."""

_MOST = 500
"""Entries in one transaction at most, so that none waits long for its commit."""


Making = Callable[[], list[KeptRating]]
"""Makes the ratings of a question, in the thread that owns the database."""


class _Entry(NamedTuple):
    answers: list[AnswerRecord]
    makings: Sequence[Making]
    committed: asyncio.Future[list[list[KeptRating]]]


Made = list[list[KeptRating]] | Exception
"""What became of the makings of an entry."""


class Writer:
    """Commits what workers hand in, in the thread that owns the database."""

    def __init__(self, study: Study, database: Executor, on_failure: Callable[[Exception], None]) -> None:
        """`on_failure` is told when the study cannot be written."""
        self._study, self._database, self._on_failure = study, database, on_failure
        self._entries: asyncio.Queue[_Entry | None] = asyncio.Queue()
        self._enough = asyncio.Event()
        self._finished: dict[tuple[int, str], dict[int, int]] = {}

    async def keep(self, answers: list[AnswerRecord], makings: Sequence[Making]) -> list[list[KeptRating]]:
        """Return the ratings that were made, when all of it is committed."""
        committed = asyncio.get_running_loop().create_future()
        self._entries.put_nowait(_Entry(answers, makings, committed))
        if self._entries.qsize() >= _FEW:
            self._enough.set()
        return await committed

    def finished(self, rater: Rater, scope: str, conversation: int, questions: int) -> None:
        """Note that everything of `scope` is answered; it is written with others."""
        self._finished.setdefault((rater.key, scope), {})[conversation] = questions

    async def work(self) -> None:
        """Write until `close`."""
        more = True
        while more:
            entry = await self._entries.get()
            if self._entries.qsize() < _FEW:
                await self._gather()
            batch: list[_Entry] = []
            while entry is not None:
                batch.append(entry)
                if self._entries.empty() or len(batch) == _MOST:
                    break
                entry = self._entries.get_nowait()
            more = entry is not None
            if batch:
                await self._commit(batch)
            for key, questions in list(self._finished.items()):
                if len(questions) >= (_MANY_FINISHED if more else 1):
                    await self._commit_finished(*key, questions)

    async def _gather(self) -> None:
        """Wait for more entries, but not when there are enough: a worker that waits for its commit asks nothing."""
        self._enough.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(_GATHER):
                await self._enough.wait()

    def close(self) -> None:
        """Let `work` end after what has been handed in."""
        self._entries.put_nowait(None)
        self._enough.set()

    async def _commit_finished(self, rater: int, scope: str, questions: dict[int, int]) -> None:
        now, self._finished[rater, scope] = questions, {}
        try:
            note = self._study.note_finished
            await asyncio.get_running_loop().run_in_executor(self._database, note, rater, scope, now)
        except Exception as error:
            self._on_failure(error)

    async def _commit(self, batch: list[_Entry]) -> None:
        outcomes: list[Made]
        try:
            outcomes = await asyncio.get_running_loop().run_in_executor(self._database, self._write, batch)
        except Exception as error:
            self._on_failure(error)
            outcomes = [error] * len(batch)
        for entry, made in zip(batch, outcomes, strict=True):
            if entry.committed.done():  # the worker may be gone after an interruption
                continue
            if isinstance(made, Exception):
                entry.committed.set_exception(made)
            else:
                entry.committed.set_result(made)

    def _write(self, batch: list[_Entry]) -> list[Made]:
        """Make the ratings and commit them. An entry whose ratings cannot be made holds up no other."""
        outcomes = [_made(entry) for entry in batch]
        whole = [(entry.answers, made) for entry, made in zip(batch, outcomes, strict=True) if isinstance(made, list)]
        answers = [answer for entry, _ in whole for answer in entry]
        ratings = [rating for _, made in whole for ratings in made for rating in ratings]
        self._study.write(answers, ratings)
        return outcomes


def _made(entry: _Entry) -> Made:
    try:
        return [make() for make in entry.makings]
    except Exception as error:
        return error
