"""Order and distance between a judge and people, and the intraclass correlation.

ICC models 2 and 3 follow Shrout and Fleiss: raters are a sample of raters (2), or the only ones of interest (3).
Missing ratings are allowed: variance components come from fitting constants (Henderson's method III), which for
complete tables is the classical analysis of variance to the last digit.

Sources: C. Spearman, American Journal of Psychology 15 (1904); P. Shrout and J. Fleiss, Psychological Bulletin 86
(1979); K. McGraw and S. Wong, Psychological Methods 1 (1996); C. Henderson, Biometrics 9 (1953); for averages of
unequal numbers of ratings, D. ten Hove, T. Jorgensen and L. van der Ark, Psychological Methods 29 (2024).
"""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attunement.statistics.estimates import Mean, mean
from attunement.statistics.intervals import Statistic, lowest_agreement, spread_of_ratings
from attunement.statistics.results import Undefined
from attunement.statistics.tables import (
    Floats,
    distinct_rows,
    matrix,
    pairs,
    places,
    quotient,
    t_probability,
)


class Correlation(NamedTuple):
    """A rank correlation with the p-value of no association between independent units."""

    value: float
    p: float
    units: int


def spearman(first: ArrayLike, second: ArrayLike) -> Correlation | Undefined:
    """Spearman's rank correlation, ties at their mean rank; p from Student's t.

    Args:
        first: One value a unit, NaN where there is none.
        second: The same units' other value. Units that lack one of them do not count.

    Returns:
        `Undefined` below three units and where one side does not vary.
    """
    values, complete = pairs(first, second)
    both = values[complete]
    units = len(both)
    if units < 3:
        have = "1 unit has" if units == 1 else f"{units} units have"
        return Undefined(f"only {have} both values, and a correlation needs three")
    for column in both.T:
        if column.min() == column.max():
            return Undefined(f"one side is {column[0]:g} everywhere")
    rows, pattern = distinct_rows(both)
    weights = np.bincount(pattern, minlength=len(rows)).astype(np.float64)
    ranks = [_mid_ranks(column, weights) for column in rows.T]
    one, other = (each - (weights @ each) / units for each in ranks)
    value = float((weights * one * other).sum() / np.sqrt((weights * one**2).sum() * (weights * other**2).sum()))
    freedom = units - 2
    t = value * np.sqrt(freedom / max(1 - value**2, 1e-300))
    return Correlation(value, 2 * t_probability(freedom, -abs(float(t))), units)


def _mid_ranks(values: Floats, weights: Floats) -> Floats:
    """The mean rank of each value that occurs `weights` times."""
    place = places(values)
    margins = np.bincount(place, weights=weights)
    return (np.cumsum(margins) - margins / 2)[place]


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


def _mean_over_pairs(differences: Floats, conversations: ArrayLike | None) -> Mean | Undefined:
    result = mean(differences, conversations)
    return Undefined("no unit has both values") if isinstance(result, Undefined) else result


class RangeCompression(NamedTuple):
    """The judge's spread of answers relative to people's: a ratio below 1 means that it stays near the middle."""

    ratio: float
    judge_deviation: float
    people_deviation: float
    units: int


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


Model = Literal[2, 3]
# Who rated together is counted for each unit: one gigabyte at most.
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
        model: 2 or 3 as in Shrout and Fleiss. 2 counts differences between raters as error, 3 does not.
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
    if raters**2 * len(values) > MOST_NUMBERS:
        return Undefined(f"{raters} raters are too many to tell them apart")
    counted = number[number > 0]
    averaged = float(len(counted) / (1 / counted).sum()) if average else 1.0
    value = icc_statistic(values, model, average=average).value()
    if np.isnan(value):
        return Undefined("too few ratings to separate units, raters and noise")
    return ICC(
        value=value,
        model=model,
        averaged=averaged,
        units=len(counted),
        raters=raters,
        ratings=int(counted.sum()),
        estimator=("analysis of variance" if (counted == raters).all() else "fitting constants, for missing ratings"),
    )


def icc_statistic(values: Floats, model: Model = 2, *, average: bool = False) -> Statistic:
    """The intraclass correlation as a function of sums over units; see `icc`.

    Its value is NaN where the ratings are too few to tell units, raters and noise apart.
    """
    present = ~np.isnan(values)
    values = values - values[present].mean() if present.any() else values
    rows, pattern = distinct_rows(values)
    parts = np.hstack([_unit_parts(rows), _rater_parts(rows)])
    weight = np.bincount(pattern, minlength=len(rows)).astype(np.float64)
    places, counts = np.unique(values[present], return_counts=True)
    spread, raters = np.nansum(rows**2, axis=1), rows.shape[1]
    informative = spread_of_ratings(places[:, None], counts.astype(np.float64))[1]
    lowest = lowest_agreement(places[:, None], counts.astype(np.float64), float(weight @ parts[:, 0]))

    def of(totals: Floats) -> Floats:
        return np.array([_variance_ratio(row, raters, model, average=average) for row in totals])

    return Statistic(parts, of, pattern, lowest, spread, informative, by_pattern=True)


def _variance_ratio(sums: Floats, raters: int, model: Model, *, average: bool) -> float:
    """The variance of units as a share of the whole: with noise, and in model 2 with the raters' severity."""
    units, count, _, inverse, _, squares, within = sums[:7]
    total, rated, deviation = (sums[7 + start * raters : 7 + (start + 1) * raters] for start in range(3))
    roots, axes = np.linalg.eigh(sums[7 + 3 * raters :].reshape(raters, raters))
    # The design has as many zero roots as there are groups of raters that share no unit.
    used = roots > 1e-9 * max(roots.max(initial=1.0), 1)
    projected = np.einsum("ij,i->j", axes, deviation)
    severity = np.where(used, projected**2 / np.where(used, roots, 1.0), 0.0).sum()
    rank, seen = used.sum(), (rated > 0).sum()
    noise = quotient(within - severity, count - units - rank)
    of_raters = np.where(rated > 0, total**2 / np.where(rated > 0, rated, 1.0), 0.0).sum()
    between = squares - of_raters - (within - severity)
    unit = quotient(between - (units - (seen - rank)) * noise, count - seen)
    disturbance = noise + quotient(severity - rank * noise, count - units) if model == 2 else noise
    if average:
        disturbance = disturbance * (inverse / units)
    return float(quotient(unit, np.maximum(unit + disturbance, 0.0), size=squares / count))


def _unit_parts(rows: Floats) -> Floats:
    """For each unit: 1 if it was rated, its ratings, one over them, their squares, squared distances from the mean."""
    present = ~np.isnan(rows)
    number = present.sum(axis=1).astype(np.float64)
    total, squares, divisor = np.nansum(rows, axis=1), np.nansum(rows**2, axis=1), np.maximum(number, 1)
    rated = (number > 0).astype(np.float64)
    return np.column_stack([rated, number, number**2, rated / divisor, total, squares, squares - total**2 / divisor])


def _rater_parts(rows: Floats) -> Floats:
    """For each rater: the rating, whether there is one, its distance from the unit's mean; and who rated with whom."""
    present = (~np.isnan(rows)).astype(np.float64)
    filled, divisor = np.where(np.isnan(rows), 0.0, rows), np.maximum(present.sum(axis=1), 1)
    deviation = filled - present * (filled.sum(axis=1) / divisor)[:, None]
    together = present[:, :, None] * present[:, None, :] / divisor[:, None, None]
    design = present[:, :, None] * np.eye(rows.shape[1]) - together
    return np.hstack([filled, present, deviation, design.reshape(len(rows), rows.shape[1] ** 2)])
