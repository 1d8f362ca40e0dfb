"""One writer for all workers: what waits is committed together.

A worker waits for its commit, so a rating counts as done only when it is in the study, and batches form by
themselves while the transaction before them is under way.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from typing import NamedTuple

from attunement.study import AnswerRecord, KeptRating, Study

_GATHER = 0.03
"""Seconds a lone entry waits for company: a transaction costs as much as writing a dozen ratings."""

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

    async def keep(self, answers: list[AnswerRecord], ratings: list[KeptRating]) -> None:
        """Return when all of it is committed."""
        committed = asyncio.get_running_loop().create_future()
        self._entries.put_nowait(_Entry(answers, ratings, committed))
        await committed

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

    def close(self) -> None:
        """Let `work` end after what has been handed in."""
        self._entries.put_nowait(None)

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
