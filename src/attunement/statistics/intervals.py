"""Confidence intervals of agreement, over whole conversations because units of one conversation resemble each other.

A coefficient is one minus a disagreement, which lies between none and the most that the raters' own answers allow. So
it is a share, and it gets the interval of a share: Clopper and Pearson's, for an effective number of units as Korn and
Graubard use it. That number follows from the variance over conversations (the infinitesimal jackknife) and is at most
the number of ratings that tell anything: where one answer is rare, those with the rare answer. So perfect agreement on
two failures has a wide interval, however many units were fine.

`benchmarks/coverage.py` shows how often these intervals contain the true value.

Sources: C. Clopper and E. Pearson, Biometrika 26 (1934); E. Korn and B. Graubard, Survey Methodology 24 (1998);
B. Efron and R. Tibshirani, An Introduction to the Bootstrap (1993), chapter 21; for differences, G. Zou, Psychological
Methods 12 (2007).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from attunement.statistics.results import LEVEL, Interval, Undefined, too_few
from attunement.statistics.tables import (
    Bools,
    Floats,
    Ints,
    beta_quantile,
    cluster_sums,
    clusters,
    normal_quantile,
    t_quantile,
)

TINY = 1e-12
"""A variance below this is rounding."""
DOUBT = 2.0
"""How many disagreements the assumed likeness of a conversation's units counts for, against what is observed."""
LIKENESS = 0.5
"""How alike units of one conversation are taken to be (their ICC) where nothing is observed."""


@dataclass(frozen=True)
class Statistic:
    """An agreement coefficient as a function of sums over units, so that every unit's influence on it is known.

    `of` takes rows of totals and gives one value a row, NaN where there is none. `parts` has a row for each pattern of
    unit; `pattern` says which row a unit has. Units that do not enter have a row of zeros.
    """

    parts: Floats
    of: Callable[[Floats], Floats]
    pattern: Ints
    lowest: float  # the value if raters disagreed as much as their answers allow
    spread: Floats  # for each pattern, what its ratings add to the disagreement expected by chance
    informative: float  # how many ratings carry that spread
    expected: float = float("nan")  # the agreement expected by chance, where it is asked for
    by_pattern: bool = False  # whether sums may only change as units change them, because they depend on each other

    @property
    def totals(self) -> Floats:
        return np.bincount(self.pattern, minlength=len(self.parts)).astype(np.float64) @ self.parts

    @property
    def entering(self) -> Bools:
        return (np.count_nonzero(self.parts, axis=1) > 0)[self.pattern]

    def value(self) -> float:
        return float(self.of(self.totals[None, :])[0])

    def influence(self) -> Floats:
        """How far each unit pulls the value, by numerical differentiation."""
        totals = self.totals
        if self.by_pattern:
            step = 1e-5 * self.parts
            return ((self.of(totals + step) - self.of(totals - step)) / 2e-5)[self.pattern]
        step = np.diag(1e-5 * np.maximum(np.abs(totals), 1.0))
        slope = (self.of(totals + step) - self.of(totals - step)) / (2 * step.diagonal())
        return (self.parts @ slope)[self.pattern]


def effective_number(weights: Floats) -> float:
    """How many units of equal weight are worth as much as these (Kish)."""
    return float(weights.sum() ** 2 / max(float((weights**2).sum()), TINY)) if len(weights) else 0.0


class Share(NamedTuple):
    """What is known about a share: its value, each unit's pull on it, and how many units could show it at most."""

    value: float
    pull: Floats
    cluster: Ints
    clusters: int
    most: float
    size: float  # units in a conversation, on average

    def bounds(self) -> tuple[float, float]:
        """Clopper and Pearson's bounds for the effective number of units."""
        share = min(max(self.value, 0.0), 1.0)
        alone = float((self.pull**2).sum())
        units = self.most
        if alone >= TINY and 0 < share < 1:
            shown = share * (1 - share) / alone
            # With little disagreement, or hardly anything else, a variance says little.
            seen = self.most * min(share, 1 - share)
            units = min(shown, (seen + DOUBT) / (seen / shown + DOUBT / self.most))
        if self.size > 1 + TINY:
            # How alike units of a conversation are is observed only where there is disagreement.
            seen = units * min(share, 1 - share)
            together = float((cluster_sums(self.cluster, self.pull, self.clusters) ** 2).sum())
            observed = together / alone if alone >= TINY else 1.0
            units /= (seen * observed + DOUBT * (1 + (self.size - 1) * LIKENESS)) / (seen + DOUBT)
        count = self.clusters
        units *= (count - 1) / count * (normal_quantile(_UPPER) / t_quantile(count - 1, _UPPER)) ** 2
        return fractional_bounds(share * units, units)

    def error(self) -> float:
        """The standard error over conversations."""
        together = cluster_sums(self.cluster, self.pull, self.clusters)
        return float(np.sqrt((together**2).sum() * self.clusters / (self.clusters - 1)))


_UPPER = (1 + LEVEL) / 2


def fractional_bounds(events: float, units: float) -> tuple[float, float]:
    """Clopper and Pearson's two-sided bounds, where the numbers need not be whole."""
    low = beta_quantile(events, units - events + 1, 1 - _UPPER) if events > 1e-9 else 0.0
    high = beta_quantile(events + 1, units - events, _UPPER) if units - events > 1e-9 else 1.0
    return low, high


def agreement_interval(statistic: Statistic, conversation: Ints) -> Interval | Undefined:
    """The interval of a coefficient over whole conversations.

    Args:
        statistic: For example `alpha_statistic(ratings)`.
        conversation: For each unit its conversation.

    Returns:
        `Undefined` below 10 conversations, and where the statistic has no value.
    """
    found = _share(statistic, conversation)
    if isinstance(found, Undefined):
        return found
    low, high = found.bounds()
    span = 1 - statistic.lowest
    method = f"effective sample size, over {found.clusters} conversations"
    return Interval(1 - high * span, 1 - low * span, LEVEL, method, found.error() * span)


def _share(statistic: Statistic, conversation: Ints) -> Share | Undefined:
    """The disagreement as a share of the most that was possible."""
    value, span = statistic.value(), 1 - statistic.lowest
    if np.isnan(value) or span < TINY:
        return Undefined("the statistic has no value on this sample")
    entering = statistic.entering
    cluster, count = clusters(conversation[entering], int(entering.sum()))
    few = too_few(count, "conversations")
    if few:
        return few
    spread = statistic.spread[statistic.pattern][entering]
    size = max(effective_number(spread) / max(effective_number(cluster_sums(cluster, spread, count)), TINY), 1.0)
    size = 1.0 if count == len(cluster) else size
    pull = statistic.influence()[entering] / span
    return Share((1 - value) / span, pull, cluster, count, statistic.informative / span, size)


class Difference(NamedTuple):
    value: float
    interval: Interval | Undefined


def agreement_difference(
    first: Statistic, second: Statistic, conversations: tuple[Ints, Ints]
) -> Difference | Undefined:
    """The first coefficient minus the second, with an interval from those of the two and how they go together.

    Args:
        first: A coefficient.
        second: Another one, of the same conversations.
        conversations: For each unit of the first, and of the second, its conversation.
    """
    values = first.value(), second.value()
    if np.isnan(values).any():
        return Undefined("one of the two has no value")
    value = values[0] - values[1]
    one, other = (agreement_interval(*each) for each in zip((first, second), conversations, strict=True))
    if isinstance(one, Undefined) or isinstance(other, Undefined):
        return Difference(value, one if isinstance(one, Undefined) else other)
    number, count = clusters(np.concatenate(conversations), sum(map(len, conversations)))
    parts = np.split(number, [len(conversations[0])])
    pulls = [cluster_sums(part, each.influence(), count) for part, each in zip(parts, (first, second), strict=True)]
    size = float(np.sqrt((pulls[0] ** 2).sum() * (pulls[1] ** 2).sum()))
    together = float(pulls[0] @ pulls[1]) / size if size > TINY else 0.0

    def reach(own: float, theirs: float) -> float:
        return float(np.sqrt(max(own**2 + theirs**2 - 2 * together * own * theirs, 0.0)))

    low = value - reach(values[0] - one.low, other.high - values[1])
    high = value + reach(one.high - values[0], values[1] - other.low)
    error = float(np.sqrt(((pulls[0] - pulls[1]) ** 2).sum()))
    return Difference(value, Interval(low, high, LEVEL, f"from both intervals, over {count} conversations", error))


def spread_of_ratings(points: Floats, counts: Floats) -> tuple[Floats, float]:
    """How far each answer is from the mean answer, squared, and how many ratings carry that spread.

    Args:
        points: One row an answer: its place on a line, or one axis an answer where answers have no order.
        counts: How often each answer was given.
    """
    mean = counts @ points / max(float(counts.sum()), 1.0)
    apart = ((points - mean) ** 2).sum(axis=1)
    return apart, float((counts @ apart) ** 2 / max(float(counts @ apart**2), TINY))


def most_apart(points: Floats, first: Floats, second: Floats) -> float:
    """The mean squared distance of two raters who disagree as much as their frequencies of answers allow.

    Args:
        points: As in `spread_of_ratings`; answers on a line are in rising order.
        first: How often one of them gave each answer.
        second: How often the other did.
    """
    one, other = first / first.sum(), second / second.sum()
    if points.shape[1] > 1:  # without order, only an answer that both give more than half the time must coincide
        return 1 - max(float((one + other - 1).max()), 0.0)
    # The highest answers of one meet the lowest of the other.
    ends = np.cumsum(one), np.cumsum(other[::-1])
    cuts = np.union1d(np.round(ends[0], 12), np.round(ends[1], 12))
    width = np.diff(cuts, prepend=0.0)
    places = [np.minimum(np.searchsorted(end, cuts - width / 2), len(points) - 1) for end in ends]
    return float(width @ (points[places[0], 0] - points[::-1, 0][places[1]]) ** 2)


def lowest_agreement(points: Floats, counts: Floats, units: float) -> float:
    """Agreement beyond chance if the ratings of each unit were as far apart as these answers allow."""
    total = float(counts.sum())
    expected = 2 * float(counts @ spread_of_ratings(points, counts)[0]) / max(total, 1.0)
    if expected < TINY:
        return -1.0
    raters = max(total / max(units, 1.0), 2.0)
    return 1 - min(most_apart(points, counts, counts) / expected, raters / (raters - 1))
