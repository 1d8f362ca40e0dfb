"""Statistics in the form in which they can be resampled thousands of times at once.

Nearly all coefficients are functions of sums over units (counts, coincidences, squares). Resampling units or whole
conversations then only reweights those sums: one matrix product instead of a loop. The few that depend on ranks of
many different values take the weights of the units themselves.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from attunement.agreement.tables import Bools, Floats, Ints, cluster_sums

# Sums of a million terms lose about so much; a single odd rating among a million is a hundred thousand times as large.
ROUNDING = 1e-11


@dataclass(frozen=True)
class FromSums:
    """A function of sums over units.

    `of` takes one row of totals a resample and gives one value a row, NaN where the statistic has none. `parts` has a
    row for each pattern of unit; `pattern` says which row a unit has. Units that do not enter have a row of zeros.
    """

    parts: Floats
    of: Callable[[Floats], Floats]
    pattern: Ints
    lowest: float = -np.inf
    highest: float = np.inf

    @property
    def units(self) -> int:
        """How many units there are, those that do not enter included."""
        return len(self.pattern)

    @property
    def entering(self) -> Bools:
        """Which units enter the statistic."""
        return (np.count_nonzero(self.parts, axis=1) > 0)[self.pattern]

    def value(self) -> float:
        """The statistic itself."""
        frequency = np.bincount(self.pattern, minlength=len(self.parts)).astype(np.float64)
        return float(self.of((frequency @ self.parts)[None, :])[0])

    def sums(self, cluster: Ints, count: int) -> Floats:
        """The sums over each cluster; units with a negative cluster number are left out."""
        inside = cluster >= 0
        total = np.zeros((count, self.parts.shape[1]))
        where, rows = cluster[inside], self.pattern[inside]
        for column, part in enumerate(self.parts.T):
            total[:, column] = cluster_sums(where, part[rows], count)
        return total


@dataclass(frozen=True)
class FromWeights:
    """A function of how often each unit counts: one row of weights a resample in, one value a row out."""

    of: Callable[[Floats], Floats]
    entering: Bools
    lowest: float = -np.inf
    highest: float = np.inf

    @property
    def units(self) -> int:
        """How many units there are, those that do not enter included."""
        return len(self.entering)

    def value(self) -> float:
        """The statistic itself."""
        return float(self.of(np.ones((1, self.units)))[0])


Statistic = FromSums | FromWeights


def combined(statistics: Sequence[Statistic], of: Callable[[Floats], Floats]) -> Statistic:
    """A function of several statistics on the same units, such as their difference or mean.

    Args:
        statistics: Each over the same units in the same order.
        of: Takes one column a statistic and one row a resample, gives one value a row.
    """
    if len({each.units for each in statistics}) != 1:
        raise ValueError("statistics can be combined only over the same units")
    sums = [each for each in statistics if isinstance(each, FromSums)]
    if len(sums) < len(statistics):
        weighted = [_by_weights(each) for each in statistics]
        entering = np.sum([each.entering for each in weighted], axis=0) > 0
        return FromWeights(lambda weights: of(np.column_stack([each.of(weights) for each in weighted])), entering)
    rows, pattern = np.unique(np.column_stack([each.pattern for each in sums]), axis=0, return_inverse=True)
    parts = np.hstack([each.parts[rows[:, column]] for column, each in enumerate(sums)])
    ends = np.cumsum([each.parts.shape[1] for each in sums])[:-1]

    def together(totals: Floats) -> Floats:
        pieces = np.split(totals, ends, axis=1)
        return of(np.column_stack([each.of(piece) for each, piece in zip(sums, pieces, strict=True)]))

    return FromSums(parts, together, pattern.reshape(-1).astype(np.int64))


def difference(first: Statistic, second: Statistic) -> Statistic:
    """`first` minus `second` on the same units: is the judge nearer to people than they are to each other?"""
    return combined([first, second], lambda values: values[:, 0] - values[:, 1])


def mean_of(statistics: Sequence[Statistic]) -> Statistic:
    """The mean of several statistics on the same units, such as the kappas of all pairs of raters."""
    return combined(statistics, lambda values: values.mean(axis=1))


def quotient(numerator: Floats, denominator: Floats, size: Floats | float = 0.0) -> Floats:
    """`numerator / denominator`, and NaN wherever the denominator is zero but for rounding.

    `size` is how large the terms were whose difference the denominator is; without it only zero itself counts as zero.
    """
    whole = np.abs(denominator) > ROUNDING * np.abs(size)
    return np.divide(numerator, denominator, out=np.full(np.shape(numerator), np.nan), where=whole)


def _by_weights(statistic: Statistic) -> FromWeights:
    if isinstance(statistic, FromWeights):
        return statistic
    rows = statistic.parts[statistic.pattern]
    return FromWeights(lambda weights: statistic.of(weights @ rows), statistic.entering)
