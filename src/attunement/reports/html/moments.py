"""The mean of scores that come in conversations, and its interval, without keeping the scores.

The same figures as `agreement.means.mean` with conversations, from sums that take the same room for ten conversations
and for a million.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from attunement.agreement.means import t_interval
from attunement.agreement.results import Interval, Undefined


@dataclass
class Moments:
    """Sums over conversations of their numbers of values, of their totals, and of the products of both."""

    conversations: int = 0
    values: int = 0
    total: float = 0.0
    counts_squared: int = 0
    totals_squared: float = 0.0
    counts_by_totals: float = 0.0

    def add(self, values: Sequence[float]) -> None:
        """Take in the values of one conversation."""
        if not values:
            return
        count, total = len(values), float(sum(values))
        self.conversations += 1
        self.values += count
        self.total += total
        self.counts_squared += count * count
        self.totals_squared += total * total
        self.counts_by_totals += count * total

    @property
    def mean(self) -> float | None:
        """The mean of all values."""
        return self.total / self.values if self.values else None

    def interval(self, level: float = 0.95) -> Interval | Undefined:
        """The cluster-robust interval of the mean, or why there is none."""
        mean, count = self.mean, self.conversations
        if mean is None or count < 2:
            return Undefined("an interval needs several conversations")
        # The sum of (total - mean * number of values) squared, over conversations.
        squares = self.totals_squared - 2 * mean * self.counts_by_totals + mean * mean * self.counts_squared
        error = (count / (count - 1) * max(squares, 0.0)) ** 0.5 / self.values
        # What is left of equal values is rounding, which grows with the sums.
        error = error if squares > 1e-12 * max(self.totals_squared, 1.0) else 0.0
        return t_interval(mean, error, count, "conversations", level)
