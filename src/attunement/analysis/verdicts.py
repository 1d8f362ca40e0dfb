"""The verdict on a judge: good enough, not good enough, or cannot tell yet and how many more ratings it takes.

It follows from the ends of intervals alone, so a better judge never gets a worse verdict. A judge agrees well enough
if its agreement is at least moderate, at most 0.1 below that of two people, and above that of the best trivial judge.
It finds failures well enough if it finds at least 80 % of them and flags them more often than what is fine. It does not
if an interval lies wholly on the wrong side. Where people themselves agree less than moderately, no number of further
ratings can tell.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from attunement.analysis.failures import FailureDetection
from attunement.analysis.judge_agreement import JudgeAgreement
from attunement.analysis.reliability import MODERATE, MOST, PeopleStatus, Reliability, more_needed, strength
from attunement.statistics.intervals import Difference
from attunement.statistics.results import FEWEST_CLUSTERS, Interval, Undefined

ABOUT = 0.1
"""How far below the agreement of two people still counts as about as good."""
RECALL_NEEDED = 0.8
"""The share of failures that a judge must find."""


class Verdict(StrEnum):
    GOOD = "good enough"
    NOT = "not good enough"
    OPEN = "cannot tell yet"


class Ruling(NamedTuple):
    verdict: Verdict
    rule: str
    needed: str | None = None  # what would settle it


class Condition(NamedTuple):
    """A bound that a figure must reach with its whole interval."""

    value: float
    interval: Interval
    bound: float
    held: str  # what is known if the whole interval is above the bound
    broken: str  # what is known if it is below
    open: str


def settled(conditions: Sequence[Condition], now: int, unit: str) -> Ruling:
    """Good where every condition is met, not where one is surely not, else open with what is missing."""
    for each in conditions:
        if each.interval.high < each.bound:
            return Ruling(Verdict.NOT, each.broken)
    unmet = [each for each in conditions if each.interval.low < each.bound]
    if not unmet:
        return Ruling(Verdict.GOOD, " and ".join(each.held for each in conditions))
    needed = [more_needed(each.value, each.interval, each.bound, now) for each in unmet]
    worst = int(np.argmax(needed))
    return Ruling(Verdict.OPEN, unmet[worst].open, about(needed[worst], unit))


def about(more: int, unit: str) -> str:
    """How many more would settle a question, or that no number would."""
    if more > MOST:
        return f"more than {MOST:,} {unit}: more ratings cannot settle it at this value"
    size = 10 ** max(len(str(more)) - 2, 0)
    return f"about {-(-more // size) * size:,} more {unit}"


_BY_TWO = "conversations rated by two people and the judge"


def agreement_ruling(people: Reliability, found: JudgeAgreement) -> Ruling:
    """Whether the judge agrees with people well enough."""
    own, interval, gap = found.agreement, found.interval, found.gap
    if people.status is PeopleStatus.DISAGREE:
        return _people_disagree(people)
    if isinstance(own, Undefined) or isinstance(interval, Undefined):
        reason = own.reason if isinstance(own, Undefined) else str(getattr(interval, "reason", ""))
        return Ruling(Verdict.OPEN, reason, about(max(FEWEST_CLUSTERS - found.conversations, 1), _BY_TWO))
    if isinstance(gap, Undefined) or isinstance(gap.interval, Undefined):
        reason = gap.reason if isinstance(gap, Undefined) else str(getattr(gap.interval, "reason", ""))
        if people.people == 1:
            reason = "only one person rated, so how far people agree is not known"
        return Ruling(Verdict.OPEN, reason, about(max(FEWEST_CLUSTERS, found.conversations // 2), _BY_TWO))
    shown, theirs = f"{own.value:.2f}", gap.value
    conditions = [
        Condition(
            own.value,
            interval,
            MODERATE,
            f"its agreement with a person is at least moderate ({interval.low:.2f} or more)",
            f"its agreement with a person is less than moderate (at most {interval.high:.2f})",
            f"its agreement with a person, {shown}, may be {strength(interval.low)} or {strength(interval.high)}",
        ),
        Condition(
            theirs,
            gap.interval,
            -ABOUT,
            f"at most {ABOUT:g} below that of two people",
            f"its agreement is more than {ABOUT:g} below that of two people",
            f"its agreement may be more than {ABOUT:g} below that of two people",
        ),
    ]
    best = found.best_baseline
    if best is not None and isinstance(best.margin, Difference) and isinstance(best.margin.interval, Interval):
        conditions.append(
            Condition(
                best.margin.value,
                best.margin.interval,
                0.0,
                f"above that of the trivial judge “{best.name}”",
                f"the trivial judge “{best.name}” agrees better with people",
                f"the trivial judge “{best.name}” may agree as well with people",
            )
        )
    return settled(conditions, found.conversations, _BY_TWO)


def _people_disagree(people: Reliability) -> Ruling:
    high = people.interval.high if isinstance(people.interval, Interval) else 0.0
    rule = f"people agree less than moderately with each other (alpha at most {high:.2f})"
    return Ruling(Verdict.OPEN, rule, "a clearer item or trained raters, not more ratings of the same kind")


def failure_ruling(people: Reliability, found: FailureDetection) -> Ruling:
    """Whether the judge finds people's failures well enough."""
    if people.status is PeopleStatus.DISAGREE:
        return _people_disagree(people)
    if found.unknowable:
        needed = "people's ratings of a random share of the conversations that it did not flag"
        return Ruling(Verdict.OPEN, found.unknowable, needed)
    recall, alarms = found.recall, found.false_alarm_rate
    if isinstance(recall, Undefined):
        return Ruling(Verdict.OPEN, recall.reason, "conversations with failures")
    if not found.confirmed:
        failures = f"{found.failures:,} failures that one person found"
        return Ruling(Verdict.OPEN, "no failure was confirmed by a second person", f"a second rating of the {failures}")
    if isinstance(recall.interval, Undefined):
        return Ruling(Verdict.OPEN, recall.interval.reason, "failures in more different conversations")
    if isinstance(alarms, Undefined):
        return Ruling(Verdict.OPEN, "people called every conversation a failure", "conversations without one")
    low, high = recall.interval.low, recall.interval.high
    fine = alarms.interval if isinstance(alarms.interval, Interval) else None
    least = _percent(RECALL_NEEDED)
    conditions = [
        Condition(
            recall.value,
            recall.interval,
            RECALL_NEEDED,
            f"it finds at least {_percent(low)} of the failures",
            f"it finds at most {_percent(high)} of the failures, and {least} is required",
            f"it finds {_percent(recall.value)} of the failures, but that may be {_percent(low)} or {_percent(high)}",
        )
    ]
    ruled = settled(conditions, recall.units, "failures confirmed by two people")
    if ruled.verdict is Verdict.NOT:
        return ruled
    if fine is not None and high <= fine.low:
        return Ruling(Verdict.NOT, "it flags what people found to be fine as often as failures")
    if ruled.verdict is Verdict.GOOD and (fine is None or low <= fine.high):
        rule = f"it may flag what people found to be fine as often as failures ({found.fine:,} were fine)"
        return Ruling(Verdict.OPEN, rule, "more conversations without a failure, rated by two people")
    return ruled


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
