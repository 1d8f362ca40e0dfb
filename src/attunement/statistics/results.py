"""What a statistic returns: a number in its own named result, or `Undefined` with the reason. Nothing returns NaN."""

from dataclasses import dataclass, field
from typing import NamedTuple

LEVEL = 0.95
"""How often our intervals contain the true value."""
# Below ten clusters neither the t quantiles nor any bootstrap keep their promise.
FEWEST_CLUSTERS = 10


@dataclass(frozen=True, slots=True)
class Undefined:
    """There is no such number for these ratings; `reason` explains why to a reader of a report."""

    reason: str
    kind: str = field(default="", compare=False, repr=False)
    """The reason without the numbers that differ from item to item, where it has such numbers."""
    too_few: bool = field(default=False, compare=False, repr=False)
    """More conversations (or units) would give the number."""

    def __str__(self) -> str:
        return f"undefined: {self.reason}"


class Interval(NamedTuple):
    """A confidence interval, how it was computed, and the standard error behind it."""

    low: float
    high: float
    level: float
    method: str
    se: float


def too_few(count: int, what: str) -> Undefined | None:
    """The reason why `count` conversations (or units) give no interval; None where they do."""
    if count >= FEWEST_CLUSTERS:
        return None
    reason = f"too few {what}: {count}, and an interval needs at least {FEWEST_CLUSTERS}"
    return Undefined(reason, kind=f"too few {what}", too_few=True)
