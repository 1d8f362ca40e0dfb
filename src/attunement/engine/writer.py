"""One writer for all workers: what waits is committed together.

A worker waits for its commit, so a rating counts as done only when it is in the study, and batches form by
themselves while the transaction before them is under way.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import NamedTuple

from attunement.study import AnswerRecord, KeptRating, Rater, Study

_GATHER = 0.03
"""Seconds a lone entry waits for company: a transaction costs as much as writing a dozen ratings."""

_MANY_FINISHED = 200
"""Conversations whose end is recorded together. They only save the next run a look, so they can wait."""

_MOST = 500
"""Entries in one transaction at most, so that none waits long for its commit."""


class _Entry(NamedTuple):
    answers: list[AnswerRecord]
    ratings: list[KeptRating]
    committed: asyncio.Future[None]


class Writer:
    """Commits what workers hand in, in the thread that owns the database."""

    def __init__(self, study: Study, database: Executor, on_failure: Callable[[Exception], None]) -> None:
        """`on_failure` is told when the study cannot be written."""
        self._study, self._database, self._on_failure = study, database, on_failure
        self._entries: asyncio.Queue[_Entry | None] = asyncio.Queue()
        self._finished: dict[tuple[int, str], dict[int, int]] = {}

    async def keep(self, answers: list[AnswerRecord], ratings: list[KeptRating]) -> None:
        """Return when all of it is committed."""
        committed = asyncio.get_running_loop().create_future()
        self._entries.put_nowait(_Entry(answers, ratings, committed))
        await committed

    def finished(self, rater: Rater, scope: str, conversation: int, questions: int) -> None:
        """Note that everything of `scope` is answered; it is written with others."""
        self._finished.setdefault((rater.key, scope), {})[conversation] = questions

    async def work(self) -> None:
        """Write until `close`."""
        more = True
        while more:
            entry = await self._entries.get()
            if self._entries.empty():
                await asyncio.sleep(_GATHER)
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

    def close(self) -> None:
        """Let `work` end after what has been handed in."""
        self._entries.put_nowait(None)

    async def _commit_finished(self, rater: int, scope: str, questions: dict[int, int]) -> None:
        now, self._finished[rater, scope] = questions, {}
        try:
            note = self._study.note_finished
            await asyncio.get_running_loop().run_in_executor(self._database, note, rater, scope, now)
        except Exception as error:
            self._on_failure(error)

    async def _commit(self, batch: list[_Entry]) -> None:
        answers = [answer for entry in batch for answer in entry.answers]
        ratings = [rating for entry in batch for rating in entry.ratings]
        try:
            await asyncio.get_running_loop().run_in_executor(self._database, self._study.write, answers, ratings)
        except Exception as error:
            self._on_failure(error)
            for entry in batch:
                if not entry.committed.done():
                    entry.committed.set_exception(error)
            return
        for entry in batch:
            if not entry.committed.done():  # the worker may be gone after an interruption
                entry.committed.set_result(None)
