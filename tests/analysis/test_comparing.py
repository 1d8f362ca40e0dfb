import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from attunement.statistics.results import Interval, Undefined
from attunement.statistics.tables import Floats
from attunement.statistics.tests import (
    Difference,
    McNemar,
    benjamini_yekutieli,
    holm,
    independent_difference,
    mcnemar,
    paired_difference,
)

P_VALUES = st.lists(st.floats(0, 1, allow_subnormal=False), min_size=1, max_size=12)


def of(result: Difference | Undefined) -> Difference:
    assert isinstance(result, Difference), result
    return result


def interval(result: Difference | Undefined) -> Interval:
    found = of(result).interval
    assert isinstance(found, Interval), found
    return found


def two_systems(scenarios: int, seed: int, each: int = 2) -> tuple[Floats, Floats, Floats]:
    """Scores of two systems, the first better by .3, on scenarios that are hard or easy for both."""
    rng = np.random.default_rng(seed)
    scenario = np.repeat(np.arange(scenarios), each)
    shared = rng.normal(size=scenarios)[scenario]
    return shared + 0.3 + 0.6 * rng.normal(size=len(scenario)), shared + 0.6 * rng.normal(size=len(scenario)), scenario


def test_one_score_a_scenario_is_the_paired_t_test() -> None:
    stats = pytest.importorskip("scipy.stats")
    first, second, scenario = two_systems(15, seed=1, each=1)
    result = of(paired_difference(first, second, (scenario, scenario)))
    theirs = stats.ttest_rel(first, second)
    assert result.p == pytest.approx(theirs.pvalue)
    assert (interval(result).low, interval(result).high) == pytest.approx(tuple(theirs.confidence_interval()))


def test_the_order_of_units_does_not_matter_to_a_pair() -> None:
    first, second, scenario = two_systems(15, seed=2)
    turned = paired_difference(first, second[::-1], (scenario, scenario[::-1]))
    straight = paired_difference(first, second, (scenario, scenario))
    assert interval(turned).low == pytest.approx(interval(straight).low)


def test_scenarios_that_only_one_system_met_are_left_out_and_counted() -> None:
    first, second, scenario = two_systems(15, seed=3)
    result = of(paired_difference(first, second[:-4], (scenario, scenario[:-4])))
    assert (result.clusters, result.left_out) == (13, 4)


def test_pairing_narrows_the_interval() -> None:
    first, second, scenario = two_systems(30, seed=4)
    paired = interval(paired_difference(first, second, (scenario, scenario)))
    apart = interval(independent_difference(first, second, (scenario, scenario)))
    assert paired.high - paired.low < 0.6 * (apart.high - apart.low)


def test_systems_without_a_common_scenario_cannot_be_paired() -> None:
    assert paired_difference([1, 2], [3], (["a", "b"], ["c"])) == Undefined("no scenario has scores of both")


def test_nine_scenarios_have_a_difference_and_no_interval() -> None:
    first, second, scenario = two_systems(9, seed=6)
    reason = Undefined("too few scenarios: 9, and an interval needs at least 10")
    result = of(paired_difference(first, second, (scenario, scenario)))
    assert result.interval == result.p == reason


def test_independent_systems_are_welchs_t_test() -> None:
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(7)
    first, second = rng.normal(size=14), 3 * rng.normal(size=25)
    result = of(independent_difference(first, second))
    theirs = stats.ttest_ind(first, second, equal_var=False)
    assert result.p == pytest.approx(theirs.pvalue)
    assert (interval(result).low, interval(result).high) == pytest.approx(tuple(theirs.confidence_interval()))


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ([1, 2], [1.0, 2], "too few units: 2, and an interval needs at least 10"),
        ([1], [1.0, 2], "a standard error needs two clusters"),
        ([1, 2], [1.0], "a standard error needs two clusters"),
        ([1] * 12, [2.0] * 12, "neither system's scores vary"),
    ],
)
def test_a_difference_without_an_interval_says_why(first: list[float], second: list[float], reason: str) -> None:
    result = of(independent_difference(first, second))
    assert result.interval == result.p == Undefined(reason)


def test_a_system_without_scores_cannot_be_compared() -> None:
    assert independent_difference([np.nan], [1, 2]) == Undefined("one of the two has no scores")


def test_mcnemar_counts_only_what_differs() -> None:
    result = mcnemar([True] * 9 + [False] * 3, [False] * 8 + [True, True] + [False] * 2)
    assert result == McNemar(only_first=8, only_second=1, pairs=12, p=pytest.approx(2 * 10 / 2**9))


def test_pairs_that_never_differ_show_no_difference() -> None:
    assert mcnemar([True, False], [True, False]) == McNemar(0, 0, 2, 1.0)
    assert mcnemar([], []) == Undefined("there are no pairs")


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40))
def test_statsmodels_agrees_on_mcnemar(pairs: list[tuple[bool, bool]]) -> None:
    module = pytest.importorskip("statsmodels.stats.contingency_tables")
    ours = mcnemar(*zip(*pairs, strict=True))
    table = [[sum(pair == (a, b) for pair in pairs) for b in (True, False)] for a in (True, False)]
    assert isinstance(ours, McNemar)
    if table[0][1] + table[1][0]:  # statsmodels has no answer to pairs that never differ
        assert ours.p == pytest.approx(module.mcnemar(table, exact=True).pvalue)


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
def test_intervals_of_paired_systems_hold_the_truth_as_often_as_they_say(scenarios: int) -> None:
    samples = [two_systems(scenarios, seed) for seed in range(2500)]
    intervals = [interval(paired_difference(first, second, (labels, labels))) for first, second, labels in samples]
    assert 0.93 <= np.mean([each.low <= 0.3 <= each.high for each in intervals]) <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("conversations", [10, 20, 40])
def test_intervals_of_independent_systems_hold_the_truth_as_often_as_they_say(conversations: int) -> None:
    held: list[bool] = []
    for seed in range(2500):
        first, _, labels = two_systems(conversations, seed, each=4)
        _, second, _ = two_systems(conversations, seed + 10_000, each=4)
        found = interval(independent_difference(first, second, (labels, labels)))
        held.append(found.low <= 0.3 <= found.high)
    assert 0.93 <= np.mean(held) <= 0.97
