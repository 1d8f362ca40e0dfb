"""Cohen's kappa: how far do two raters agree beyond what their own habits would give by chance?

Weighted kappa gives part credit for near answers. The weights can follow the values of the scale or the ranks of the
answers that occur; published figures use either, and they differ, so the result says which it is.

Sources: J. Cohen, Educational and Psychological Measurement 20 (1960) and Psychological Bulletin 70 (1968); standard
errors: J. Fleiss, J. Cohen and B. Everitt, Psychological Bulletin 72 (1969).
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attunement.agreement.chance import Weights, agreement_weights
from attunement.agreement.distributions import two_sided
from attunement.agreement.results import Undefined
from attunement.agreement.statistic import ROUNDING, FromSums, quotient
from attunement.agreement.tables import Floats, matrix, pairs, scale_of

Spacing = Literal["values", "ranks"]


class Kappa(NamedTuple):
    """Cohen's kappa with its large-sample standard error, and p-values of no agreement beyond chance.

    `p` takes the variance that kappa has if there is none, as a test should; `p_from_se` divides by the standard error
    itself, as many papers do.
    """

    value: float
    se: float
    p: float | Undefined
    p_from_se: float | Undefined
    observed: float
    expected: float
    units: int
    weights: Weights
    spacing: Spacing


def kappa(
    first: ArrayLike,
    second: ArrayLike,
    weights: Weights = "identity",
    spacing: Spacing = "values",
    categories: Sequence[float] | None = None,
) -> Kappa | Undefined:
    """Cohen's kappa of two raters.

    Args:
        first: One rating a unit, NaN where this rater gave none.
        second: The other rater's, of the same units. Units that only one of them rated do not enter.
        weights: `identity` counts only the same answer, `linear` and `quadratic` give part credit.
        spacing: With weights: whether answers are as far apart as their values, or as their ranks. Ranks are those of
            the answers that occur, unless `categories` names the whole scale.
        categories: The whole scale.

    Returns:
        `Undefined` where no unit has both ratings, or both raters give one and the same answer everywhere.
    """
    ratings, complete = pairs(first, second)
    both = ratings[complete]
    scale = scale_of(both, categories)
    size = len(scale)
    table = np.bincount(np.searchsorted(scale, both) @ np.array([size, 1]), minlength=size**2).reshape(size, size)
    return kappa_of_table(table, weights, spacing, list(scale))


def kappa_of_table(
    table: ArrayLike,
    weights: Weights = "identity",
    spacing: Spacing = "values",
    categories: Sequence[float] | None = None,
) -> Kappa | Undefined:
    """Cohen's kappa of a square table: how often the first rater's row met the second rater's column.

    Args:
        table: Rows and columns in the order of the categories.
        weights: As for `kappa`.
        spacing: As for `kappa`.
        categories: What the rows stand for; by default 0, 1, 2 and so on.

    Returns:
        `Undefined` where the table is empty or all of it lies in one cell of the diagonal.
    """
    counts = matrix(table)
    scale = np.arange(len(counts), dtype=np.float64) if categories is None else np.asarray(categories, np.float64)
    if counts.shape != (len(scale), len(scale)):
        raise ValueError(f"a table of {len(scale)} categories has as many rows and columns, not {counts.shape}")
    units = counts.sum()
    if not units:
        return Undefined("no unit was rated by both")
    credit = _credit(scale, weights, spacing)
    shares = counts / units
    rows, columns = shares.sum(axis=1), shares.sum(axis=0)
    observed, expected = float((shares * credit).sum()), float(rows @ credit @ columns)
    if 1 - expected < ROUNDING:
        return Undefined(f"both gave {scale[int(rows.argmax())]:g} everywhere")
    value = (observed - expected) / (1 - expected)
    mean_credit = (credit @ columns)[:, None] + rows @ credit
    spread = (shares * (credit * (1 - expected) - mean_credit * (1 - observed)) ** 2).sum()
    variance = (spread - (observed * expected - 2 * expected + observed) ** 2) / (units * (1 - expected) ** 4)
    by_chance = (np.outer(rows, columns) * (credit - mean_credit) ** 2).sum()
    null = (by_chance - expected**2) / (units * (1 - expected) ** 2)
    errors = float(np.sqrt(max(null, 0.0))), float(np.sqrt(max(variance, 0.0)))
    if errors[0] < 1e-9:
        p = p_from_se = Undefined("one rater gave the same answer everywhere")
    else:
        p = two_sided(value / errors[0])
        p_from_se = two_sided(value / errors[1]) if errors[1] > 1e-9 else Undefined("the standard error is zero")
    return Kappa(value, errors[1], p, p_from_se, observed, expected, int(units), weights, spacing)


def kappa_statistic(
    first: ArrayLike,
    second: ArrayLike,
    weights: Weights = "identity",
    spacing: Spacing = "values",
    categories: Sequence[float] | None = None,
) -> FromSums:
    """Cohen's kappa in the form that `bootstrap` takes; the arguments are those of `kappa`."""
    ratings, complete = pairs(first, second)
    scale = scale_of(ratings[complete], categories)
    size = len(scale)
    credit = _credit(scale, weights, spacing)
    # Units are one of size * size cells; the last row of zeros is for those that one of the two did not rate.
    parts = np.vstack([np.eye(size * size), np.zeros(size * size)])
    cells = np.where(complete, np.searchsorted(scale, ratings) @ np.array([size, 1]), size * size)

    def of(totals: Floats) -> Floats:
        table = totals.reshape(len(totals), size, size)
        units = totals.sum(axis=1)
        observed = (totals * credit.reshape(-1)).sum(axis=1) * units
        expected = np.einsum("bi,ij,bj->b", table.sum(axis=2), credit, table.sum(axis=1))
        return quotient(observed - expected, units**2 - expected, size=units**2)

    return FromSums(parts, of, cells, highest=1.0)


def _credit(scale: Floats, weights: Weights, spacing: Spacing) -> Floats:
    return agreement_weights(scale if spacing == "values" else np.arange(len(scale), dtype=np.float64), weights)
