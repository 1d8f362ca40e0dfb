"""Correct a judge's scores with people's ratings of a random sample.

For each system and measure there are three estimates: the judge's, which is precise and may be wrong; the people's,
which is right and imprecise; and the corrected one, which takes the judge's mean over all conversations and corrects
it by how far the judge is off where people rated too. Units are weighted by one over the probability with which their
conversation was drawn, and all intervals are over whole conversations.

A calibrator is an isotonic fit of people's scores on the judge's, measured out of fold by whole conversations. It is
saved with refits on resampled conversations, so that a mean it is applied to later carries the uncertainty of the
calibrator as well as its own. It is valid as long as the judge and the kind of conversation do not change.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from attunement.analysis.compare import Measure, MeasureKind, MeasureValues, measures, values
from attunement.instruments import Instrument
from attunement.scoring import Scorecard
from attunement.statistics.calibration import cross_fit, isotonic
from attunement.statistics.estimates import Mean, mean
from attunement.statistics.ppi import PredictionPowered, prediction_powered_mean
from attunement.statistics.results import FEWEST_CLUSTERS, LEVEL, Interval, Undefined, too_few
from attunement.statistics.tables import Floats, t_quantile

_TINY = 1e-9


class CorrectionCase(NamedTuple):
    """One conversation that could have been drawn."""

    system: str
    judge: Scorecard | None  # None where the judge, or one of several, did not rate it
    probability: float | None = None  # with which it was drawn for people to rate; None where it was not drawn
    people: tuple[Scorecard, ...] = ()  # one for each person who rated it


class ScorePairs(NamedTuple):
    """The scores of a judge and of people, one a unit; NaN where there is none."""

    judge: list[float]
    people: list[float]
    weights: list[float]
    conversations: list[int]


class CorrectedMeasure(NamedTuple):
    measure: Measure
    system: str | None  # None for all systems together
    estimate: PredictionPowered | Undefined
    conversations: int
    judged: int  # conversations with a value of the judge
    drawn: int
    labelled: int  # conversations with a value of people and of the judge


def corrected_measures(instrument: Instrument) -> list[Measure]:
    """What is corrected: the weighted score and the pass rate, or each item where there are neither."""
    every = list(measures(instrument))
    whole = [measure for measure in every if measure.kind in {MeasureKind.SCORE, MeasureKind.PASSED}]
    return whole or [measure for measure in every if measure.kind is MeasureKind.ITEM]


def correct(instrument: Instrument, cases: Sequence[CorrectionCase]) -> list[CorrectedMeasure]:
    """The three estimates of each measure, for each system and, where there are several, for all together.

    `cases` are all conversations that could have been drawn, drawn or not. Where people or the judge have no value, an
    estimate is `Undefined`; below 10 conversations that people rated it has no interval.
    """
    return [
        _corrected(instrument, measure, system, chosen)
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
    """The mean score of people and the judge's score of each unit of the conversations that were drawn."""
    found = ScorePairs([], [], [], [])
    for number, case in enumerate(cases):
        if case.probability is None:
            continue
        judge = (values(instrument, measure, case.judge) if case.judge else MeasureValues()).by_turn
        people: dict[int | None, list[float]] = {}
        for card in case.people:
            for turn, score in values(instrument, measure, card).by_turn.items():
                people.setdefault(turn, []).append(score)
        for turn, scores in people.items():
            found.judge.append(judge.get(turn, np.nan))
            found.people.append(float(np.mean(scores)))
            found.weights.append(1 / case.probability)
            found.conversations.append(number)
    return found


def judge_scores(
    instrument: Instrument, measure: Measure, cases: Sequence[CorrectionCase]
) -> tuple[list[float], list[int]]:
    scores: list[float] = []
    conversations: list[int] = []
    for number, case in enumerate(cases):
        if case.judge:
            found = values(instrument, measure, case.judge).by_turn.values()
            scores += found
            conversations += [number] * len(found)
    return scores, conversations


def _corrected(
    instrument: Instrument, measure: Measure, system: str | None, cases: Sequence[CorrectionCase]
) -> CorrectedMeasure:
    pairs = labelled_pairs(instrument, measure, cases)
    scores, conversations = judge_scores(instrument, measure, cases)
    # The judge's side has the drawn conversations too: where some were more likely to be drawn than others, those
    # that were not drawn are no fair picture of all.
    estimate = prediction_powered_mean(
        pairs.people, pairs.judge, scores, conversations=(pairs.conversations, conversations), weights=pairs.weights
    )
    labelled = zip(pairs.conversations, pairs.judge, pairs.weights, strict=True)
    weight_of = {number: weight for number, score, weight in labelled if not np.isnan(score)}
    if not isinstance(estimate, Undefined):
        estimate = _unless_uneven(estimate, list(weight_of.values()))
    return CorrectedMeasure(
        measure=measure,
        system=system,
        estimate=estimate,
        conversations=len(cases),
        judged=len(set(conversations)),
        drawn=sum(case.probability is not None for case in cases),
        labelled=len(weight_of),
    )


def _unless_uneven(estimate: PredictionPowered, weights: Sequence[float]) -> PredictionPowered:
    """Without intervals where so few conversations carry most of the weight that they count like fewer than ten.

    Simulated 95 % intervals covered 92.6 % with ten conversations of which some were five times as likely to be drawn
    as others. How many they count like: L. Kish, Survey Sampling (1965).
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


_REFITS = 200  # enough to know a standard error to within a twentieth of itself


class CalibrationCurve(NamedTuple):
    """People's mean for each score of the judge, with refits on resampled conversations."""

    judge: tuple[float, ...]
    people: tuple[float, ...]
    refits: tuple[tuple[float, ...], ...]  # what each refit gives for the scores in `judge`
    conversations: int
    error_before: float  # how far the judge was from people: the root of the mean square
    error_after: float  # the same once corrected, each conversation with a fit that never saw it

    def record(self) -> dict[str, Any]:
        return self._asdict()

    @classmethod
    def of_record(cls, record: Mapping[str, Any]) -> "CalibrationCurve":
        curve = cls(**record)
        return curve._replace(
            judge=tuple(curve.judge), people=tuple(curve.people), refits=tuple(map(tuple, curve.refits))
        )


def fit_curve(pairs: ScorePairs, *, seed: int = 0) -> CalibrationCurve | Undefined:
    """Fit people's scores on the judge's; `Undefined` below 10 conversations that both rated.

    Pairs are not weighted: the fit says what people give where the judge gives a certain score, not how often it does.
    """
    judge, people = np.array(pairs.judge), np.array(pairs.people)
    both = ~np.isnan(judge) & ~np.isnan(people)
    judge, people, conversations = judge[both], people[both], np.array(pairs.conversations)[both]
    names, cluster = np.unique(conversations, return_inverse=True)
    if len(names) < FEWEST_CLUSTERS:
        return Undefined(f"people and judge rated {len(names)} conversations, and a calibrator needs {FEWEST_CLUSTERS}")
    fit = isotonic(judge, people)
    corrected = cross_fit(judge, people, conversations, seed=seed)
    if isinstance(fit, Undefined):
        return fit
    if isinstance(corrected, Undefined):
        return corrected
    drawn = np.random.default_rng(seed).multinomial(len(names), np.full(len(names), 1 / len(names)), _REFITS)
    refits: list[tuple[float, ...]] = []
    for times in drawn:  # each unit counts as often as its conversation was drawn
        refit = isotonic(np.repeat(judge, times[cluster]), np.repeat(people, times[cluster]))
        if isinstance(refit, Undefined):
            return refit
        refits.append(tuple(refit.corrected(fit.judge).tolist()))
    return CalibrationCurve(
        judge=tuple(fit.judge.tolist()),
        people=tuple(fit.people.tolist()),
        refits=tuple(refits),
        conversations=len(names),
        error_before=_root_mean_square(judge - people),
        error_after=_root_mean_square(corrected - people),
    )


def _root_mean_square(errors: Floats) -> float:
    return float(np.sqrt((errors**2).mean()))


class CalibratedMean(NamedTuple):
    """A judge's mean on conversations that people did not rate, as it is and on people's scale."""

    judge: Mean
    value: float
    se: float | Undefined
    interval: Interval | Undefined
    beyond: float  # the share of scores outside those the calibrator was fitted on; they get the nearest one's


def apply_curve(
    curve: CalibrationCurve, scores: Sequence[float], conversations: Sequence[int]
) -> CalibratedMean | Undefined:
    """A judge's mean score on people's scale.

    Args:
        curve: The calibrator.
        scores: The judge's scores, one a unit.
        conversations: For each unit the conversation it belongs to.

    Returns:
        `Undefined` where there are no scores. The interval needs 10 conversations.
    """
    plain = mean(scores, conversations)
    corrected = mean(np.interp(scores, curve.judge, curve.people), conversations)
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
    reach = t_quantile(freedom, (1 + LEVEL) / 2) * se
    method = f"t({freedom}) over {corrected.clusters} conversations and {curve.conversations} behind the calibrator"
    interval = Interval(corrected.value - reach, corrected.value + reach, LEVEL, method, se)
    return CalibratedMean(plain, corrected.value, se, interval, beyond)
