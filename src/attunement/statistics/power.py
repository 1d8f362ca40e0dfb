"""How large a sample must be, and what a sample can show.

Where a verdict follows from an interval, the number is found by simulating studies under that verdict's own rule. Units
of one conversation count less than independent ones.

Sources: J. Cohen, Statistical Power Analysis for the Behavioral Sciences (1988); L. Kish, Survey Sampling (1965).
"""

from collections.abc import Callable, Sequence
from math import ceil, sqrt

import numpy as np

from attunement.statistics.results import FEWEST_CLUSTERS, LEVEL, Interval
from attunement.statistics.tables import Floats, Ints, normal_quantile

ASSURANCE = 0.8
"""The chance of a verdict that a sample size is given for."""
MOST = 10_000
"""More conversations than this nobody rates to settle a question."""
LIKENESS = 0.5
"""How alike replies of one conversation are taken to be (their ICC) where nothing is known: the simulations behind our
intervals take the same."""
_SLACK = 1e-9  # so that rounding does not turn a whole number of units into one more


def design_effect(units_per_conversation: float, icc: float) -> float:
    """By how much the variance of a mean grows because units of one conversation resemble each other."""
    return 1 + (units_per_conversation - 1) * icc


def detectable_effect(interval: Interval) -> float:
    """The smallest effect that a sample which gave this interval shows in four of five cases.

    It is shown where the interval excludes zero, so that with few conversations Student's t counts here too.
    """
    return (interval.high - interval.low) / 2 + normal_quantile(ASSURANCE) * interval.se


def sample_size_for_width(variance: float, half_width: float) -> int:
    """How many units give an interval that reaches `half_width`, which is above 0, to either side of the mean."""
    return ceil((normal_quantile((1 + LEVEL) / 2) / half_width) ** 2 * variance - _SLACK)


def smallest_sample(chance: Callable[[int], float], start: int = 100) -> int | None:
    """The smallest number with a chance of `ASSURANCE`; None where `MOST` are too few.

    `chance` may be estimated by simulation. The number is found with the normal approximation, in which the chance
    follows from the root of the number, and tried until the approximation gives what was tried.
    """
    reach = normal_quantile((1 + LEVEL) / 2)
    number = start
    for _ in range(7):
        found = chance(number)
        if number == MOST and found < ASSURANCE:
            return None
        slope = (normal_quantile(min(max(found, 0.01), 0.99)) + reach) / sqrt(number)
        wanted = (normal_quantile(ASSURANCE) + reach) / max(slope, _SLACK)
        better = min(max(ceil(wanted**2), FEWEST_CLUSTERS), MOST)
        if abs(better - number) <= 0.05 * number:
            return number if better == MOST and number < MOST else better
        number = better
    return number


def simulated_ratings(
    rng: np.random.Generator, conversations: int, units: int, raters: int, agreement: float, shares: Sequence[float]
) -> tuple[Floats, Ints]:
    """Ratings of raters who know the true answer of a unit, or give one by chance, with this alpha; conversations.

    Args:
        rng: The source of chance.
        conversations: How many there are.
        units: How many each has; their true answers have an ICC of `LIKENESS`.
        raters: How many rate each unit.
        agreement: Their true alpha, on any scale.
        shares: How common each answer is.
    """
    size = conversations, units
    common, own = rng.choice(len(shares), (conversations, 1), p=shares), rng.choice(len(shares), size, p=shares)
    true = np.where(rng.random(size) < sqrt(LIKENESS), common, own) if units > 1 else own
    guesses = rng.choice(len(shares), (conversations * units, raters), p=shares)
    knows = rng.random(guesses.shape) < sqrt(agreement)
    ratings = np.where(knows, true.reshape(-1, 1), guesses).astype(np.float64)
    return ratings, np.repeat(np.arange(conversations), units)
