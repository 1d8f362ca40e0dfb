import json

import numpy as np
import pytest

from attunement.analysis.correct import CalibratedMean, CalibrationCurve, ScorePairs, apply_curve, fit_curve
from attunement.statistics.results import Interval, Undefined


def pairs(conversations: int = 20, seed: int = 1) -> ScorePairs:
    """A judge that gives one point more than people, up to noise."""
    rng = np.random.default_rng(seed)
    people = rng.integers(1, 5, size=3 * conversations).astype(float)
    judge = people + 1 - (rng.random(len(people)) < 0.1)
    numbers = np.repeat(np.arange(conversations), 3)
    return ScorePairs(judge.tolist(), people.tolist(), [1.0] * len(people), numbers.tolist())


def curve(given: ScorePairs) -> CalibrationCurve:
    found = fit_curve(given)
    assert isinstance(found, CalibrationCurve), found
    return found


def applied(fitted: CalibrationCurve, scores: list[float], conversations: list[int]) -> CalibratedMean:
    found = apply_curve(fitted, scores, conversations)
    assert isinstance(found, CalibratedMean), found
    return found


def test_a_calibrator_takes_the_bias_out_and_says_how_good_it_is_out_of_fold() -> None:
    found = curve(pairs())
    assert found.error_before == pytest.approx(1, abs=0.1)
    assert found.error_after < 0.6
    assert list(found.people) == sorted(found.people)


def test_a_calibrated_mean_is_on_peoples_scale_and_has_an_interval() -> None:
    found = applied(curve(pairs()), [4.0, 5.0, 3.0, 2.0] * 10, list(range(40)))
    assert found.judge.value == 3.5
    assert found.value == pytest.approx(2.6, abs=0.3)
    assert isinstance(found.interval, Interval)


def test_the_doubt_of_the_calibrator_enters_even_where_no_score_varies() -> None:
    found = applied(curve(pairs()), [4.0] * 20, list(range(20)))
    assert isinstance(found.interval, Interval)
    assert found.interval.se > 0


def test_a_curve_survives_being_kept() -> None:
    found = curve(pairs())
    assert CalibrationCurve.of_record(json.loads(json.dumps(found.record()))) == found


def test_scores_beyond_those_it_was_fitted_on_are_counted() -> None:
    assert applied(curve(pairs()), [3.0, 0.0, 9.0, 4.0], [0, 1, 2, 3]).beyond == pytest.approx(0.5)


def test_the_same_seed_gives_the_same_calibrator() -> None:
    assert fit_curve(pairs(), seed=3) == fit_curve(pairs(), seed=3)


def test_nine_conversations_make_no_calibrator() -> None:
    assert fit_curve(pairs(9)) == Undefined("people and judge rated 9 conversations, and a calibrator needs 10")


def test_units_that_only_one_of_them_rated_are_not_fitted() -> None:
    given = pairs()
    missing = given._replace(judge=[float("nan"), *given.judge[1:]], people=[*given.people[:-1], float("nan")])
    without = ScorePairs(*(column[1:-1] for column in given))
    assert curve(missing)._replace(refits=()) == curve(without)._replace(refits=())


def test_too_few_conversations_and_none_at_all_are_said() -> None:
    fitted = curve(pairs())
    found = applied(fitted, [3.0] * 9, list(range(9)))
    assert found.interval == Undefined("too few conversations: 9, and an interval needs at least 10")
    assert apply_curve(fitted, [], []) == Undefined("the judge gave no scores")
