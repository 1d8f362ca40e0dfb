"""Krippendorff's alpha: agreement beyond chance of any number of raters, with missing ratings.

Units with a single rating say nothing about agreement and do not count.

Source: K. Krippendorff, Computing Krippendorff's Alpha-Reliability (2011); Content Analysis, 4th ed., chapter 12.
"""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attunement.statistics.results import Undefined
from attunement.statistics.tables import (
    Floats,
    FromSums,
    FromWeights,
    Statistic,
    Tally,
    matrix,
    nothing_to_compare,
    quotient,
    tally,
)

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
    values = matrix(ratings)
    if level == "interval":
        return _interval(values)
    if level == "nominal":
        return _nominal(tally(values))
    return _ordinal_of_many_values(values) if len(np.unique(values)) > MANY else _ordinal(tally(values))


def _coincidence_weight(number: Floats) -> Floats:
    """Each pair of a unit counts 1 / (ratings of the unit - 1), so that each rating counts once."""
    return np.where(number >= 2, 1 / np.maximum(number - 1, 1), 0.0)


def _one_minus(observed: Floats, number: Floats, total: Floats, squares: Floats) -> Floats:
    """Alpha where disagreement is squared distance: within units against among all."""
    return 1 - quotient((number - 1) * observed, number * squares - total**2, size=number * squares)


def _ordinal(tally: Tally) -> FromSums:
    counts, size = tally.counts, len(tally.categories)
    weight = _coincidence_weight(counts.sum(axis=1))
    pairs = counts[:, :, None] * (counts[:, None, :] - np.eye(size)) * weight[:, None, None]

    def of(totals: Floats) -> Floats:
        coincidences = totals.reshape(len(totals), size, size)
        margins = coincidences.sum(axis=2)
        # The ordinal distance is that between mid-ranks: what lies between two categories, and half of both.
        ranks = np.cumsum(margins, axis=1) - margins / 2
        squares = (margins * ranks**2).sum(axis=1)
        crossed = np.einsum("bi,bij,bj->b", ranks, coincidences, ranks)
        return _one_minus(squares - crossed, margins.sum(axis=1), (margins * ranks).sum(axis=1), squares)

    return FromSums(pairs.reshape(len(counts), size * size), of, tally.pattern, highest=1.0)


def _nominal(tally: Tally) -> FromSums:
    counts, distance = tally.counts, 1 - np.eye(len(tally.categories))
    number = counts.sum(axis=1)
    observed = np.einsum("pi,ij,pj->p", counts, distance, counts) * _coincidence_weight(number)
    parts = np.where((number >= 2)[:, None], np.column_stack([observed, counts]), 0.0)

    def of(totals: Floats) -> Floats:
        margins = totals[:, 1:]
        expected = np.einsum("bi,ij,bj->b", margins, distance, margins)
        return 1 - quotient((margins.sum(axis=1) - 1) * totals[:, 0], expected)

    return FromSums(parts, of, tally.pattern, highest=1.0)


def _interval(values: Floats) -> FromSums:
    present = ~np.isnan(values)
    # Counted from the middle, so that squares of large numbers do not swallow differences.
    filled = np.where(present, values - (values[present].mean() if present.any() else 0.0), 0.0)
    number, total, squares = present.sum(axis=1).astype(np.float64), filled.sum(axis=1), (filled**2).sum(axis=1)
    within = (number * squares - total**2) * _coincidence_weight(number)
    parts = np.where((number >= 2)[:, None], np.column_stack([within, number, total, squares]), 0.0)
    return FromSums(parts, lambda totals: _one_minus(*totals.T), np.arange(len(parts)), highest=1.0)


def _ordinal_of_many_values(values: Floats) -> FromWeights:
    present = ~np.isnan(values)
    number = present.sum(axis=1).astype(np.float64)
    unit, rater = np.nonzero(present & (number >= 2)[:, None])
    level, place = np.unique(values[unit, rater], return_inverse=True)
    order = np.argsort(place, kind="stable")
    starts = np.searchsorted(place[order], np.arange(len(level)))
    first = np.flatnonzero(np.diff(unit, prepend=-1))
    pairable = unit[first]

    def of(weights: Floats) -> Floats:
        each = weights[:, unit]
        margins = np.add.reduceat(each[:, order], starts, axis=1)
        ranks = (np.cumsum(margins, axis=1) - margins / 2)[:, place]
        total, squares = (np.add.reduceat(piece, first, axis=1) for piece in (ranks, ranks**2))
        within = weights[:, pairable] * (number[pairable] * squares - total**2) / (number[pairable] - 1)
        sums = (each * ranks).sum(axis=1), (each * ranks**2).sum(axis=1)
        return _one_minus(within.sum(axis=1), each.sum(axis=1), *sums)

    return FromWeights(of, number >= 2, highest=1.0)
