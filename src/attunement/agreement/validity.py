"""Is a judge valid on an item? By how it stands to people, and to judges that only count.

Valid: the judge's 95 % interval lies above the figure of the best trivial judge, and reaches that of person with
person. Weak: it lies above the best trivial judge only. Not valid: it does not. All are the same coefficient against
single people on the same units; intervals are clustered by conversation. Where no two people rated the same units, a
judge is weak at best. The differences are given too, with intervals of their own, and decide nothing.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from attunement.agreement.reliability import clustered_interval
from attunement.agreement.results import Interval, Undefined
from attunement.agreement.statistic import Statistic, difference
from attunement.agreement.tables import Ints
from attunement.signals.validity import Verdict


class Measured(NamedTuple):
    """A figure with its interval; both say why where there is none."""

    value: float | Undefined
    interval: Interval | Undefined
    units: int


class Stand(NamedTuple):
    """How a judge stands on an item."""

    verdict: Verdict
    judge: Measured
    best: str
    """The trivial judge that agrees best with people; empty where none is better than chance."""
    ahead: Measured
    """The judge minus that one, or minus chance."""
    gap: Measured | None
    """The judge minus person with person; None where no two people rated the same."""


def measured(statistic: Statistic, conversation: Ints) -> Measured:
    """A statistic with its clustered interval."""
    value, units = statistic.value(), int(statistic.entering.sum())
    if np.isnan(value):
        none = Undefined("all answers of one side are the same")
        return Measured(none, none, units)
    return Measured(value, clustered_interval(statistic, conversation), units)


def stand(judge: Statistic, people: Statistic | None, trivial: Mapping[str, Statistic], conversation: Ints) -> Stand:
    """Hold a judge against people and the trivial judges.

    Args:
        judge: Its agreement with any one person.
        people: The agreement of any two people, the same coefficient; None where no two rated the same.
        trivial: By name the agreement of judges that only count.
        conversation: For each unit its conversation. All statistics are over these units.
    """
    values = {name: statistic.value() for name, statistic in trivial.items()}
    better = {name: value for name, value in values.items() if value > 1e-9}
    best = max(better, key=better.__getitem__, default="")
    own = measured(judge, conversation)
    verdict = _verdict(own.interval, better.get(best, 0.0), None if people is None else people.value())
    ahead = measured(difference(judge, trivial[best]), conversation) if best else own
    gap = None if people is None else measured(difference(judge, people), conversation)
    return Stand(verdict, own, best, ahead, gap)


def _verdict(own: Interval | Undefined, trivial: float, people: float | None) -> Verdict:
    if isinstance(own, Undefined) or own.low <= trivial:
        return Verdict.NOT_VALID
    # Written so that a figure of people that has no value (NaN) is not reached.
    return Verdict.VALID if people is not None and own.high >= people else Verdict.WEAK
