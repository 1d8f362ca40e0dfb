"""How many questions may be with a server at once, and how fast they may follow each other.

A refused question ("too many requests") waits by itself. What all questions to the server do depends on the share that
is refused: where the server announces its limits they set the pace; otherwise the pace is cut to what was accepted, and
the cut is undone if it did not help, because then the refusals do not depend on us. A server that answers more slowly
the more it is asked gets fewer questions at once.
"""

import asyncio
from collections import deque
from math import inf, sqrt
from typing import NamedTuple

from attunement.judges.base import Answer, Failure, ServerLimits
from attunement.ratings import ErrorKind

START = 32
"""Open questions at the start: hosted services accept this many, and it doubles within one round trip."""

_WINDOW = 30  # replies after which the share of refusals is looked at
_SECONDS, _MOST_SECONDS = 1.0, 5.0  # it takes at least so long, and at most, unless a round trip takes longer
_TOLERATED, _MOST_TOLERATED = 0.03, 0.6  # share of refusals that changes nothing
_MARGIN = 0.98  # of the rate that was accepted
_VAIN_CUTS = 3  # cuts after which refusals are not our doing
_LARGER, _TELLING = 1.2, 5  # what is refused is longer than what is accepted, and not by chance: tokens are limited
_GROWTH, _MOST_GROWTH = 0.02, 0.3  # of the pace, in each window without refusals; it accelerates
_ROW = 25  # refusals in a row: the quota is used up, and everybody waits
_LONG_PAUSE = 5.0  # seconds; a shorter pause is part of the rate that a server accepts, a longer one is a new start
_SLOWER = 3.0  # times the best latency: the server queues
_EASE = 0.8  # fewer questions at once, for a server that queues or fails
_FAULTS = 3  # single faults happen; this many in a row are a state


class _Cut(NamedTuple):
    """What a cut started from, to undo it."""

    pace: float
    by_tokens: bool
    times: int = 1


class RateLimiter:
    """Limits the questions to one server. `acquire` before a call, `release` after it, and `record` what came back."""

    def __init__(self, ceiling: int, *, rpm: float | None = None, tpm: float | None = None) -> None:
        """At most `ceiling` questions at once, `rpm` requests and `tpm` tokens a minute."""
        self.ceiling = ceiling
        self.limit = min(START, ceiling)
        self.in_flight = 0
        self.pace, self._by_tokens = inf, False  # requests or tokens a second, as learned from refusals
        self._fixed, self._announced = ServerLimits(rpm, tpm), ServerLimits()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._turn = asyncio.Lock()
        self._next_start = self._paused_until = 0.0
        self._last_answer: float | None = None
        self._had_to_wait = 0  # questions that had to wait for a place: the limit was in use
        self._slow_start = True
        self._successes = self._faults = 0
        # The tokens of a call, as the server counts them, to those that were estimated before it.
        self._counted = self._estimated = 0.0
        self._window_start: float | None = None
        self._answers = self._refusals = self._tokens = self._refused_tokens = 0
        self._latency = 0.0
        self._row, self._shortest_wait, self._pauses = 0, inf, 0
        self._tolerated, self._growth = _TOLERATED, _GROWTH
        self._background = (0.0, 0.0)  # what was refused after cuts that should have ended it, and of how many
        self._cut: _Cut | None = None
        self._best_latency, self._usual_latency = inf, _SECONDS
        self._eased: tuple[int, float] | None = None  # limit and latency before it was lowered

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
        """Seconds for which nothing is sent, because the server refused everything."""
        return max(0.0, self._paused_until - _now())

    def silent(self) -> float:
        """Seconds since the last answer; infinite if there was none."""
        return inf if self._last_answer is None else _now() - self._last_answer

    def record(self, reply: Answer | Failure, tokens: int = 0) -> None:
        """Adjust pace and limit to what the server replied to a call of about `tokens` tokens."""
        now = _now()
        if reply.limits:
            self._announced = reply.limits
        if isinstance(reply, Answer):
            self._last_answer = now
            self._counted += reply.usage.prompt + reply.usage.completion
            self._estimated += tokens
            self._row = self._faults = self._pauses = 0
            self._shortest_wait = inf
            self._grow()
        elif reply.kind is ErrorKind.RATE_LIMITED:
            self._refused(reply, now)
        elif reply.transient:
            self._faults += 1
            if self._faults >= _FAULTS:
                self._faults = 0
                self._lower_limit()
        if self._window_start is None:
            if isinstance(reply, Answer):
                self._usual_latency = reply.latency
                self._window_start = now
        elif now >= self._window_start:
            self._count(reply, now, tokens)

    def _refused(self, reply: Failure, now: float) -> None:
        if now < self._paused_until:
            return  # sent before the pause
        self._row += 1
        if reply.retry_after is not None:
            self._shortest_wait = min(self._shortest_wait, reply.retry_after)
        if self._row >= _ROW:
            self._pauses += 1
            wait = self._shortest_wait if self._shortest_wait < inf else min(2.0 ** (self._pauses - 1), 30.0)
            self._paused_until = now + wait
            self._row, self._shortest_wait = 0, inf
            if wait > _LONG_PAUSE:
                self.pace, self._cut = inf, None
                self._open_window(self._paused_until)

    # Windows

    def _open_window(self, at: float) -> None:
        """Count replies that arrive a round trip after `at`: earlier ones answer what was sent before."""
        self._window_start = at + self._usual_latency
        self._answers = self._refusals = self._tokens = self._refused_tokens = 0
        self._latency = 0.0

    def _count(self, reply: Answer | Failure, now: float, tokens: int) -> None:
        if isinstance(reply, Answer):
            self._answers += 1
            self._tokens += tokens
            self._latency += reply.latency
        elif reply.kind is ErrorKind.RATE_LIMITED:
            self._refusals += 1
            self._refused_tokens += tokens
        elapsed = now - (self._window_start or now)
        counted = self._answers + self._refusals
        enough = _SECONDS if counted >= _WINDOW else _MOST_SECONDS
        if elapsed >= max(self._usual_latency, enough):
            changed = self._adjust_pace(self._refusals, counted, elapsed)
            if self._answers:
                self._adjust_limit(self._latency / self._answers)
            self._open_window(now if changed else now - self._usual_latency)

    def _adjust_pace(self, refused: int, counted: int, elapsed: float) -> bool:
        """Cut the pace, undo a cut or grow, by the share that was refused; whether replies have yet to show it."""
        share, usual = refused / counted, self._tolerated
        if share <= usual + 2 * sqrt(usual * (1 - usual) / counted):
            if self._cut:
                self._tolerate(refused, counted)
                if refused >= 3 and share > _TOLERATED:  # about as much is refused as before the cut
                    self.pace, self._by_tokens = self._cut.pace, self._cut.by_tokens
                self._cut = None
            # A pace that is far above what is sent limits nothing.
            sent = self._tokens if self._by_tokens else counted
            self.pace = inf if self.pace > 2 * sent / elapsed else self.pace * (1 + self._growth)
            faster = 1 + 0.3 * min(1.0, counted / (2 * _WINDOW))  # a share of few is not known well
            self._growth = min(faster * self._growth, _MOST_GROWTH)
            return False
        # Where everybody had to pause, too little was sent to know how much is accepted.
        self._growth = _MOST_GROWTH if self._paused_until > (self._window_start or 0.0) else _GROWTH
        if refused == counted:
            return True  # which share is accepted cannot be seen; what helps is a pause
        cut = self._cut
        if cut and cut.times == _VAIN_CUTS:
            self._background = (0.0, 0.0)
            self._tolerate(refused, counted)
            self.pace, self._by_tokens, self._cut = cut.pace, cut.by_tokens, None
            return True
        self._cut = cut._replace(times=cut.times + 1) if cut else _Cut(self.pace, self._by_tokens)
        accepted_length = self._tokens / (counted - refused)
        if refused >= _TELLING:
            self._by_tokens = self._refused_tokens / refused > _LARGER * accepted_length
        accepted = max(self._tokens if self._by_tokens else self._answers, 1)
        self.pace = _MARGIN * accepted / elapsed
        return True

    def _tolerate(self, refused: int, counted: int) -> None:
        """Learn what is refused whatever we do, from the replies to a pace that was accepted before."""
        self._background = (0.8 * self._background[0] + refused, 0.8 * self._background[1] + counted)
        share = self._background[0] / self._background[1]
        self._tolerated = min(max(_TOLERATED, 1.5 * share), _MOST_TOLERATED)

    def _adjust_limit(self, latency: float) -> None:
        self._usual_latency = latency
        self._best_latency = min(1.002 * self._best_latency, latency)
        if latency <= _SLOWER * self._best_latency:
            self._eased = None
        elif self._eased and latency > 0.9 * self._eased[1]:
            # Fewer at once are not answered faster, so these questions just take longer.
            self.limit, self._best_latency, self._eased = self._eased[0], latency, None
        else:
            self._eased = (self.limit, latency)
            self._lower_limit()

    # Questions at once

    def _grow(self) -> None:
        """Grow while questions have to wait for a place.

        At first with every answer, which doubles the limit in one round trip; after a cut by one a round trip.
        """
        self._successes += 1
        needed = 1 if self._slow_start else self.limit
        if self._had_to_wait and self.limit < self.ceiling and self._successes >= needed and not self._queues():
            self._had_to_wait -= 1
            self._successes = 0
            self.limit += 1
            self._wake()

    def _queues(self) -> bool:
        return self._usual_latency > 2 * self._best_latency

    def _lower_limit(self) -> None:
        self.limit = max(1, int(self.limit * _EASE))
        self._slow_start = False
        self._successes = 0

    def _wake(self) -> None:
        free = self.limit - self.in_flight
        while free > 0 and self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                free -= 1

    # Pace

    def _spacing(self, tokens: int) -> float:
        """Seconds from the start of a call of about `tokens` tokens to the next one."""
        spacing = min((tokens if self._by_tokens else 1) / self.pace, _MOST_SECONDS)
        if self._estimated:
            tokens = int(tokens * self._counted / self._estimated)
        for requests_a_minute, tokens_a_minute in (self._fixed, self._announced):
            if requests_a_minute:
                spacing = max(spacing, 60 / requests_a_minute)
            if tokens_a_minute:
                spacing = max(spacing, 60 * tokens / tokens_a_minute)
        return spacing

    async def _wait_for_pace(self, tokens: int) -> None:
        if not self._spacing(tokens) and self._paused_until <= _now():
            return
        async with self._turn:
            start = _now()
            while (wait := max(self._next_start, self._paused_until) - _now()) > 0:
                start = max(
                    self._next_start, self._paused_until
                )  # waiting takes a little too long; this makes up for it
                await asyncio.sleep(wait)
            self._next_start = start + self._spacing(tokens)


def _now() -> float:
    return asyncio.get_running_loop().time()
