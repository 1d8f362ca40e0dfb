"""Isotonic calibration: replace each score of the judge by the mean that people gave, keeping the order.

It is to be fitted out of fold, so that no unit is corrected with its own answer: `cross_fit` does that by conversation.

Sources: R. Barlow et al., Statistical Inference under Order Restrictions (1972); V. Chernozhukov et al.,
Econometrics Journal 21 (2018), for cross-fitting.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attunement.statistics.results import Undefined
from attunement.statistics.tables import Floats, clusters, pairs

FOLDS = 5


class Isotonic(NamedTuple):
    """People's mean for each score of the judge, never falling."""

    judge: Floats
    people: Floats

    def corrected(self, judge: ArrayLike) -> Floats:
        """Between known scores along the line that joins them, beyond them the nearest."""
        return np.interp(np.asarray(judge, dtype=np.float64), self.judge, self.people)


def pool_adjacent_violators(values: ArrayLike, weights: ArrayLike | None = None) -> Floats:
    """The nearest sequence, in weighted squares, that never falls."""
    levels: list[tuple[float, float, int]] = []
    heights = np.asarray(values, dtype=np.float64)
    masses = np.ones(len(heights)) if weights is None else np.asarray(weights, dtype=np.float64)
    for height, mass in zip(heights.tolist(), masses.tolist(), strict=True):
        level = (height, mass, 1)
        while levels and levels[-1][0] >= level[0]:
            before = levels.pop()
            total = before[1] + level[1]
            level = ((before[0] * before[1] + level[0] * level[1]) / total, total, before[2] + level[2])
        levels.append(level)
    return np.repeat([level[0] for level in levels], [level[2] for level in levels])


def isotonic(judge: ArrayLike, people: ArrayLike) -> Isotonic | Undefined:
    """Fit people's scores by a function of the judge's that never falls; `Undefined` where no unit has both."""
    values, complete = pairs(judge, people)
    both = values[complete]
    if not len(both):
        return Undefined("no unit has both scores")
    scores, place, number = np.unique(both[:, 0], return_inverse=True, return_counts=True)
    means = np.bincount(place, weights=both[:, 1]) / number
    return Isotonic(scores, pool_adjacent_violators(means, number))


def cross_fit(judge: ArrayLike, people: ArrayLike, conversations: ArrayLike, *, seed: int = 0) -> Floats | Undefined:
    """Each unit's score of the judge, corrected with a fit on the conversations of the other folds.

    Args:
        judge: The judge's score of each unit.
        people: The people's score of the same unit.
        conversations: For each unit the conversation it belongs to, which stays in one fold.
        seed: Of the random division into folds.

    Returns:
        `Undefined` where there are not two conversations.
    """
    values, _ = pairs(judge, people)
    cluster, count = clusters(conversations, len(values))
    if count < 2:
        return Undefined("cross-fitting needs two conversations")
    folds = min(FOLDS, count)
    fold = (np.random.default_rng(seed).permutation(count) % folds)[cluster]
    corrected = np.full(len(values), np.nan)
    for number in range(folds):
        inside = fold == number
        calibrator = isotonic(values[~inside, 0], values[~inside, 1])
        if isinstance(calibrator, Undefined):
            return calibrator
        corrected[inside] = calibrator.corrected(values[inside, 0])
    return corrected
