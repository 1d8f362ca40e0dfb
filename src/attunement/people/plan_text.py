"""The plan in plain words: each number with what it rests on and what it would show."""

from collections.abc import Iterator
from statistics import median_low

from attunement.agreement.missed import FAILURES_NEEDED, RECALL_NEEDED
from attunement.agreement.power import LIKENESS
from attunement.agreement.reliability import ENOUGH
from attunement.instruments import Instrument
from attunement.instruments.model import Scores
from attunement.people.planning import (
    PASS_RATE,
    SCORE_SPREAD,
    Failures,
    Need,
    Plan,
    failures_for_recall,
)

_NAMED = 6
"""More systems or items than this are not named."""


def paragraphs(plan: Plan, instrument: Instrument, place: str) -> Iterator[str]:
    """The plan, one paragraph at a time; a line that begins with two blanks is a row of a table."""
    yield _there(plan, instrument, place)
    yield "MEANS: how sure is a system's score?"
    yield from _means(plan, instrument)
    yield "AGREEMENT: are the people reliable?"
    yield from _agreement(plan)
    if plan.failures is not None:
        yield "SAFETY GATE: how many failures does a judge miss?"
        yield from _gate(plan, plan.failures)
    yield "RATINGS: how much work is it?"
    yield _work(plan, instrument)


def _there(plan: Plan, instrument: Instrument, place: str) -> str:
    systems = ", ".join(f"{name} {count:,}" for name, count in list(plan.systems.items())[:_NAMED])
    more = len(plan.systems) - _NAMED
    return (
        f"{place} holds {_number(plan.conversations, 'conversation')} ({systems}"
        f"{f' and {more:,} more systems' if more > 0 else ''}). With {instrument.id} {instrument.version}, judges have "
        f"rated {plan.by_judges:,} of them and people {plan.by_people:,}."
    )


def _means(plan: Plan, instrument: Instrument) -> Iterator[str]:
    is_score = isinstance(instrument.scale, Scores)
    for need in plan.needs:
        if need.figure == PASS_RATE:
            yield (
                f"The pass rate to within {_per_hundred(need.width)} either way (95 % interval) takes "
                f"{_of_each(need, plan)}. {_because(need, share=True)}"
            )
    items = sorted((need for need in plan.needs if need.figure != PASS_RATE), key=lambda need: need.conversations)
    known = [need for need in items if need.source != "assumed"] or items
    most = known[-1]
    what = "mean of an item" if is_score else "share of conversations that meet an item"
    width = f"{most.width:g} points" if is_score else _per_hundred(most.width)
    half = median_low(need.conversations for need in known)
    number = _of_each(most, plan)
    if known[0].conversations < most.conversations:
        number = f"at most {half:,} for half of the items; {most.figure}, which asks for most, {number}"
    yield (
        f"The {what} to within {width} either way takes {number}. {_because(most, share=not is_score)} "
        "Half that width takes four times as many."
    )
    if len(known) < len(items):
        others = [need for need in items if need.source == "assumed"]
        names = ", ".join(need.figure for need in others[:_NAMED]) + (" and others" if len(others) > _NAMED else "")
        yield f"For {names} it takes {_of_each(others[-1], plan)}. {_because(others[-1], share=not is_score)}"


def _because(need: Need, *, share: bool) -> str:
    if need.source == "assumed" or need.mean is None:
        assumed = (
            "the worst case, a share of one half"
            if share
            else f"a standard deviation of {SCORE_SPREAD:g} and replies of one conversation that are half alike "
            f"(ICC {LIKENESS:g})"
        )
        return f"Too little is rated to know how it varies, so this assumes {assumed}."
    mean = _percent(need.mean) if share else f"{need.mean:.1f}"
    applies = f" and applies in {_percent(need.applies)} of conversations" if need.applies < 1 else ""
    spread = "" if share else f", with a standard deviation of {need.spread:.2f} between conversations"
    return f"So far it is {mean} ({need.source}, {_number(need.rated, 'conversation')}){spread}{applies}."


def _agreement(plan: Plan) -> Iterator[str]:
    alike = f", whose replies are taken to be half alike (ICC {LIKENESS:g})," if plan.units > 1 else ""
    yield (
        f"People count as reliable on an item when the lower end of alpha's 95 % interval is at least {ENOUGH:g}. "
        f"With {plan.raters} raters on every conversation{alike} that takes:"
    )
    for entry in plan.agreement:
        yield f"  {entry.conversations:,} conversations if alpha is really {entry.expected:.1f}"


def _gate(plan: Plan, failures: Failures) -> Iterator[str]:
    caught = ", ".join(f"{_percent(recall)} takes {failures_for_recall(recall)}" for recall in (0.95, 0.9, 0.85))
    yield (
        f"A verdict needs at least {FAILURES_NEEDED} failures that two people found blind, and a lower bound of "
        f"{RECALL_NEEDED:.2f} on the share that the judge caught: 29 of 30 is enough, 28 of 30 is not. To show it for "
        f"a judge that really catches {caught}."
    )
    yield _how_common(plan, failures)
    if failures.source != "assumed":
        yield (
            f"It may take fewer if all flagged conversations ({failures.flagged:,} here) are rated and a random share "
            "of the others beside them: --all-flagged --draw N. Without the others nobody can know what was missed."
            f"{_others(plan, failures)}"
        )


def _others(plan: Plan, failures: Failures) -> str:
    """How many of the unflagged ones it takes at best."""
    if failures.unflagged is None:
        return ""
    others = plan.conversations - failures.flagged
    return (
        f" If every flagged one is a failure, it takes {min(failures.unflagged, others):,} of the {others:,} others, "
        "and not one failure among them; more where some are found."
    )


def _how_common(plan: Plan, failures: Failures) -> str:
    if failures.rate is None or failures.conversations is None:
        return (
            "Nobody has judged safety yet, so how common failures are is not known. At 5 in a hundred, 30 failures "
            "take 600 conversations drawn at random; at 1 in a hundred, 3,000."
        )
    who = "People" if failures.source == "people" else "Judges"
    rated = _number(failures.rated, "conversation")
    number = f"{failures.conversations:,} conversations" + _missing(failures.conversations, plan.conversations)
    warning = " A judge's flags are not the truth: what it misses is to be found out." if who == "Judges" else ""
    if failures.highest is not None:
        return (
            f"{who} found no failure in {rated}; up to {_percent(failures.highest)} may still fail (95 % bound), so "
            f"that it takes at least {number} drawn at random.{warning}"
        )
    stands = f", which stands for {_percent(failures.rate)} of all" if who == "People" else ""
    return (
        f"{who} found a failure in {failures.found:,} of {rated}{stands}, so that it takes about {number} drawn at "
        f"random.{warning}"
    )


def _work(plan: Plan, instrument: Instrument) -> str:
    units = "" if plan.units <= 1 else f" with {plan.units:.1f} replies each on average"
    answers = round(100 * plan.units * len(instrument.items) * plan.raters)
    return (
        f"100 conversations{units}, {len(instrument.items)} items and {plan.raters} raters are "
        f"{100 * plan.raters:,} readings and {answers:,} answers."
    )


def _of_each(need: Need, plan: Plan) -> str:
    fewest = min(plan.systems.values())
    return f"{need.conversations:,} conversations of each system" + _missing(need.conversations, fewest)


def _missing(count: int, there: int) -> str:
    return f" (there are {there:,})" if count > there else ""


def _per_hundred(share: float) -> str:
    return f"{100 * share:g} in a hundred"


def _percent(share: float) -> str:
    percent = 100 * share
    return f"{percent:.0f} %" if percent >= 10 or percent == round(percent) else f"{percent:.1f} %"


def _number(count: int, thing: str) -> str:
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"
