"""Fisher's exact test, corrections for several tests at once, and the alternative annotator test of a judge.

Fisher's test is two-sided as the sum over all tables that are no more probable than the one that was found.

The alternative annotator test leaves each person out in turn: is the judge as near to the remaining people as the
person is, give or take epsilon? Epsilon is what the judge's lower cost is worth: it must be printed with every verdict.
Never use the test alone: a judge that always gives the most common score passes it among noisy raters. Beyond the
paper, units are clustered by conversation, and a judge fails only where the people are shown to be nearer; otherwise
the test is undecided.

Sources: S. Holm, Scandinavian Journal of Statistics 6 (1979); Y. Benjamini and D. Yekutieli, Annals of Statistics 29
(2001); R. A. Fisher, Statistical Methods for Research Workers, 5th edition (1934); N. Calderon, R. Reichart and
R. Dror, The Alternative Annotator Test for LLM-as-a-Judge, ACL 2025.
"""

from collections.abc import Sequence
from math import exp, lgamma
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attunement.statistics.estimates import clustered_error
from attunement.statistics.results import FEWEST_CLUSTERS, LEVEL, Undefined
from attunement.statistics.tables import (
    Floats,
    Ints,
    clusters,
    matrix,
    t_probability,
)

# Tables that are exactly as probable as the one found must not be lost to rounding.
_TIE = 1e-7


def fisher(first_passed: int, first: int, second_passed: int, second: int) -> float | Undefined:
    """The two-sided p-value of equal pass rates in two independent groups of `first` and `second` units."""
    if not first or not second:
        return Undefined("one of the two has no conversation with a verdict")
    passed = first_passed + second_passed
    possible = range(max(0, passed - second), min(first, passed) + 1)
    # Logarithms, because the numbers of ways outgrow every float from a few hundred conversations on.
    ways = {count: _log_ways(first, count) + _log_ways(second, passed - count) for count in possible}
    most, found = max(ways.values()), ways[first_passed]
    chances = {count: exp(each - most) for count, each in ways.items()}
    as_rare = sum(chances[count] for count, each in ways.items() if each <= found + _TIE)
    return min(1.0, as_rare / sum(chances.values()))


def _log_ways(units: int, chosen: int) -> float:
    return lgamma(units + 1) - lgamma(chosen + 1) - lgamma(units - chosen + 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected for having tested several hypotheses, in the order given (Holm's step-down method)."""
    order, ranked = _ranked(p_values)
    return _in_order(np.maximum.accumulate(ranked * np.arange(len(ranked), 0, -1)), order)


def benjamini_yekutieli(p_values: Sequence[float]) -> list[float]:
    """P-values corrected for the false discovery rate under any dependence, in the order given."""
    order, ranked = _ranked(p_values)
    places = np.arange(1, len(ranked) + 1)
    corrected = ranked * len(ranked) * (1 / places).sum() / places
    return _in_order(np.minimum.accumulate(corrected[::-1])[::-1], order)


def _ranked(p_values: Sequence[float]) -> tuple[Ints, Floats]:
    order = np.argsort(p_values, kind="stable")
    return order, np.asarray(p_values, dtype=np.float64)[order]


def _in_order(corrected: Floats, order: Ints) -> list[float]:
    result = np.empty(len(order))
    result[order] = np.minimum(corrected, 1.0)
    return [float(p) for p in result]


Verdict = Literal["pass", "fail", "undecided"]
Nearness = Literal["distance", "same"]

# The paper's advice for experts, trained raters and crowd workers.
EPSILON = {"expert": 0.2, "trained": 0.15, "crowd": 0.1}
# The paper's least numbers of units a person and of people.
FEWEST_UNITS, FEWEST_PEOPLE = 30, 3


class PersonComparison(NamedTuple):
    """One person against the judge, measured by the others. P-values are corrected for the number of people."""

    column: int
    units: int
    judge_near: float  # share of units where the judge is at least as near to the others as this person
    person_near: float  # share of units where this person is at least as near as the judge
    p_judge: float  # of the judge being worse by epsilon or more
    p_person: float  # of the judge being worse by no more than epsilon
    winner: Literal["judge", "person", "open"]


class AlternativeAnnotator(NamedTuple):
    """The verdict with the sentence that explains it, epsilon, and each person's comparison."""

    verdict: Verdict
    reason: str
    epsilon: float
    winning_rate: float | Undefined  # the share of people whom the judge beats
    advantage: float | Undefined  # mean share of units where the judge is at least as near
    people: tuple[PersonComparison, ...]


def alternative_annotator_test(
    people: ArrayLike,
    judge: ArrayLike,
    conversations: ArrayLike | None = None,
    *,
    epsilon: float = EPSILON["expert"],
    nearness: Nearness = "distance",
) -> AlternativeAnnotator | Undefined:
    """Compare a judge with each person, measured by the other people.

    Args:
        people: One row a unit, one column a person, NaN where that person did not rate.
        judge: The judge's rating of each unit, NaN for none.
        conversations: For each unit the conversation it belongs to.
        epsilon: By how much the judge may be worse; see `EPSILON`.
        nearness: `distance` is the root mean square distance to the others, for scores; `same` the share of the
            others who gave the same answer.

    Returns:
        `Undefined` where no unit has ratings of two people and the judge: that is not even undecided.
    """
    ratings, answers = matrix(people), np.asarray(judge, dtype=np.float64)
    usable = ((~np.isnan(ratings)).sum(axis=1) >= 2) & ~np.isnan(answers)
    if not usable.any():
        return Undefined("no unit was rated by two people and the judge")
    labels = np.arange(len(answers)) if conversations is None else np.asarray(conversations)
    found: list[PersonComparison] = []
    fewest = FEWEST_CLUSTERS
    for column, person in enumerate(ratings.T):
        used = usable & ~np.isnan(person)
        if used.sum() >= FEWEST_UNITS:
            others = np.delete(ratings[used], column, axis=1)
            far = _far(answers[used], others, nearness), _far(person[used], others, nearness)
            comparison, count = _compare(column, *far, labels[used], epsilon)
            found.append(comparison)
            fewest = min(fewest, count)
    if len(found) < FEWEST_PEOPLE:
        return _undecided(f"it needs {FEWEST_PEOPLE} people with {FEWEST_UNITS} units each", epsilon)
    if fewest < FEWEST_CLUSTERS:
        return _undecided(f"too few conversations: each person needs {FEWEST_CLUSTERS}", epsilon)
    judge_p = benjamini_yekutieli([each.p_judge for each in found])
    person_p = benjamini_yekutieli([each.p_person for each in found])
    return _verdict(
        tuple(
            each._replace(p_judge=p, p_person=q, winner=_winner(p, q))
            for each, p, q in zip(found, judge_p, person_p, strict=True)
        ),
        epsilon,
    )


def _compare(
    column: int, judge_far: Floats, person_far: Floats, labels: ArrayLike, epsilon: float
) -> tuple[PersonComparison, int]:
    """The judge against one person, from how far each is from the others, p-values not yet corrected; conversations."""
    judge_near, person_near = judge_far <= person_far + 1e-9, person_far <= judge_far + 1e-9
    gap = person_near.astype(np.float64) - judge_near
    cluster, count = clusters(labels, len(gap))
    mean = float(gap.mean())
    error = clustered_error((gap - mean) / len(gap), cluster, count)
    if isinstance(error, Undefined):
        p_judge = p_person = 1.0
    elif error < 1e-12:
        # All units come out alike, so that Student's t has nothing to work with. If the mean gap were epsilon, at least
        # the share epsilon of units would have to show a positive gap, and at most the share (1 + epsilon) / 2.
        p_judge, p_person = ((1 - epsilon) ** count, 1.0) if mean <= 0 else (1.0, ((1 + epsilon) / 2) ** count)
    else:
        p_judge = t_probability(count - 1, (mean - epsilon) / error)
        p_person = 1 - p_judge
    near = float(judge_near.mean()), float(person_near.mean())
    return PersonComparison(column, len(gap), *near, p_judge, p_person, "open"), count


def _far(answers: Floats, others: Floats, nearness: Nearness) -> Floats:
    apart = others - answers[:, None]
    misses = apart**2 if nearness == "distance" else np.where(np.isnan(apart), np.nan, apart != 0)
    return np.nanmean(misses, axis=1)


def _winner(p_judge: float, p_person: float) -> Literal["judge", "person", "open"]:
    if p_judge < 1 - LEVEL:
        return "judge"
    return "person" if p_person < 1 - LEVEL else "open"


def _undecided(reason: str, epsilon: float) -> AlternativeAnnotator:
    unknown = Undefined(reason)
    return AlternativeAnnotator("undecided", f"undecided, epsilon {epsilon:g}: {reason}", epsilon, unknown, unknown, ())


def _verdict(people: tuple[PersonComparison, ...], epsilon: float) -> AlternativeAnnotator:
    won = sum(each.winner == "judge" for each in people)
    lost = sum(each.winner == "person" for each in people)
    number = len(people)
    if 2 * won >= number:
        verdict: Verdict = "pass"
    elif 2 * (number - lost) < number:
        verdict = "fail"
    else:
        verdict = "undecided"
    reason = (
        f"{verdict}, epsilon {epsilon:g}: measured by the others, the judge is as good as {won} of {number} people, "
        f"worse than {lost}; open: {number - won - lost}"
    )
    advantage = float(np.mean([each.judge_near for each in people]))
    return AlternativeAnnotator(verdict, reason, epsilon, won / number, advantage, people)
