"""Run judges from the command line: the estimate, progress, Ctrl-C, and the summary at the end."""

import asyncio
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

import orjson
import typer

from attunement import api
from attunement.cli.options import say, what_was_read
from attunement.conversations import Conversation
from attunement.conversations.reader import Reading
from attunement.engine import (
    NOT_FINAL,
    Estimate,
    JudgeConfig,
    Price,
    Progress,
    Run,
    Scope,
    Selection,
    rater_settings,
    run_in_loop,
)
from attunement.errors import InputError
from attunement.judges import UnitJudge
from attunement.prompts import Layout
from attunement.ratings import ErrorKind, RaterKind
from attunement.reports.numbers import pluralize
from attunement.reports.overview import about_judge
from attunement.store import Study, shown_place
from attunement.store.queries import study_cost

_LIVE_SECONDS, _PLAIN_SECONDS = 0.25, 5.0
_LOOK = 100
"""How many conversations `judge` looks at before it starts; `estimate` looks at all of them."""
_FEW = 5000
"""Up to this many conversations the verdicts are counted after a run; it takes a second or two."""
INTERRUPTED = 130
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def run_and_report(
    conversations: Reading | Sequence[Conversation],
    place: str | Path,
    settings: api.Settings,
    *,
    quiet: bool,
    json: bool,
) -> int:
    """Run the judges, print the result, and return the exit code."""
    prepared = settings.prepare()
    if not (quiet or json):
        say(f"Study: {shown_place(place)}", err=True)
        # A pipe can be read only once.
        if not isinstance(conversations, Reading) or conversations.rereadable:
            for participant in prepared.participants:
                chosen = islice(prepared.selection.of(conversations), _LOOK)
                say(*_before(chosen, place, participant, prepared.scope), err=True)
    systems: dict[str, None] = {}

    def noted() -> Iterator[Conversation]:
        for conversation in prepared.selection.of(conversations):
            systems[conversation.system] = None
            yield conversation

    result = run_in_loop(_run(noted(), place, prepared._replace(selection=Selection()), quiet=quiet, json=json))
    judges = [participant.judge for participant in prepared.participants]
    cautions = [line for one in judges for line in about_judge(one.name, one.settings.get("base_url"), systems)]
    ending, progress = result.ending, result.progress
    if json:
        ended = {"interrupted": ending.interrupted, "given_up": ending.given_up, "refused": ending.refused}
        record = {"study": shown_place(place), **counts_record(progress), **ended, "cautions": cautions}
        typer.echo(orjson.dumps(record).decode())
    elif not quiet:
        read = what_was_read(conversations) if isinstance(conversations, Reading) else ()
        say(*read, *_after(result), *cautions, err=True)
    if ending.given_up:
        say(f"attune: {ending.given_up}; earlier answers are saved in {shown_place(place)}", err=True)
        return 2
    if ending.interrupted:
        kept = f"All answers so far are saved in {shown_place(place)}"
        say(f"Interrupted. {kept}; run the same command to continue.", err=True)
        return INTERRUPTED
    if not progress.conversations:
        raise InputError("no conversations to judge: the input is empty, or nothing matches --filter")
    return 3 if progress.errors or progress.already_failed else 0


async def _run(
    conversations: Iterable[Conversation], place: str | Path, prepared: api.Prepared, *, quiet: bool, json: bool
) -> api.Result:
    shown: list[asyncio.Task[None]] = []

    def watch(run: Run) -> None:
        if not quiet:
            live = not json and sys.stderr.isatty()
            shown.append(
                asyncio.create_task(_live(run) if live else _lines(run, _json_line if json else progress_line))
            )
        # The first signal waits for the requests in flight; the second one is Python's own and stops at once.
        loop = asyncio.get_running_loop()

        def interrupt() -> None:
            for number in _SIGNALS:
                loop.remove_signal_handler(number)
            say("Stopping: waiting for open requests. Press Ctrl-C again to stop at once.", err=True)
            run.interrupt()

        with suppress(NotImplementedError):  # not every platform has signal handlers in the loop
            for number in _SIGNALS:
                loop.add_signal_handler(number, interrupt)

    try:
        return await api.run(conversations, place, prepared, watch=watch)
    finally:
        for task in shown:
            task.cancel()
        await asyncio.gather(*shown, return_exceptions=True)


# Progress


async def _live(run: Run) -> None:
    from rich.console import Console
    from rich.live import Live

    with Live(console=Console(stderr=True), auto_refresh=False, transient=True) as live:
        while True:
            live.update(progress_line(run), refresh=True)
            await asyncio.sleep(_LIVE_SECONDS)


async def _lines(run: Run, line: Callable[[Run], str]) -> None:
    while True:
        await asyncio.sleep(_PLAIN_SECONDS)
        say(line(run), err=True)


def counts_record(progress: Progress) -> dict[str, Any]:
    return {
        "conversations": progress.conversations,
        "conversations_done": progress.conversations_done,
        "questions_to_ask": progress.planned,
        "answered": progress.answered,
        "answered_before": progress.already_done - progress.already_failed,
        "errors_before": progress.already_failed,
        "same_words_as_another": progress.shared,
        "errors": {kind.value: count for kind, count in sorted(progress.errors.items())},
        "overcome": {kind.value: count for kind, count in sorted(progress.retries.items())},
        "calls": progress.calls,
        "prompt_tokens": progress.prompt_tokens,
        "cached_tokens": progress.cached_tokens,
        "completion_tokens": progress.completion_tokens,
        "cost": round(progress.cost, 6),
        "answers_without_a_price": progress.unpriced,
        "answers_with_estimated_tokens": progress.estimated,
        "calls_broken_off": progress.broken_off,
        "seconds": round(progress.elapsed, 3),
    }


def _json_line(run: Run) -> str:
    now = {
        "open_questions": run.concurrency(),
        "waiting_seconds": round(run.waiting(), 1),
        "questions_out_of_reach": run.progress.unreached,
    }
    return orjson.dumps({**counts_record(run.progress), **now}).decode()


def progress_line(run: Run) -> str:
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
        parts.append("cannot reach the server, retrying")
    if (waiting := run.waiting()) >= 1:
        parts.append(f"too many requests, the server asks to wait {_duration(waiting)}")
    return " · ".join(parts)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


# Before a run


def estimates(conversations: Reading, place: str | Path | None, settings: api.Settings) -> Iterator[str]:
    """The questions and cost of a run over all conversations, a few lines for each judge."""
    prepared = settings.prepare(sends=False)
    for participant in prepared.participants:
        found = api.estimate_judge(prepared.selection.of(conversations), place, prepared.scope, participant.judge)
        yield from _priced(found, participant, prepared.scope)


def _before(
    conversations: Iterable[Conversation], place: str | Path, participant: JudgeConfig, scope: Scope
) -> Iterator[str]:
    """What is known of a judge before the run, from the first conversations."""
    found = api.estimate_judge(conversations, place, scope, participant.judge)
    part = f"For the first {_LOOK} conversations, " if found.conversations == _LOOK else ""
    yield part + next(_priced(found, participant, scope))
    mine, name = rater_settings(participant.judge, scope), participant.judge.name
    with api.existing_study(place) as study:
        if study is None or study.find_rater(name, RaterKind.MODEL, mine):
            return
        others = [rater.settings for rater in study.raters() if rater.name.split(" @")[0] == name]
    if differing := {key for other in others for key in {*other, *mine} if other.get(key) != mine.get(key)}:
        yield (
            f"{name} has answered in this study with other settings ({', '.join(sorted(differing))}); with the "
            "present settings it counts as a separate rater and is asked everything."
        )


def _priced(found: Estimate, participant: JudgeConfig, scope: Scope) -> Iterator[str]:
    name, about = participant.judge.name, pluralize(found.conversations, "conversation")
    if isinstance(participant.judge, UnitJudge):
        yield f"{name}: {about}, read on this machine."
        return
    kept = f"; {found.already_done:,} more are already in the study" if found.already_done else ""
    line = (
        f"{name}: {pluralize(found.questions, 'question')} about {about}, "
        f"about {found.prompt_tokens:,} tokens in and {found.reply_tokens:,} out{kept}"
    )
    price = participant.price
    if price is None:
        yield f"{line}. The price of this model at this address is not known; enter it with --price-in and --price-out."
        return
    yield f"{line}: about ${found.cost(price):.2f} ({price.source})."
    if not found.questions:
        return
    if not scope.questionnaire.together:
        yield _other_layout(found, price)
    if found.gate_questions and found.gate_questions < found.questions:
        least = found.least_with_stop_on_gate(price)
        yield f"  --stop-on-gate: from ${least:.2f} if all fail on safety to the full price if none does."


def _other_layout(found: Estimate, price: Price) -> str:
    share = f"{found.shared_tokens / found.prompt_tokens:.0%} of the tokens in"
    if price.cached is None:
        return f"  With --layout transcript-first a prefix cache can serve {share}; their price is not known."
    if found.layout is Layout.TRANSCRIPT_FIRST:
        without = found.cost(price, Layout.CRITERION_FIRST)
        return (
            f"  This assumes a prefix cache for {share}; without one, as with --layout criterion-first, about "
            f"${without:.2f}."
        )
    with_cache = found.cost(price, Layout.TRANSCRIPT_FIRST)
    return (
        f"  --layout transcript-first: a prefix cache could serve {share}; about ${with_cache:.2f} where the provider "
        "gives cached tokens at a lower price."
    )


# After a run


def _after(result: api.Result) -> Iterator[str]:
    progress = result.progress
    if result.only_rule_check:
        yield f"signals read {pluralize(progress.conversations, 'conversation')} in {progress.elapsed:.1f} s."
    else:
        yield from _answered(result)
    if not (progress.conversations or result.only_rule_check):
        return
    if progress.conversations <= _FEW:
        yield from verdict_sentences(result)
    with Study(result.place) as study:
        several = len({instrument.id for instrument in study.instruments()}) > 1
        spent = study_cost(study)
    if round(spent, 2) > round(progress.cost, 2):
        yield f"This study has cost ${spent:.2f} so far."
    which = f" --instrument {result.instrument.id}" if several else ""
    what = "pointers" if result.only_rule_check else "scorecards"
    yield f"See the {what}: attune show {shown_place(result.place)}{which}"


def _answered(result: api.Result) -> Iterator[str]:
    progress = result.progress
    line = f"Answered {progress.answered:,} of {pluralize(progress.planned, 'question')} in {progress.elapsed:.1f} s"
    if progress.cost:
        line += f" for ${progress.cost:.2f}"
    line += f" ({pluralize(progress.calls, 'call')}"
    line += f", {progress.already_done:,} answered before" if progress.already_done else ""
    line += f", {progress.shared:,} identical to another question" if progress.shared else ""
    yield f"{line})."
    if progress.errors or progress.already_failed:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in progress.errors.most_common())
        before = f"{progress.already_failed:,} from an earlier run" if progress.already_failed else ""
        remaining = "; ".join(part for part in (kinds, before) if part)
        yield f"Without an answer: {remaining}. {_what_to_do(progress)}"
    if progress.estimated:
        counted = f"Of {pluralize(progress.estimated, 'reply', 'replies')} the server did not count the tokens"
        yield f"{counted}; they are estimated from the text, at four characters a token."
    if progress.broken_off:
        calls = pluralize(progress.broken_off, "call was", "calls were")
        yield f"{calls} broken off and counted at the highest possible cost."
    for rater, refused in result.ending.refused.items():
        for parameter, instead in refused.items():
            yield f"{rater} does not accept {parameter}: {instead}."


def _what_to_do(progress: Progress) -> str:
    again = "Ask them again with --retry-errors"
    if set(progress.errors) == {ErrorKind.PROMPT_TOO_LONG} and not progress.already_failed:
        return f"{again} after you give the server a larger context; another model would be asked everything."
    if progress.already_failed or set(progress.errors) - NOT_FINAL:
        return f"{again}."
    limited = {ErrorKind.BUDGET, ErrorKind.SKIPPED} & set(progress.errors)
    return f"The next run asks them{', unless it has the same limit' if limited else ''}."


def verdict_sentences(result: api.Result) -> Iterator[str]:
    """The verdicts, and what the rule check points to."""
    from attunement.reports.overview import Repeats
    from attunement.reports.rule_check import RuleCheck
    from attunement.reports.wording import combination_words

    verdicts, rule_check, repeats, combined = Counter[str](), RuleCheck(), Repeats(), None
    for judged in result.scorecards():
        card = judged.deciding
        verdicts["not judged" if card is None else card.verdict.value] += 1
        rule_check.add(judged.conversation.identity, judged.cards)
        repeats.add(judged.cards)
        if card and card.parts and (combined is None or len(card.members) > len(combined.members)):
            combined = card
    each = ", ".join(f"{verdict} {count}" for verdict, count in verdicts.most_common())
    yield f"Verdicts on {pluralize(verdicts.total(), 'conversation')}: {each}."
    if combined:
        yield combination_words(result.instrument, combined)
    yield from repeats.sentences(result.instrument)
    yield from rule_check.sentences()
