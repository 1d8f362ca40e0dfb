"""Gwet's AC1 and AC2: agreement beyond chance that stays sensible where nearly every answer is the same.

Kappa and alpha fall to nothing when one answer is very common, although raters agree on almost all units. AC1 takes
chance agreement to be possible only where answers are spread out. AC2 is the same with part credit for near answers.
Brennan and Prediger's coefficient, with chance the same for every category, stands beside them.

Sources: K. Gwet, British Journal of Mathematical and Statistical Psychology 61 (2008); Handbook of Inter-Rater
Reliability, 4th ed. (2014); R. Brennan and D. Prediger, Educational and Psychological Measurement 41 (1981).
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from attunement.agreement.chance import (
    Chance,
    Coefficient,
    Weights,
    agreement_weights,
    coefficient,
    coefficient_statistic,
)
from attunement.agreement.results import Undefined
from attunement.agreement.statistic import FromSums
from attunement.agreement.tables import Floats, Tally, tally


def ac1(ratings: ArrayLike | Tally, categories: Sequence[float] | None = None) -> Coefficient | Undefined:
    """AC1, with its standard error over units.

    Args:
        ratings: One row a unit, one column a rater, NaN where nobody rated; or a tally of that.
        categories: The whole scale. AC1 depends on how many answers were possible: without the scale those that nobody
            gave are not counted, and chance agreement comes out too high.

    Returns:
        `Undefined` where no unit has two ratings, or where only one category is known.
    """
    return ac2(ratings, "identity", categories)


def ac2(
    ratings: ArrayLike | Tally, weights: Weights = "quadratic", categories: Sequence[float] | None = None
) -> Coefficient | Undefined:
    """AC2, with its standard error over units; as `ac1`, with part credit for near answers."""
    counted = tally(ratings, categories)
    return coefficient(counted, weights, _spread_out(agreement_weights(counted.categories, weights)))


def ac2_statistic(
    ratings: ArrayLike | Tally, weights: Weights = "quadratic", categories: Sequence[float] | None = None
) -> FromSums:
    """AC2 (with identity weights AC1) in the form that `bootstrap` takes."""
    counted = tally(ratings, categories)
    table = agreement_weights(counted.categories, weights)
    return coefficient_statistic(counted, table, _spread_out(table))


def brennan_prediger(
    ratings: ArrayLike | Tally, weights: Weights = "identity", categories: Sequence[float] | None = None
) -> Coefficient | Undefined:
    """Brennan and Prediger's coefficient; its arguments and what it returns are those of `ac2`."""
    counted = tally(ratings, categories)
    return coefficient(counted, weights, _uniform(agreement_weights(counted.categories, weights)))


def _spread_out(table: Floats) -> Chance:
    size = max(len(table), 2)
    scale = table.sum() / (size * (size - 1))

    def of(shares: Floats) -> Floats:
        return scale * (shares * (1 - shares)).sum(axis=1)

    def slope(shares: Floats) -> Floats:
        return scale * (1 - 2 * shares)

    return Chance(of, slope)


def _uniform(table: Floats) -> Chance:
    same = table.sum() / max(table.size, 1)

    def of(shares: Floats) -> Floats:
        return np.full(len(shares), same)

    return Chance(of, slope=np.zeros_like)
