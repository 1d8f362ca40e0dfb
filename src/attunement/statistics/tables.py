"""Ratings as tables: one row a unit, one column a rater, NaN where nobody rated.

Statistics on agreement mostly need only how often each category was given to each unit. Units collapse to a few dozen
such counts, and `Tally` keeps those patterns once; that is what makes a million ratings fast.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from attunement.errors import InputError
from attunement.statistics.results import Undefined

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

# Up to so many possible patterns a lookup table finds each unit's pattern faster than sorting does.
LOOKUP = 1 << 20


def matrix(ratings: ArrayLike) -> Floats:
    """The ratings as a table of units by raters; an empty list is an empty table.

    Raises:
        ValueError: It is not a table, or contains an infinite number.
    """
    table = np.asarray(ratings, dtype=np.float64)
    if table.size == 0:
        return table.reshape(len(table), 0) if table.ndim < 2 else table
    if table.ndim != 2:
        raise ValueError(f"ratings need one row a unit and one column a rater, not {table.ndim} dimensions")
    if np.isinf(table).any():
        raise ValueError("a rating is infinite")
    return table


class Tally(NamedTuple):
    """How often each unit was given each category, kept once for all units that look the same."""

    categories: Floats
    counts: Floats  # one row a pattern, one column a category
    pattern: Ints  # for each unit, its row in `counts`

    @property
    def frequency(self) -> Floats:
        """How many units show each pattern."""
        return np.bincount(self.pattern, minlength=len(self.counts)).astype(np.float64)


def tally(values: Floats, categories: Sequence[float] | None = None, *, scale: Floats | None = None) -> Tally:
    """Count the categories of each unit.

    Args:
        values: Units by raters with NaN for missing.
        categories: The whole scale; by default the values that occur. AC1 and AC2 depend on how many there are.
        scale: The values that occur, where they are known.

    Raises:
        InputError: A rating is not among the categories.
    """
    scale = np.unique(values[~np.isnan(values)]) if scale is None else scale
    if categories is not None:
        given, scale = scale, np.unique(np.asarray(categories, dtype=np.float64))
        strange = np.setdiff1d(given, scale)
        if strange.size:
            named = ", ".join(f"{each:g}" for each in scale)
            raise InputError(f"The rating {strange[0]:g} is not on the scale {named}.")
    # A missing rating sorts behind every category and so gets the code len(scale).
    codes = np.searchsorted(scale, values)
    return Tally(scale, *_patterns(codes, len(scale)))


def _patterns(codes: Ints, size: int) -> tuple[Floats, Ints]:
    """The distinct rows of category counts, and which of them each unit has."""
    base = codes.shape[1] + 1
    if size * np.log2(base) < 62:
        # A unit's counts are the digits of one number in base (raters + 1), a missing rating adding nothing.
        digits = base ** np.arange(size, dtype=np.int64)
        worth = np.append(digits, 0)
        keys = np.zeros(len(codes), dtype=np.int64)
        for column in codes.T:
            keys += worth[column]
        found, pattern = _distinct(keys, base**size)
        return (found[:, None] // digits % base).astype(np.float64), pattern
    counts = np.zeros((len(codes), size + 1))
    np.add.at(counts, (np.arange(len(codes))[:, None], codes), 1)
    rows, pattern = np.unique(counts[:, :size], axis=0, return_inverse=True)
    return rows, pattern.reshape(-1).astype(np.int64)


def distinct_rows(values: Floats) -> tuple[Floats, Ints]:
    """The different rows of a table and which of them each unit has, where there are few enough to be worth it."""
    scale = np.unique(values[~np.isnan(values)])
    base = len(scale) + 1
    if values.shape[1] * np.log2(base) > np.log2(LOOKUP):
        return values, np.arange(len(values))
    keys = np.searchsorted(scale, values) @ base ** np.arange(values.shape[1], dtype=np.int64)
    found, pattern = _distinct(keys, base ** values.shape[1])
    first = np.zeros(len(found), dtype=np.int64)
    first[pattern[::-1]] = np.arange(len(pattern))[::-1]
    return values[first], pattern


def _distinct(keys: Ints, limit: int) -> tuple[Ints, Ints]:
    if limit > LOOKUP:
        found, inverse = np.unique(keys, return_inverse=True)
        return found, inverse.astype(np.int64)
    found = np.flatnonzero(np.bincount(keys, minlength=1)).astype(np.int64)
    place = np.zeros(limit, dtype=np.int64)
    place[found] = np.arange(len(found))
    return found, place[keys]


def places(values: Floats) -> Ints:
    """The rank of each value among the different values, the smallest at 0."""
    return np.unique(values, return_inverse=True)[1].reshape(-1).astype(np.int64)


def pairs(first: ArrayLike, second: ArrayLike) -> tuple[Floats, Bools]:
    """Two raters side by side, and for which units both have a value.

    Raises:
        ValueError: They do not have the same units.
    """
    sides = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if sides[0].shape != sides[1].shape or sides[0].ndim != 1:
        raise ValueError(f"two raters of the same units are needed, not {sides[0].shape} and {sides[1].shape}")
    both = np.column_stack(sides)
    return both, ~(np.isnan(sides[0]) | np.isnan(sides[1]))


def clusters(labels: ArrayLike | None, units: int) -> tuple[Ints, int]:
    """Number the conversations that units belong to from 0, and count them.

    Without labels each unit is a cluster of its own.

    Raises:
        ValueError: There are not as many labels as units.
    """
    if labels is None:
        return np.arange(units), units
    names = np.asarray(labels)
    if names.shape != (units,):
        raise ValueError(f"{units} units need {units} cluster labels, not {names.shape}")
    distinct, number = np.unique(names, return_inverse=True)
    return number.astype(np.int64), len(distinct)


def cluster_sums(cluster: Ints, values: Floats, count: int) -> Floats:
    return np.bincount(cluster, weights=values, minlength=count).astype(np.float64)


def nothing_to_compare(values: Floats) -> Undefined | None:
    """Why agreement cannot be computed on these ratings, or None where at least one unit has two ratings."""
    present = ~np.isnan(values)
    if not present.any():
        return Undefined("there are no ratings")
    if present.sum(axis=1).max() > 1:
        return None
    return Undefined("only one rater" if present.any(axis=0).sum() == 1 else "no unit was rated by two raters")


# Sums of a million terms lose about so much; a single odd rating among a million is a hundred thousand times as large.
ROUNDING = 1e-11


def quotient(numerator: Floats, denominator: Floats, size: Floats | float = 0.0) -> Floats:
    """`numerator / denominator`, and NaN wherever the denominator is zero but for rounding.

    `size` is how large the terms were whose difference the denominator is; without it only zero itself counts as zero.
    """
    whole = np.abs(denominator) > ROUNDING * np.abs(size)
    return np.divide(numerator, denominator, out=np.full(np.shape(numerator), np.nan), where=whole)


# Distributions, with the types that scipy does not state.


def normal_quantile(probability: float) -> float:
    return float(special.ndtri(probability))


def normal_probability(value: ArrayLike) -> Floats:
    return np.asarray(special.ndtr(np.asarray(value, dtype=np.float64)), dtype=np.float64)


def t_quantile(freedom: float, probability: float) -> float:
    return float(special.stdtrit(freedom, probability))


def t_probability(freedom: float, value: float) -> float:
    return float(special.stdtr(freedom, value))


def beta_quantile(first: float, second: float, probability: float) -> float:
    return float(special.betaincinv(first, second, probability))


def binomial_probability(successes: int, trials: int, chance: float) -> float:
    """The probability of at most so many successes."""
    return float(special.bdtr(successes, trials, chance))
