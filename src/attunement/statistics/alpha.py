"""Krippendorff's alpha: agreement beyond chance of any number of raters, with missing ratings.

Units with a single rating say nothing about agreement and do not count.

Source: K. Krippendorff, Computing Krippendorff's Alpha-Reliability (2011); Content Analysis, 4th ed., chapter 12.
"""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attunement.statistics.intervals import Statistic, lowest_agreement, spread_of_ratings
from attunement.statistics.results import Undefined
from attunement.statistics.tables import Floats, Tally, matrix, nothing_to_compare, quotient, tally

Level = Literal["nominal", "ordinal", "interval"]

# Coincidences of more categories than this take more memory than the ratings themselves.
MANY = 60


class Alpha(NamedTuple):
    """Krippendorff's alpha, the number of units with at least two ratings, and the number of those ratings."""

    value: float
    level: Level
    units: int
    ratings: int


def alpha(ratings: ArrayLike, level: Level = "ordinal") -> Alpha | Undefined:
    """Krippendorff's alpha: 1 is perfect agreement, 0 is chance, below 0 is systematic disagreement.

    Args:
        ratings: One row a unit, one column a rater, NaN where nobody rated.
        level: How far apart two answers are. `ordinal` counts the ratings that lie between them, `interval` squares
            the difference, `nominal` knows only same and different.

    Returns:
        `Undefined` where no unit has two ratings, and where all pairable ratings are the same.
    """
    values = matrix(ratings)
    reason = nothing_to_compare(values)
    if reason:
        return reason
    number = (~np.isnan(values)).sum(axis=1)
    pairable = number >= 2
    several = values[pairable]
    lowest = np.nanmin(several)
    if lowest == np.nanmax(several):
        return Undefined(f"every rating is {lowest:g}")
    return Alpha(alpha_statistic(values, level).value(), level, len(several), int(number[pairable].sum()))


def alpha_statistic(ratings: ArrayLike, level: Level = "ordinal") -> Statistic:
    """Alpha as a function of sums over units; see `alpha`."""
    values = matrix(ratings)
    values = np.where((~np.isnan(values)).sum(axis=1, keepdims=True) >= 2, values, np.nan)
    if level == "ordinal":
        different = np.unique(values[~np.isnan(values)])
        if len(different) <= MANY:
            return _of_categories(tally(values, scale=different), level)
        # Ordinal alpha is interval alpha of the ranks.
        counts = np.bincount(np.searchsorted(different, values[~np.isnan(values)]))
        ranks = np.append(np.cumsum(counts) - counts / 2, np.nan)
        values = ranks[np.searchsorted(different, values)]
    return _of_categories(tally(values), level) if level == "nominal" else _interval(values)


def _coincidence_weight(number: Floats) -> Floats:
    """Each pair of a unit counts 1 / (ratings of the unit - 1), so that each rating counts once."""
    return np.where(number >= 2, 1 / np.maximum(number - 1, 1), 0.0)


def _one_minus(observed: Floats, number: Floats, total: Floats, squares: Floats) -> Floats:
    """Alpha where disagreement is squared distance: within units against among all."""
    return 1 - quotient((number - 1) * observed, number * squares - total**2, size=number * squares)


def _of_categories(tally: Tally, level: Level) -> Statistic:
    counts, size = tally.counts, len(tally.categories)
    weight = _coincidence_weight(counts.sum(axis=1))
    pairs = counts[:, :, None] * (counts[:, None, :] - np.eye(size)) * weight[:, None, None]

    def of(totals: Floats) -> Floats:
        coincidences = totals.reshape(len(totals), size, size)
        margins = coincidences.sum(axis=2)
        number = margins.sum(axis=1)
        if level == "nominal":
            apart = number - np.einsum("bii->b", coincidences)
            return 1 - quotient((number - 1) * apart, number**2 - (margins**2).sum(axis=1))
        # The ordinal distance is that between mid-ranks: what lies between two categories, and half of both.
        ranks = np.cumsum(margins, axis=1) - margins / 2
        squares = (margins * ranks**2).sum(axis=1)
        crossed = np.einsum("bi,bij,bj->b", ranks, coincidences, ranks)
        return _one_minus(squares - crossed, number, (margins * ranks).sum(axis=1), squares)

    margins = tally.frequency @ counts
    points = np.eye(size) / np.sqrt(2) if level == "nominal" else (np.cumsum(margins) - margins / 2)[:, None]
    apart, informative = spread_of_ratings(points, margins)
    lowest = lowest_agreement(points, margins, tally.frequency @ (counts.sum(axis=1) >= 2))
    parts = pairs.reshape(len(counts), size * size)
    return Statistic(parts, of, tally.pattern, lowest, counts @ apart, informative)


def _interval(values: Floats) -> Statistic:
    present = ~np.isnan(values)
    # Counted from the middle, so that squares of large numbers do not swallow differences.
    filled = np.where(present, values - (values[present].mean() if present.any() else 0.0), 0.0)
    number, total, squares = present.sum(axis=1).astype(np.float64), filled.sum(axis=1), (filled**2).sum(axis=1)
    within = (number * squares - total**2) * _coincidence_weight(number)
    places, counts = np.unique(filled[present], return_counts=True)
    informative = spread_of_ratings(places[:, None], counts.astype(np.float64))[1]
    lowest = lowest_agreement(places[:, None], counts.astype(np.float64), float((number >= 2).sum()))
    parts = np.column_stack([within, number, total, squares])
    return Statistic(parts, lambda totals: _one_minus(*totals.T), np.arange(len(parts)), lowest, squares, informative)
