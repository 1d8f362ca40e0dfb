"""Tasks that workers take one after the other, while not too many of those taken could be lost.

A queue and a semaphore would do the same; each worker would wait for both with every question, which takes longer than
reading a reply, although there is nearly always a task and room for it.
"""

import asyncio
from collections import deque
from collections.abc import Iterable

from attunement.engine.plan import Task


class Tray:
    """Holds tasks. `take` one and `settle` it when its answer is in the study; where there is none to take, `wait`."""

    def __init__(self, room: int) -> None:
        """At most `room` tasks may be taken and not settled."""
        self.closed = False
        """Nothing is left and nothing will come any more."""
        self.room = room
        """Places that are free."""
        self._tasks: deque[Task] = deque()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._returning: deque[asyncio.Future[None]] = deque()

    def put(self, tasks: Iterable[Task]) -> None:
        """Add these, behind those that are there."""
        self._tasks.extend(tasks)
        self._wake(min(self.room, len(self._tasks)))

    def take(self) -> Task | None:
        """The next task; None where there is none, or no room for it."""
        if self.room and self._tasks:
            self.room -= 1
            return self._tasks.popleft()
        return None

    def settle(self) -> None:
        """One that was taken needs its place no more, or not for a while."""
        while self._returning:
            place = self._returning.popleft()
            if not place.done():
                place.set_result(None)
                return
        self.room += 1
        if self._tasks:
            self._wake(1)

    @property
    def full(self) -> bool:
        """Whether something needs a place and there is none."""
        return not self.room and bool(self._tasks or self._returning)

    async def resume(self) -> None:
        """Until there is room for one that was settled for a while; it comes before all that were not yet taken."""
        if self.room:
            self.room -= 1
            return
        place = asyncio.get_running_loop().create_future()
        self._returning.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if not place.cancelled():
                self.settle()
            raise

    async def wait(self) -> None:
        """Until there may be something to take, or never will be."""
        if not self.closed:
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            await turn

    def close(self) -> None:
        """Send everybody home who waits."""
        self.closed = True
        self._wake(len(self._waiting))

    def _wake(self, count: int) -> None:
        while count and self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                count -= 1
