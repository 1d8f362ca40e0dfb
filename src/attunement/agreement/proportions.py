"""Shares of counted events with exact intervals, which keep their promise for small counts and for 0 or all.

Exact means: for units drawn independently with equal probability, one from each conversation. Otherwise use
`means.mean` with conversations and weights.

Source: C. Clopper and E. Pearson, Biometrika 26 (1934).
"""

from typing import NamedTuple

from attunement.agreement.distributions import beta_quantile
from attunement.agreement.results import Interval, Undefined


class Proportion(NamedTuple):
    """A share with its two-sided exact interval."""

    value: float
    events: int
    units: int
    interval: Interval


def proportion(events: int, units: int, *, level: float = 0.95) -> Proportion | Undefined:
    """The share of units with the event, with Clopper and Pearson's two-sided interval.

    Returns:
        `Undefined` where there is no unit.
    """
    if units == 0:
        return Undefined("there are no units")
    tail = (1 - level) / 2
    share = events / units
    interval = Interval(
        low=lower_bound(events, units, level=1 - tail),
        high=upper_bound(events, units, level=1 - tail),
        level=level,
        method=f"exact, two-sided, over {units} units",
        se=(share * (1 - share) / units) ** 0.5,
    )
    return Proportion(share, events, units, interval)


def lower_bound(events: int, units: int, *, level: float = 0.95) -> float:
    """The one-sided exact bound: the true share is at least this, wrong with probability `1 - level` at most.

    Raises:
        ValueError: There are no units, or more events than units.
    """
    _check(events, units)
    return 0.0 if events == 0 else beta_quantile(events, units - events + 1, 1 - level)


def upper_bound(events: int, units: int, *, level: float = 0.95) -> float:
    """The one-sided exact bound: the true share is at most this. With 0 events it is `1 - (1 - level) ** (1 / units)`.

    Raises:
        ValueError: There are no units, or more events than units.
    """
    _check(events, units)
    return 1.0 if events == units else beta_quantile(events + 1, units - events, level)


def _check(events: int, units: int) -> None:
    if not 0 <= events <= units or units == 0:
        raise ValueError(f"{events} events in {units} units is no share")
