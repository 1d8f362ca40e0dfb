"""How a run shows itself: a live display on a terminal, a plain line every few seconds elsewhere, JSON for machines."""

import asyncio
import sys
from enum import StrEnum
from typing import Any

import orjson

from attunement.api import Working
from attunement.engine import Progress

_LIVE_SECONDS, _PLAIN_SECONDS = 0.25, 5.0


class Manner(StrEnum):
    """How much is shown while a run is under way."""

    LIVE = "live"
    PLAIN = "plain"
    JSON = "json"
    QUIET = "quiet"

    @classmethod
    def chosen(cls, *, quiet: bool, json: bool) -> "Manner":
        """What the user asked for, or what fits where the output goes."""
        if quiet:
            return cls.QUIET
        if json:
            return cls.JSON
        return cls.LIVE if sys.stderr.isatty() else cls.PLAIN


async def show_progress(run: Working, manner: Manner) -> None:
    """Show how `run` goes until cancelled."""
    match manner:
        case Manner.QUIET:
            return
        case Manner.LIVE:
            await _live(run)
        case _:
            write = _json_line if manner is Manner.JSON else _plain_line
            while True:
                await asyncio.sleep(_PLAIN_SECONDS)
                sys.stderr.write(write(run) + "\n")
                sys.stderr.flush()


async def _live(run: Working) -> None:
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), auto_refresh=False, transient=True) as live:
        while True:
            live.update(_plain_line(run), refresh=True)
            await asyncio.sleep(_LIVE_SECONDS)


def figures(progress: Progress) -> dict[str, Any]:
    """The counts of a run for machines."""
    return {
        "conversations": progress.conversations,
        "conversations_done": progress.conversations_done,
        "questions_to_ask": progress.planned,
        "answered": progress.answered,
        "answered_before": progress.kept - progress.kept_errors,
        "errors_before": progress.kept_errors,
        "same_words_as_another": progress.shared,
        "errors": {kind.value: count for kind, count in sorted(progress.errors.items())},
        "overcome": {kind.value: count for kind, count in sorted(progress.retries.items())},
        "calls": progress.calls,
        "prompt_tokens": progress.prompt_tokens,
        "cached_tokens": progress.cached_tokens,
        "completion_tokens": progress.completion_tokens,
        "cost": round(progress.cost, 6),
        "answers_without_a_price": progress.unpriced,
        "seconds": round(progress.elapsed, 3),
    }


def _json_line(run: Working) -> str:
    now = {
        "open_questions": run.concurrency(),
        "waiting_seconds": round(run.waiting(), 1),
        "questions_out_of_reach": run.progress.unreached,
    }
    return orjson.dumps({**figures(run.progress), **now}).decode()


def _plain_line(run: Working) -> str:
    progress = run.progress
    more = "+" if progress.reading else ""
    parts = [
        f"{progress.conversations_done} of {progress.conversations}{more} conversations",
        f"{progress.done} of {progress.planned}{more} questions",
        f"{progress.rate:.1f} a second",
    ]
    if (left := progress.seconds_left) is not None:
        parts.append(f"{_duration(left)} left")
    if progress.cost:
        parts.append(f"${progress.cost:.2f}")
    if progress.errors:
        parts.append("errors: " + ", ".join(f"{count} {kind}" for kind, count in progress.errors.most_common()))
    parts.append(f"{run.concurrency()} open")
    if progress.unreached:
        parts.append("the server cannot be reached, trying again")
    if (waiting := run.waiting()) >= 1:
        parts.append(f"the server asks to wait {_duration(waiting)}")
    return " · ".join(parts)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
