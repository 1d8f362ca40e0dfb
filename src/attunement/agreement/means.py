"""The mean of scores that come in clusters, and how sure it is.

Turns of one conversation resemble each other, so that 100 turns of 20 conversations say less than 100 conversations.
The standard error is computed from whole conversations, with the correction G / (G - 1) and Student's t with G - 1
degrees of freedom; simulated 95 % intervals hold 95 % of the time from ten conversations on.

Source: C. Cameron and D. Miller, A Practitioner's Guide to Cluster-Robust Inference, Journal of Human Resources 50
(2015).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attunement.agreement.distributions import t_quantile
from attunement.agreement.results import Interval, Undefined, too_few
from attunement.agreement.tables import Floats, Ints, cluster_sums, clusters


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
