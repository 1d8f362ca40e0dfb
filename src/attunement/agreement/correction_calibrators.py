"""What do a judge's scores mean on people's scale, and what does that say of conversations nobody rated?

A calibrator is an isotonic fit of people's scores on the judge's. How good it is, is measured out of fold, by whole
conversations. It is kept with refits on resampled conversations, so that a mean it is applied to later carries the
doubt of the calibrator as well as its own. It holds as long as judge and talk stay as they were when it was fitted.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from attunement.agreement.calibration import Isotonic, cross_fit, isotonic
from attunement.agreement.correction import Pairs
from attunement.agreement.distributions import t_quantile
from attunement.agreement.means import Mean, mean
from attunement.agreement.results import FEWEST_CLUSTERS, Interval, Undefined, too_few
from attunement.agreement.tables import Floats, Ints

_REFITS = 200
"""Enough to know a standard error to within a twentieth of itself."""


class Curve(NamedTuple):
    """People's mean for each score of the judge, with refits on resampled conversations."""

    judge: tuple[float, ...]
    people: tuple[float, ...]
    refits: tuple[tuple[float, ...], ...]
    """What each refit gives for the scores in `judge`."""
    conversations: int
    error_before: float
    """How far the judge was from people: the root of the mean square."""
    error_after: float
    """The same once corrected, each conversation with a fit that never saw it."""

    def record(self) -> dict[str, Any]:
        """The curve as plain data."""
        return self._asdict()

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> "Curve":
        """The curve that was made into this record."""
        curve = cls(**record)
        return curve._replace(
            judge=tuple(curve.judge), people=tuple(curve.people), refits=tuple(map(tuple, curve.refits))
        )


class Applied(NamedTuple):
    """A judge's mean on conversations that people did not rate, as it is and on people's scale."""

    judge: Mean
    value: float
    se: float | Undefined
    interval: Interval | Undefined
    beyond: float
    """The share of scores outside those the calibrator was fitted on; they get the nearest one's."""


def fit_curve(pairs: Pairs, *, seed: int = 0) -> Curve | Undefined:
    """Fit people's scores on the judge's.

    Args:
        pairs: The judge's scores beside people's. They are not weighted: the fit says what people give where the
            judge gives a certain score, and not how often it gives it.
        seed: Of the division into folds and of the resampling.

    Returns:
        `Undefined` below 10 conversations that both rated.
    """
    judge, people = np.array(pairs.judge), np.array(pairs.people)
    kept = ~np.isnan(judge) & ~np.isnan(people)
    judge, people, conversations = judge[kept], people[kept], np.array(pairs.conversations)[kept]
    names, cluster = np.unique(conversations, return_inverse=True)
    if len(names) < FEWEST_CLUSTERS:
        return Undefined(f"people and judge rated {len(names)} conversations, and a calibrator needs {FEWEST_CLUSTERS}")
    whole = isotonic(judge, people)
    folded = cross_fit(isotonic, judge, people, conversations, seed=seed)
    if isinstance(whole, Undefined):
        return whole
    if isinstance(folded, Undefined):
        return folded
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(len(names), np.full(len(names), 1 / len(names)), _REFITS)
    refits = [_refit(judge, people, times[cluster], whole) for times in drawn]
    return Curve(
        judge=tuple(whole.judge.tolist()),
        people=tuple(whole.people.tolist()),
        refits=tuple(refits),
        conversations=len(names),
        error_before=_typical(judge - people),
        error_after=_typical(folded.corrected - people),
    )


def _typical(errors: Floats) -> float:
    return float(np.sqrt((errors**2).mean()))


def _refit(judge: Floats, people: Floats, times: Ints, whole: Isotonic) -> tuple[float, ...]:
    """Fit once more, where each unit counts as often as its conversation was drawn."""
    fitted = isotonic(np.repeat(judge, times), np.repeat(people, times))
    assert isinstance(fitted, Isotonic), "resampled conversations have scores"  # noqa: S101
    return tuple(fitted.corrected(whole.judge).tolist())


def apply_curve(
    curve: Curve, scores: Sequence[float], conversations: Sequence[int], *, level: float = 0.95
) -> Applied | Undefined:
    """A judge's mean score put on people's scale.

    Args:
        curve: The calibrator.
        scores: The judge's scores, one a unit.
        conversations: For each unit the conversation it belongs to.
        level: How often intervals made this way hold the true value.

    Returns:
        `Undefined` where there are no scores. The interval needs 10 conversations.
    """
    plain = mean(scores, conversations, level=level)
    corrected = mean(np.interp(scores, curve.judge, curve.people), conversations, level=level)
    if isinstance(plain, Undefined) or isinstance(corrected, Undefined):
        return Undefined("the judge gave no scores")
    refits = [float(np.interp(scores, curve.judge, refit).mean()) for refit in curve.refits]
    given = np.asarray(scores)
    beyond = float(((given < curve.judge[0]) | (given > curve.judge[-1])).mean())
    few = too_few(corrected.clusters, "conversations")
    if few or isinstance(corrected.se, Undefined):
        reason = few or Undefined("a standard error needs two conversations")
        return Applied(plain, corrected.value, reason, reason, beyond)
    se = float(np.hypot(corrected.se, np.std(refits, ddof=1)))
    if se < 1e-12:
        reason = Undefined("no score differs from another, so this sample cannot show how far they vary")
        return Applied(plain, corrected.value, se, reason, beyond)
    freedom = min(corrected.clusters, curve.conversations) - 1
    reach = t_quantile(freedom, (1 + level) / 2) * se
    method = f"t({freedom}) over {corrected.clusters} conversations and {curve.conversations} behind the calibrator"
    interval = Interval(corrected.value - reach, corrected.value + reach, level, method, se)
    return Applied(plain, corrected.value, se, interval, beyond)
