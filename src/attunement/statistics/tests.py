"""Tests of differences between systems, and the alternative annotator test of a judge.

Differences of means are cluster-robust. Several items tested at once need Holm's correction; pass rates of pairs have
McNemar's exact test, those of independent groups Fisher's (two-sided as the sum over all tables that are no more
probable than the one that was found).

The alternative annotator test leaves each person out in turn: is the judge as near to the remaining people as the
person is, give or take epsilon? Epsilon is what the judge's lower cost is worth: it must be printed with every verdict.
Never use the test alone: a judge that always gives the most common score passes it among noisy raters. Beyond the
paper, units are clustered by conversation, and a judge fails only where the people are shown to be nearer; otherwise
the test is undecided.

Sources: Q. McNemar, Psychometrika 12 (1947); S. Holm, Scandinavian Journal of Statistics 6 (1979); Y. Benjamini and
D. Yekutieli, Annals of Statistics 29 (2001); B. Welch, Biometrika 34 (1947); R. A. Fisher, Statistical Methods for
Research Workers, 5th edition (1934); N. Calderon, R. Reichart and R. Dror, The Alternative Annotator Test for
LLM-as-a-Judge, ACL 2025.
"""

from collections.abc import Sequence
from math import exp, lgamma
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attunement.statistics.estimates import clustered_error, mean, t_interval
from attunement.statistics.results import FEWEST_CLUSTERS, LEVEL, Interval, Undefined
from attunement.statistics.tables import (
    Floats,
    Ints,
    binomial_probability,
    clusters,
    matrix,
    t_probability,
    t_quantile,
)


class Difference(NamedTuple):
    """One mean minus another, with its interval and the p-value of no difference."""

    value: float
    se: float | Undefined
    interval: Interval | Undefined
    p: float | Undefined
    clusters: int  # scenarios that both have, or conversations of both together
    left_out: int  # units of scenarios that only one of the two has


def paired_difference(
    first: ArrayLike, second: ArrayLike, scenarios: tuple[ArrayLike, ArrayLike]
) -> Difference | Undefined:
    """The first system's mean minus the second's, over the scenarios that both were given.

    Args:
        first: One score a unit of the first system; NaN where there is none.
        second: Those of the second system.
        scenarios: For each unit of the first, and of the second, its scenario.

    Returns:
        `Undefined` where no scenario has scores of both.
    """
    sides = [np.asarray(each, dtype=np.float64) for each in (first, second)]
    scores = np.concatenate(sides)
    labels = np.concatenate([np.asarray(each) for each in scenarios])
    is_first = np.repeat([True, False], [len(each) for each in sides])
    there = ~np.isnan(scores)
    shared = there & np.isin(labels, np.intersect1d(labels[there & is_first], labels[there & ~is_first]))
    if not shared.any():
        return Undefined("no scenario has scores of both")
    scores, is_first = scores[shared], is_first[shared]
    cluster, count = clusters(labels[shared], len(scores))
    one, other = float(scores[is_first].mean()), float(scores[~is_first].mean())
    pull = np.where(is_first, (scores - one) / float(is_first.sum()), (other - scores) / float((~is_first).sum()))
    value = one - other
    se = clustered_error(pull, cluster, count)
    interval = t_interval(value, se, count, "scenarios")
    p = interval if isinstance(interval, Undefined) else 2 * t_probability(count - 1, -abs(value) / interval.se)
    return Difference(value, se, interval, p, count, int((there & ~shared).sum()))


def independent_difference(
    first: ArrayLike, second: ArrayLike, conversations: tuple[ArrayLike | None, ArrayLike | None] = (None, None)
) -> Difference | Undefined:
    """The first system's mean minus the second's where they have no scenario in common (Welch).

    Args:
        first: One score a unit of the first system; NaN where there is none.
        second: Those of the second system.
        conversations: For each unit of the first, and of the second, the conversation it belongs to.

    Returns:
        `Undefined` where one of them has no score. Each needs 10 conversations for an interval.
    """
    one, other = mean(first, conversations[0]), mean(second, conversations[1])
    if isinstance(one, Undefined) or isinstance(other, Undefined):
        return Undefined("one of the two has no scores")
    value, count = one.value - other.value, one.clusters + other.clusters
    if isinstance(one.se, Undefined):
        return Difference(value, one.se, one.se, one.se, count, 0)
    if isinstance(other.se, Undefined):
        return Difference(value, other.se, other.se, other.se, count, 0)
    se = float(np.hypot(one.se, other.se))
    reason = Undefined("neither system's scores vary") if se < 1e-12 else None
    for each in (other, one):
        if isinstance(each.interval, Undefined) and each.interval.too_few:
            reason = each.interval
    if reason:
        return Difference(value, se, reason, reason, count, 0)
    freedom = se**4 / (one.se**4 / (one.clusters - 1) + other.se**4 / (other.clusters - 1))
    reach = t_quantile(freedom, (1 + LEVEL) / 2) * se
    method = f"t({freedom:.0f}) over {one.clusters} and {other.clusters} clusters"
    interval = Interval(value - reach, value + reach, LEVEL, method, se)
    return Difference(value, se, interval, 2 * t_probability(freedom, -abs(value) / se), count, 0)


class McNemar(NamedTuple):
    """How often only the first of a pair passed, and only the second, with the exact two-sided p-value."""

    only_first: int
    only_second: int
    pairs: int
    p: float


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> McNemar | Undefined:
    """McNemar's exact test of pairs, each passed or not by the first and by the second system."""
    pairs = list(zip(first, second, strict=True))
    if not pairs:
        return Undefined("there are no pairs")
    only_first = sum(1 for one, other in pairs if one and not other)
    only_second = sum(1 for one, other in pairs if other and not one)
    differing = only_first + only_second
    p = min(1.0, 2 * binomial_probability(min(only_first, only_second), differing, 0.5)) if differing else 1.0
    return McNemar(only_first, only_second, len(pairs), p)


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
