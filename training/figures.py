"""How good is a scorer on what it did not see?

Thresholds that turn expected levels into levels are chosen without the fold they are applied to. Agreement is weighted
kappa with people's labels; intervals resample whole groups (posts, contexts), because pairs of one group hang together.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from attunement.agreement.bootstrap import bootstrap
from attunement.agreement.kappa import kappa, kappa_statistic
from attunement.agreement.results import Undefined
from attunement.agreement.statistic import FromWeights, Statistic, difference
from training.corpora import FOLDS

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
LEVELS = (0, 1, 2)
# Finer steps only follow the noise: the 95 % interval of a kappa here is .05 wide.
_GRID = np.round(np.arange(0.1, 1.9, 0.05), 2)


def as_levels(expected: Floats, thresholds: Sequence[float]) -> Ints:
    """Expected levels as whole ones."""
    return (expected[:, None] > np.array(thresholds)).sum(axis=1)


def choose_thresholds(expected: Floats, people: Ints) -> list[float]:
    """The two thresholds with which weighted kappa with people is highest; counts are tried at their own values."""
    grid = _GRID if expected.max() <= max(LEVELS) else np.unique(np.quantile(expected, np.linspace(0, 1, 21)))

    def agreement(thresholds: Sequence[float]) -> float:
        found = kappa(as_levels(expected, thresholds), people, "quadratic", categories=LEVELS)
        return -1.0 if isinstance(found, Undefined) else found.value

    choices = [(float(low), float(high)) for low in grid for high in grid if low < high]
    return list(max(choices, key=agreement))


def cross_fitted(expected: Floats, people: Ints, folds: Ints) -> Ints:
    """Levels of each fold by thresholds chosen on the other folds."""
    levels = np.zeros(len(people), np.int64)
    for fold in range(FOLDS):
        held = folds == fold
        levels[held] = as_levels(expected[held], choose_thresholds(expected[~held], people[~held]))
    return levels


def with_interval(statistic: Statistic, groups: Sequence[str] | None, n: int, named: str = "posts") -> dict[str, Any]:
    """A figure with its n and 95 % interval, as it stands in the results."""
    interval = bootstrap(statistic, groups, named=named)
    if isinstance(interval, Undefined):
        return {"value": round(statistic.value(), 4), "n": n, "interval": None, "why": interval.reason}
    return {
        "value": round(statistic.value(), 4),
        "n": n,
        "interval": [round(interval.low, 4), round(interval.high, 4)],
        "method": interval.method,
    }


def agreement_figure(levels: Ints, people: Ints, groups: Sequence[str]) -> dict[str, Any]:
    """Weighted kappa of levels with people's."""
    return with_interval(kappa_statistic(levels, people, "quadratic", categories=LEVELS), groups, len(people))


def agreement_difference(one: Ints, other: Ints, people: Ints, groups: Sequence[str]) -> dict[str, Any]:
    """How much nearer the first is to people than the second."""
    first, second = (kappa_statistic(levels, people, "quadratic", categories=LEVELS) for levels in (one, other))
    return with_interval(difference(first, second), groups, len(people))


def auc_statistic(scores: Floats, positive: NDArray[np.bool_]) -> FromWeights:
    """The chance that a positive unit scores above a negative one, ties counted half."""
    values, place = np.unique(scores, return_inverse=True)

    def of(weights: Floats) -> Floats:
        up, down = (np.zeros((len(weights), len(values))) for _ in range(2))
        for total, chosen in ((up, positive), (down, ~positive)):
            for at in np.flatnonzero(chosen):
                total[:, place[at]] += weights[:, at]
        below = np.cumsum(down, axis=1) - down / 2
        return (up * below).sum(axis=1) / (up.sum(axis=1) * down.sum(axis=1))

    return FromWeights(of, np.ones(len(scores), bool), lowest=0.0, highest=1.0)


def recall_at(scores: Floats, positive: NDArray[np.bool_], specificity: float) -> float:
    """The share of positive units above the score that this share of the negative ones stays below."""
    return float((scores[positive] > np.quantile(scores[~positive], specificity)).mean())


def trivial(pairs: Sequence[tuple[str, str]]) -> dict[str, Floats]:
    """What counting gives: words and question marks of the reply."""
    return {
        "words": np.array([len(reply.split()) for _, reply in pairs], float),
        "question marks": np.array([reply.count("?") for _, reply in pairs], float),
    }
