"""A judge held against people: how far it agrees with any one of them, beside how far they agree with each other.

Both figures are the same coefficient on the same units, and so are those of the rivals that a judge must beat. What
counts are the intervals of the differences, clustered by conversation.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from attunement.agreement.gathered import Scale
from attunement.agreement.intervals import clustered_interval
from attunement.agreement.results import Interval, Undefined
from attunement.agreement.single_raters import (
    SingleRaters,
    judge_agreement,
    judge_statistic,
    people_agreement,
    people_statistic,
)
from attunement.agreement.statistic import FromSums, combined
from attunement.agreement.tables import Floats, Ints


class Compared(NamedTuple):
    """A difference of two agreements with its interval."""

    value: float
    interval: Interval | Undefined


class Rival(NamedTuple):
    """A trivial judge on the units that the judge rated too."""

    name: str
    agreement: SingleRaters | Undefined
    ahead: Compared | Undefined
    """How far the judge is ahead of it; computed for the best rival only."""


class Held(NamedTuple):
    """How a judge stands to people on one item."""

    agreement: SingleRaters | Undefined
    """Of the judge with any one person."""
    interval: Interval | Undefined
    people: SingleRaters | Undefined
    """Of any two people, on the units that the judge rated too."""
    gap: Compared | Undefined
    """The judge's agreement minus the people's, on the units that two people and the judge rated."""
    half: Compared | Undefined
    """The judge's agreement minus half of the people's."""
    units: int
    """Units that two people and the judge rated."""
    conversations: int
    """Conversations with a value of the judge and of a person."""
    rivals: tuple[Rival, ...]
    best_rival: Rival | None
    """The one that agrees best with people, if any does better than chance."""


def held(judge: Floats, people: Floats, conversation: Ints, scale: Scale, rivals: Mapping[str, Floats]) -> Held:
    """Hold a judge against people.

    Args:
        judge: The judge's value of each unit, NaN for none.
        people: One row a unit, one column a person.
        conversation: For each unit its conversation.
        scale: Whether answers have an order.
        rivals: By name the answers of trivial judges to the same units.
    """
    ordered = scale.ordered
    found = judge_agreement(judge, people, ordered=ordered)
    both = ~np.isnan(judge) & (~np.isnan(people)).any(axis=1)
    interval: Interval | Undefined
    if isinstance(found, SingleRaters):
        interval = clustered_interval(judge_statistic(judge, people, ordered=ordered), conversation)
    else:
        interval = found
    twice = ~np.isnan(judge) & ((~np.isnan(people)).sum(axis=1) >= 2)
    ceiling = people_agreement(people[twice], ordered=ordered) if twice.any() else _no_two(people)
    gap: Compared | Undefined = Undefined(ceiling.reason) if isinstance(ceiling, Undefined) else _NONE
    half = gap
    if twice.any() and isinstance(ceiling, SingleRaters):
        own = judge_statistic(judge[twice], people[twice], ordered=ordered)
        theirs = people_statistic(people[twice], ordered=ordered)
        where = conversation[twice]
        gap = _compared(own, theirs, where)
        half = _compared(own, theirs, where, share=0.5)
    measured = [_rival(name, answers, judge, people, ordered=ordered) for name, answers in rivals.items()]
    best = _best(measured)
    if best is not None:
        answers = rivals[best.name]
        shared = both & ~np.isnan(answers)
        own = judge_statistic(judge[shared], people[shared], ordered=ordered)
        theirs = judge_statistic(answers[shared], people[shared], ordered=ordered)
        best = best._replace(ahead=_compared(own, theirs, conversation[shared]))
    return Held(
        agreement=found,
        interval=interval,
        people=ceiling,
        gap=gap,
        half=half,
        units=int(twice.sum()),
        conversations=len(np.unique(conversation[both])),
        rivals=tuple(best if best and best.name == rival.name else rival for rival in measured),
        best_rival=best,
    )


_NONE = Undefined("no unit was rated by two people and the judge")


def _no_two(people: Floats) -> Undefined:
    found = people_agreement(people)
    return found if isinstance(found, Undefined) else _NONE


def _compared(own: FromSums, theirs: FromSums, conversation: Ints, *, share: float = 1.0) -> Compared | Undefined:
    """The one agreement minus `share` of the other, on the same units."""
    statistic = combined([own, theirs], lambda values: values[:, 0] - share * values[:, 1])
    value = statistic.value()
    if np.isnan(value):
        return Undefined("one of the two has no value")
    interval = clustered_interval(statistic, conversation)
    if isinstance(interval, Undefined) and min(own.value(), theirs.value()) > 1 - 1e-9:
        perfect = clustered_interval(own, conversation)
        if isinstance(perfect, Interval):
            reach = 1 - perfect.low
            interval = perfect._replace(low=value - reach, high=value + share * reach)
    return Compared(value, interval)


def _rival(name: str, answers: Floats, judge: Floats, people: Floats, *, ordered: bool) -> Rival:
    there = np.where(np.isnan(judge), np.nan, answers)
    return Rival(name, judge_agreement(there, people, ordered=ordered), Undefined("another rival is better"))


def _best(rivals: list[Rival]) -> Rival | None:
    """The rival that agrees best, if it is better than chance; one that is not beats nobody."""
    better = [
        (rival.agreement.value, rival)
        for rival in rivals
        if isinstance(rival.agreement, SingleRaters) and rival.agreement.value > 1e-9
    ]
    return max(better, key=lambda entry: entry[0])[1] if better else None
