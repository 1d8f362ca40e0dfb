"""What Fleiss' kappa, Brennan-Prediger and Gwet's AC1 and AC2 share.

All three compare the same observed agreement with a different idea of chance, take missing ratings and any weights,
and get their standard error from how much each unit pulls the coefficient.

Source: K. Gwet, Handbook of Inter-Rater Reliability, 4th ed. (2014), chapters 2, 3 and 5.
"""

from collections.abc import Callable
from typing import Literal, NamedTuple

import numpy as np

from attunement.agreement.results import Undefined
from attunement.agreement.statistic import ROUNDING, FromSums, quotient
from attunement.agreement.tables import Floats, Tally, nothing_to_compare

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


def coefficient_statistic(tally: Tally, weights: Floats, chance: Chance) -> FromSums:
    """A chance-corrected coefficient in the form that `bootstrap` takes."""
    number = tally.counts.sum(axis=1)
    shares = tally.counts / np.maximum(number, 1)[:, None]
    parts = np.column_stack([unit_agreement(tally.counts, weights), number >= 2, number >= 1, shares])

    def of(totals: Floats) -> Floats:
        observed = quotient(totals[:, 0], totals[:, 1])
        expected = chance.of(quotient(totals[:, 3:], np.broadcast_to(totals[:, 2:3], totals[:, 3:].shape)))
        return quotient(observed - expected, 1 - expected, size=1.0)

    return FromSums(parts, of, tally.pattern, highest=1.0)


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
