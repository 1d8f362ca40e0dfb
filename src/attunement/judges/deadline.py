"""One timer for all requests of a judge.

Nearly all are answered in time, and to set and take back a timer for each takes longer than reading its reply. All
have the same time, so the one that began first is late first, and a single timer that waits for it is enough.
"""

import asyncio
from types import TracebackType
from typing import Any


class Deadline:
    """`with` this around each request: what takes longer than `seconds` ends there in a TimeoutError.

    It belongs to the loop in which it is first used.
    """

    def __init__(self, seconds: float) -> None:
        """Nothing waits yet."""
        self.seconds = seconds
        self._begun: dict[asyncio.Task[Any], float] = {}
        """When each task began, the oldest first; one that is late is taken out and cancelled."""
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> None:
        loop = asyncio.get_running_loop()
        self._begun[_this_task()] = loop.time()
        if self._timer is None:
            self._timer = loop.call_later(self.seconds, self._look)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        task = _this_task()
        if self._begun.pop(task, None) is not None:
            return
        cancelled_otherwise = task.uncancel() > 0
        if isinstance(error, asyncio.CancelledError) and not cancelled_otherwise:
            raise TimeoutError from error

    def close(self) -> None:
        """Let nothing wait any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        """Cancel what is late and wait for the next."""
        self._timer = None
        loop = asyncio.get_running_loop()
        for task, begun in list(self._begun.items()):
            left = begun + self.seconds - loop.time()
            if left > 0:
                self._timer = loop.call_later(left, self._look)
                return
            del self._begun[task]
            task.cancel()


def _this_task() -> asyncio.Task[Any]:
    task = asyncio.current_task()
    if task is None:
        raise RuntimeError("a request can be sent only in a task")
    return task
