"""Krippendorff's alpha: how far do raters agree beyond chance, whoever rated what?

It takes any number of raters, missing ratings and four kinds of scale. Units rated once say nothing about agreement
and do not enter.

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

Level = Literal["nominal", "ordinal", "interval", "ratio"]

# Coincidences of more categories than this take more room than the ratings themselves.
MANY = 60


class Alpha(NamedTuple):
    """Krippendorff's alpha and what it rests on: the units with at least two ratings, and those ratings."""

    value: float
    level: Level
    units: int
    ratings: int


def alpha(ratings: ArrayLike | Tally, level: Level = "ordinal") -> Alpha | Undefined:
    """Krippendorff's alpha: 1 is perfect agreement, 0 what chance gives, below 0 systematic disagreement.

    Args:
        ratings: One row a unit, one column a rater, NaN where nobody rated; or a tally of that.
        level: How far apart two answers are. `ordinal` counts the ratings that lie between them, `interval` squares
            the difference, `ratio` squares it relative to the sum, `nominal` knows only same and different.

    Returns:
        `Undefined` where no unit has two ratings, where all pairable ratings are the same, and for `ratio` with
        negative values.
    """
    prepared = _prepared(ratings, level)
    reason = _impossible(prepared, level)
    if reason:
        return reason
    number = _numbers_of_ratings(prepared)
    pairable = number >= 2
    return Alpha(_statistic(prepared, level).value(), level, int(pairable.sum()), int(number[pairable].sum()))


def alpha_statistic(ratings: ArrayLike | Tally, level: Level = "ordinal") -> Statistic:
    """Alpha in the form that `bootstrap` takes."""
    return _statistic(_prepared(ratings, level), level)


def _prepared(ratings: ArrayLike | Tally, level: Level) -> Floats | Tally:
    """A tally, or the table itself where it has so many different values that counting them does not pay."""
    if isinstance(ratings, Tally):
        return ratings
    values = matrix(ratings)
    if level in {"ordinal", "interval"} and len(np.unique(values)) > MANY:
        return values
    return tally(values)


def _statistic(ratings: Floats | Tally, level: Level) -> Statistic:
    if not isinstance(ratings, Tally):
        return _ordinal_of_many_values(ratings) if level == "ordinal" else _interval(ratings - np.nanmean(ratings))
    if level == "interval":
        return _interval_of_counts(ratings)
    return _ordinal(ratings) if level == "ordinal" else _fixed_distances(ratings, level)


def _impossible(ratings: Floats | Tally, level: Level) -> Undefined | None:
    if isinstance(ratings, Tally):
        reason = nothing_to_compare(ratings)
        several = (ratings.counts.sum(axis=1) >= 2) & (ratings.frequency > 0)
        used = ratings.categories[np.count_nonzero(ratings.counts[several], axis=0) > 0]
    else:
        present = ~np.isnan(ratings)
        number = present.sum(axis=1)
        reason = None if number.max() >= 2 else Undefined("no unit was rated by two raters")
        used = ratings[present & (number >= 2)[:, None]]
    if reason:
        return reason
    if used.min() == used.max():
        return Undefined(f"every rating is {used[0]:g}")
    if level == "ratio" and used.min() < 0:
        return Undefined(f"the ratio scale has no negative values, and {used.min():g} occurs")
    return None


def _numbers_of_ratings(ratings: Floats | Tally) -> Floats:
    if isinstance(ratings, Tally):
        return ratings.counts.sum(axis=1)[ratings.pattern]
    return (~np.isnan(ratings)).sum(axis=1).astype(np.float64)


def _coincidence_weight(number: Floats) -> Floats:
    """Each pair of a unit counts 1 / (ratings of the unit - 1), so that each rating counts once."""
    return np.where(number >= 2, 1 / np.maximum(number - 1, 1), 0.0)


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


def _one_minus(observed: Floats, number: Floats, total: Floats, squares: Floats) -> Floats:
    """Alpha where disagreement is squared distance: within units against among all."""
    return 1 - quotient((number - 1) * observed, number * squares - total**2, size=number * squares)


def _interval(values: Floats) -> FromSums:
    present = ~np.isnan(values)
    filled = np.where(present, values, 0.0)
    parts = _moments(present.sum(axis=1).astype(np.float64), filled.sum(axis=1), (filled**2).sum(axis=1))
    return FromSums(parts, _of_moments, np.arange(len(parts)), highest=1.0)


def _interval_of_counts(tally: Tally) -> FromSums:
    counts = tally.counts
    values = tally.categories - (tally.categories.mean() if tally.categories.size else 0.0)
    return FromSums(
        _moments(counts.sum(axis=1), counts @ values, counts @ values**2), _of_moments, tally.pattern, highest=1.0
    )


def _moments(number: Floats, total: Floats, squares: Floats) -> Floats:
    within = (number * squares - total**2) * _coincidence_weight(number)
    pairable = (number >= 2)[:, None]
    return np.where(pairable, np.column_stack([within, number, total, squares]), 0.0)


def _of_moments(totals: Floats) -> Floats:
    within, number, total, squares = totals.T
    return _one_minus(within, number, total, squares)


def _fixed_distances(tally: Tally, level: Level) -> FromSums:
    counts, values = tally.counts, tally.categories
    if level == "nominal":
        distance = 1 - np.eye(len(values))
    else:
        sums = values[:, None] + values
        distance = quotient(values[:, None] - values, np.where(sums == 0, 1.0, sums)) ** 2
    number = counts.sum(axis=1)
    observed = np.einsum("pi,ij,pj->p", counts, distance, counts) * _coincidence_weight(number)
    parts = np.where((number >= 2)[:, None], np.column_stack([observed, counts]), 0.0)

    def of(totals: Floats) -> Floats:
        margins = totals[:, 1:]
        expected = np.einsum("bi,ij,bj->b", margins, distance, margins)
        return 1 - quotient((margins.sum(axis=1) - 1) * totals[:, 0], expected)

    return FromSums(parts, of, tally.pattern, highest=1.0)


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
