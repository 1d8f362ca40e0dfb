"""Means of ratings, means of a judge's ratings corrected by a sample that people rated, and differences of means.

A judge rates everything, people rate a random sample. A mean is corrected by how far the judge is off where people
rated too. Scores are corrected along a line whose slope (lambda) is chosen from the data: 0 gives people's mean alone,
so a useless judge costs nothing. A share is estimated among what the judge passed and what it failed, and put together.

Intervals never leave the scale. That of a share is a beta interval (Jeffreys) for as many units as the sample is worth,
given that units of one conversation resemble each other; the limits of several shares are combined by their distances
(Zou and Donner). A finite interval is about the conversations that could have been drawn, and shrinks to nothing when
people have rated them all; the others are about conversations like these.

Sources: A. Angelopoulos et al., Science 382 (2023), and PPI++: Efficient Prediction-Powered Inference (2023); C.
Särndal et al., Model Assisted Survey Sampling (1992); C. Franco et al., Journal of Survey Statistics and Methodology 7
(2019); G. Zou and A. Donner, Statistics in Medicine 27 (2008); R. Newcombe, Statistics in Medicine 17 (1998); B. Welch,
Biometrika 34 (1947). Their coverage is measured by `benchmarks/coverage_corrected.py`.
"""

from collections.abc import Callable, Sequence
from math import hypot, inf, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attunement.statistics.results import FEWEST_CLUSTERS, LEVEL, Interval, Undefined, too_few
from attunement.statistics.tables import (
    Bools,
    Floats,
    Ints,
    beta_quantile,
    cluster_sums,
    normal_quantile,
    t_probability,
    t_quantile,
)

# Until enough conversations show how alike their units are, an ICC of .5 is assumed, with the weight of so many
# conversations that have the rarer answer. Without it, intervals of rare failures covered 86 % (simulated).
LIKENESS, _LIKENESS_WEIGHT = 0.5, 4
_TINY = 1e-12

Bounds = Callable[[float], tuple[float, float]]
"""The limits of an estimate at a level of confidence."""


class Range(NamedTuple):
    """What a mean can be."""

    low: float = 0.0
    high: float = 1.0
    is_share: bool = True  # of units that are 0 or 1, or the mean of several people's 0 and 1


SHARE, ANY = Range(), Range(-inf, inf, is_share=False)


class Units(NamedTuple):
    """Ratings, one row a unit; NaN where there is none."""

    judge: Floats
    people: Floats
    conversation: Ints  # numbered from 0
    probability: Floats  # with which its conversation was drawn and rated by people; NaN where it was not


class Estimate(NamedTuple):
    """A mean with its interval; `pull` says how far each conversation moves it."""

    value: float
    interval: Interval | Undefined
    bounds: Bounds
    range: Range
    pull: Floats
    known: Bools  # for each conversation whether it has a value
    labelled: Bools  # for each conversation whether it is in the sample that people rated
    trust: float | None = None  # lambda


def plain_mean(values: ArrayLike, conversation: Ints, range: Range = SHARE) -> Estimate | Undefined:
    """The mean of values, one a unit and NaN where there is none, with an interval about conversations like these."""
    scores = np.asarray(values, dtype=np.float64)
    there = np.where(np.isnan(scores), np.nan, 1.0)
    found = corrected_mean(Units(there, scores, conversation, there), range, finite=False, trust=0.0)
    return Undefined("there are no values") if isinstance(found, Undefined) else found


def corrected_mean(
    units: Units, range: Range = SHARE, *, finite: bool = True, trust: float | None = None
) -> Estimate | Undefined:
    """The mean that people would give over all units that the judge rated.

    Args:
        units: Those that could have been drawn, drawn or not.
        range: What the mean can be.
        finite: Whether the interval is about these conversations alone.
        trust: Lambda; 0 is people's mean alone. It is chosen from the data where it is None.

    Returns:
        `Undefined` where no unit was rated by people and the judge. The interval needs 10 labelled conversations.
    """
    judged = ~np.isnan(units.judge)
    chosen = judged & ~np.isnan(units.people) & ~np.isnan(units.probability)
    if not chosen.any():
        return Undefined("no unit was rated by people and the judge")
    count, chance = int(units.conversation.max()) + 1, np.minimum(units.probability[chosen], 1)
    sample = _Sample(
        judge=units.judge[chosen],
        people=units.people[chosen],
        conversation=units.conversation[chosen],
        weight=1 / chance,
        left=1 - chance if finite else np.ones(len(chance)),
    )
    judge, where = units.judge[judged], units.conversation[judged]
    known, labelled = (np.bincount(each, minlength=count) > 0 for each in (where, sample.conversation))
    if range.is_share:
        found = _share(sample, judge, where, known, split=trust != 0, finite=finite)
    else:
        found = _score(sample, judge, where, known, trust, finite=finite)
    value = min(max(found.value, range.low), range.high)

    def bounds(level: float) -> tuple[float, float]:
        below, above = found.reach(level)
        return max(value - below, range.low), min(value + above, range.high)

    conversations = int(labelled.sum())
    what = "labelled conversations" if (known & ~labelled).any() else "conversations"
    interval: Interval | Undefined | None = too_few(conversations, what) or found.problem
    if interval is None:
        interval = Interval(*bounds(LEVEL), LEVEL, f"{found.method} over {conversations:,} {what}", found.se)
    return Estimate(value, interval, bounds, range, found.pull, known, labelled, found.trust)


class _Sample(NamedTuple):
    """The units that people and the judge rated."""

    judge: Floats
    people: Floats
    conversation: Ints
    weight: Floats
    left: Floats  # the part of the variance that is left; none where a conversation was certain to be drawn

    def where(self, rows: Bools) -> "_Sample":
        return _Sample(self.judge[rows], self.people[rows], self.conversation[rows], self.weight[rows], self.left[rows])


class _Solution(NamedTuple):
    value: float
    se: float
    reach: Callable[[float], tuple[float, float]]  # how far the interval reaches below and above the value
    method: str
    pull: Floats
    trust: float | None = None
    problem: Undefined | None = None


def _share(sample: _Sample, judge: Floats, where: Ints, known: Bools, *, split: bool, finite: bool) -> _Solution:
    """A share, put together from people's answers among what the judge passed and among what it failed."""
    count = len(known)
    passed, all_passed = sample.judge >= 0.5, judge >= 0.5
    halves = [(rows, every) for rows, every in ((passed, all_passed), (~passed, ~all_passed)) if every.any()]
    if not split or not all(rows.any() for rows, _ in halves):
        halves = [(np.ones(len(passed), dtype=np.bool_), np.ones(len(judge), dtype=np.bool_))]
    parts: list[tuple[float, float, float]] = []  # how much of all it is, the share among it, what the sample is worth
    pulls: list[Floats] = []
    predicted = np.zeros(len(judge))
    for rows, every in halves:
        part, size = sample.where(rows), float(every.mean())
        total = float(part.weight.sum())
        share = float(part.weight @ part.people) / total
        parts.append((size, share, _worth(part, share)))
        pulls.append(cluster_sums(part.conversation, size * part.weight / total * (part.people - share), count))
        predicted[every] = share
    value = sum(size * share for size, share, _ in parts)
    frame = cluster_sums(where, (predicted - value) / len(judge), count)
    # How the judge's own passes vary among conversations like these.
    varied = 0.0 if finite or len(parts) == 1 else _clustered_error(frame, [known])[0]
    likeness = max(_correlation(pulls[0], pulls[-1]), 0.0) if len(parts) == 2 else 0.0
    conversations = len(np.unique(sample.conversation))
    few = conversations < len(sample.people)  # an estimated design effect is as uncertain as they are few

    def reach(level: float) -> tuple[float, float]:
        normal = normal_quantile((1 + level) / 2)
        wider = t_quantile(conversations - 1, (1 + level) / 2) / normal if few and conversations > 1 else 1.0
        limits = [(size, share, _beta_limits(share, worth, level)) for size, share, worth in parts]
        below = _combined([size * (share - low) for size, share, (low, _) in limits], likeness)
        above = _combined([size * (high - share) for size, share, (_, high) in limits], likeness)
        return hypot(wider * below, normal * varied), hypot(wider * above, normal * varied)

    errors = [size * _beta_error(share, worth) for size, share, worth in parts]
    return _Solution(value, hypot(_combined(errors, likeness), varied), reach, "beta", sum(pulls) + frame)


def _worth(part: _Sample, share: float) -> float:
    """How many independent units the sample is worth, for a share; infinitely many where everything was drawn."""
    _, conversation = np.unique(part.conversation, return_inverse=True)
    weight = part.weight / part.weight.sum()
    mass, off = (np.bincount(conversation, each) for each in (weight, weight * (part.people - share)))
    units = 1 / float(weight @ weight)
    assumed = 1 + (units * float(mass @ mass) - 1) * LIKENESS
    rarer = min(int((np.bincount(conversation, each) > _TINY).sum()) for each in (part.people, 1 - part.people))
    seen = units * float(off @ off) / (share * (1 - share)) if rarer else 0.0
    effect = max((rarer * seen + _LIKENESS_WEIGHT * assumed) / (rarer + _LIKENESS_WEIGHT), 1.0)
    left = float(mass @ np.bincount(conversation, weight * part.left)) / float(mass @ mass)
    return units / effect / left if left > _TINY else inf


def _beta_limits(share: float, worth: float, level: float) -> tuple[float, float]:
    if worth == inf:
        return share, share
    first, second, side = share * worth + 0.5, (1 - share) * worth + 0.5, (1 - level) / 2
    low = 0.0 if share <= _TINY else beta_quantile(first, second, side)
    high = 1.0 if share >= 1 - _TINY else beta_quantile(first, second, 1 - side)
    return min(low, share), max(high, share)


def _beta_error(share: float, worth: float) -> float:
    middle = 0.0 if worth == inf else (share * worth + 0.5) / (worth + 1)
    return sqrt(middle * (1 - middle) / (worth + 2))


def _combined(distances: Sequence[float], likeness: float) -> float:
    squares = sum(each**2 for each in distances)
    return sqrt(squares + 2 * likeness * distances[0] * distances[1]) if len(distances) == 2 else sqrt(squares)


def _correlation(first: Floats, second: Floats) -> float:
    size = sqrt(float(first @ first) * float(second @ second))
    return float(first @ second) / size if size > 0 else 0.0


def _score(
    sample: _Sample, judge: Floats, where: Ints, known: Bools, trust: float | None, *, finite: bool
) -> _Solution:
    """A mean score: the judge's mean over all, corrected along a line."""
    count, conversation, total = len(known), sample.conversation, float(sample.weight.sum())
    people_mean, judge_mean = (float(sample.weight @ each) / total for each in (sample.people, sample.judge))
    weight, all_mean = sample.weight / total, float(judge.mean())
    people_pull = cluster_sums(conversation, weight * (sample.people - people_mean), count)
    judge_pull = -cluster_sums(conversation, weight * (sample.judge - judge_mean), count)
    if not finite:
        judge_pull += cluster_sums(where, (judge - all_mean) / len(judge), count)
    mass = cluster_sums(conversation, weight, count)
    labelled = mass > 0
    left = np.where(labelled, cluster_sums(conversation, weight * sample.left, count) / np.where(labelled, mass, 1), 1)
    chosen = trust is None
    if trust is None:
        squares = float((left * judge_pull) @ judge_pull)
        trust = -float((left * people_pull) @ judge_pull) / squares if squares > 0 else 0.0
        trust = min(max(trust, 0.0), 1.0)
    pull = people_pull + trust * judge_pull
    # Conversations that the slope depends on much look better fitted than they are (HC3).
    leverage = judge_pull**2 / max(float(judge_pull @ judge_pull), _TINY) if chosen else np.zeros(count)
    errors = np.where(labelled, pull / (1 - np.minimum(leverage, 0.5)), pull)
    se, freedom = _clustered_error(np.sqrt(left) * errors, [labelled, known & ~labelled])
    problem = None
    alike = 1 / float(mass @ mass)  # Kish
    if se < _TINY and left[labelled].max() > _TINY:
        what = "no score differs from another" if trust == 0 else "the judge is off by the same everywhere"
        problem = Undefined(f"{what}, so this sample cannot show how far they vary")
    elif alike < FEWEST_CLUSTERS - 1e-9 and labelled.sum() >= FEWEST_CLUSTERS:
        # Simulated 95 % intervals covered 92.6 % with ten conversations of which some were drawn five times as often.
        problem = Undefined(
            f"too few labelled conversations: {labelled.sum()}, drawn so unevenly that they count like {alike:.0f}, "
            f"and an interval needs at least {FEWEST_CLUSTERS}",
            too_few=True,
        )

    def reach(level: float) -> tuple[float, float]:
        far = t_quantile(freedom, (1 + level) / 2) * se
        return far, far

    value = people_mean + trust * (all_mean - judge_mean)
    return _Solution(value, se, reach, f"t({freedom:.0f})", pull, trust, problem)


def _clustered_error(pulls: Floats, groups: Sequence[Bools]) -> tuple[float, float]:
    """The standard error with Satterthwaite's degrees of freedom over groups of clusters."""
    variance, uncertainty = 0.0, 0.0
    for group in groups:
        count = int(group.sum())
        free = max(count - 1, 1)
        part = count / free * float((pulls[group] ** 2).sum())
        variance, uncertainty = variance + part, uncertainty + part**2 / free
    return sqrt(variance), variance**2 / uncertainty if uncertainty > 0 else 1.0


class Difference(NamedTuple):
    """One mean minus another, with its interval and the p-value of no difference."""

    value: float
    interval: Interval | Undefined
    p: float | Undefined
    clusters: int  # scenarios, or conversations of both together


def difference(before: Estimate, after: Estimate, scenarios: tuple[Ints, Ints] | None = None) -> Difference:
    """The mean `after` minus the one `before`.

    Args:
        before: An estimate about conversations like these.
        after: The other, with the same range.
        scenarios: For each conversation of both its scenario, numbered from 0; None where they share none.

    Returns:
        The interval needs 10 scenarios, or 10 conversations of each.
    """
    value = after.value - before.value
    split = len(before.pull)
    cluster = np.arange(split + len(after.pull)) if scenarios is None else np.concatenate(scenarios)
    known, labelled = np.concatenate([before.known, after.known]), np.concatenate([before.labelled, after.labelled])
    count = int(cluster.max()) + 1
    own = cluster_sums(cluster[:split], before.pull, count), cluster_sums(cluster[split:], after.pull, count)
    kinds = (
        cluster_sums(cluster, np.where(known, 1.0, 0.0), count) > 0,
        cluster_sums(cluster, np.where(labelled, 1.0, 0.0), count) > 0,
    )
    number = int(kinds[0].sum())
    sides = [np.ones(count, dtype=np.bool_)] if scenarios else [np.arange(count) < split, np.arange(count) >= split]
    groups = [side & part for side in sides for part in (kinds[1], kinds[0] & ~kinds[1])]
    se, freedom = _clustered_error(own[1] - own[0], groups)
    shares = before.range.is_share
    likeness = _correlation(*own) if scenarios else 0.0

    def bounds(level: float) -> tuple[float, float]:
        if not shares:
            reach = t_quantile(freedom, (1 + level) / 2) * se
            return value - reach, value + reach
        (low, high), (other_low, other_high) = before.bounds(level), after.bounds(level)
        below, above = (after.value - other_low, high - before.value), (before.value - low, other_high - after.value)
        return value - _apart(*below, likeness), value + _apart(*above, likeness)

    reason = before.interval if isinstance(before.interval, Undefined) and before.interval.too_few else after.interval
    if scenarios:
        reason = too_few(number, "scenarios") or reason
    if isinstance(reason, Undefined) and (reason.too_few or shares):
        return Difference(value, reason, reason, number)
    if not shares and se < _TINY:
        reason = Undefined("no score differs from another, so this sample cannot show how far they vary")
        return Difference(value, reason, reason, number)
    low, high = bounds(LEVEL)
    method = (
        f"{'beta' if shares else f't({freedom:.0f})'} over {number:,} {'scenarios' if scenarios else 'conversations'}"
    )
    error = (high - low) / 2 / normal_quantile((1 + LEVEL) / 2) if shares else se
    p = _p_value(bounds) if shares else 2 * t_probability(freedom, -abs(value) / se)
    return Difference(value, Interval(low, high, LEVEL, method, error), p, number)


def _apart(first: float, second: float, likeness: float) -> float:
    return sqrt(max(first**2 + second**2 - 2 * likeness * first * second, 0.0))


def _p_value(bounds: Bounds) -> float:
    """The probability at which the interval just reaches zero; below 1e-9 it makes no difference."""
    exponent, step = -4.5, 2.25
    for _ in range(16):
        low, high = bounds(1 - 10**exponent)
        exponent += -step if low > 0 or high < 0 else step
        step /= 2
    return 10**exponent
