"""Do the intervals of a correction hold the truth as often as they say? Scorecards in, intervals out."""

from functools import cache

import numpy as np
import pytest

from attunement.analysis.correct import (
    CalibratedMean,
    CalibrationCurve,
    CorrectionCase,
    apply_curve,
    correct,
    corrected_measures,
    fit_curve,
    judge_scores,
    labelled_pairs,
)
from attunement.scoring import Scorecard
from attunement.statistics.ppi import PredictionPowered
from attunement.statistics.results import Interval
from tests.analysis.small import REPLIES, replies

RUNS = 1500
TRUTH = 3.0
(WARMTH,) = corrected_measures(REPLIES)


@cache
def card(scores: tuple[int, ...]) -> Scorecard:
    return replies(scores)


def talks(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Five replies a conversation: what people give (3 on average), and a judge that is kinder the worse they are."""
    mood = rng.integers(-1, 2, size=(count, 1))
    people = 3 + mood + rng.integers(-1, 2, size=(count, 5))
    judge = np.clip(people + (people < 3) + (rng.random((count, 5)) < 0.3), 1, 5)
    return people, judge


def evenly(rng: np.random.Generator, judge: np.ndarray, labelled: int) -> tuple[np.ndarray, np.ndarray]:
    """Everybody has the same probability."""
    drawn = np.zeros(len(judge), dtype=bool)
    drawn[rng.choice(len(judge), size=labelled, replace=False)] = True
    return drawn, np.full(len(judge), labelled / len(judge))


def by_flag(rng: np.random.Generator, judge: np.ndarray, labelled: int) -> tuple[np.ndarray, np.ndarray]:
    """What the judge flagged is drawn five times as often, about so many in all."""
    flagged = judge.min(axis=1) <= 2
    rate = labelled / (5 * flagged.sum() + (~flagged).sum())
    probability = np.minimum(1, rate * np.where(flagged, 5, 1))
    return rng.random(len(judge)) < probability, probability


def cases(rng: np.random.Generator, labelled: int, design, count: int) -> list[CorrectionCase]:
    people, judge = talks(rng, count)
    drawn, probability = design(rng, judge, labelled)
    return [
        CorrectionCase(
            "bot",
            card(tuple(judge[at].tolist())),
            float(probability[at]) if drawn[at] else None,
            (card(tuple(people[at].tolist())),) if drawn[at] else (),
        )
        for at in range(count)
    ]


def held(intervals: list[Interval]) -> float:
    return float(np.mean([each.low <= TRUTH <= each.high for each in intervals]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("labelled", "design"), [(10, evenly), (20, evenly), (40, evenly), (20, by_flag), (40, by_flag)]
)
def test_corrected_means_hold_the_truth_as_often_as_they_say(labelled: int, design) -> None:
    rng = np.random.default_rng(labelled)
    found: list[Interval] = []
    while len(found) < RUNS:
        (row,) = correct(REPLIES, cases(rng, labelled, design, 5 * labelled))
        assert isinstance(row.estimate, PredictionPowered)
        if isinstance(row.estimate.interval, Interval):  # below ten there is none, and chance may draw nine
            found.append(row.estimate.interval)
    share = held(found)
    print(f"correct, drawn {design.__name__}, {labelled} labelled conversations: {share:.3f}")
    assert 0.93 <= share <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("labelled", [10, 20, 40])
def test_calibrated_means_of_a_later_study_hold_the_truth_as_often_as_they_say(labelled: int) -> None:
    rng = np.random.default_rng(labelled)
    found: list[Interval] = []
    for run in range(RUNS // 3):
        curve = fit_curve(labelled_pairs(REPLIES, WARMTH, cases(rng, labelled, evenly, labelled)), seed=run)
        assert isinstance(curve, CalibrationCurve)
        applied = apply_curve(curve, *judge_scores(REPLIES, WARMTH, cases(rng, 0, evenly, 100)))
        assert isinstance(applied, CalibratedMean)
        assert isinstance(applied.interval, Interval)
        found.append(applied.interval)
    share = held(found)
    print(f"calibrated, {labelled} conversations behind the calibrator: {share:.3f}")
    assert 0.93 <= share <= 0.97
