"""Agreement beyond chance: Cohen's kappa, kappa pooled over raters, Gwet's AC1 and AC2; and plain shares that agree.

Weighted kappa gives part credit for near answers. The weights can follow the values of the scale or the ranks of the
answers that occur; published figures use either, and they differ, so the result says which it is.

Pooled kappa (Conger) is what pairs of ratings differ by, over what they would differ by if each rater answered at
random with their own frequencies of answers. With two raters it is Cohen's kappa. Raters may have rated different
units, and each unit counts the same however many rated it. The same coefficient compares a judge with single people,
so that the judge's figure can be compared with the people's.

Kappa and alpha fall to nothing when one answer is very common, although raters agree on almost all units. AC1 takes
chance agreement to be possible only where answers are spread out. AC2 is the same with part credit for near answers.
The specific agreement is what remains readable where an answer is rare.

Sources: J. Cohen, Educational and Psychological Measurement 20 (1960) and Psychological Bulletin 70 (1968); standard
errors: J. Fleiss, J. Cohen and B. Everitt, Psychological Bulletin 72 (1969); pooled: A. Conger, Psychological Bulletin
88 (1980); AC1, AC2: K. Gwet, British Journal of Mathematical and Statistical Psychology 61 (2008), and Handbook of
Inter-Rater Reliability, 4th ed. (2014), chapters 2, 3 and 5; specific agreement: D. Cicchetti and A. Feinstein,
Journal of Clinical Epidemiology 43 (1990).
"""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attunement.statistics.intervals import TINY, Statistic, most_apart, spread_of_ratings
from attunement.statistics.results import Undefined
from attunement.statistics.tables import (
    ROUNDING,
    Floats,
    distinct_rows,
    matrix,
    normal_probability,
    nothing_to_compare,
    pairs,
    quotient,
    tally,
)

Weights = Literal["identity", "quadratic"]
Spacing = Literal["values", "ranks"]


def agreement_weights(categories: Floats, weights: Weights) -> Floats:
    """How far each pair of answers counts as agreement: 1 the same, 0 the two ends of the scale."""
    distance = np.abs(categories[:, None] - categories)
    widest = distance.max(initial=0.0)
    if weights == "identity" or widest == 0:
        return np.eye(len(categories))
    return 1 - (distance / widest) ** 2


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
    first: ArrayLike, second: ArrayLike, weights: Weights = "identity", spacing: Spacing = "values"
) -> Kappa | Undefined:
    """Cohen's kappa of two raters.

    Args:
        first: One rating a unit, NaN where this rater gave none.
        second: The other rater's, of the same units. Units that only one of them rated do not count.
        weights: `identity` counts only the same answer, `quadratic` gives part credit.
        spacing: Whether answers are as far apart as their values, or as the ranks of the answers that occur.

    Returns:
        `Undefined` where no unit has both ratings, or both raters give one and the same answer everywhere.
    """
    ratings, complete = pairs(first, second)
    both = ratings[complete]
    if not len(both):
        return Undefined("no unit was rated by both")
    scale, units = np.unique(both), float(len(both))
    size = len(scale)
    counts = np.bincount(np.searchsorted(scale, both) @ np.array([size, 1]), minlength=size**2).reshape(size, size)
    credit = agreement_weights(scale if spacing == "values" else np.arange(size, dtype=np.float64), weights)
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
    null_se, se = float(np.sqrt(max(null, 0.0))), float(np.sqrt(max(variance, 0.0)))
    if null_se < 1e-9:
        p = p_from_se = Undefined("one rater gave the same answer everywhere")
    else:
        p = _two_sided(value / null_se)
        p_from_se = _two_sided(value / se) if se > 1e-9 else Undefined("the standard error is zero")
    return Kappa(value, se, p, p_from_se, observed, expected, int(units), weights, spacing)


def _two_sided(z: float) -> float:
    return float(2 * normal_probability(-abs(z)))


class Coefficient(NamedTuple):
    """A chance-corrected agreement with its standard error over units, and what it was computed from."""

    value: float
    se: float | Undefined
    observed: float
    expected: float
    units: int  # with at least two ratings
    categories: int
    weights: Weights


def ac1(ratings: ArrayLike, categories: Sequence[float] | None = None) -> Coefficient | Undefined:
    """Gwet's AC1: AC2 without part credit for near answers."""
    return ac2(ratings, "identity", categories)


def ac2(
    ratings: ArrayLike, weights: Weights = "quadratic", categories: Sequence[float] | None = None
) -> Coefficient | Undefined:
    """Gwet's AC2, with its linearised standard error over units.

    Args:
        ratings: One row a unit, one column a rater, NaN where nobody rated.
        weights: `quadratic` gives part credit for near answers.
        categories: The whole scale. The coefficient depends on how many answers were possible: without the scale those
            that nobody gave are not counted, and chance agreement comes out too high.

    Returns:
        `Undefined` where no unit has two ratings, or where only one category is known.
    """
    values = matrix(ratings)
    counted = tally(values, categories)
    reason = nothing_to_compare(values)
    if reason:
        return reason
    size = len(counted.categories)
    if size < 2:
        return Undefined(f"every rating is {counted.categories[0]:g}")
    statistic = ac2_statistic(values, weights, counted.categories.tolist())
    rated, units = (float(total) for total in statistic.totals[:2])
    value, expected = statistic.value(), statistic.expected
    se: float | Undefined = Undefined("there is only one unit")
    if rated > 1:
        # Gwet takes the number of units with two ratings as given.
        several = statistic.spread[statistic.pattern][statistic.entering]
        pull = statistic.influence()[statistic.entering] * rated + value * (rated / units * several - 1)
        se = float(np.sqrt((pull**2).sum() / (rated * (rated - 1))))
    return Coefficient(value, se, value + (1 - value) * expected, expected, int(units), size, weights)


def ac2_statistic(values: Floats, weights: Weights, categories: Sequence[float]) -> Statistic:
    """AC2 as a function of sums over units; see `ac2`."""
    counted = tally(values, categories)
    size, table = len(counted.categories), agreement_weights(counted.categories, weights)
    number = counted.counts.sum(axis=1)
    several = (number >= 2).astype(np.float64)
    shares = counted.counts / np.maximum(number, 1)[:, None]
    parts = np.column_stack([number >= 1, several, _unit_agreement(counted.counts, table), shares])
    spread_out = table.sum() / (size * (size - 1))

    def by_chance(totals: Floats) -> Floats:
        overall = quotient(totals[:, 3:], np.broadcast_to(totals[:, :1], totals[:, 3:].shape))
        return spread_out * (overall * (1 - overall)).sum(axis=1)

    def of(totals: Floats) -> Floats:
        expected = by_chance(totals)
        return quotient(quotient(totals[:, 2], totals[:, 1]) - expected, 1 - expected)

    totals = counted.frequency @ parts
    expected = float(by_chance(totals[None, :])[0])
    lowest = -expected / (1 - expected)
    # Every unit counts the same here, whatever its answers.
    return Statistic(parts, of, counted.pattern, lowest, several, float(totals[1]) * (1 - lowest), expected)


def _unit_agreement(counts: Floats, weights: Floats) -> Floats:
    """For each unit the share of its pairs of ratings that agree, partly as weighted; 0 for a single rating."""
    number = counts.sum(axis=1)
    agreeing = (counts * (counts @ weights - 1)).sum(axis=1)
    return np.where(number >= 2, agreeing / np.maximum(number * (number - 1), 1), 0.0)


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


def percent_agreement(ratings: ArrayLike) -> PercentAgreement | Undefined:
    """The observed agreement; `Undefined` where no unit has two ratings."""
    values = matrix(ratings)
    reason = nothing_to_compare(values)
    if reason:
        return reason
    counted = tally(values)
    agreement = _unit_agreement(counted.counts, np.eye(len(counted.categories)))
    agreeing, units = counted.frequency @ np.column_stack([agreement, counted.counts.sum(axis=1) >= 2])
    return PercentAgreement(float(agreeing / units), int(units))


def specific_agreement(ratings: ArrayLike, category: float) -> SpecificAgreement | Undefined:
    """The agreement on one answer, with how often it was given.

    Returns:
        `Undefined` where no unit has two ratings, or nobody gave this answer in such a unit.
    """
    values = matrix(ratings)
    reason = nothing_to_compare(values)
    if reason:
        return reason
    counted = tally(values)
    number = counted.counts.sum(axis=1)
    given = counted.counts[:, counted.categories == category].sum(axis=1) * (number >= 2)
    times = counted.frequency @ given
    if not times:
        return Undefined(f"no unit with two ratings was given {category:g}")
    agreeing = counted.frequency @ (given * np.maximum(given - 1, 0))
    others = counted.frequency @ (given * (number - 1))
    units = int(counted.frequency[given > 0].sum())
    return SpecificAgreement(float(agreeing / others), category, int(times), units)


# Frequencies of answers of more people than this are pooled: two of them are then hardly ever the same person.
MOST_RATERS = 100


class PairwiseKappa(NamedTuple):
    """How far single raters agree (pooled kappa), and on how many units."""

    value: float
    units: int


def people_kappa(people: Floats, *, ordered: bool = True) -> PairwiseKappa | Undefined:
    """How far any two people agree: quadratic weights, or none where answers have no order.

    Args:
        people: One row a unit, one column a person, NaN where they gave no value.
        ordered: Whether near answers count in part.

    Returns:
        `Undefined` where no unit has values of two people, or all people give one and the same answer.
    """
    several = (~np.isnan(people)).sum(axis=1) >= 2
    if not several.any():
        one = (~np.isnan(people)).any(axis=0).sum() == 1
        return Undefined("only one person" if one else "no unit was rated by two people")
    return _pairwise(people_kappa_statistic(people, ordered=ordered), people[several])


def judge_kappa(judge: Floats, people: Floats, *, ordered: bool = True) -> PairwiseKappa | Undefined:
    """How far a judge agrees with any one person; see `people_kappa`."""
    both = ~np.isnan(judge) & (~np.isnan(people)).any(axis=1)
    if not both.any():
        return Undefined("no unit was rated by a person and the judge")
    return _pairwise(judge_kappa_statistic(judge, people, ordered=ordered), np.column_stack([judge, people])[both])


def _pairwise(statistic: Statistic, values: Floats) -> PairwiseKappa | Undefined:
    value = statistic.value()
    return Undefined(f"every rating is {np.nanmin(values):g}") if np.isnan(value) else PairwiseKappa(value, len(values))


def people_kappa_statistic(people: Floats, *, ordered: bool = True) -> Statistic:
    """The agreement of any two people as a function of sums over units."""
    people = np.where((~np.isnan(people)).sum(axis=1, keepdims=True) >= 2, people, np.nan)
    rows, pattern = distinct_rows(people)
    present = ~np.isnan(rows)
    number = present.sum(axis=1)
    several = number >= 2
    points, answers, sizes = _points(rows, people, ordered=ordered)
    # The mean squared distance of two different ratings of a unit, from their sum and their squares.
    sums, squares = answers.sum(axis=1), sizes.sum(axis=1)
    apart = 2 * (number * squares - (sums**2).sum(axis=1)) / np.maximum(number * (number - 1), 1)
    if people.shape[1] <= MOST_RATERS:
        by_rater = np.concatenate([present[:, :, None], sizes[:, :, None], answers], axis=2)
    else:
        mean = 1 / np.maximum(number, 1)[:, None]
        by_rater = np.concatenate([np.ones_like(mean), squares[:, None] * mean, sums * mean], axis=1)[:, None, :]
    raters, width = by_rater.shape[1:]
    parts = np.column_stack([several, apart, by_rater.reshape(len(rows), raters * width)])
    parts = np.where(several[:, None], parts, 0.0)

    def expected(totals: Floats) -> Floats:
        return _expected_distance(totals[:, 2:].reshape(len(totals), raters, width))

    def of(totals: Floats) -> Floats:
        return 1 - quotient(quotient(totals[:, 1], totals[:, 0]), expected(totals))

    weight = np.bincount(pattern, minlength=len(rows)).astype(np.float64)
    spread, informative, margins = _spread(rows, weight, points)
    by_chance = float(expected((weight @ parts)[None, :])[0])
    each = max(float(weight @ number) / max(float(weight @ several), 1.0), 2.0)
    most = most_apart(points.places, margins, margins) if len(margins) else 0.0
    lowest = 1 - min(most / by_chance, each / (each - 1)) if by_chance > TINY else -1.0
    return Statistic(parts, of, pattern, lowest, spread, informative)


def judge_kappa_statistic(judge: Floats, people: Floats, *, ordered: bool = True) -> Statistic:
    """The agreement of a judge with any one person as a function of sums over units."""
    both = np.column_stack([judge, people])
    usable = ~np.isnan(judge) & (~np.isnan(people)).any(axis=1)
    rows, pattern = distinct_rows(np.where(usable[:, None], both, np.nan))
    entering = ~np.isnan(rows[:, 0])
    points, answers, sizes = _points(rows, both[usable], ordered=ordered)
    share = 1 / np.maximum((~np.isnan(rows[:, 1:])).sum(axis=1), 1)
    own, own_size = answers[:, 0], sizes[:, 0]
    theirs, their_size = answers[:, 1:].sum(axis=1) * share[:, None], sizes[:, 1:].sum(axis=1) * share
    apart = own_size + their_size - 2 * (own * theirs).sum(axis=1)
    parts = np.column_stack([entering, apart, own_size + their_size, own, theirs])
    parts = np.where(entering[:, None], parts, 0.0)
    width = own.shape[1]

    def expected(mean: Floats) -> Floats:
        return mean[:, 2] - 2 * (mean[:, 3 : 3 + width] * mean[:, 3 + width :]).sum(axis=1)

    def of(totals: Floats) -> Floats:
        mean = quotient(totals, np.broadcast_to(totals[:, :1], totals.shape))
        return 1 - quotient(mean[:, 1], expected(mean), size=mean[:, 2])

    weight = np.bincount(pattern, minlength=len(rows)).astype(np.float64) * entering
    spread, informative, _ = _spread(rows, weight, points)
    lowest = -1.0
    if (total := float(weight.sum())) and len(points.places):
        by_chance = float(expected((weight @ parts)[None, :] / total)[0])
        margins = [_margin(rows[:, :1], weight, points), _margin(rows[:, 1:], weight * share, points)]
        lowest = 1 - most_apart(points.places, *margins) / by_chance if by_chance > TINY else -1.0
    return Statistic(parts, of, pattern, lowest, spread, informative)


class _Points(NamedTuple):
    scale: Floats  # the answers that occur
    places: Floats  # where each is: on a line, or one axis an answer where they have no order


def _points(rows: Floats, values: Floats, *, ordered: bool) -> tuple[_Points, Floats, Floats]:
    """The answers as points, those in `rows`, and their squared lengths.

    Points are counted from the middle of all answers, so that squares of large numbers do not swallow differences. A
    missing answer is at 0 with no length.
    """
    scale = np.unique(values[~np.isnan(values)])
    if ordered:
        middle = np.nanmean(values) if len(scale) else 0.0
        places = (scale - middle)[:, None]
        points = np.where(np.isnan(rows), 0.0, rows - middle)[:, :, None]
    else:
        places = np.eye(len(scale)) / np.sqrt(2)
        points = (rows[:, :, None] == scale) / np.sqrt(2)
    return _Points(scale, places), points, (points**2).sum(axis=2)


def _margin(rows: Floats, weight: Floats, points: _Points) -> Floats:
    """How often each answer was given in these rows."""
    there = ~np.isnan(rows)
    place = np.searchsorted(points.scale, rows[there])
    each = np.broadcast_to(weight[:, None], rows.shape)[there]
    return np.bincount(place, each, minlength=len(points.scale)).astype(np.float64)


def _spread(rows: Floats, weight: Floats, points: _Points) -> tuple[Floats, float, Floats]:
    """What each row adds to the disagreement by chance, how many ratings tell anything, and how common answers are."""
    margins = _margin(rows, weight, points)
    if not margins.sum():
        return np.zeros(len(rows)), 0.0, margins
    apart, informative = spread_of_ratings(points.places, margins)
    padded = np.append(apart, 0.0)
    return padded[np.searchsorted(points.scale, rows)].sum(axis=1), informative, margins


def _expected_distance(each: Floats) -> Floats:
    """How far answers of two different raters are apart if each answers at random with their own frequencies.

    `each` has, for each resample and rater, the number of answers, the sum of their squares and their sums.
    """
    number, squares, sums = each[:, :, 0], each[:, :, 1], each[:, :, 2:]
    if each.shape[1] == 1:
        mean = quotient(sums[:, 0], np.broadcast_to(number, sums[:, 0].shape))
        size = quotient(squares[:, 0], number[:, 0])
        value = 2 * (size - (mean**2).sum(axis=1))
    else:
        total = number.sum(axis=1)
        pairs = total**2 - (number**2).sum(axis=1)
        lengths = 2 * (squares.sum(axis=1) * total - (squares * number).sum(axis=1))
        crossed = (sums.sum(axis=1) ** 2).sum(axis=1) - (sums**2).sum(axis=(1, 2))
        value, size = quotient(lengths - 2 * crossed, pairs), quotient(lengths, pairs)
    return np.where(value > ROUNDING * size, value, 0.0)  # what rounding leaves is 0
