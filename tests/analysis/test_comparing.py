import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from attunement.statistics.ppi import ANY, SHARE, Difference, Estimate, Range, difference, plain_mean
from attunement.statistics.results import Interval, Undefined
from attunement.statistics.tables import Floats, Ints
from attunement.statistics.tests import benjamini_yekutieli, holm

P_VALUES = st.lists(st.floats(0, 1, allow_subnormal=False), min_size=1, max_size=12)


def of(result: Difference | Undefined) -> Difference:
    assert isinstance(result, Difference), result
    return result


def interval(result: Difference | Undefined) -> Interval:
    found = of(result).interval
    assert isinstance(found, Interval), found
    return found


def estimated(values: ArrayLike, range: Range = ANY) -> Estimate:
    scores = np.asarray(values, dtype=np.float64)
    found = plain_mean(scores, np.arange(len(scores)), range)
    assert isinstance(found, Estimate)
    return found


def paired_difference(first: ArrayLike, second: ArrayLike, scenario: Ints, other: Ints | None = None) -> Difference:
    """The first minus the second."""
    return difference(estimated(second), estimated(first), (scenario if other is None else other, scenario))


def independent_difference(first: ArrayLike, second: ArrayLike) -> Difference:
    return difference(estimated(second), estimated(first))


def two_systems(scenarios: int, seed: int, each: int = 2) -> tuple[Floats, Floats, Ints]:
    """Scores of two systems, the first better by .3, on scenarios that are hard or easy for both."""
    rng = np.random.default_rng(seed)
    scenario = np.repeat(np.arange(scenarios), each)
    shared = rng.normal(size=scenarios)[scenario]
    return shared + 0.3 + 0.6 * rng.normal(size=len(scenario)), shared + 0.6 * rng.normal(size=len(scenario)), scenario


def test_one_score_a_scenario_is_the_paired_t_test() -> None:
    stats = pytest.importorskip("scipy.stats")
    first, second, scenario = two_systems(15, seed=1, each=1)
    result = paired_difference(first, second, scenario)
    theirs = stats.ttest_rel(first, second)
    assert result.p == pytest.approx(theirs.pvalue)
    assert (interval(result).low, interval(result).high) == pytest.approx(tuple(theirs.confidence_interval()))


def test_the_order_of_units_does_not_matter_to_a_pair() -> None:
    first, second, scenario = two_systems(15, seed=2)
    turned = paired_difference(first, second[::-1], scenario, scenario[::-1])
    straight = paired_difference(first, second, scenario)
    assert interval(turned).low == pytest.approx(interval(straight).low)


def test_pairing_narrows_the_interval() -> None:
    first, second, scenario = two_systems(30, seed=4)
    paired = interval(paired_difference(first, second, scenario))
    apart = interval(independent_difference(first, second))
    assert paired.high - paired.low < 0.6 * (apart.high - apart.low)


def test_nine_scenarios_have_a_difference_and_no_interval() -> None:
    first, second, scenario = two_systems(9, seed=6)
    reason = Undefined("too few scenarios: 9, and an interval needs at least 10")
    result = paired_difference(first, second, scenario)
    assert result.interval == result.p == reason


def test_independent_systems_are_welchs_t_test() -> None:
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(7)
    first, second = rng.normal(size=14), 3 * rng.normal(size=25)
    result = independent_difference(first, second)
    theirs = stats.ttest_ind(first, second, equal_var=False)
    assert result.p == pytest.approx(theirs.pvalue)
    assert (interval(result).low, interval(result).high) == pytest.approx(tuple(theirs.confidence_interval()))


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ([1, 2], [1.0, 2], "too few conversations: 2, and an interval needs at least 10"),
        (
            [1] * 12,
            [2.0] * 12,
            "no score differs from another, so this sample cannot show how far they vary",
        ),
    ],
)
def test_a_difference_without_an_interval_says_why(first: list[float], second: list[float], reason: str) -> None:
    result = independent_difference(first, second)
    assert result.interval == result.p == Undefined(reason)


def test_without_values_there_is_no_mean() -> None:
    assert plain_mean([np.nan], np.arange(1), ANY) == Undefined("there are no values")


SHARES = st.lists(st.integers(0, 1), min_size=10, max_size=40)


@given(SHARES, SHARES)
def test_the_p_value_of_shares_says_the_same_as_the_interval(first: list[int], second: list[int]) -> None:
    found = difference(estimated(first, SHARE), estimated(second, SHARE))
    limits = interval(found)
    assert isinstance(found.p, float)
    assert -1 <= limits.low <= found.value <= limits.high <= 1
    if abs(found.p - 0.05) > 1e-6:
        assert (found.p < 0.05) == (limits.low > 0 or limits.high < 0)


def test_shares_without_a_single_failure_still_have_an_interval() -> None:
    found = interval(difference(estimated([1] * 20, SHARE), estimated([1] * 20, SHARE)))
    assert found.low == -found.high
    assert 0.05 < found.high < 0.2


@pytest.mark.parametrize("paired", [True, False])
def test_shares_nearly_agree_with_an_exact_test(paired: bool) -> None:
    stats = pytest.importorskip("scipy.stats")
    first, second = [1] * 30 + [0] * 10, [1] * 18 + [0] * 12 + [1] * 1 + [0] * 9
    number = np.arange(40)
    found = difference(estimated(second, SHARE), estimated(first, SHARE), (number, number) if paired else None)
    # McNemar: 12 pairs that only the first passed, one that only the second passed.
    exact = stats.binomtest(1, 13) if paired else stats.fisher_exact([[30, 10], [19, 21]])
    theirs = exact.pvalue
    assert isinstance(found.p, float)
    assert found.p == pytest.approx(theirs, abs=0.012)


@pytest.mark.slow
@settings(max_examples=20)  # theirs takes a tenth of a second
@given(P_VALUES)
def test_statsmodels_agrees_on_corrections(p_values: list[float]) -> None:
    module = pytest.importorskip("statsmodels.stats.multitest")
    np.testing.assert_allclose(holm(p_values), module.multipletests(p_values, method="holm")[1], atol=1e-12)
    by = module.multipletests(p_values, method="fdr_by")[1]
    np.testing.assert_allclose(benjamini_yekutieli(p_values), by, atol=1e-12)


@given(P_VALUES)
def test_a_correction_never_makes_a_finding_surer(p_values: list[float]) -> None:
    for corrected in (holm(p_values), benjamini_yekutieli(p_values)):
        assert all(after >= before - 1e-15 for before, after in zip(p_values, corrected, strict=True))


def test_nothing_to_correct_is_corrected_to_nothing() -> None:
    assert holm([]) == benjamini_yekutieli([]) == []


@pytest.mark.slow
@pytest.mark.parametrize("scenarios", [10, 20, 40])
def test_intervals_of_paired_systems_contain_the_truth_as_often_as_they_say(scenarios: int) -> None:
    samples = [two_systems(scenarios, seed) for seed in range(1500)]
    intervals = [interval(paired_difference(first, second, labels)) for first, second, labels in samples]
    assert 0.93 <= np.mean([each.low <= 0.3 <= each.high for each in intervals]) <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("conversations", [10, 20, 40])
def test_intervals_of_independent_systems_contain_the_truth_as_often_as_they_say(conversations: int) -> None:
    inside: list[bool] = []
    for seed in range(1500):
        first, _, labels = two_systems(conversations, seed, each=4)
        _, second, _ = two_systems(conversations, seed + 10_000, each=4)
        made = [plain_mean(each, labels, ANY) for each in (second, first)]
        found = interval(difference(*made))  # pyright: ignore[reportArgumentType]
        inside.append(found.low <= 0.3 <= found.high)
    assert 0.93 <= np.mean(inside) <= 0.97
