"""What do a judge's scores mean on people's scale?

Isotonic calibration replaces each score of the judge by the mean that people gave, keeping the order. Ordinal
calibration gives the probability of each of people's answers. Either is to be fitted out of fold, so that no unit is
corrected with its own answer: `cross_fit` does that by conversation.

Sources: R. Barlow et al., Statistical Inference under Order Restrictions (1972); P. McCullagh, Journal of the Royal
Statistical Society B 42 (1980); V. Chernozhukov et al., Econometrics Journal 21 (2018), for cross-fitting.
"""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from attunement.statistics.results import Undefined
from attunement.statistics.tables import Floats, Ints, clusters, pairs, places

# A slope that takes the odds from one to e**50 within a standard deviation means that answers do not overlap at all.
SEPARATED = 50.0


class Calibrator(Protocol):
    """What corrects a judge's scores."""

    def corrected(self, judge: ArrayLike) -> Floats:
        """The scores on people's scale."""
        ...


class Isotonic(NamedTuple):
    """People's mean for each score of the judge, never falling."""

    judge: Floats
    people: Floats

    def corrected(self, judge: ArrayLike) -> Floats:
        """Between known scores along the line that joins them, beyond them the nearest."""
        return np.interp(np.asarray(judge, dtype=np.float64), self.judge, self.people)


class Ordinal(NamedTuple):
    """The proportional odds model: P(people <= answer) is the logistic of threshold - slope * judge."""

    answers: Floats
    thresholds: Floats
    slope: float

    def probabilities(self, judge: ArrayLike) -> Floats:
        """For each score of the judge the probability of each of people's answers."""
        scores = np.asarray(judge, dtype=np.float64).reshape(-1, 1)
        below = _logistic(self.thresholds - self.slope * scores)
        edges = np.ones((len(scores), 1))
        return np.diff(np.hstack([0 * edges, below, edges]), axis=1)

    def corrected(self, judge: ArrayLike) -> Floats:
        """The mean answer that people are expected to give."""
        return self.probabilities(judge) @ self.answers


class CrossFitted(NamedTuple):
    """Corrected scores, each from a calibrator that never saw its conversation."""

    corrected: Floats  # NaN where the judge gave no score
    fold: Ints
    folds: int


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
    """Fit people's scores by a function of the judge's that never falls.

    Args:
        judge: The judge's score of each unit, NaN for none.
        people: The people's score of the same unit.

    Returns:
        `Undefined` where no unit has both.
    """
    values, complete = pairs(judge, people)
    both = values[complete]
    if not len(both):
        return Undefined("no unit has both scores")
    scores, place, number = np.unique(both[:, 0], return_inverse=True, return_counts=True)
    means = np.bincount(place, weights=both[:, 1]) / number
    return Isotonic(scores, pool_adjacent_violators(means, number))


def ordinal(judge: ArrayLike, people: ArrayLike) -> Ordinal | Undefined:
    """Fit the probabilities of people's answers by the proportional odds model, by maximum likelihood.

    Args:
        judge: The judge's score of each unit, NaN for none.
        people: The people's answer to the same unit. Answers that never occur get no probability.

    Returns:
        `Undefined` where either side does not vary, and where the judge's scores part people's answers without any
        overlap, since then the slope has no finite estimate.
    """
    # The import takes half a second, and only this function needs it.
    from scipy.optimize import minimize

    values, complete = pairs(judge, people)
    both = values[complete]
    if not len(both):
        return Undefined("no unit has both scores")
    for column, who in zip(both.T, ("the judge's score", "the people's answer"), strict=True):
        if column.min() == column.max():
            return Undefined(f"{who} is {column[0]:g} everywhere")
    scores, answers = np.unique(both[:, 0]), np.unique(both[:, 1])
    middle, spread = both[:, 0].mean(), both[:, 0].std()
    table = np.zeros((len(scores), len(answers)))
    np.add.at(table, (places(both[:, 0]), places(both[:, 1])), 1)
    standard = (scores - middle) / spread

    def loss(parameters: Floats) -> float:
        thresholds, slope = _unpacked(parameters)
        chances = Ordinal(answers, thresholds, slope).probabilities(standard)
        return float(-(table * np.log(np.maximum(chances, 1e-300))).sum() / len(both))

    below = np.cumsum(table.sum(axis=0))[:-1] / len(both)
    start = np.log(below / (1 - below))
    first = np.concatenate([start[:1], np.log(np.maximum(np.diff(start), 1e-3)), [0.0]])
    found = minimize(loss, first, method="BFGS", options={"gtol": 1e-7})
    thresholds, slope = _unpacked(np.asarray(found.x, dtype=np.float64))
    if abs(slope) > SEPARATED or found.fun < 1e-6:
        return Undefined("the judge's scores part people's answers without any overlap")
    return Ordinal(answers, thresholds + slope * middle / spread, float(slope / spread))


def cross_fit(
    fit: Callable[[Floats, Floats], Calibrator | Undefined],
    judge: ArrayLike,
    people: ArrayLike,
    conversations: ArrayLike | None = None,
    *,
    folds: int = 5,
    seed: int = 0,
) -> CrossFitted | Undefined:
    """Correct each unit's score with a calibrator fitted on the conversations of the other folds.

    Args:
        fit: `isotonic` or `ordinal`.
        judge: The judge's score of each unit, NaN for none.
        people: The people's score of the same unit, NaN for none; such a unit is corrected but not fitted on.
        conversations: For each unit the conversation it belongs to, which stays in one fold.
        folds: How many parts there are; not more than conversations.
        seed: Of the random division into folds.

    Returns:
        `Undefined` where there are not two conversations, or a fit in some fold has no result.
    """
    values, _ = pairs(judge, people)
    cluster, count = clusters(conversations, len(values))
    if count < 2:
        return Undefined("cross-fitting needs two conversations")
    folds = min(folds, count)
    fold = (np.random.default_rng(seed).permutation(count) % folds)[cluster]
    corrected = np.full(len(values), np.nan)
    for number in range(folds):
        inside = fold == number
        calibrator = fit(values[~inside, 0], values[~inside, 1])
        if isinstance(calibrator, Undefined):
            return Undefined(f"without fold {number + 1} of {folds}, {calibrator.reason}")
        given = inside & ~np.isnan(values[:, 0])
        corrected[given] = calibrator.corrected(values[given, 0])
    return CrossFitted(corrected, fold, folds)


def _unpacked(parameters: Floats) -> tuple[Floats, float]:
    """Thresholds stay in order because only the logarithms of their gaps are free."""
    return np.cumsum(np.concatenate([parameters[:1], np.exp(parameters[1:-1])])), float(parameters[-1])


def _logistic(values: Floats) -> Floats:
    return 0.5 * (1 + np.tanh(values / 2))
