"""What a statistic answers when it has an answer, and what it answers when it has none.

Every function of this package returns its own named result or `Undefined` with the reason; none returns NaN. An
interval says its level and how it was made, so that no report has to guess.
"""

from dataclasses import dataclass, field
from typing import NamedTuple


@dataclass(frozen=True, slots=True)
class Undefined:
    """There is no such number for these ratings; `reason` says why, in words a reader of a report understands."""

    reason: str
    too_few: bool = field(default=False, compare=False, repr=False)
    """More conversations (or units) would give the number."""

    def __str__(self) -> str:
        return f"undefined: {self.reason}"


class Interval(NamedTuple):
    """From where to where the true value may lie, with the standard error it rests on."""

    low: float
    high: float
    level: float
    method: str
    se: float


# Below ten clusters neither the t quantiles nor any bootstrap keep what they promise.
FEWEST_CLUSTERS = 10


def too_few(count: int, what: str) -> Undefined | None:
    """The reason why `count` conversations (or units) carry no interval, or None where they do."""
    if count >= FEWEST_CLUSTERS:
        return None
    return Undefined(f"too few {what}: {count}, and an interval needs at least {FEWEST_CLUSTERS}", too_few=True)
