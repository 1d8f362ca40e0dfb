"""Do two groups of different conversations pass equally often? Fisher's exact test.

Source: R. A. Fisher, Statistical Methods for Research Workers, 5th edition (1934); two-sided as the sum over all
tables that are no more probable than the one that was found.
"""

from math import exp, lgamma

from attunement.agreement.results import Undefined

# Tables that are exactly as probable as the one found must not be lost to rounding.
_TIE = 1e-7


def fisher(first_passed: int, first: int, second_passed: int, second: int) -> float | Undefined:
    """The two-sided p-value of equal pass rates in two independent groups.

    Args:
        first_passed: How many of the first group passed.
        first: How many there are.
        second_passed: How many of the second group passed.
        second: How many there are.

    Returns:
        `Undefined` where one of the groups is empty.
    """
    if not first or not second:
        return Undefined("one of the two has no conversation with a verdict")
    passed = first_passed + second_passed
    possible = range(max(0, passed - second), min(first, passed) + 1)
    # Logarithms, because the numbers of ways outgrow every float from a few hundred conversations on.
    ways = {count: _log_ways(first, count) + _log_ways(second, passed - count) for count in possible}
    most, found = max(ways.values()), ways[first_passed]
    chances = {count: exp(each - most) for count, each in ways.items()}
    as_rare = sum(chances[count] for count, each in ways.items() if each <= found + _TIE)
    return min(1.0, as_rare / sum(chances.values()))


def _log_ways(units: int, chosen: int) -> float:
    return lgamma(units + 1) - lgamma(chosen + 1) - lgamma(units - chosen + 1)
