"""One timer for all requests of a judge.

Nearly all are answered in time, and to set and take back a timer for each takes longer than reading its reply. All
have the same time, so the one that began first is late first, and a single timer that waits for it is enough.
"""

import asyncio
from types import TracebackType
from typing import Any

_TURNS = 3
"""Turns of the loop in which a reply that came while it was busy is taken in, before anybody looks whether it is late:
in one the socket is read, in the next its task goes on, and uvloop comes to timers before it comes to sockets."""


class Deadline:
    """`with` this around each request: what takes longer than `seconds` ends there in a TimeoutError.

    It belongs to the loop in which it is first used.
    """

    def __init__(self, seconds: float) -> None:
        """Nothing waits yet."""
        self.seconds = seconds
        self._begun: dict[asyncio.Task[Any], float] = {}
        """When each task began, the oldest first."""
        self._late: dict[asyncio.Task[Any], int] = {}
        """Tasks that were cancelled because they are late, and how often they had been cancelled before."""
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> None:
        loop = asyncio.get_running_loop()
        self._begun[_this_task()] = loop.time()
        if self._timer is None:
            self._set(loop, self.seconds)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        task = _this_task()
        if self._begun.pop(task, None) is not None:
            return
        before = self._late.pop(task)
        if task.uncancel() <= before and isinstance(error, asyncio.CancelledError):
            raise TimeoutError from error

    def close(self) -> None:
        """Let nothing wait any more, unless a request is still under way."""
        if self._timer is not None and not self._begun:
            self._timer.cancel()
            self._timer = None

    def _set(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        self._timer = loop.call_later(seconds, self._look, loop, _TURNS)

    def _look(self, loop: asyncio.AbstractEventLoop, turns: int) -> None:
        """Cancel what is late, some turns of the loop later, and wait for the next."""
        if turns:
            loop.call_soon(self._look, loop, turns - 1)
            return
        self._timer = None
        for task, begun in list(self._begun.items()):
            left = begun + self.seconds - loop.time()
            if left > 0:
                self._set(loop, left)
                return
            del self._begun[task]
            self._late[task] = task.cancelling()
            task.cancel()


def _this_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("a request can be sent only in a task")
    return task
