"""What would people's mean score be over all units, when they rated a sample and a judge rated everything?

Prediction-powered inference takes the judge's mean over many units and corrects it by how far the judge is off where
people rated too. How far the judge is trusted (lambda) is chosen from the data: 0 gives the people's mean alone, so a
useless judge costs nothing. The people's sample must be a random one of the same units.

Sources: A. Angelopoulos et al., Science 382 (2023), and PPI++: Efficient Prediction-Powered Inference (2023). Standard
errors over conversations: see `estimates.mean`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attunement.statistics.estimates import Mean, mean
from attunement.statistics.results import Interval, Undefined, too_few
from attunement.statistics.tables import (
    Bools,
    Floats,
    Ints,
    cluster_sums,
    clusters,
    normal_quantile,
    pairs,
    t_quantile,
)


class Sample(NamedTuple):
    """One system's scores: a random sample of units that people rated, and units that only the judge rated.

    Scores are one a unit. Conversations say what each unit belongs to; the same conversation may have units of both
    kinds. Weights are one over the probability with which a labelled unit was sampled.
    """

    people: ArrayLike
    judge: ArrayLike
    judge_unlabelled: ArrayLike
    conversations: ArrayLike | None = None
    conversations_unlabelled: ArrayLike | None = None
    weights: ArrayLike | None = None


class PredictionPowered(NamedTuple):
    """The corrected mean beside the judge's and the people's own."""

    value: float
    se: float
    interval: Interval | Undefined
    trust: float  # lambda
    people_only: Mean | Undefined
    judge_only: Mean | Undefined
    gain: float  # how many times as many ratings people would have to give for the same precision


def prediction_powered_mean(
    sample: Sample, *, trust: float | None = None, level: float = 0.95
) -> PredictionPowered | Undefined:
    """The mean that people would give, corrected for the judge's error.

    With conversations the interval is cluster-robust, with Student's t; without, it is the published one for
    independent units, with normal quantiles.

    Args:
        sample: The scores.
        trust: Lambda; chosen to make the standard error small where it is None.
        level: How often intervals made this way hold the true value.

    Returns:
        `Undefined` where people or the judge have no scores. The interval needs 10 labelled conversations (or units).
    """
    side = _side(sample)
    return side if isinstance(side, Undefined) else _result(sample, side, trust, level)


class _Side(NamedTuple):
    """One sample, and how far each cluster pulls the people's mean and the judge's correction of it."""

    people_mean: float
    correction: float  # the judge's mean over the unlabelled units minus that over the labelled ones
    people: Floats
    judge: Floats
    labelled: Bools
    involved: Bools
    independent_trust: float  # lambda as published for independent units

    def pulls(self, trust: float) -> Floats:
        return self.people + trust * self.judge


class _Error(NamedTuple):
    se: float
    freedom: float


def _numbered(sample: Sample) -> tuple[Ints, Ints, int]:
    """Numbers of the clusters of labelled and of unlabelled units, one a conversation, and how many there are."""
    labelled, unlabelled = (len(np.asarray(scores)) for scores in (sample.people, sample.judge_unlabelled))
    if (sample.conversations is None) != (sample.conversations_unlabelled is None):
        raise ValueError("conversations are needed of labelled and unlabelled units, or of neither")
    labels = None
    if sample.conversations is not None and sample.conversations_unlabelled is not None:
        labels = np.concatenate([np.asarray(sample.conversations), np.asarray(sample.conversations_unlabelled)])
    number, count = clusters(labels, labelled + unlabelled)
    return number[:labelled], number[labelled:], count


def _side(sample: Sample) -> _Side | Undefined:
    labelled, unlabelled, count = _numbered(sample)
    scores, complete = pairs(sample.people, sample.judge)
    people, judge = scores[complete].T
    alone = np.asarray(sample.judge_unlabelled, dtype=np.float64)
    there = ~np.isnan(alone)
    alone, labelled, unlabelled = alone[there], labelled[complete], unlabelled[there]
    if not len(people):
        return Undefined("no unit was rated by people and the judge")
    if not len(alone):
        return Undefined("no unit was rated by the judge alone")
    weight = np.ones(len(people)) if sample.weights is None else np.asarray(sample.weights, np.float64)[complete]
    weight = weight / weight.sum()
    people_mean, judge_mean, alone_mean = float(weight @ people), float(weight @ judge), float(alone.mean())
    of_people = cluster_sums(labelled, weight * (people - people_mean), count)
    of_judge = cluster_sums(unlabelled, (alone - alone_mean) / len(alone), count)
    of_judge -= cluster_sums(labelled, weight * (judge - judge_mean), count)
    has_label = np.bincount(labelled, minlength=count) > 0
    spread = (1 + len(people) / len(alone)) * np.concatenate([judge, alone]).var(ddof=1)
    together = float(((people - people.mean()) * (judge - judge.mean())).mean())
    return _Side(
        people_mean=people_mean,
        correction=alone_mean - judge_mean,
        people=of_people,
        judge=of_judge,
        labelled=has_label,
        involved=has_label | (np.bincount(unlabelled, minlength=count) > 0),
        independent_trust=together / float(spread) if spread > 0 else 0.0,
    )


def _result(sample: Sample, side: _Side, trust: float | None, level: float) -> PredictionPowered:
    clustered = sample.conversations is not None
    fitted = 2 if trust is None else 1
    if trust is None:
        best = side.independent_trust
        if clustered or sample.weights is not None:
            squares = float(side.judge @ side.judge)
            best = -float(side.people @ side.judge) / squares if squares > 0 else 0.0
        trust = min(max(best, 0.0), 1.0)
    value = side.people_mean + trust * side.correction
    groups = [(side.labelled, fitted), (side.involved & ~side.labelled, 1)]
    error = _error(side.pulls(trust), groups, clustered)
    people_error = _error(side.people, [(side.labelled, 1)], clustered)
    return PredictionPowered(
        value=value,
        se=error.se,
        interval=_interval(value, error, int(side.labelled.sum()), clustered, level),
        trust=trust,
        people_only=mean(sample.people, sample.conversations, sample.weights, level=level),
        judge_only=mean(sample.judge_unlabelled, sample.conversations_unlabelled, level=level),
        gain=(people_error.se / error.se) ** 2 if error.se > 0 else 1.0,
    )


def _error(pulls: Floats, groups: Sequence[tuple[Bools, int]], clustered: bool) -> _Error:
    """The standard error with Satterthwaite's degrees of freedom over groups of clusters.

    Each group comes with how many numbers were fitted on it: its mean, and lambda where that was chosen on it. Without
    counting lambda, simulated 95 % intervals held 92.7 % with ten labelled conversations, with it 93.8 %.
    """
    if not clustered:
        return _Error(float(np.sqrt((pulls**2).sum())), np.inf)
    variance, uncertainty = 0.0, 0.0
    for group, fitted in groups:
        count = int(group.sum())
        free = max(count - fitted, 1)
        part = count / free * float((pulls[group] ** 2).sum())
        variance, uncertainty = variance + part, uncertainty + part**2 / free
    return _Error(float(np.sqrt(variance)), variance**2 / uncertainty if uncertainty > 0 else 1.0)


def _interval(value: float, error: _Error, labelled: int, clustered: bool, level: float) -> Interval | Undefined:
    few = too_few(labelled, "labelled conversations" if clustered else "labelled units")
    if few:
        return few
    if error.se < 1e-12:
        return Undefined("no score differs from another, so this sample cannot show how far they vary")
    quantile = t_quantile(error.freedom, (1 + level) / 2) if clustered else normal_quantile((1 + level) / 2)
    method = f"t({error.freedom:.0f}) over {labelled} labelled conversations" if clustered else "normal"
    return Interval(value - quantile * error.se, value + quantile * error.se, level, method, error.se)
