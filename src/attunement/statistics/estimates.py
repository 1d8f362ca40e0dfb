"""Shares and means with intervals: exact where units are independent, otherwise clustered by conversation and weighted.

Turns of one conversation resemble each other, so that 100 turns of 20 conversations say less than 100 conversations.
The standard error of a mean is computed from whole conversations, with the correction G / (G - 1) and Student's t with
G - 1 degrees of freedom; simulated 95 % intervals cover 95 % from ten conversations on.

Sources: C. Clopper and E. Pearson, Biometrika 26 (1934); C. Cameron and D. Miller, A Practitioner's Guide to
Cluster-Robust Inference, Journal of Human Resources 50 (2015); for weighted units, E. Korn and B. Graubard, Survey
Methodology 24 (1998).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attunement.statistics.intervals import Share, effective_number
from attunement.statistics.results import LEVEL, Interval, Undefined, too_few
from attunement.statistics.tables import Bools, Floats, Ints, beta_quantile, cluster_sums, clusters, t_quantile


class Proportion(NamedTuple):
    """A share with its two-sided exact interval."""

    value: float
    events: int
    units: int
    interval: Interval


def proportion(events: int, units: int) -> Proportion | Undefined:
    """The share of units with the event, with Clopper and Pearson's two-sided interval; `Undefined` without units."""
    if units == 0:
        return Undefined("there are no units")
    each_side, share = (1 + LEVEL) / 2, events / units
    interval = Interval(
        low=lower_bound(events, units, level=each_side),
        high=upper_bound(events, units, level=each_side),
        level=LEVEL,
        method=f"exact, two-sided, over {units} units",
        se=(share * (1 - share) / units) ** 0.5,
    )
    return Proportion(share, events, units, interval)


def lower_bound(events: int, units: int, *, level: float = LEVEL) -> float:
    """The one-sided exact bound: the true share is at least this, wrong with probability `1 - level` at most."""
    _check(events, units)
    return 0.0 if events == 0 else beta_quantile(events, units - events + 1, 1 - level)


def upper_bound(events: int, units: int, *, level: float = LEVEL) -> float:
    """The one-sided exact bound: the true share is at most this, wrong with probability `1 - level` at most."""
    _check(events, units)
    return 1.0 if events == units else beta_quantile(events + 1, units - events, level)


def _check(events: int, units: int) -> None:
    if not 0 <= events <= units or units == 0:
        raise ValueError(f"{events} events in {units} units is no share")


class Mean(NamedTuple):
    """A mean with its standard error over clusters, and the one that takes units for independent."""

    value: float
    se: float | Undefined
    se_independent: float | Undefined
    interval: Interval | Undefined
    units: int
    clusters: int


def mean(
    values: ArrayLike, conversations: ArrayLike | None = None, weights: ArrayLike | None = None
) -> Mean | Undefined:
    """The mean with a cluster-robust interval.

    Args:
        values: One a unit; NaN where there is none, which leaves the unit out.
        conversations: For each unit the conversation it belongs to; without it each unit is independent.
        weights: For each unit how many it represents, such as one over its probability of being sampled.

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
    se = clustered_error(pull, cluster, count)
    return Mean(
        value=value,
        se=se,
        se_independent=clustered_error(pull, np.arange(len(scores)), len(scores)),
        interval=t_interval(value, se, count, "units" if conversations is None else "conversations"),
        units=len(scores),
        clusters=count,
    )


def clustered_error(pull: Floats, cluster: Ints, count: int) -> float | Undefined:
    """The standard error of an estimate from how far each unit pulls it, summed over each cluster."""
    if count < 2:
        return Undefined("a standard error needs two clusters")
    sums = cluster_sums(cluster, pull, count)
    return float(np.sqrt(count / (count - 1) * (sums**2).sum()))


def t_interval(
    value: float, se: float | Undefined, count: int, what: str, level: float = LEVEL
) -> Interval | Undefined:
    """The interval with Student's t for `count` clusters, or why there is none."""
    few = too_few(count, what)
    if few:
        return few
    if isinstance(se, Undefined):
        return se
    if se < 1e-12:
        return Undefined(f"every value is {value:g}, so this sample cannot show how far they vary")
    reach = t_quantile(count - 1, (1 + level) / 2) * se
    return Interval(value - reach, value + reach, level, f"t({count - 1}) over {count} {what}", se)


class Rate(NamedTuple):
    """A share with its interval, weighted where conversations were drawn unequally."""

    value: float
    interval: Interval | Undefined
    units: int = 0


def rate(event: Bools | Floats, conversation: Ints, weights: Floats | None) -> Rate | Undefined:
    """The share of units with the event: exact where each conversation gave one unit and all were drawn alike.

    Otherwise the same interval for the effective number of units (see `intervals`).

    Args:
        event: For each unit whether it happened, or how often.
        conversation: For each unit its conversation.
        weights: For each unit how many it represents; None where all are alike.

    Returns:
        `Undefined` where there is no unit. The interval is undefined below ten conversations, if it is not exact.
    """
    cluster, count = clusters(conversation, len(conversation))
    if count == len(conversation) and alike(weights) and event.dtype == np.bool_:
        exact = proportion(int(event.sum()), len(event))
        return exact if isinstance(exact, Undefined) else Rate(exact.value, exact.interval, exact.units)
    if not count:
        return Undefined("there are no units")
    weight = np.ones(len(event)) if weights is None else weights
    value = float(weight @ event / weight.sum())
    if few := too_few(count, "conversations"):
        return Rate(value, few, len(event))
    pull = weight * (event - value) / weight.sum()
    most = effective_number(weight)
    size = max(most / effective_number(cluster_sums(cluster, weight, count)), 1.0)
    share = Share(value, pull, cluster, count, most, size)
    method = f"effective sample size, over {count} conversations"
    return Rate(value, Interval(*share.bounds(), LEVEL, method, share.error()), len(event))


# Weights that differ by less than this share are equal.
SAME = 1e-9


def alike(weights: Floats | None) -> bool:
    """Whether all units represent equally many."""
    return weights is None or len(weights) < 2 or bool(np.ptp(weights) <= SAME * weights.max())
