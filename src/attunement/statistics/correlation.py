"""Rank and linear correlation between raters, range compression, and the intraclass correlation.

Order: Spearman's rho. Distance: the mean absolute error and the bias, which is positive where the judge is kinder than
people. Range compression: the judge's spread as a share of the people's.

Source: C. Spearman, American Journal of Psychology 15 (1904).

Models 1, 2 and 3 follow Shrout and Fleiss: raters differ from unit to unit (1), are a sample of raters (2), or are
the only ones of interest (3). Missing ratings are allowed: variance components come from fitting constants
(Henderson's method III), which for complete tables is the classical analysis of variance to the last digit.

Sources: P. Shrout and J. Fleiss, Psychological Bulletin 86 (1979); K. McGraw and S. Wong, Psychological Methods 1
(1996); C. Henderson, Biometrics 9 (1953); for averages of unequal numbers of ratings, D. ten Hove, T. Jorgensen and
L. van der Ark, Psychological Methods 29 (2024).
"""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attunement.statistics.estimates import Mean, mean
from attunement.statistics.results import Undefined
from attunement.statistics.tables import (
    Bools,
    Floats,
    FromSums,
    FromWeights,
    Ints,
    Statistic,
    distinct_rows,
    matrix,
    pairs,
    places,
    quotient,
    t_probability,
)

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


Model = Literal[1, 2, 3]
# The two-way models keep who rated beside whom for each unit: one gigabyte at most.
MOST_NUMBERS = 125_000_000

Estimator = Literal["analysis of variance", "fitting constants, for missing ratings"]


class ICC(NamedTuple):
    """An intraclass correlation: of one rating, or of the mean of `averaged` ratings."""

    value: float
    model: Model
    averaged: float
    units: int
    raters: int
    ratings: int
    estimator: Estimator


def icc(ratings: ArrayLike, model: Model = 2, *, average: bool = False) -> ICC | Undefined:
    """The intraclass correlation ICC(model, 1), or ICC(model, k) of the mean rating of a unit.

    Args:
        ratings: One row a unit, one column a rater, NaN where nobody rated.
        model: 1, 2 or 3 as in Shrout and Fleiss. 1 ignores who rated, 2 counts differences between raters as error, 3
            does not.
        average: How reliable the mean of a unit's ratings is. Where units have different numbers of ratings, k is
            their harmonic mean.

    Returns:
        `Undefined` where there are not two units and two raters, nothing is rated twice, or ratings do not vary.
    """
    values = matrix(ratings)
    present = ~np.isnan(values)
    number = present.sum(axis=1)
    raters = int((present.sum(axis=0) > 0).sum())
    if not present.any():
        return Undefined("there are no ratings")
    if raters < 2:
        return Undefined("only one rater")
    if (number > 0).sum() < 2:
        return Undefined("only one unit")
    if number.max() < 2:
        return Undefined("no unit was rated by two raters")
    if np.nanmin(values) == np.nanmax(values):
        return Undefined(f"every rating is {np.nanmin(values):g}")
    if model != 1 and raters**2 * len(values) > MOST_NUMBERS:
        return Undefined(f"{raters} raters are too many for model {model}; model 1 does not tell them apart")
    value = icc_statistic(values, model, average=average).value()
    if np.isnan(value):
        return Undefined("too few ratings to tell units, raters and noise apart")
    counted = number[number > 0]
    averaged = float(len(counted) / (1 / counted).sum()) if average else 1.0
    complete = bool((counted == raters).all())
    return ICC(
        value=value,
        model=model,
        averaged=averaged,
        units=len(counted),
        raters=raters,
        ratings=int(counted.sum()),
        estimator="analysis of variance" if complete else "fitting constants, for missing ratings",
    )


def icc_statistic(ratings: ArrayLike, model: Model = 2, *, average: bool = False) -> FromSums:
    """The intraclass correlation in the form that `bootstrap` takes; the arguments are those of `icc`."""
    values = matrix(ratings)
    rated = values[~np.isnan(values)]
    rows, pattern = distinct_rows(values - (rated.mean() if rated.size else 0.0))
    raters = values.shape[1]

    def of(totals: Floats) -> Floats:
        sums = _Sums(*totals[:, :7].T)
        unit, disturbance = _one_way(sums) if model == 1 else _two_way(sums, totals[:, 7:], raters, model)
        if average:
            disturbance = disturbance * quotient(sums.inverse, sums.units)
        whole = unit + disturbance
        return quotient(unit, np.maximum(whole, 0.0), size=quotient(sums.squares, sums.ratings))

    parts = _parts(rows) if model == 1 else np.hstack([_parts(rows), _parts_by_rater(rows)])
    return FromSums(parts, of, pattern, highest=1.0)


class _Sums(NamedTuple):
    """Sums over units."""

    units: Floats
    ratings: Floats
    squared_ratings: Floats  # of the number of ratings of a unit
    inverse: Floats  # of the number of ratings of a unit
    total: Floats
    squares: Floats
    within: Floats  # squared distances from the mean of the unit


def _parts(values: Floats) -> Floats:
    number, total, squares = _number(values), np.nansum(values, axis=1), np.nansum(values**2, axis=1)
    rated, divisor = (number > 0).astype(np.float64), np.maximum(number, 1)
    return np.column_stack([rated, number, number**2, rated / divisor, total, squares, squares - total**2 / divisor])


def _parts_by_rater(values: Floats) -> Floats:
    """For each rater: the rating, whether there is one, its distance from the unit's mean; and who rated with whom."""
    present = (~np.isnan(values)).astype(np.float64)
    filled, divisor = np.where(np.isnan(values), 0.0, values), np.maximum(_number(values), 1)
    deviation = filled - present * (filled.sum(axis=1) / divisor)[:, None]
    together = present[:, :, None] * present[:, None, :] / divisor[:, None, None]
    design = present[:, :, None] * np.eye(values.shape[1]) - together
    return np.hstack([filled, present, deviation, design.reshape(len(values), values.shape[1] ** 2)])


def _number(values: Floats) -> Floats:
    return (~np.isnan(values)).sum(axis=1).astype(np.float64)


def _one_way(sums: _Sums) -> tuple[Floats, Floats]:
    """The variances of units and of everything else, where raters are not told apart."""
    error = quotient(sums.within, sums.ratings - sums.units)
    between = sums.squares - sums.within - quotient(sums.total**2, sums.ratings)
    unit = quotient(between - (sums.units - 1) * error, sums.ratings - quotient(sums.squared_ratings, sums.ratings))
    return unit, error


def _two_way(sums: _Sums, by_rater: Floats, raters: int, model: Model) -> tuple[Floats, Floats]:
    """The variances of units and of what disturbs them: noise, and in model 2 the raters' severity."""
    total, rated, deviation = (by_rater[:, start * raters : (start + 1) * raters] for start in range(3))
    roots, axes = np.linalg.eigh(by_rater[:, 3 * raters :].reshape(len(by_rater), raters, raters))
    # The design has as many zero roots as there are groups of raters that share no unit.
    used = roots > 1e-9 * np.maximum(roots.max(axis=1, keepdims=True, initial=1.0), 1)
    projected = np.einsum("bij,bi->bj", axes, deviation)
    severity = np.where(used, projected**2 / np.where(used, roots, 1.0), 0.0).sum(axis=1)
    rank, seen = used.sum(axis=1), (rated > 0).sum(axis=1)
    error = quotient(sums.within - severity, sums.ratings - sums.units - rank)
    of_raters = np.where(rated > 0, total**2 / np.where(rated > 0, rated, 1.0), 0.0).sum(axis=1)
    units = sums.squares - of_raters - (sums.within - severity)
    unit = quotient(units - (sums.units - (seen - rank)) * error, sums.ratings - seen)
    if model == 3:
        return unit, error
    return unit, error + quotient(severity - rank * error, sums.ratings - sums.units)
