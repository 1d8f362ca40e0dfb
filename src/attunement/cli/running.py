"""Run judges from the command line: the estimate, the live display, Ctrl-C, and the summary at the end."""

import asyncio
import signal
import sys
from collections import Counter
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from enum import StrEnum
from pathlib import Path
from time import monotonic
from typing import Any

import orjson
import typer

from attunement import api
from attunement.api import Working
from attunement.cli.options import what_was_read
from attunement.conversations import Conversation
from attunement.conversations.reader import Reading
from attunement.engine import (
    ASK_AGAIN,
    Estimate,
    JudgeConfig,
    Price,
    Progress,
    Scope,
    Selection,
    estimate,
    rater_settings,
    run_in_loop,
)
from attunement.errors import InputError, NoStudyError
from attunement.judges import Judge, UnitJudge
from attunement.prompts import Layout
from attunement.ratings import ErrorKind, RaterKind
from attunement.reports.numbers import pluralize
from attunement.reports.overview import about_judge
from attunement.store import Study, shown_place

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


_LOOK_SECONDS = 0.3
"""How long `judge` looks at the input before it starts; `estimate` looks at all of it."""

_FEW = 5000
"""Up to this many conversations the verdicts are counted after a run; it takes a second or two."""

INTERRUPTED = 130


def run_and_report(
    conversations: Reading, place: str | Path, settings: api.Settings, *, quiet: bool, json: bool
) -> int:
    """Do a run and say what came of it. Returns the exit code."""
    manner = Manner.chosen(quiet=quiet, json=json)
    prepared = settings.prepare()
    if manner in {Manner.LIVE, Manner.PLAIN}:
        for line in _before(conversations, place, prepared):
            _say(line)
    systems = _Systems()
    chosen = systems.watch(prepared.selection.of(conversations))
    result = run_in_loop(_run(chosen, place, prepared._replace(selection=Selection()), manner))
    cautions = systems.cautions(prepared.participants)
    if json:
        typer.echo(
            orjson.dumps(
                {"study": shown_place(place), **figures(result.progress), **_ended(result), "cautions": cautions}
            ).decode()
        )
    elif not quiet:
        for line in (*what_was_read(conversations), *_after(result), *cautions):
            _say(line)
    if result.ending.given_up:
        sys.stderr.write(
            f"attune: {result.ending.given_up}; what was answered before is kept in {shown_place(place)}\n"
        )
        return 2
    if result.ending.interrupted:
        _say(f"Interrupted. Everything answered is kept in {shown_place(place)}; the same command goes on from there.")
        return INTERRUPTED
    if not result.progress.conversations:
        raise InputError("there was no conversation to judge: the input is empty, or nothing matches --filter")
    return 3 if result.progress.errors or result.progress.kept_errors else 0


async def _run(
    conversations: Iterable[Conversation], place: str | Path, prepared: api.Prepared, manner: Manner
) -> api.Result:
    shown: list[asyncio.Task[None]] = []

    def watch(run: api.Working) -> None:
        shown.append(asyncio.create_task(show_progress(run, manner)))
        # The first Ctrl-C lets what is in flight come back; the second one is Python's own and ends it at once.
        loop = asyncio.get_running_loop()

        def interrupt() -> None:
            loop.remove_signal_handler(signal.SIGINT)
            _say("Stopping: waiting for the answers that are on their way. Ctrl-C again stops at once.")
            run.interrupt()

        with suppress(NotImplementedError):  # not every platform has signal handlers in the loop
            loop.add_signal_handler(signal.SIGINT, interrupt)

    try:
        return await api.run(conversations, place, prepared, watch=watch)
    finally:
        for task in shown:
            task.cancel()
        await asyncio.gather(*shown, return_exceptions=True)


def estimates(conversations: Reading, place: str | Path | None, settings: api.Settings) -> Iterator[str]:
    """What a run over all conversations would ask and cost, a few lines for each judge."""
    prepared = settings.prepare(sends=False)
    for participant in prepared.participants:
        found = _estimate(prepared.selection.of(conversations), place, prepared.scope, participant.judge)
        yield from _priced(found, participant, prepared.scope)


def _before(conversations: Reading, place: str | Path, prepared: api.Prepared) -> Iterator[str]:
    """The first lines of a run, from a short look at the input where it can be read twice."""
    yield f"Study: {shown_place(place)}"
    if not conversations.rereadable:
        return
    for participant in prepared.participants:
        look = _Look(prepared.selection.of(conversations))
        found = _estimate(look, place, prepared.scope, participant.judge)
        part = "In the first part of the input, " if look.cut_short else ""
        yield part + next(_priced(found, participant, prepared.scope))
        if others := _namesakes(place, participant.judge, prepared.scope):
            yield (
                f"{participant.judge.name} has answered in this study with other settings ({others}); with these it is "
                "a rater of its own and is asked everything."
            )


class _Look:
    """The conversations that can be looked at in a short while."""

    def __init__(self, conversations: Iterable[Conversation]) -> None:
        self._conversations = conversations
        self.cut_short = False

    def __iter__(self) -> Iterator[Conversation]:
        started = monotonic()
        for conversation in self._conversations:
            if monotonic() - started > _LOOK_SECONDS:
                self.cut_short = True
                return
            yield conversation


def _namesakes(place: str | Path, judge: Judge, scope: Scope) -> str:
    """What sets earlier raters of this judge's name apart from it, where it is not one of them."""
    with _existing(place) as study:
        if study is None or study.find_rater(judge.name, RaterKind.MODEL, rater_settings(judge, scope)):
            return ""
        mine = rater_settings(judge, scope)
        others = [rater.settings for rater in study.raters() if rater.name.split(" @")[0] == judge.name]
        names = {name for other in others for name in {*other, *mine} if other.get(name) != mine.get(name)}
        return ", ".join(sorted(names))


@contextmanager
def _existing(place: str | Path | None) -> Generator[Study | None]:
    """The study, if there is one."""
    try:
        study = Study(place) if place else None
    except NoStudyError:
        study = None
    with study or nullcontext():
        yield study


def _estimate(conversations: Iterable[Conversation], place: str | Path | None, scope: Scope, judge: Judge) -> Estimate:
    with _existing(place) as study:
        rater = study and study.find_rater(judge.name, RaterKind.MODEL, rater_settings(judge, scope))
        known = (study, rater) if study and rater else None
        return estimate(conversations, scope, known, equal_once=not isinstance(judge, UnitJudge))


def _priced(found: Estimate, participant: JudgeConfig, scope: Scope) -> Iterator[str]:
    questions, about = pluralize(found.questions, "question"), pluralize(found.conversations, "conversation")
    line = f"{participant.judge.name}: {questions} about {about}"
    kept = f"; {found.kept:,} more are in the study already" if found.kept else ""
    if isinstance(participant.judge, UnitJudge):
        yield f"{participant.judge.name}: {about}, read on this machine."
        return
    line += f", about {found.prompt_tokens:,} tokens in and {found.reply_tokens:,} out{kept}"
    price = participant.price
    if price is None:
        yield f"{line}. The price of this model at this address is not known; give it with --price-in and --price-out."
        return
    yield f"{line}: about ${found.cost(price):.2f} ({price.source})."
    if not found.questions:
        return
    if not scope.questionnaire.together:
        yield _other_layout(found, price)
    if found.gate_questions and found.gate_questions < found.questions:
        least = found.least_with_stop_on_gate(price)
        yield f"  --stop-on-gate: from ${least:.2f}, if every one failed on safety, to the full price if none did."


def _other_layout(found: Estimate, price: Price) -> str:
    share = f"{found.shared_tokens / found.prompt_tokens:.0%} of the tokens in"
    if price.cached is None:
        return f"  With --layout transcript-first a prefix cache can serve {share}; their price is not known."
    if found.layout is Layout.TRANSCRIPT_FIRST:
        without = found.cost(price, Layout.CRITERION_FIRST)
        return (
            f"  This counts on a prefix cache for {share}; without one, as with --layout criterion-first, about "
            f"${without:.2f}."
        )
    with_cache = found.cost(price, Layout.TRANSCRIPT_FIRST)
    return (
        f"  --layout transcript-first: a prefix cache could serve {share}; about ${with_cache:.2f} where the provider "
        "gives cached tokens at a lower price."
    )


def _after(result: api.Result) -> Iterator[str]:
    progress = result.progress
    if result.only_rule_check:
        yield f"signals read {pluralize(progress.conversations, 'conversation')} in {progress.elapsed:.1f} s."
        if progress.conversations <= _FEW:
            yield from _found(result)
        yield f"See the pointers: attune show {shown_place(result.place)}{_naming(result)}"
        return
    line = f"Answered {progress.answered:,} of {pluralize(progress.planned, 'question')} in {progress.elapsed:.1f} s"
    if progress.cost:
        line += f" for ${progress.cost:.2f}"
    line += f" ({pluralize(progress.calls, 'call')}"
    line += f", {progress.kept:,} kept from before" if progress.kept else ""
    line += f", {progress.shared:,} with the same words as another" if progress.shared else ""
    yield f"{line})."
    if progress.errors or progress.kept_errors:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in progress.errors.most_common())
        before = f"{progress.kept_errors:,} from an earlier run" if progress.kept_errors else ""
        remaining = "; ".join(part for part in (kinds, before) if part)
        yield f"Without an answer: {remaining}. {_what_to_do(result)}"
    for rater, refused in result.ending.refused.items():
        for parameter, instead in refused.items():
            yield f"{rater} does not take {parameter}: {instead}."
    if not progress.conversations:
        return
    if progress.conversations <= _FEW:
        yield from _found(result)
    yield f"See the scorecards: attune show {shown_place(result.place)}{_naming(result)}"


def _naming(result: api.Result) -> str:
    """How to name the instrument of this run, where the study has others and would have to ask."""
    with Study(result.place) as study:
        several = len({instrument.id for instrument in study.instruments()}) > 1
    return f" --instrument {result.instrument.id}" if several else ""


def _what_to_do(result: api.Result) -> str:
    again = "Ask them again with --retry-errors"
    if set(result.progress.errors) == {ErrorKind.PROMPT_TOO_LONG} and not result.progress.kept_errors:
        return f"{again} once the server has a larger context; a model with a larger one is asked everything."
    if result.progress.kept_errors or set(result.progress.errors) - ASK_AGAIN:
        return f"{again}."
    limited = {ErrorKind.BUDGET, ErrorKind.SKIPPED} & set(result.progress.errors)
    return f"The next run asks them{', unless the same limit holds' if limited else ''}."


def _found(result: api.Result) -> Iterator[str]:
    """The verdicts, and what the rule check points to."""
    from attunement.reports.rule_check import RuleCheck

    verdicts, rule_check = Counter[str](), RuleCheck()
    for judged in result.scorecards():
        verdicts["not judged" if judged.deciding is None else judged.deciding.verdict.value] += 1
        rule_check.add(judged.conversation.identity, judged.cards)
    each = ", ".join(f"{verdict} {count}" for verdict, count in verdicts.most_common())
    yield f"Verdicts on {pluralize(verdicts.total(), 'conversation')}: {each}."
    yield from rule_check.sentences()


def _ended(result: api.Result) -> dict[str, Any]:
    ending = result.ending
    return {"interrupted": ending.interrupted, "given_up": ending.given_up, "refused": ending.refused}


class _Systems:
    """Notes which systems were judged, to say where a judge may favour its own kind."""

    def __init__(self) -> None:
        self._systems: dict[str, None] = {}

    def watch(self, conversations: Iterable[Conversation]) -> Iterator[Conversation]:
        for conversation in conversations:
            self._systems[conversation.system] = None
            yield conversation

    def cautions(self, participants: Iterable[JudgeConfig]) -> list[str]:
        return [
            caution
            for participant in participants
            for caution in about_judge(
                participant.judge.name, participant.judge.settings.get("base_url"), self._systems
            )
        ]


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()
