"""How large a sample must be, and what a sample can show.

Normal approximations, as for planning; the analysis itself uses exact and clustered methods. Units of one
conversation count less than independent ones: each conversation of m units is worth m / (1 + (m - 1) * ICC).

Sources: J. Cohen, Statistical Power Analysis for the Behavioral Sciences (1988); L. Kish, Survey Sampling (1965); for
agreement, D. Bonett, Statistics in Medicine 21 (2002).
"""

from math import ceil, floor, log

from attunement.statistics.estimates import lower_bound
from attunement.statistics.results import FEWEST_CLUSTERS, LEVEL, Interval, Undefined
from attunement.statistics.tables import normal_quantile

LIKENESS = 0.5
"""How alike replies of one conversation are taken to be (their ICC) where nothing is known: the simulations behind our
intervals take the same."""
# So that rounding does not turn a whole number of units into one more or one less.
SLACK = 1e-9


def design_effect(units_per_conversation: float, icc: float) -> float:
    """By how much the variance of a mean grows because units of one conversation resemble each other."""
    return 1 + (units_per_conversation - 1) * icc


def detectable_effect(interval: Interval) -> float:
    """The smallest effect that a sample which gave this interval shows in four of five cases.

    It is shown where the interval excludes zero, so that with few conversations Student's t counts here too.
    """
    return (interval.high - interval.low) / 2 + normal_quantile(0.8) * interval.se


def sample_size_for_width(variance: float, half_width: float) -> int | Undefined:
    """How many units give an interval that reaches `half_width` to either side of the mean; not for a width of 0."""
    if half_width == 0:
        return Undefined("no number of units gives an interval without width")
    return ceil((normal_quantile((1 + LEVEL) / 2) / half_width) ** 2 * variance - SLACK)


def units_without_failure(bound: float, *, level: float = LEVEL) -> int | Undefined:
    """How many units without a single failure show that at most the share `bound` fails (one-sided).

    Returns:
        `Undefined` for a bound of zero: that nothing ever fails cannot be shown.
    """
    if bound <= 0:
        return Undefined("no number of units shows that nothing ever fails")
    return ceil(log(1 - level) / log(1 - bound) - SLACK)


def failures_needed(recall: float, bound: float) -> int | Undefined:
    """How many failures people must label so that a judge that catches the share `recall` is shown to exceed `bound`.

    The bound is the lower end of the two-sided exact interval.

    Returns:
        `Undefined` where the recall is not above the bound.
    """
    if recall <= bound:
        return Undefined(f"a recall of {recall:g} is not above {bound:g}")

    def shown(units: int) -> bool:
        return lower_bound(floor(recall * units + SLACK), units, level=(1 + LEVEL) / 2) >= bound

    # A recall just above the bound needs very many units: large steps find about how many, single ones how many.
    units = 1
    while not shown(units):
        units += max(1, units // 20)
    while units > 1 and shown(units - 1):
        units -= 1
    return units


def units_for_agreement(expected: float, bound: float, raters: int) -> int | Undefined:
    """How many units, rated by so many raters, put the lower end of agreement's interval at `bound`.

    The formula is that of the intraclass correlation, which ordinal and interval alpha come close to.

    Returns:
        `Undefined` where the expected agreement is not above the bound.
    """
    if expected <= bound:
        return Undefined(f"an agreement of {expected:g} is not above {bound:g}")
    z = normal_quantile((1 + LEVEL) / 2)
    width = 2 * (expected - bound)
    spread = 8 * z**2 * (1 - expected) ** 2 * (1 + (raters - 1) * expected) ** 2
    return ceil(spread / (raters * (raters - 1) * width**2) + 1)


def conversations_for_agreement(expected: float, bound: float, raters: int, units: float) -> int | Undefined:
    """The same in conversations of so many units each, which resemble each other; ten are the least."""
    count = units_for_agreement(expected, bound, raters)
    if isinstance(count, Undefined):
        return count
    return max(FEWEST_CLUSTERS, ceil(count * design_effect(units, LIKENESS) / units))
