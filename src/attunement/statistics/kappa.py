"""Agreement of two raters beyond chance: Cohen's kappa, Gwet's AC1 and AC2, and plain percent agreement.

Weighted kappa gives part credit for near answers. The weights can follow the values of the scale or the ranks of the
answers that occur; published figures use either, and they differ, so the result says which it is.

Sources: J. Cohen, Educational and Psychological Measurement 20 (1960) and Psychological Bulletin 70 (1968); standard
errors: J. Fleiss, J. Cohen and B. Everitt, Psychological Bulletin 72 (1969).

Plain shares, without any correction for chance. The specific agreement is what remains readable where an answer is
rare: of the times somebody gave it, how often did another rater of the same unit give it too?

Sources: K. Gwet (2014), chapter 2; D. Cicchetti and A. Feinstein, Journal of Clinical Epidemiology 43 (1990).

Kappa and alpha fall to nothing when one answer is very common, although raters agree on almost all units. AC1 takes
chance agreement to be possible only where answers are spread out. AC2 is the same with part credit for near answers.
Both take missing ratings, and get their standard error from how much each unit pulls the coefficient.

Sources: K. Gwet, British Journal of Mathematical and Statistical Psychology 61 (2008); Handbook of Inter-Rater
Reliability, 4th ed. (2014), chapters 2, 3 and 5.
"""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attunement.statistics.results import Undefined
from attunement.statistics.tables import (
    ROUNDING,
    Floats,
    FromSums,
    Tally,
    matrix,
    nothing_to_compare,
    pairs,
    quotient,
    scale_of,
    tally,
    two_sided,
)

Weights = Literal["identity", "linear", "quadratic"]


class Coefficient(NamedTuple):
    """A chance-corrected agreement with its standard error over units, and what it was computed from."""

    value: float
    se: float | Undefined
    observed: float
    expected: float
    units: int  # with at least two ratings
    categories: int
    weights: Weights


def agreement_weights(categories: Floats, weights: Weights) -> Floats:
    """How far each pair of answers counts as agreement: 1 the same, 0 the two ends of the scale."""
    distance = np.abs(categories[:, None] - categories)
    widest = distance.max(initial=0.0)
    if weights == "identity" or widest == 0:
        return np.eye(len(categories))
    return 1 - (distance / widest) ** (1 if weights == "linear" else 2)


class Chance(NamedTuple):
    """One idea of chance agreement: its size, and its slope in the shares of the categories."""

    of: Callable[[Floats], Floats]  # one row of shares a resample -> expected agreement
    slope: Callable[[Floats], Floats]  # one row of shares -> its derivative in each share


def unit_agreement(counts: Floats, weights: Floats) -> Floats:
    """For each unit the share of its pairs of ratings that agree, partly as weighted; 0 for a single rating."""
    number = counts.sum(axis=1)
    agreeing = (counts * (counts @ weights - 1)).sum(axis=1)
    return np.where(number >= 2, agreeing / np.maximum(number * (number - 1), 1), 0.0)


def coefficient(tally: Tally, weights: Weights, chance: Chance) -> Coefficient | Undefined:
    """A chance-corrected coefficient with Gwet's linearised standard error over units."""
    reason = nothing_to_compare(tally)
    if reason:
        return reason
    if len(tally.categories) < 2:
        return Undefined(f"every rating is {tally.categories[0]:g}")
    table, frequency = agreement_weights(tally.categories, weights), tally.frequency
    number = tally.counts.sum(axis=1)
    rated, several = number >= 1, number >= 2
    agreement = unit_agreement(tally.counts, table)
    shares = tally.counts / np.maximum(number, 1)[:, None]
    rated_units, units = float(frequency[rated].sum()), float(frequency[several].sum())
    observed = float(frequency @ agreement) / units
    overall = frequency @ shares / rated_units
    expected = float(chance.of(overall[None, :])[0])
    if 1 - expected < ROUNDING:
        return Undefined(f"every rating is {tally.used[0]:g}")
    value = (observed - expected) / (1 - expected)
    own = rated_units / units * (agreement - expected * several) / (1 - expected)
    # The expected agreement moves with each unit's shares; its slope at the overall shares says how far.
    slope = chance.slope(overall[None, :])[0]
    pull = own - (1 - value) * ((shares - overall) @ slope) / (1 - expected)
    spread = float(frequency[rated] @ (pull[rated] - value) ** 2)
    se = np.sqrt(spread / (rated_units * (rated_units - 1))) if rated_units > 1 else Undefined("there is only one unit")
    return Coefficient(
        value, se if isinstance(se, Undefined) else float(se), observed, expected, int(units), len(overall), weights
    )


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


class PercentAgreement(NamedTuple):
    """The share of pairs of ratings that agree, averaged over the units that have at least two."""

    value: float
    units: int


class SpecificAgreement(NamedTuple):
    """Of the ratings that are `category`, the share of other ratings of the same unit that are so too."""

    value: float
    category: float
    ratings: int  # how often it was given, in units with at least two ratings
    units: int  # in how many of those units


def percent_agreement(
    ratings: ArrayLike | Tally, weights: Weights = "identity", categories: Sequence[float] | None = None
) -> PercentAgreement | Undefined:
    """The observed agreement; with weights, near answers count in part.

    Returns:
        `Undefined` where no unit has two ratings.
    """
    counted = tally(ratings, categories)
    reason = nothing_to_compare(counted)
    if reason:
        return reason
    units = counted.frequency[counted.counts.sum(axis=1) >= 2].sum()
    return PercentAgreement(percent_agreement_statistic(counted, weights).value(), int(units))


def percent_agreement_statistic(
    ratings: ArrayLike | Tally, weights: Weights = "identity", categories: Sequence[float] | None = None
) -> FromSums:
    """The observed agreement in the form that `bootstrap` takes."""
    counted = tally(ratings, categories)
    table = agreement_weights(counted.categories, weights)
    parts = np.column_stack([unit_agreement(counted.counts, table), counted.counts.sum(axis=1) >= 2])
    return FromSums(parts, _first_by_second, counted.pattern, lowest=0.0, highest=1.0)


def specific_agreement(ratings: ArrayLike | Tally, category: float) -> SpecificAgreement | Undefined:
    """The agreement on one answer, with how often it was given.

    Returns:
        `Undefined` where no unit has two ratings, or nobody gave this answer in such a unit.
    """
    counted = tally(ratings)
    reason = nothing_to_compare(counted)
    if reason:
        return reason
    given = _given(counted, category) * (counted.counts.sum(axis=1) >= 2)
    if not counted.frequency @ given:
        return Undefined(f"no unit with two ratings was given {category:g}")
    value = specific_agreement_statistic(counted, category).value()
    return SpecificAgreement(value, category, int(counted.frequency @ given), int(counted.frequency[given > 0].sum()))


def specific_agreement_statistic(ratings: ArrayLike | Tally, category: float) -> FromSums:
    """The agreement on one answer in the form that `bootstrap` takes."""
    counted = tally(ratings)
    given = _given(counted, category)
    parts = np.column_stack([given * np.maximum(given - 1, 0), given * np.maximum(counted.counts.sum(axis=1) - 1, 0)])
    return FromSums(parts, _first_by_second, counted.pattern, lowest=0.0, highest=1.0)


def _given(counted: Tally, category: float) -> Floats:
    """How often each pattern holds the category."""
    return counted.counts[:, counted.categories == category].sum(axis=1)


def _first_by_second(totals: Floats) -> Floats:
    return quotient(totals[:, 0], totals[:, 1])


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


def _spread_out(table: Floats) -> Chance:
    size = max(len(table), 2)
    scale = table.sum() / (size * (size - 1))

    def of(shares: Floats) -> Floats:
        return scale * (shares * (1 - shares)).sum(axis=1)

    def slope(shares: Floats) -> Floats:
        return scale * (1 - 2 * shares)

    return Chance(of, slope)
