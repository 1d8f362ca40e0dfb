"""What would people's mean score be over all units, when they rated a sample and a judge rated everything?

Prediction-powered inference takes the judge's mean over many units and corrects it by how far the judge is off where
people rated too. How far the judge is trusted (lambda) is chosen from the data: 0 gives the people's mean alone, so a
useless judge costs nothing. The people's sample must be a random one of the same units.

Sources: A. Angelopoulos et al., Science 382 (2023), and PPI++: Efficient Prediction-Powered Inference (2023). Standard
errors over conversations: see `estimates.mean`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attunement.statistics.estimates import Mean, mean
from attunement.statistics.results import LEVEL, Interval, Undefined, too_few
from attunement.statistics.tables import Bools, Floats, cluster_sums, clusters, normal_quantile, pairs, t_quantile


class PredictionPowered(NamedTuple):
    """The corrected mean, and the judge's and the people's own."""

    value: float
    se: float
    interval: Interval | Undefined
    trust: float  # lambda
    people_only: Mean | Undefined
    judge_only: Mean | Undefined
    gain: float  # how many times as many ratings people would have to give for the same precision


def prediction_powered_mean(
    people: ArrayLike,
    judge: ArrayLike,
    judge_unlabelled: ArrayLike,
    *,
    conversations: tuple[ArrayLike, ArrayLike] | None = None,
    weights: ArrayLike | None = None,
    trust: float | None = None,
) -> PredictionPowered | Undefined:
    """The mean that people would give, corrected for the judge's error.

    With conversations the interval is cluster-robust, with Student's t; without, it is the published one for
    independent units, with normal quantiles.

    Args:
        people: People's scores of a random sample of units.
        judge: The judge's scores of the same units.
        judge_unlabelled: The judge's scores of units that people did not rate.
        conversations: For each unit of the sample, and for each unlabelled one, its conversation. The same
            conversation may have units of both kinds.
        weights: For each unit of the sample one over its probability of being drawn.
        trust: Lambda; chosen to make the standard error small where it is None.

    Returns:
        `Undefined` where people or the judge have no scores. The interval needs 10 labelled conversations (or units).
    """
    scores, complete = pairs(people, judge)
    alone = np.asarray(judge_unlabelled, dtype=np.float64)
    there = ~np.isnan(alone)
    labels = None if conversations is None else np.concatenate([np.asarray(each) for each in conversations])
    number, count = clusters(labels, len(scores) + len(alone))
    labelled, unlabelled = number[: len(scores)][complete], number[len(scores) :][there]
    by_people, by_judge = scores[complete].T
    alone = alone[there]
    if not len(by_people):
        return Undefined("no unit was rated by people and the judge")
    if not len(alone):
        return Undefined("no unit was rated by the judge alone")
    weight = np.ones(len(by_people)) if weights is None else np.asarray(weights, np.float64)[complete]
    weight = weight / weight.sum()
    people_mean, judge_mean, alone_mean = float(weight @ by_people), float(weight @ by_judge), float(alone.mean())
    # How far each cluster pulls the people's mean, and the judge's correction of it.
    people_pull = cluster_sums(labelled, weight * (by_people - people_mean), count)
    judge_pull = cluster_sums(unlabelled, (alone - alone_mean) / len(alone), count)
    judge_pull -= cluster_sums(labelled, weight * (by_judge - judge_mean), count)
    fitted = 2 if trust is None else 1
    if trust is None:
        if conversations is not None or weights is not None:
            squares = float(judge_pull @ judge_pull)
            trust = -float(people_pull @ judge_pull) / squares if squares > 0 else 0.0
        else:
            trust = _published_lambda(by_people, by_judge, alone)
        trust = min(max(trust, 0.0), 1.0)
    value = people_mean + trust * (alone_mean - judge_mean)
    has_label = np.bincount(labelled, minlength=count) > 0
    no_label = (np.bincount(unlabelled, minlength=count) > 0) & ~has_label
    pulls = people_pull + trust * judge_pull
    if conversations is None:
        se, freedom, people_se = float(np.sqrt((pulls**2).sum())), np.inf, float(np.sqrt((people_pull**2).sum()))
    else:
        se, freedom = _clustered_error(pulls, [(has_label, fitted), (no_label, 1)])
        people_se, _ = _clustered_error(people_pull, [(has_label, 1)])
    of_sample, of_rest = conversations or (None, None)
    return PredictionPowered(
        value=value,
        se=se,
        interval=_interval(value, se, freedom, int(has_label.sum())),
        trust=trust,
        people_only=mean(people, of_sample, weights),
        judge_only=mean(judge_unlabelled, of_rest),
        gain=(people_se / se) ** 2 if se > 0 else 1.0,
    )


def _published_lambda(people: Floats, judge: Floats, alone: Floats) -> float:
    spread = (1 + len(people) / len(alone)) * np.concatenate([judge, alone]).var(ddof=1)
    together = float(((people - people.mean()) * (judge - judge.mean())).mean())
    return together / float(spread) if spread > 0 else 0.0


def _clustered_error(pulls: Floats, groups: list[tuple[Bools, int]]) -> tuple[float, float]:
    """The standard error with Satterthwaite's degrees of freedom over groups of clusters.

    Each group comes with how many numbers were fitted on it: its mean, and lambda where that was chosen on it. Without
    counting lambda, simulated 95 % intervals covered 92.7 % with ten labelled conversations, with it 93.8 %.
    """
    variance, uncertainty = 0.0, 0.0
    for group, fitted in groups:
        count = int(group.sum())
        free = max(count - fitted, 1)
        part = count / free * float((pulls[group] ** 2).sum())
        variance, uncertainty = variance + part, uncertainty + part**2 / free
    return float(np.sqrt(variance)), variance**2 / uncertainty if uncertainty > 0 else 1.0


def _interval(value: float, se: float, freedom: float, labelled: int) -> Interval | Undefined:
    clustered = freedom < np.inf
    few = too_few(labelled, "labelled conversations" if clustered else "labelled units")
    if few:
        return few
    if se < 1e-12:
        return Undefined("no score differs from another, so this sample cannot show how far they vary")
    reach = (t_quantile(freedom, (1 + LEVEL) / 2) if clustered else normal_quantile((1 + LEVEL) / 2)) * se
    method = f"t({freedom:.0f}) over {labelled} labelled conversations" if clustered else "normal"
    return Interval(value - reach, value + reach, LEVEL, method, se)
