"""Does a judge put units in the same order as people, how far off is it, and does it use the whole scale?

Order: Spearman's rho and Kendall's tau-b. Distance: the mean absolute error and the bias, which is positive where the
judge is kinder than people. Range compression: the judge's spread as a share of the people's.

Sources: C. Spearman, American Journal of Psychology 15 (1904); M. Kendall, Biometrika 33 (1945).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attunement.agreement.distributions import t_probability
from attunement.agreement.means import Mean, mean
from attunement.agreement.results import Undefined
from attunement.agreement.statistic import FromSums, FromWeights, Statistic, quotient
from attunement.agreement.tables import Bools, Floats, Ints, distinct_rows, pairs, places

# Tables of more cells than this take more room than weights of single units.
MANY_CELLS = 400


class Correlation(NamedTuple):
    """A rank correlation with the p-value of no association between independent units."""

    value: float
    p: float
    units: int


class RangeCompression(NamedTuple):
    """How far a judge spreads its answers beside people: a ratio below 1 means that it keeps to the middle."""

    ratio: float
    judge_deviation: float
    people_deviation: float
    units: int


def spearman(first: ArrayLike, second: ArrayLike) -> Correlation | Undefined:
    """Spearman's rank correlation, ties at their mean rank; p from Student's t.

    Args:
        first: One value a unit, NaN where there is none.
        second: The same units' other value. Units that lack one of them do not enter.

    Returns:
        `Undefined` below three units and where one side does not vary.
    """
    values, complete = pairs(first, second)
    reason = _no_order(values[complete])
    if reason:
        return reason
    value, units = spearman_statistic(first, second).value(), int(complete.sum())
    freedom = units - 2
    t = value * np.sqrt(freedom / max(1 - value**2, 1e-300))
    return Correlation(value, 2 * t_probability(freedom, -abs(float(t))), units)


def spearman_statistic(first: ArrayLike, second: ArrayLike) -> Statistic:
    """Spearman's rank correlation in the form that `bootstrap` takes: ranks are those of each resample."""
    values, complete = pairs(first, second)
    sizes = [len(np.unique(column[complete])) for column in values.T]
    if sizes[0] * sizes[1] > MANY_CELLS:
        return _spearman_by_weights(values, complete)
    rows, pattern = distinct_rows(np.where(complete[:, None], values, np.nan))
    # A cell of the table is its own sum; the row of units that lack a value is one of zeros.
    cells = np.eye(len(rows)) * ~np.isnan(rows[:, :1])
    sides = [places(column) for column in rows.T]

    def of(totals: Floats) -> Floats:
        return _weighted_correlation(totals, _mid_ranks(totals, sides[0]), _mid_ranks(totals, sides[1]))

    return FromSums(cells, of, pattern, lowest=-1.0, highest=1.0)


def kendall(first: ArrayLike, second: ArrayLike) -> Correlation | Undefined:
    """Kendall's tau-b, corrected for ties, with scipy's p-value.

    Returns:
        `Undefined` below three units and where one side does not vary.
    """
    # scipy.stats takes most of a second to import, and only this function needs it.
    from scipy.stats import kendalltau

    values, complete = pairs(first, second)
    both = values[complete]
    reason = _no_order(both)
    if reason:
        return reason
    result = kendalltau(both[:, 0], both[:, 1])
    return Correlation(float(result.statistic), float(result.pvalue), len(both))


def bias(judge: ArrayLike, people: ArrayLike, conversations: ArrayLike | None = None) -> Mean | Undefined:
    """The mean of judge minus people, clustered by conversation: above 0 the judge is the kinder of the two.

    Returns:
        `Undefined` where no unit has both.
    """
    values, _ = pairs(judge, people)
    return _mean_over_pairs(values[:, 0] - values[:, 1], conversations)


def mean_absolute_error(
    judge: ArrayLike, people: ArrayLike, conversations: ArrayLike | None = None
) -> Mean | Undefined:
    """How many points of the scale the judge is off on average, clustered by conversation.

    Returns:
        `Undefined` where no unit has both.
    """
    values, _ = pairs(judge, people)
    return _mean_over_pairs(np.abs(values[:, 0] - values[:, 1]), conversations)


def range_compression(judge: ArrayLike, people: ArrayLike) -> RangeCompression | Undefined:
    """The judge's standard deviation divided by the people's, on the units that both rated.

    Returns:
        `Undefined` where fewer than two units have both, or the people's answers do not vary.
    """
    values, complete = pairs(judge, people)
    both = values[complete]
    if len(both) < 2:
        return Undefined("fewer than two units have both values")
    spread = both.std(axis=0, ddof=1)
    if spread[1] == 0:
        return Undefined(f"the people's answer is {both[0, 1]:g} everywhere")
    return RangeCompression(float(spread[0] / spread[1]), float(spread[0]), float(spread[1]), len(both))


def range_compression_statistic(judge: ArrayLike, people: ArrayLike) -> FromSums:
    """The range compression in the form that `bootstrap` takes."""
    values, complete = pairs(judge, people)
    middle = values[complete].mean(axis=0) if complete.any() else np.zeros(2)
    centred = np.where(complete[:, None], values - middle, 0.0)

    def of(totals: Floats) -> Floats:
        squares = totals[:, 3:] * totals[:, :1]
        spread = squares - totals[:, 1:3] ** 2
        return np.sqrt(np.maximum(quotient(spread[:, 0], spread[:, 1], size=squares[:, 1]), 0.0))

    parts = np.column_stack([complete.astype(np.float64), centred, centred**2])
    return FromSums(parts, of, np.arange(len(values)), lowest=0.0)


def _no_order(both: Floats) -> Undefined | None:
    if len(both) < 3:
        have = "1 unit has" if len(both) == 1 else f"{len(both)} units have"
        return Undefined(f"only {have} both values, and a correlation needs three")
    for column in both.T:
        if column.min() == column.max():
            return Undefined(f"one side is {column[0]:g} everywhere")
    return None


def _mean_over_pairs(differences: Floats, conversations: ArrayLike | None) -> Mean | Undefined:
    result = mean(differences, conversations)
    return Undefined("no unit has both values") if isinstance(result, Undefined) else result


def _mid_ranks(weights: Floats, place: Ints) -> Floats:
    """For each row of weights the mean rank of each entry, given the place of its value in ascending order."""
    order = np.argsort(place, kind="stable")
    starts = np.searchsorted(place[order], np.arange(int(place.max(initial=-1)) + 1))
    margins = np.add.reduceat(weights[:, order], starts, axis=1)
    return (np.cumsum(margins, axis=1) - margins / 2)[:, place]


def _weighted_correlation(weights: Floats, first: Floats, second: Floats) -> Floats:
    total = weights.sum(axis=1)
    sizes = (weights * first**2).sum(axis=1) * (weights * second**2).sum(axis=1)
    first = first - quotient((weights * first).sum(axis=1), total)[:, None]
    second = second - quotient((weights * second).sum(axis=1), total)[:, None]
    spread = (weights * first**2).sum(axis=1) * (weights * second**2).sum(axis=1)
    return quotient((weights * first * second).sum(axis=1), np.sqrt(spread), size=np.sqrt(sizes))


def _spearman_by_weights(values: Floats, complete: Bools) -> FromWeights:
    sides = [places(column) for column in values[complete].T]

    def of(weights: Floats) -> Floats:
        entering = weights[:, complete]
        return _weighted_correlation(entering, _mid_ranks(entering, sides[0]), _mid_ranks(entering, sides[1]))

    return FromWeights(of, complete, lowest=-1.0, highest=1.0)
