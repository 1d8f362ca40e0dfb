"""Reads ahead of a run in a thread of its own.

Input may be slow or a pipe that never ends; waiting for it must hold up neither the answers that come back nor the
end of the program. The thread is a daemon for that reason, and only this one touches the input.
"""

import asyncio
import queue
import threading
from collections.abc import Iterable
from itertools import islice

from attunement.conversations import Conversation

_BATCH = 32
"""Conversations that are read, kept and planned at a time."""


class Reader:
    """Gives conversations in batches; an empty one at the end."""

    def __init__(self, conversations: Iterable[Conversation]) -> None:
        """Nothing is read before the first `batch`."""
        self._conversations = iter(conversations)
        self._wanted: queue.SimpleQueue[asyncio.Future[list[Conversation]] | None] = queue.SimpleQueue()
        self._loop = asyncio.get_running_loop()
        threading.Thread(target=self._work, name="input", daemon=True).start()

    async def batch(self) -> list[Conversation]:
        """The next conversations. An error in the input is raised here."""
        wanted: asyncio.Future[list[Conversation]] = self._loop.create_future()
        self._wanted.put(wanted)
        return await wanted

    def close(self) -> None:
        """Let the thread end when it is not waiting for input."""
        self._wanted.put(None)

    def _work(self) -> None:
        while (wanted := self._wanted.get()) is not None:
            try:
                read = list(islice(self._conversations, _BATCH))
            except Exception as error:
                self._tell(wanted, error)
            else:
                self._tell(wanted, read)

    def _tell(self, wanted: asyncio.Future[list[Conversation]], outcome: list[Conversation] | Exception) -> None:
        def settle() -> None:
            if wanted.done():  # nobody waits for it any more
                return
            if isinstance(outcome, Exception):
                wanted.set_exception(outcome)
            else:
                wanted.set_result(outcome)

        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(settle)
