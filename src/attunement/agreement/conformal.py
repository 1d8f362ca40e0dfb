"""Which scores would people give, with a promised probability, where only the judge has answered?

Split conformal sets: the judge's score plus and minus a radius that held often enough where people rated too. The
promise holds for a unit of a new conversation, whatever the distribution, as long as conversations are exchangeable.

Sources: V. Vovk, A. Gammerman and G. Shafer, Algorithmic Learning in a Random World (2005); with several units a
conversation: Y. Lee, R. Barber and R. Willett, Distribution-free inference with hierarchical data (2023).
"""

from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attunement.agreement.results import Undefined
from attunement.agreement.tables import clusters, pairs


class ConformalSets(NamedTuple):
    """How far around the judge's score people's score lies with probability `promised`."""

    radius: float
    promised: float
    scale: tuple[int, ...]
    units: int
    clusters: int

    def scores(self, judged: float) -> tuple[int, ...]:
        """The scores on the scale that people may give where the judge says `judged`; empty where none is near."""
        return tuple(score for score in self.scale if abs(score - judged) <= self.radius + 1e-12)


def conformal_sets(
    judge: ArrayLike,
    people: ArrayLike,
    scale: Sequence[int],
    conversations: ArrayLike | None = None,
    *,
    promised: float = 0.9,
) -> ConformalSets | Undefined:
    """Calibrate sets of scores on units that a judge and people rated.

    Args:
        judge: The judge's score of each unit, calibrated or not, but not fitted on these units; NaN for none.
        people: The people's score of the same unit.
        scale: The scores people can give.
        conversations: For each unit the conversation it belongs to; each conversation counts the same.
        promised: How often a set shall hold the score that people give.

    Returns:
        `Undefined` where there are too few conversations for the promise, with the number that would do.
    """
    values, complete = pairs(judge, people)
    both = values[complete]
    labels = None if conversations is None else np.asarray(conversations)[complete]
    cluster, count = clusters(labels, len(both))
    # The new conversation itself may be the worst of all: it takes its share of the probability.
    needed = ceil(promised / (1 - promised) - 1e-9)
    if count < needed:
        what = "units" if conversations is None else "conversations"
        return Undefined(f"{count} {what} cannot promise {promised:.0%}; at least {needed} are needed")
    weight = 1 / ((count + 1) * np.bincount(cluster, minlength=count)[cluster])
    misses = np.abs(both[:, 0] - both[:, 1])
    order = np.argsort(misses, kind="stable")
    reached = np.cumsum(weight[order])
    place = min(int(np.searchsorted(reached, promised - 1e-12)), len(order) - 1)
    return ConformalSets(float(misses[order][place]), promised, tuple(scale), len(both), count)
