import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunement.statistics.calibration import (
    Isotonic,
    cross_fit,
    isotonic,
    pool_adjacent_violators,
)
from attunement.statistics.results import Undefined
from attunement.statistics.tables import Floats

NAN = np.nan
SEQUENCES = st.lists(st.tuples(st.integers(-5, 5), st.integers(1, 4)), min_size=1, max_size=20)


def scored(units: int = 300, seed: int = 1) -> tuple[Floats, Floats]:
    """A judge that is too kind by half a point and too narrow, and people."""
    rng = np.random.default_rng(seed)
    people = rng.integers(1, 6, size=units).astype(float)
    return np.clip(np.round(0.6 * people + 1.7 + 0.7 * rng.normal(size=units)), 1, 5), people


def test_the_published_example_of_pooling_comes_out() -> None:
    assert list(pool_adjacent_violators([1, 3, 2, 4, 3.5])) == [1, 2.5, 2.5, 3.75, 3.75]


@given(SEQUENCES)
def test_pooling_never_falls_and_keeps_the_weighted_mean(sequence: list[tuple[int, int]]) -> None:
    values, weights = map(np.array, zip(*sequence, strict=True))
    pooled = pool_adjacent_violators(values, weights)
    assert (np.diff(pooled) >= -1e-12).all()
    assert pooled @ weights == pytest.approx(values @ weights)


@given(SEQUENCES)
def test_scikit_learn_agrees_on_pooling(sequence: list[tuple[int, int]]) -> None:
    package = pytest.importorskip("sklearn.isotonic")
    values, weights = map(np.array, zip(*sequence, strict=True))
    theirs = package.isotonic_regression(values.astype(float), sample_weight=weights.astype(float))
    np.testing.assert_allclose(pool_adjacent_violators(values, weights), theirs, atol=1e-9)


def test_isotonic_calibration_takes_the_bias_away() -> None:
    judge, people = scored()
    calibrator = isotonic(judge, people)
    assert isinstance(calibrator, Isotonic)
    assert calibrator.corrected(judge).mean() == pytest.approx(people.mean())
    assert abs(judge.mean() - people.mean()) > 0.3


def test_scores_between_and_beyond_those_seen_are_interpolated_and_held() -> None:
    calibrator = Isotonic(np.array([2.0, 4.0]), np.array([1.0, 3.0]))
    assert list(calibrator.corrected([1, 2, 3, 5])) == [1, 1, 2, 3]


def test_isotonic_calibration_needs_units_with_both_scores() -> None:
    assert isotonic([1, NAN], [NAN, 2]) == Undefined("no unit has both scores")


def test_a_constant_judge_is_corrected_to_the_mean() -> None:
    calibrator = isotonic([3, 3, 3], [1, 2, 4])
    assert isinstance(calibrator, Isotonic)
    assert calibrator.corrected([3]) == pytest.approx(7 / 3)


def test_no_unit_is_corrected_with_its_own_conversation() -> None:
    # The judge says the same of all; a calibrator that saw the odd conversation would move its own correction.
    people = np.array([1.0] * 8 + [5.0, 5.0])
    corrected = cross_fit(np.full(10, 3.0), people, np.repeat(np.arange(5), 2))
    assert not isinstance(corrected, Undefined)
    assert list(corrected[-2:]) == [1, 1]
    assert all(value > 1 for value in corrected[:-2])


def test_one_conversation_is_too_few_to_cross_fit() -> None:
    assert cross_fit([1, 2], [1, 2], ["a", "a"]) == Undefined("cross-fitting needs two conversations")
