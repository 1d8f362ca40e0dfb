import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import attunement.statistics.alpha as module
from attunement.statistics.alpha import Alpha, Level, alpha, alpha_statistic
from attunement.statistics.results import Undefined
from attunement.statistics.tables import Floats
from tests.analysis.published import KRIPPENDORFF_2011, KRIPPENDORFF_SPARSE
from tests.analysis.strategies import tables

LEVELS: list[Level] = ["nominal", "ordinal", "interval"]
NAN = np.nan


def value(result: Alpha | Undefined) -> float:
    assert isinstance(result, Alpha), result
    return result.value


@pytest.mark.parametrize(("level", "expected"), [("nominal", 0.743421), ("ordinal", 0.815388), ("interval", 0.849107)])
def test_krippendorffs_example_comes_out(level: Level, expected: float) -> None:
    result = alpha(KRIPPENDORFF_2011, level)
    assert value(result) == pytest.approx(expected, abs=5e-7)
    assert result == Alpha(value(result), level, units=11, ratings=40)


@pytest.mark.parametrize("wrong", [0.83364, 0.80038])
def test_ordinal_distances_depend_on_how_common_the_answers_between_are(wrong: float) -> None:
    # .83364 comes of fixed ordinal weights, .80038 of absolute differences: two mistakes in circulation.
    assert value(alpha(KRIPPENDORFF_2011, "ordinal")) != pytest.approx(wrong, abs=1e-3)


@pytest.mark.parametrize(("level", "expected"), [("nominal", 0.691358), ("interval", 0.810845)])
def test_sparse_ratings_are_used_as_far_as_they_can_be_paired(level: Level, expected: float) -> None:
    assert value(alpha(KRIPPENDORFF_SPARSE, level)) == pytest.approx(expected, abs=5e-7)


def test_many_different_values_give_the_same_as_few(monkeypatch: pytest.MonkeyPatch) -> None:
    few = value(alpha(KRIPPENDORFF_2011))
    monkeypatch.setattr(module, "MANY", 2)
    assert value(alpha(KRIPPENDORFF_2011)) == pytest.approx(few, abs=1e-12)


@pytest.mark.parametrize(
    ("ratings", "reason"),
    [
        ([], "there are no ratings"),
        ([[NAN, NAN]], "there are no ratings"),
        ([[1], [2]], "only one rater"),
        ([[1, NAN], [NAN, 2]], "no unit was rated by two raters"),
        ([[5, 5], [5, 5]], "every rating is 5"),
        ([[5, 5], [5, 5], [3, NAN]], "every rating is 5"),
    ],
)
@pytest.mark.parametrize("level", LEVELS)
def test_degenerate_ratings_have_no_alpha_and_a_reason(ratings: list[list[float]], reason: str, level: Level) -> None:
    assert alpha(ratings, level) == Undefined(reason)


def test_many_values_that_never_meet_have_no_alpha() -> None:
    apart = np.where(np.eye(2, dtype=bool)[np.arange(100) % 2], np.arange(100.0)[:, None], NAN)
    assert alpha(apart) == Undefined("no unit was rated by two raters")


@given(tables(), st.integers(0, 99), st.sampled_from(LEVELS))
def test_alpha_does_not_know_who_rated(ratings: Floats, seed: int, level: Level) -> None:
    assume(isinstance(alpha(ratings, level), Alpha))
    shuffled = np.random.default_rng(seed).permuted(ratings, axis=1)
    assert value(alpha(shuffled, level)) == pytest.approx(value(alpha(ratings, level)), abs=1e-9)


@given(tables(), st.lists(st.integers(1, 5), max_size=5), st.sampled_from(LEVELS))
def test_units_rated_once_change_nothing(ratings: Floats, singles: list[int], level: Level) -> None:
    assume(isinstance(alpha(ratings, level), Alpha))
    added = np.full((len(singles), ratings.shape[1]), NAN)
    added[:, 0] = singles
    assert value(alpha(np.vstack([ratings, added]), level)) == pytest.approx(value(alpha(ratings, level)), abs=1e-9)


@given(tables(missing=False), st.sampled_from(LEVELS))
def test_raters_who_always_agree_have_alpha_one(ratings: Floats, level: Level) -> None:
    assume(len(np.unique(ratings[:, 0])) > 1)
    same = np.repeat(ratings[:, :1], 3, axis=1)
    assert value(alpha(same, level)) == pytest.approx(1)


@given(tables())
def test_ordinal_alpha_depends_only_on_the_order_of_answers(ratings: Floats) -> None:
    assume(isinstance(alpha(ratings), Alpha))
    assert value(alpha(ratings**3)) == pytest.approx(value(alpha(ratings)), abs=1e-9)


@given(tables(), st.sampled_from(LEVELS))
def test_the_krippendorff_package_agrees(ratings: Floats, level: Level) -> None:
    package = pytest.importorskip("krippendorff")
    ours = alpha(ratings, level)
    assume(isinstance(ours, Alpha))
    theirs = package.alpha(reliability_data=ratings.T, level_of_measurement=level)
    assert value(ours) == pytest.approx(theirs, abs=1e-9)


@given(tables(), st.sampled_from(LEVELS))
def test_the_form_for_resampling_has_the_same_value(ratings: Floats, level: Level) -> None:
    result, statistic = alpha(ratings, level), alpha_statistic(ratings, level)
    if isinstance(result, Alpha):
        assert statistic.value() == result.value
    else:
        assert np.isnan(statistic.value())
