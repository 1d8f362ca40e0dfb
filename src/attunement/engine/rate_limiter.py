"""How many questions may be with a server at once, and how fast they may follow each other.

The number starts moderate, grows while all of it is used and answers come back well, and is cut when the server says
that it is too much. When a server asks us to wait, every question to it waits, not only the one that was refused.
"""

import asyncio
from collections import deque
from time import monotonic

from attunement.judges.base import Answer, Failure
from attunement.ratings import ErrorKind

START = 32
"""Open questions at the start: hosted services accept this many, and it doubles within one round trip."""

_CUT = 0.5  # after "too many requests": what congestion control does on a loss
_EASE = 0.8  # after faults of the server: it is struggling, but not only because of us
_FAULTS = 3  # single faults happen; this many in a row are a state


class RateLimiter:
    """Limits the questions to one server. `acquire` before a call, `release` after it, and `record` what came back."""

    def __init__(self, ceiling: int, *, rpm: float | None = None, tpm: float | None = None) -> None:
        """At most `ceiling` questions at once, `rpm` requests and `tpm` tokens a minute."""
        self.ceiling = ceiling
        self.limit = min(START, ceiling)
        self.in_flight = 0
        self._rpm, self._tpm = rpm, tpm
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._paused_until = 0.0
        self._next_start = 0.0
        self._had_to_wait = 0  # questions that had to wait for a place: the limit was in use
        self._slow_start = True
        self._successes = 0
        self._faults = 0
        self._last_cut = 0.0

    async def acquire(self, tokens: int) -> None:
        """Wait until another question of about `tokens` tokens may be sent."""
        self._had_to_wait += self.in_flight >= self.limit
        while self.in_flight >= self.limit:
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
            try:
                await turn
            finally:
                if not turn.done():
                    self._waiting.remove(turn)
        self.in_flight += 1
        try:
            await self._wait_for_pace(tokens)
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """The question is no longer with the server."""
        self.in_flight -= 1
        self._wake()

    def pause(self) -> float:
        """Seconds that the server still wants us to wait."""
        return max(0.0, self._paused_until - monotonic())

    def record(self, reply: Answer | Failure) -> None:
        """Adjust the limit to what the server replied."""
        now = monotonic()
        if isinstance(reply, Answer):
            self._grow()
        elif reply.kind is ErrorKind.RATE_LIMITED:
            self._paused_until = max(self._paused_until, now + (reply.retry_after or 0.0))
            # Questions that were sent together are refused together; they are one sign, not many.
            if now - self._last_cut > 1.0:
                self._cut(_CUT, now)
        elif reply.transient:
            self._faults += 1
            if self._faults >= _FAULTS:
                self._faults = 0
                self._cut(_EASE, now)

    def _grow(self) -> None:
        """Grow while questions have to wait for a place.

        At first with every answer, which doubles the limit in one round trip; after the first cut by one a round trip.
        """
        self._faults = 0
        self._successes += 1
        needed = 1 if self._slow_start else self.limit
        if self._had_to_wait and self.limit < self.ceiling and self._successes >= needed:
            self._had_to_wait -= 1
            self._successes = 0
            self.limit += 1
            self._wake()

    def _cut(self, factor: float, now: float) -> None:
        self.limit = max(1, int(self.limit * factor))
        self._slow_start = False
        self._successes = 0
        self._last_cut = now

    def _wake(self) -> None:
        free = self.limit - self.in_flight
        while free > 0 and self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                free -= 1

    async def _wait_for_pace(self, tokens: int) -> None:
        start = self._paused_until
        if self._rpm or self._tpm:
            start = max(monotonic(), start, self._next_start)
            spacing = max(60 / self._rpm if self._rpm else 0, 60 * tokens / self._tpm if self._tpm else 0)
            self._next_start = start + spacing
        while (wait := max(start, self._paused_until) - monotonic()) > 0:
            await asyncio.sleep(wait)
