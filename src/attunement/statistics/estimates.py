"""Shares and means with intervals, exact or clustered by conversation, and how large a sample they need.

Exact means: for units drawn independently with equal probability, one from each conversation. Otherwise use
`means.mean` with conversations and weights.

Source: C. Clopper and E. Pearson, Biometrika 26 (1934).

Where each conversation gave one unit and all were drawn alike, intervals are exact; otherwise they are over whole
conversations, weighted by one over the probability of being drawn. The share of failures caught needs one thing more.
Where everything a judge flagged was drawn and only some of the rest, failures that it missed stand in the rest alone,
and having found none among a few of those says little: that bound counts too.

Sources: C. Clopper and E. Pearson, Biometrika 26 (1934); for weighted units, E. Korn and B. Graubard, Survey
Methodology 24 (1998).

Turns of one conversation resemble each other, so that 100 turns of 20 conversations say less than 100 conversations.
The standard error is computed from whole conversations, with the correction G / (G - 1) and Student's t with G - 1
degrees of freedom; simulated 95 % intervals hold 95 % of the time from ten conversations on.

Source: C. Cameron and D. Miller, A Practitioner's Guide to Cluster-Robust Inference, Journal of Human Resources 50
(2015).

Normal approximations, as for planning; the analysis itself uses exact and clustered methods. Units of one
conversation count less than independent ones: each conversation of m units is worth m / (1 + (m - 1) * ICC).

Sources: J. Cohen, Statistical Power Analysis for the Behavioral Sciences (1988); L. Kish, Survey Sampling (1965); for
agreement, D. Bonett, Sample size requirements for estimating intraclass correlations with desired precision, Statistics
in Medicine 21 (2002).
"""

from math import ceil, floor, log
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attunement.statistics.results import FEWEST_CLUSTERS, Interval, Undefined, too_few
from attunement.statistics.tables import (
    Bools,
    Floats,
    Ints,
    beta_quantile,
    cluster_sums,
    clusters,
    normal_quantile,
    t_quantile,
)


class Proportion(NamedTuple):
    """A share with its two-sided exact interval."""

    value: float
    events: int
    units: int
    interval: Interval


def proportion(events: int, units: int, *, level: float = 0.95) -> Proportion | Undefined:
    """The share of units with the event, with Clopper and Pearson's two-sided interval.

    Returns:
        `Undefined` where there is no unit.
    """
    if units == 0:
        return Undefined("there are no units")
    tail = (1 - level) / 2
    share = events / units
    interval = Interval(
        low=lower_bound(events, units, level=1 - tail),
        high=upper_bound(events, units, level=1 - tail),
        level=level,
        method=f"exact, two-sided, over {units} units",
        se=(share * (1 - share) / units) ** 0.5,
    )
    return Proportion(share, events, units, interval)


def lower_bound(events: int, units: int, *, level: float = 0.95) -> float:
    """The one-sided exact bound: the true share is at least this, wrong with probability `1 - level` at most.

    Raises:
        ValueError: There are no units, or more events than units.
    """
    _check(events, units)
    return 0.0 if events == 0 else beta_quantile(events, units - events + 1, 1 - level)


def upper_bound(events: int, units: int, *, level: float = 0.95) -> float:
    """The one-sided exact bound: the true share is at most this. With 0 events it is `1 - (1 - level) ** (1 / units)`.

    Raises:
        ValueError: There are no units, or more events than units.
    """
    _check(events, units)
    return 1.0 if events == units else beta_quantile(events + 1, units - events, level)


def _check(events: int, units: int) -> None:
    if not 0 <= events <= units or units == 0:
        raise ValueError(f"{events} events in {units} units is no share")


class Mean(NamedTuple):
    """A mean with its standard error over clusters, beside the one that takes units for independent."""

    value: float
    se: float | Undefined
    se_independent: float | Undefined
    interval: Interval | Undefined
    units: int
    clusters: int


def mean(
    values: ArrayLike,
    conversations: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    *,
    level: float = 0.95,
) -> Mean | Undefined:
    """The mean with a cluster-robust interval.

    Args:
        values: One a unit; NaN where there is none, which leaves the unit out.
        conversations: For each unit the conversation it belongs to; without it each unit stands for itself.
        weights: For each unit how many it stands for, such as one over its probability of being sampled.
        level: How often intervals made this way hold the true value.

    Returns:
        `Undefined` where there is no value. The interval is undefined below 10 clusters, and where every value is the
        same, because then nothing shows how far they could vary.
    """
    scores = np.asarray(values, dtype=np.float64)
    there = ~np.isnan(scores)
    scores = scores[there]
    if not scores.size:
        return Undefined("there are no values")
    labels = None if conversations is None else np.asarray(conversations)[there]
    cluster, count = clusters(labels, len(scores))
    weight = np.ones(len(scores)) if weights is None else np.asarray(weights, dtype=np.float64)[there]
    value = float(weight @ scores / weight.sum())
    pull = weight * (scores - value) / weight.sum()
    what = "units" if conversations is None else "conversations"
    se = clustered_error(pull, cluster, count)
    return Mean(
        value=value,
        se=se,
        se_independent=clustered_error(pull, np.arange(len(scores)), len(scores)),
        interval=t_interval(value, se, count, what, level),
        units=len(scores),
        clusters=count,
    )


def clustered_error(pull: Floats, cluster: Ints, count: int) -> float | Undefined:
    """The standard error of an estimate from how far each unit pulls it, summed over each cluster."""
    if count < 2:
        return Undefined("a standard error needs two clusters")
    sums = cluster_sums(cluster, pull, count)
    return float(np.sqrt(count / (count - 1) * (sums**2).sum()))


def t_interval(value: float, se: float | Undefined, count: int, what: str, level: float) -> Interval | Undefined:
    """The interval with Student's t for `count` clusters, or why there is none."""
    if isinstance(se, Undefined):
        return too_few(count, what) or se
    few = too_few(count, what)
    if few:
        return few
    if se < 1e-12:
        return Undefined(f"every value is {value:g}, so this sample cannot show how far they vary")
    reach = t_quantile(count - 1, (1 + level) / 2) * se
    return Interval(value - reach, value + reach, level, f"t({count - 1}) over {count} {what}", se)


# So that rounding does not turn a whole number of units into one more or one less.
SLACK = 1e-9
LIKENESS = 0.5
"""How alike replies of one conversation are taken to be (their ICC) where nothing is known: the simulations behind our
intervals take the same."""


def design_effect(units_per_conversation: float, icc: float) -> float:
    """By how much the variance of a mean grows because units of one conversation resemble each other."""
    return 1 + (units_per_conversation - 1) * icc


def detectable_effect(interval: Interval, *, power: float = 0.8) -> float:
    """The smallest effect that a sample which gave this interval shows with this probability.

    It is shown where the interval excludes zero, so that with few conversations Student's t counts here too.
    """
    return (interval.high - interval.low) / 2 + normal_quantile(power) * interval.se


def sample_size_for_width(
    variance: float, half_width: float, *, level: float = 0.95, design: float = 1
) -> int | Undefined:
    """How many units give an interval that reaches `half_width` to either side of the mean.

    Returns:
        `Undefined` for a width of zero.
    """
    if half_width == 0:
        return Undefined("no number of units gives an interval without width")
    return ceil((normal_quantile((1 + level) / 2) / half_width) ** 2 * variance * design - SLACK)


def units_without_failure(bound: float, *, level: float = 0.95) -> int | Undefined:
    """How many units without a single failure show that at most the share `bound` fails (one-sided).

    Returns:
        `Undefined` for a bound of zero: that nothing ever fails cannot be shown.
    """
    if bound <= 0:
        return Undefined("no number of units shows that nothing ever fails")
    return ceil(log(1 - level) / log(1 - bound) - SLACK)


def failures_needed(recall: float, bound: float, *, level: float = 0.95) -> int | Undefined:
    """How many failures people must label so that a judge that catches the share `recall` is shown to exceed `bound`.

    The bound is the lower end of the two-sided exact interval.

    Returns:
        `Undefined` where the recall is not above the bound.
    """
    if recall <= bound:
        return Undefined(f"a recall of {recall:g} is not above {bound:g}")

    def shown(units: int) -> bool:
        return lower_bound(floor(recall * units + SLACK), units, level=1 - (1 - level) / 2) >= bound

    # A recall just above the bound needs very many units: large steps find about how many, single ones how many.
    units = 1
    while not shown(units):
        units += max(1, units // 20)
    while units > 1 and shown(units - 1):
        units -= 1
    return units


def units_for_agreement(expected: float, bound: float, raters: int, *, level: float = 0.95) -> int | Undefined:
    """How many units, rated by so many raters, put the lower end of agreement's interval at `bound`.

    The formula is that of the intraclass correlation, which ordinal and interval alpha come close to.

    Returns:
        `Undefined` where the expected agreement is not above the bound.
    """
    if expected <= bound:
        return Undefined(f"an agreement of {expected:g} is not above {bound:g}")
    z = normal_quantile((1 + level) / 2)
    width = 2 * (expected - bound)
    spread = 8 * z**2 * (1 - expected) ** 2 * (1 + (raters - 1) * expected) ** 2
    return ceil(spread / (raters * (raters - 1) * width**2) + 1)


def conversations_for_agreement(expected: float, bound: float, raters: int, units: float) -> int | Undefined:
    """The same in conversations of so many units each, which resemble each other; ten are the least."""
    count = units_for_agreement(expected, bound, raters)
    if isinstance(count, Undefined):
        return count
    return max(FEWEST_CLUSTERS, ceil(count * design_effect(units, LIKENESS) / units))


def conversations_to_reach(value: float, low: float, bound: float, conversations: int) -> int:
    """How many conversations bring the lower end of an interval up to `bound`, if the value stays.

    Args:
        value: The figure, above the bound.
        low: The lower end of its interval now, below the bound.
        bound: Where the lower end should be.
        conversations: How many there are now. The interval narrows with the root of their number.
    """
    return max(ceil(conversations * ((value - low) / (value - bound)) ** 2 - SLACK), conversations + 1)


LEVEL = 0.95
_SAME = 1e-9


class Rate(NamedTuple):
    """A share with its interval, weighted where conversations were drawn unequally."""

    value: float
    interval: Interval | Undefined


class Recall(NamedTuple):
    """The share of failures that a judge caught."""

    rate: Rate
    seldom: int
    """Conversations drawn less often than others: those that stand for many."""
    seldom_needed: int | None
    """How many of those would be needed to show the least share asked for; None where they are not what is lacking."""


def rate(event: Bools, conversation: Ints, weights: Floats | None) -> Rate | Undefined:
    """The share of units with the event.

    Args:
        event: For each unit whether it happened.
        conversation: For each unit its conversation.
        weights: For each unit how many it stands for; None where all are alike.

    Returns:
        `Undefined` where there is no unit. The interval is undefined below ten conversations, if it is not exact.
    """
    count = len(np.unique(conversation))
    if count == len(conversation) and alike(weights):
        exact = proportion(int(event.sum()), len(event), level=LEVEL)
        return Rate(exact.value, exact.interval) if isinstance(exact, Proportion) else exact
    found = mean(event.astype(np.float64), conversation, weights, level=LEVEL)
    if not isinstance(found, Mean):
        return found
    interval = found.interval
    if isinstance(interval, Interval):
        interval = interval._replace(low=max(interval.low, 0.0), high=min(interval.high, 1.0))
    elif (event.all() or not event.any()) and count >= FEWEST_CLUSTERS:
        # All alike: no spread to compute an interval from, but whole conversations still bound it.
        exact = proportion(count if event.all() else 0, count, level=LEVEL)
        interval = exact.interval if isinstance(exact, Proportion) else exact
    return Rate(found.value, interval)


def recall(
    failure: Bools, flagged: Bools, conversation: Ints, weights: Floats | None, least: float
) -> Recall | Undefined:
    """The share of failures that were flagged.

    Args:
        failure: For each unit that people labelled whether it is a failure.
        flagged: Whether the judge flagged it.
        conversation: For each unit its conversation.
        weights: For each unit how many it stands for; None where all are alike.
        least: The share whose lower bound is to be shown.

    Returns:
        `Undefined` where there is no failure.
    """
    own = rate(flagged[failure], conversation[failure], None if weights is None else weights[failure])
    if isinstance(own, Undefined):
        return own
    if weights is None or alike(weights) or isinstance(own.interval, Undefined):
        return Recall(own, 0, None)
    bound = _seldom(failure & ~flagged, conversation, weights)
    found = float(weights[failure & flagged].sum())
    most = bound.elsewhere + bound.highest * bound.stands_for
    low = min(own.interval.low, found / (found + most))
    method = f"{own.interval.method}; at most {bound.highest:.3f} missed where drawn less often ({bound.conversations})"
    needed = None
    if low < least and found:
        # How many misses the least share still allows there, as a share of those conversations.
        allowed = (found * (1 - least) / least - bound.elsewhere) / bound.stands_for
        wanted = failures_needed(1 - bound.share, 1 - allowed, level=LEVEL) if allowed > 0 else None
        needed = wanted if isinstance(wanted, int) else None
    return Recall(Rate(own.value, own.interval._replace(low=low, method=method)), bound.conversations, needed)


def alike(weights: Floats | None) -> bool:
    """Whether all units stand for equally many."""
    return weights is None or len(weights) < 2 or bool(np.ptp(weights) <= _SAME * weights.max())


class _Seldom(NamedTuple):
    """Misses in conversations that were drawn less often than others."""

    conversations: int
    share: float
    """Of these conversations, weighted, those with a miss."""
    highest: float
    """What that share may be at most."""
    stands_for: float
    """How many misses there would be if every one of them, drawn or not, had some."""
    elsewhere: float
    """Misses in the other conversations."""


def _seldom(miss: Bools, conversation: Ints, weights: Floats) -> _Seldom:
    seldom = weights > weights.min() * (1 + _SAME)
    _, first, place = np.unique(conversation[seldom], return_index=True, return_inverse=True)
    weight = weights[seldom][first]
    misses = np.bincount(place, weights=miss[seldom], minlength=len(first))
    total = float(weight.sum())
    share = float(weight @ (misses > 0)) / total
    # Weights that differ count like fewer conversations of equal weight (Kish).
    count = total**2 / float(weight @ weight)
    highest = 1.0 if share == 1 else beta_quantile(share * count + 1, (1 - share) * count, (1 + LEVEL) / 2)
    each = float(weight @ misses) / (share * total) if share else 1.0
    return _Seldom(len(first), share, highest, total * each, float(weights[miss & ~seldom].sum()))
