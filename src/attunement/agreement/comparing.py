"""Is one system better than another, on the same scenarios or on different conversations?

Differences of means are cluster-robust. Several items tested at once need Holm's correction; pass rates of pairs have
McNemar's exact test.

Sources: Q. McNemar, Psychometrika 12 (1947); S. Holm, Scandinavian Journal of Statistics 6 (1979); Y. Benjamini and
D. Yekutieli, Annals of Statistics 29 (2001); B. Welch, Biometrika 34 (1947).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attunement.agreement.bootstrap import bootstrap
from attunement.agreement.distributions import binomial_probability, t_probability, t_quantile
from attunement.agreement.means import Mean, clustered_error, mean, t_interval
from attunement.agreement.results import Interval, Undefined
from attunement.agreement.statistic import FromSums, quotient
from attunement.agreement.tables import Floats, Ints, clusters


class Difference(NamedTuple):
    """One mean minus another, with its interval and the p-value of no difference."""

    value: float
    se: float | Undefined
    interval: Interval | Undefined
    p: float | Undefined
    clusters: int  # scenarios that both have, or conversations of both together
    left_out: int  # units of scenarios that only one of the two has


class McNemar(NamedTuple):
    """How often only the first of a pair passed, and only the second, with the exact two-sided p-value."""

    only_first: int
    only_second: int
    pairs: int
    p: float


def paired_difference(
    first: ArrayLike, second: ArrayLike, scenarios: tuple[ArrayLike, ArrayLike], *, level: float = 0.95
) -> Difference | Undefined:
    """The first system's mean minus the second's, over the scenarios that both were given.

    Args:
        first: One score a unit of the first system; NaN where there is none.
        second: Those of the second system.
        scenarios: For each unit of the first, and of the second, its scenario.
        level: How often intervals made this way hold the true value.

    Returns:
        `Undefined` where no scenario has scores of both.
    """
    paired = _paired(first, second, scenarios)
    if isinstance(paired, Undefined):
        return paired
    scores, side, cluster, count, left_out = paired
    is_first = side == 0
    one, other = float(scores[is_first].mean()), float(scores[~is_first].mean())
    sizes = float(is_first.sum()), float((~is_first).sum())
    pull = np.where(is_first, (scores - one) / sizes[0], (other - scores) / sizes[1])
    value = one - other
    se = clustered_error(pull, cluster, count)
    interval = t_interval(value, se, count, "scenarios", level)
    p = interval if isinstance(interval, Undefined) else 2 * t_probability(count - 1, -abs(value) / interval.se)
    return Difference(value, se, interval, p, count, left_out)


def paired_bootstrap(
    first: ArrayLike,
    second: ArrayLike,
    scenarios: tuple[ArrayLike, ArrayLike],
    *,
    draws: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> Interval | Undefined:
    """The interval of the same difference by resampling whole scenarios; arguments as for `paired_difference`."""
    paired = _paired(first, second, scenarios)
    if isinstance(paired, Undefined):
        return paired
    scores, side, cluster, _, _ = paired
    is_first = (side == 0).astype(np.float64)
    parts = np.column_stack([scores * is_first, is_first, scores * (1 - is_first), 1 - is_first])

    def of(totals: Floats) -> Floats:
        return quotient(totals[:, 0], totals[:, 1]) - quotient(totals[:, 2], totals[:, 3])

    statistic = FromSums(parts, of, np.arange(len(scores)))
    return bootstrap(statistic, cluster, draws=draws, level=level, seed=seed, named="scenarios")


def independent_difference(
    first: ArrayLike,
    second: ArrayLike,
    conversations: tuple[ArrayLike | None, ArrayLike | None] = (None, None),
    *,
    level: float = 0.95,
) -> Difference | Undefined:
    """The first system's mean minus the second's where they have no scenario in common.

    Args:
        first: One score a unit of the first system; NaN where there is none.
        second: Those of the second system.
        conversations: For each unit of the first, and of the second, the conversation it belongs to.
        level: How often intervals made this way hold the true value.

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
    reason = _without_interval(one, other, se)
    if reason:
        return Difference(value, se, reason, reason, count, 0)
    freedom = se**4 / (one.se**4 / (one.clusters - 1) + other.se**4 / (other.clusters - 1))
    reach = t_quantile(freedom, (1 + level) / 2) * se
    method = f"t({freedom:.0f}) over {one.clusters} and {other.clusters} clusters"
    interval = Interval(value - reach, value + reach, level, method, se)
    return Difference(value, se, interval, 2 * t_probability(freedom, -abs(value) / se), count, 0)


def mcnemar(first: Sequence[bool], second: Sequence[bool]) -> McNemar | Undefined:
    """McNemar's exact test of pairs, each passed or not by the first and by the second system.

    Returns:
        `Undefined` where there are no pairs.
    """
    pairs = list(zip(first, second, strict=True))
    if not pairs:
        return Undefined("there are no pairs")
    only_first = sum(1 for one, other in pairs if one and not other)
    only_second = sum(1 for one, other in pairs if other and not one)
    differing = only_first + only_second
    p = min(1.0, 2 * binomial_probability(min(only_first, only_second), differing, 0.5)) if differing else 1.0
    return McNemar(only_first, only_second, len(pairs), p)


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected for having tested several hypotheses, in the order given (Holm's step-down method)."""
    order = np.argsort(p_values, kind="stable")
    ranked = np.asarray(p_values, dtype=np.float64)[order]
    stepped = np.maximum.accumulate(ranked * np.arange(len(ranked), 0, -1))
    return _in_order(np.minimum(stepped, 1.0), order)


def benjamini_yekutieli(p_values: Sequence[float]) -> list[float]:
    """P-values corrected for the false discovery rate under any dependence, in the order given."""
    order = np.argsort(p_values, kind="stable")
    ranked = np.asarray(p_values, dtype=np.float64)[order]
    count = len(ranked)
    places = np.arange(1, count + 1)
    stepped = np.minimum.accumulate((ranked * count * (1 / places).sum() / places)[::-1])[::-1]
    return _in_order(np.minimum(stepped, 1.0), order)


def _in_order(corrected: Floats, order: Ints) -> list[float]:
    result = np.empty(len(order))
    result[order] = corrected
    return [float(p) for p in result]


def _paired(
    first: ArrayLike, second: ArrayLike, scenarios: tuple[ArrayLike, ArrayLike]
) -> tuple[Floats, Ints, Ints, int, int] | Undefined:
    """Scores of shared scenarios: the score, whose it is, its scenario, how many scenarios, units left out."""
    sides = [np.asarray(each, dtype=np.float64) for each in (first, second)]
    scores = np.concatenate(sides)
    labels = np.concatenate([np.asarray(each) for each in scenarios])
    side = np.repeat([0, 1], [len(each) for each in sides])
    there = ~np.isnan(scores)
    shared = np.intersect1d(labels[there & (side == 0)], labels[there & (side == 1)])
    kept = there & np.isin(labels, shared)
    if not kept.any():
        return Undefined("no scenario has scores of both")
    cluster, count = clusters(labels[kept], int(kept.sum()))
    return scores[kept], side[kept], cluster, count, int((there & ~kept).sum())


def _without_interval(one: Mean, other: Mean, se: float) -> Undefined | None:
    for each in (one, other):
        if isinstance(each.interval, Undefined) and each.interval.reason.startswith("too few"):
            return each.interval
    return Undefined("neither system's scores vary") if se < 1e-12 else None
