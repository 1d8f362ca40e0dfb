"""One of the processes of a run: `python -m attunement.engine.worker`, started by a `Team`.

It asks about the conversations that come in and writes the answers into the study itself; to the team it only says how
far it is. When the team is gone, or wants to stop, nothing more is asked and what is under way is kept.
"""

import asyncio
import os
import pickle
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from io import RawIOBase
from queue import SimpleQueue
from typing import BinaryIO

from attunement.conversations import Conversation
from attunement.engine.multiprocess import Orders, Word, framed
from attunement.engine.progress import Progress
from attunement.engine.runner import Run, run_in_loop
from attunement.errors import AttunementError
from attunement.store import Study

_TELL_SECONDS = 0.2


def main() -> None:
    """Follow the orders that come in."""
    # What a library prints must not get among our words; and no words may be left when nobody listens any more.
    with os.fdopen(os.dup(1), "wb", buffering=0) as up:
        os.dup2(2, 1)
        run_in_loop(_follow(pickle.load(sys.stdin.buffer), sys.stdin.buffer, up))  # noqa: S301 - from our own parent


async def _follow(orders: Orders, down: BinaryIO, up: RawIOBase) -> None:
    try:
        last = await _work(orders, down, up)
    except Exception as error:
        # Not every error can be sent; those that are meant for the user can.
        last = Word(Progress(), error=error if isinstance(error, AttunementError) else RuntimeError(repr(error)))
    with suppress(BrokenPipeError):
        _say(up, last)


async def _work(orders: Orders, down: BinaryIO, up: RawIOBase) -> Word:
    participants = [seat.taken() for seat in orders.seats]
    loop = asyncio.get_running_loop()
    arrived: SimpleQueue[Conversation | None] = SimpleQueue()
    try:
        with Study(orders.study) as study:
            run = Run(study, orders.scope, participants, orders.conduct)

            def stop() -> None:
                with suppress(RuntimeError):  # the loop has ended, and the run before it
                    loop.call_soon_threadsafe(run.interrupt)

            # No daemon: the stream ends with the team or after our last word, and nothing may read while Python ends.
            threading.Thread(target=_receive, args=(down, arrived, stop)).start()
            telling = asyncio.create_task(_tell(run, up))
            try:
                return Word(run.progress, ending=await run.finish(iter(arrived.get, None)))
            finally:
                telling.cancel()
    finally:
        for participant in participants:
            await participant.judge.close()


def _receive(down: BinaryIO, arrived: SimpleQueue[Conversation | None], stop: Callable[[], object]) -> None:
    """Take in conversations, up to the None behind the last; at the end of the stream nothing more is to be asked."""
    with suppress(EOFError, pickle.UnpicklingError):
        while True:
            arrived.put(pickle.load(down))  # noqa: S301 - from our own parent
    stop()
    arrived.put(None)


async def _tell(run: Run, up: RawIOBase) -> None:
    while True:
        await asyncio.sleep(_TELL_SECONDS)
        with suppress(BrokenPipeError):  # the team is gone, which also ends what comes in
            _say(up, Word(run.progress, run.concurrency(), run.waiting()))


def _say(up: RawIOBase, word: Word) -> None:
    up.write(framed(word))


if __name__ == "__main__":
    main()
