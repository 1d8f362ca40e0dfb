"""How often do two raters of a unit give the same answer, and how often when the answer is a certain one?

Plain shares, without any correction for chance. The specific agreement is what remains readable where an answer is
rare: of the times somebody gave it, how often did another rater of the same unit give it too?

Sources: K. Gwet (2014), chapter 2; D. Cicchetti and A. Feinstein, Journal of Clinical Epidemiology 43 (1990).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attunement.agreement.chance import Weights, agreement_weights, unit_agreement
from attunement.agreement.results import Undefined
from attunement.agreement.statistic import FromSums, quotient
from attunement.agreement.tables import Floats, Tally, nothing_to_compare, tally


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
