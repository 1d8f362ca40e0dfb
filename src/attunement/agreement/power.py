"""How many conversations does a wanted answer need, and what could a given number have shown?

Normal approximations, as for planning; the analysis itself uses exact and clustered methods. Units of one
conversation count less than independent ones: each conversation of m units is worth m / (1 + (m - 1) * ICC).

Sources: J. Cohen, Statistical Power Analysis for the Behavioral Sciences (1988); L. Kish, Survey Sampling (1965); for
agreement, D. Bonett, Sample size requirements for estimating intraclass correlations with desired precision, Statistics
in Medicine 21 (2002).
"""

from math import ceil, floor, log, sqrt

from attunement.agreement.distributions import normal_quantile
from attunement.agreement.proportions import lower_bound
from attunement.agreement.results import FEWEST_CLUSTERS, Interval, Undefined

# So that rounding does not turn a whole number of units into one more or one less.
SLACK = 1e-9
LIKENESS = 0.5
"""How alike replies of one conversation are taken to be (their ICC) where nothing is known: the simulations behind our
intervals take the same."""


def design_effect(units_per_conversation: float, icc: float) -> float:
    """By how much the variance of a mean grows because units of one conversation resemble each other."""
    return 1 + (units_per_conversation - 1) * icc


def sample_size(
    variance: float, effect: float, *, power: float = 0.8, level: float = 0.95, design: float = 1
) -> int | Undefined:
    """How many units (or pairs) show an effect of this size with this probability.

    Args:
        variance: Of one unit, or of one pair's difference where systems are compared on the same scenarios.
        effect: The smallest difference that matters, in points of the scale.
        power: With what probability it should be found where it exists.
        level: One minus the two-sided error rate.
        design: The design effect, where units come from shared conversations.

    Returns:
        `Undefined` for an effect of zero, which no number of units shows.
    """
    if effect == 0:
        return Undefined("no number of units shows an effect of zero")
    return ceil(_reach(power, level) ** 2 * variance * design / effect**2 - SLACK)


def minimal_detectable_effect(
    variance: float, units: int, *, power: float = 0.8, level: float = 0.95, design: float = 1
) -> float | Undefined:
    """The smallest effect that so many units show with this probability; the other arguments as for `sample_size`.

    Returns:
        `Undefined` where there are no units.
    """
    if units < 1:
        return Undefined("there are no units")
    return _reach(power, level) * sqrt(variance * design / units)


def detectable_effect(interval: Interval, *, power: float = 0.8) -> float:
    """The smallest effect that a sample which gave this interval shows with this probability.

    It is shown where the interval excludes zero, so that with few conversations Student's t counts here too.
    """
    return (interval.high - interval.low) / 2 + normal_quantile(power) * interval.se


def sample_size_for_width(
    variance: float, half_width: float, *, level: float = 0.95, design: float = 1
) -> int | Undefined:
    """How many units give an interval that reaches `half_width` to either side of the mean.

    Returns:
        `Undefined` for a width of zero.
    """
    if half_width == 0:
        return Undefined("no number of units gives an interval without width")
    return ceil((normal_quantile((1 + level) / 2) / half_width) ** 2 * variance * design - SLACK)


def units_without_failure(bound: float, *, level: float = 0.95) -> int | Undefined:
    """How many units without a single failure show that at most the share `bound` fails (one-sided).

    Returns:
        `Undefined` for a bound of zero: that nothing ever fails cannot be shown.
    """
    if bound <= 0:
        return Undefined("no number of units shows that nothing ever fails")
    return ceil(log(1 - level) / log(1 - bound) - SLACK)


def failures_needed(recall: float, bound: float, *, level: float = 0.95) -> int | Undefined:
    """How many failures people must label so that a judge that catches the share `recall` is shown to exceed `bound`.

    The bound is the lower end of the two-sided exact interval.

    Returns:
        `Undefined` where the recall is not above the bound.
    """
    if recall <= bound:
        return Undefined(f"a recall of {recall:g} is not above {bound:g}")

    def shown(units: int) -> bool:
        return lower_bound(floor(recall * units + SLACK), units, level=1 - (1 - level) / 2) >= bound

    # A recall just above the bound needs very many units: large steps find about how many, single ones how many.
    units = 1
    while not shown(units):
        units += max(1, units // 20)
    while units > 1 and shown(units - 1):
        units -= 1
    return units


def units_for_agreement(expected: float, bound: float, raters: int, *, level: float = 0.95) -> int | Undefined:
    """How many units, rated by so many raters, put the lower end of agreement's interval at `bound`.

    The formula is that of the intraclass correlation, which ordinal and interval alpha come close to.

    Returns:
        `Undefined` where the expected agreement is not above the bound.
    """
    if expected <= bound:
        return Undefined(f"an agreement of {expected:g} is not above {bound:g}")
    z = normal_quantile((1 + level) / 2)
    width = 2 * (expected - bound)
    spread = 8 * z**2 * (1 - expected) ** 2 * (1 + (raters - 1) * expected) ** 2
    return ceil(spread / (raters * (raters - 1) * width**2) + 1)


def conversations_for_agreement(expected: float, bound: float, raters: int, units: float) -> int | Undefined:
    """The same in conversations of so many units each, which resemble each other; ten are the least."""
    count = units_for_agreement(expected, bound, raters)
    if isinstance(count, Undefined):
        return count
    return max(FEWEST_CLUSTERS, ceil(count * design_effect(units, LIKENESS) / units))


def conversations_to_reach(value: float, low: float, bound: float, conversations: int) -> int:
    """How many conversations bring the lower end of an interval up to `bound`, if the value stays.

    Args:
        value: The figure, above the bound.
        low: The lower end of its interval now, below the bound.
        bound: Where the lower end should be.
        conversations: How many there are now. The interval narrows with the root of their number.
    """
    return max(ceil(conversations * ((value - low) / (value - bound)) ** 2 - SLACK), conversations + 1)


def _reach(power: float, level: float) -> float:
    return normal_quantile((1 + level) / 2) + normal_quantile(power)
