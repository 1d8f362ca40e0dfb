"""Correct a judge's scores with people's ratings of a random sample.

For each system and measure three estimates stand side by side: the judge's, which is precise and may be wrong; the
people's, which is right and imprecise; and the corrected one, which takes the judge's mean over all conversations and
corrects it by how far the judge is off where people rated too. Units are weighted by one over the probability with
which their conversation was drawn, and all intervals are over whole conversations.

A calibrator is an isotonic fit of people's scores on the judge's. How good it is, is measured out of fold, by whole
conversations. It is kept with refits on resampled conversations, so that a mean it is applied to later carries the
doubt of the calibrator as well as its own. It holds as long as judge and talk stay as they were when it was fitted.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from attunement.analysis.compare import Measure, MeasureKind, MeasureValues, measures, values
from attunement.instruments import Instrument
from attunement.scoring import Scorecard
from attunement.statistics.calibration import Isotonic, cross_fit, isotonic
from attunement.statistics.estimates import Mean, mean
from attunement.statistics.ppi import PredictionPowered, Sample, prediction_powered_mean
from attunement.statistics.results import FEWEST_CLUSTERS, Interval, Undefined, too_few
from attunement.statistics.tables import Floats, Ints, t_quantile

_TINY = 1e-9


class CorrectionCase(NamedTuple):
    """One conversation that could have been drawn."""

    system: str
    judge: Scorecard | None
    """None where the judge, or one of several, did not rate it."""
    probability: float | None = None
    """With which it was drawn for people to rate; None where it was not drawn."""
    people: tuple[Scorecard, ...] = ()
    """One for each person who rated it."""


class ScorePairs(NamedTuple):
    """A judge's scores beside people's, one a unit; NaN where there is none."""

    judge: list[float]
    people: list[float]
    weights: list[float]
    conversations: list[int]


class CorrectedMeasure(NamedTuple):
    """One measure of one system."""

    measure: Measure
    system: str | None
    """None for all systems together."""
    estimate: PredictionPowered | Undefined
    conversations: int
    judged: int
    """Conversations with a value of the judge."""
    drawn: int
    labelled: int
    """Conversations with a value of people and of the judge."""


def corrected_measures(instrument: Instrument) -> list[Measure]:
    """What is corrected: the weighted score and the pass rate, or each item where there are neither."""
    every = list(measures(instrument))
    whole = [measure for measure in every if measure.kind in {MeasureKind.SCORE, MeasureKind.PASSED}]
    return whole or [measure for measure in every if measure.kind is MeasureKind.ITEM]


def correct(instrument: Instrument, cases: Sequence[CorrectionCase], *, level: float = 0.95) -> list[CorrectedMeasure]:
    """The three estimates of each measure, for each system and, where there are several, for all together.

    Args:
        instrument: What judge and people rated with.
        cases: Every conversation that could have been drawn, drawn or not.
        level: How often intervals made this way hold the true value.

    Returns:
        One result for each measure and system. Where people or the judge have no value, its estimate is `Undefined`;
        below 10 conversations that people rated it has no interval.
    """
    return [
        _corrected(instrument, measure, system, chosen, level)
        for measure in corrected_measures(instrument)
        for system, chosen in by_system(cases)
    ]


def by_system(cases: Sequence[CorrectionCase]) -> list[tuple[str | None, list[CorrectionCase]]]:
    """The cases of each system and, where there are several, of all together under None."""
    systems = dict.fromkeys(case.system for case in cases)
    parts: list[tuple[str | None, list[CorrectionCase]]] = [
        (system, [case for case in cases if case.system == system]) for system in systems
    ]
    return [*parts, (None, list(cases))] if len(parts) > 1 else parts


def labelled_pairs(instrument: Instrument, measure: Measure, cases: Sequence[CorrectionCase]) -> ScorePairs:
    """What people and the judge gave to each unit of the conversations that were drawn."""
    found = ScorePairs([], [], [], [])
    for number, case in enumerate(cases):
        if case.probability is None:
            continue
        judge = (values(instrument, measure, case.judge) if case.judge else MeasureValues()).by_turn
        for turn, score in people_scores(instrument, measure, case.people).items():
            found.judge.append(judge.get(turn, np.nan))
            found.people.append(score)
            found.weights.append(1 / case.probability)
            found.conversations.append(number)
    return found


def people_scores(instrument: Instrument, measure: Measure, people: Sequence[Scorecard]) -> dict[int | None, float]:
    """The mean of what people gave, for each reply, or under None for the whole conversation."""
    given: dict[int | None, list[float]] = {}
    for card in people:
        for turn, score in values(instrument, measure, card).by_turn.items():
            given.setdefault(turn, []).append(score)
    return {turn: float(np.mean(scores)) for turn, scores in given.items()}


def judge_scores(
    instrument: Instrument, measure: Measure, cases: Sequence[CorrectionCase]
) -> tuple[list[float], list[int]]:
    """Every score of the judge, and the number of the conversation it belongs to."""
    scores: list[float] = []
    conversations: list[int] = []
    for number, case in enumerate(cases):
        if case.judge:
            found = values(instrument, measure, case.judge).by_turn.values()
            scores += found
            conversations += [number] * len(found)
    return scores, conversations


def _corrected(
    instrument: Instrument, measure: Measure, system: str | None, cases: Sequence[CorrectionCase], level: float
) -> CorrectedMeasure:
    pairs = labelled_pairs(instrument, measure, cases)
    scores, conversations = judge_scores(instrument, measure, cases)
    # The judge's side holds the drawn conversations too: where some were more likely to be drawn than others, those
    # that were not drawn are no fair picture of all.
    sample = Sample(pairs.people, pairs.judge, scores, pairs.conversations, conversations, pairs.weights)
    both = {
        number: weight
        for number, score, weight in zip(pairs.conversations, pairs.judge, pairs.weights, strict=True)
        if not np.isnan(score)
    }
    estimate = prediction_powered_mean(sample, level=level)
    return CorrectedMeasure(
        measure=measure,
        system=system,
        estimate=estimate if isinstance(estimate, Undefined) else _unless_uneven(estimate, list(both.values())),
        conversations=len(cases),
        judged=len(set(conversations)),
        drawn=sum(case.probability is not None for case in cases),
        labelled=len(both),
    )


def _unless_uneven(estimate: PredictionPowered, weights: Sequence[float]) -> PredictionPowered:
    """Without intervals where so few conversations carry most of the weight that they count like fewer than ten.

    Simulated 95 % intervals held 92.6 % with ten conversations of which some were five times as likely to be drawn as
    others. How many they count like: L. Kish, Survey Sampling (1965).
    """
    if len(weights) < FEWEST_CLUSTERS:
        return estimate
    count = sum(weights) ** 2 / sum(weight**2 for weight in weights)
    if count >= FEWEST_CLUSTERS - _TINY:
        return estimate
    reason = Undefined(
        f"too few labelled conversations: {len(weights)}, drawn so unevenly that they count like {count:.0f}, and an "
        f"interval needs at least {FEWEST_CLUSTERS}"
    )
    people = estimate.people_only
    return estimate._replace(
        interval=reason, people_only=people if isinstance(people, Undefined) else people._replace(interval=reason)
    )


_REFITS = 200
"""Enough to know a standard error to within a twentieth of itself."""


class CalibrationCurve(NamedTuple):
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
    def of_record(cls, record: Mapping[str, Any]) -> "CalibrationCurve":
        """The curve that was made into this record."""
        curve = cls(**record)
        return curve._replace(
            judge=tuple(curve.judge), people=tuple(curve.people), refits=tuple(map(tuple, curve.refits))
        )


class CalibratedMean(NamedTuple):
    """A judge's mean on conversations that people did not rate, as it is and on people's scale."""

    judge: Mean
    value: float
    se: float | Undefined
    interval: Interval | Undefined
    beyond: float
    """The share of scores outside those the calibrator was fitted on; they get the nearest one's."""


def fit_curve(pairs: ScorePairs, *, seed: int = 0) -> CalibrationCurve | Undefined:
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
    return CalibrationCurve(
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
    curve: CalibrationCurve, scores: Sequence[float], conversations: Sequence[int], *, level: float = 0.95
) -> CalibratedMean | Undefined:
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
        return CalibratedMean(plain, corrected.value, reason, reason, beyond)
    se = float(np.hypot(corrected.se, np.std(refits, ddof=1)))
    if se < 1e-12:
        reason = Undefined("no score differs from another, so this sample cannot show how far they vary")
        return CalibratedMean(plain, corrected.value, se, reason, beyond)
    freedom = min(corrected.clusters, curve.conversations) - 1
    reach = t_quantile(freedom, (1 + level) / 2) * se
    method = f"t({freedom}) over {corrected.clusters} conversations and {curve.conversations} behind the calibrator"
    interval = Interval(corrected.value - reach, corrected.value + reach, level, method, se)
    return CalibratedMean(plain, corrected.value, se, interval, beyond)
