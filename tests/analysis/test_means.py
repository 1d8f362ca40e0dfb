import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunement.statistics.estimates import Mean, mean
from attunement.statistics.results import Interval, Undefined
from attunement.statistics.tables import Floats, Ints

SCORES = [1, 1, 0, 1, 0, 0, 0, 0, 1, 1, 1, 1]
TALKS = ["a"] * 3 + ["b"] * 2 + ["c"] * 4 + ["d"] * 3


def of(result: Mean | Undefined) -> Mean:
    assert isinstance(result, Mean), result
    return result


def error(result: Mean) -> float:
    assert isinstance(result.se, float)
    return result.se


def interval(result: Mean | Undefined) -> Interval:
    found = of(result).interval
    assert isinstance(found, Interval), found
    return found


def test_the_clustered_standard_error_is_the_sandwich_with_its_correction() -> None:
    result = of(mean(SCORES, TALKS))
    assert result.se_independent == pytest.approx(0.148647, abs=5e-7)
    # Published without the correction G / (G - 1).
    assert error(result) * np.sqrt(3 / 4) == pytest.approx(0.154348, abs=5e-7)


def test_four_conversations_have_a_standard_error_but_no_interval() -> None:
    assert of(mean(SCORES, TALKS)).interval == Undefined("too few conversations: 4, and an interval needs at least 10")


def test_units_of_their_own_have_the_classical_interval() -> None:
    values = np.random.default_rng(1).normal(size=25)
    found = interval(mean(values))
    reach = 2.0638986 * values.std(ddof=1) / 5
    assert (found.low, found.high) == pytest.approx((values.mean() - reach, values.mean() + reach))
    assert found.method == "t(24) over 25 units"


def test_a_missing_value_leaves_its_unit_out() -> None:
    assert of(mean([1, np.nan, 3], ["a", "b", "b"])).units == 2


def test_weights_count_units_as_often_as_they_stand_for() -> None:
    weighted = of(mean([1, 2, 5], weights=[1, 1, 2]))
    assert weighted.value == of(mean([1, 2, 5, 5])).value


def test_no_value_no_mean() -> None:
    assert mean([]) == mean([np.nan]) == Undefined("there are no values")


def test_one_conversation_has_no_standard_error() -> None:
    result = of(mean([1, 2], ["a", "a"]))
    assert result.se == Undefined("a standard error needs two clusters")


def test_scores_that_never_vary_are_not_taken_for_certainty() -> None:
    assert of(mean(np.full(20, 5.0))).interval == Undefined(
        "every value is 5, so this sample cannot show how far they vary"
    )


@given(st.lists(st.integers(1, 5), min_size=2, max_size=30))
def test_clusters_of_one_are_independent_units(scores: list[int]) -> None:
    result = of(mean(scores, list(range(len(scores)))))
    assert error(result) == result.se_independent


@given(st.lists(st.integers(1, 5), min_size=2, max_size=20), st.integers(2, 5))
def test_repeating_every_unit_within_its_conversation_changes_nothing(scores: list[int], times: int) -> None:
    once = of(mean(scores, list(range(len(scores)))))
    again = of(mean(np.repeat(scores, times), np.repeat(np.arange(len(scores)), times)))
    assert error(again) == pytest.approx(error(once), abs=1e-12)


def test_statsmodels_agrees() -> None:
    api = pytest.importorskip("statsmodels.api")
    rng = np.random.default_rng(2)
    talks = np.repeat(np.arange(12), 4)
    values = rng.normal(size=12)[talks] + rng.normal(size=48)
    fitted = api.OLS(values, np.ones(48)).fit(cov_type="cluster", cov_kwds={"groups": talks, "df_correction": True})
    # statsmodels also multiplies by (n - 1) / (n - k), which is 1 for a mean.
    assert error(of(mean(values, talks))) == pytest.approx(float(fitted.bse[0]))


def talks_of_five(count: int, samples: int, seed: int) -> tuple[Floats, Ints]:
    """Scores of five turns each whose intraclass correlation is one half, and true mean 0."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(samples, count, 1)) + rng.normal(size=(samples, count, 5)), np.repeat(np.arange(count), 5)


@pytest.mark.slow
@pytest.mark.parametrize("count", [10, 20, 40])
def test_intervals_hold_the_truth_as_often_as_they_say(count: int) -> None:
    scores, talks = talks_of_five(count, samples=3000, seed=count)
    intervals = [interval(mean(sample.reshape(-1), talks)) for sample in scores]
    assert 0.93 <= np.mean([each.low <= 0 <= each.high for each in intervals]) <= 0.97


@pytest.mark.slow
def test_turns_taken_for_independent_promise_too_much() -> None:
    scores, _ = talks_of_five(20, samples=2000, seed=1)
    intervals = [interval(mean(sample.reshape(-1))) for sample in scores]
    assert np.mean([each.low <= 0 <= each.high for each in intervals]) < 0.85
