"""Fleiss' kappa: agreement beyond what would come of drawing every rating from one common pot.

With two raters it is Scott's pi. It takes missing ratings and weights, in Gwet's generalisation.

Sources: J. Fleiss, Psychological Bulletin 76 (1971); W. Scott, Public Opinion Quarterly 19 (1955); K. Gwet (2014).
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


def fleiss(
    ratings: ArrayLike | Tally, weights: Weights = "identity", categories: Sequence[float] | None = None
) -> Coefficient | Undefined:
    """Fleiss' kappa over units, with the standard error that does not assume the raters are guessing.

    Args:
        ratings: One row a unit, one column a rater, NaN where nobody rated; or a tally, such as `tally_counts` makes.
        weights: Whether near answers count as part agreement.
        categories: The whole scale; by default the values that occur. It matters only with weights.

    Returns:
        `Undefined` where no unit has two ratings or every rating is the same.
    """
    counted = tally(ratings, categories)
    return coefficient(counted, weights, _chance(agreement_weights(counted.categories, weights)))


def fleiss_statistic(
    ratings: ArrayLike | Tally, weights: Weights = "identity", categories: Sequence[float] | None = None
) -> FromSums:
    """Fleiss' kappa in the form that `bootstrap` takes."""
    counted = tally(ratings, categories)
    table = agreement_weights(counted.categories, weights)
    return coefficient_statistic(counted, table, _chance(table))


def _chance(table: Floats) -> Chance:
    def of(shares: Floats) -> Floats:
        return np.einsum("bi,ij,bj->b", shares, table, shares)

    def slope(shares: Floats) -> Floats:
        return 2 * shares @ table

    return Chance(of, slope)
