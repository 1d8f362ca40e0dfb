import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunement.statistics.correlation import ICC, icc
from attunement.statistics.estimates import Proportion, proportion, t_interval, upper_bound
from attunement.statistics.power import (
    conversations_for_agreement,
    design_effect,
    detectable_effect,
    failures_needed,
    sample_size_for_width,
    units_for_agreement,
    units_without_failure,
)
from attunement.statistics.results import Interval, Undefined


def test_five_turns_that_resemble_each_other_need_three_times_as_many() -> None:
    assert design_effect(5, 0.5) == 3
    assert sample_size_for_width(1, 0.196) == 100


def test_what_no_number_of_units_can_show_is_undefined() -> None:
    assert sample_size_for_width(1, 0) == Undefined("no number of units gives an interval without width")
    assert units_without_failure(0) == Undefined("no number of units shows that nothing ever fails")


def test_a_width_needs_the_units_that_give_it() -> None:
    assert sample_size_for_width(variance=1, half_width=0.196) == 100


@given(st.floats(0.005, 0.5))
def test_so_many_units_without_failure_show_the_bound_and_one_less_does_not(bound: float) -> None:
    units = units_without_failure(bound)
    assert isinstance(units, int)
    assert upper_bound(0, units) <= bound + 1e-9
    assert units == 1 or upper_bound(0, units - 1) > bound - 1e-9


@pytest.mark.parametrize("recall", [1.0, 0.95, 0.9, 0.82])
def test_so_many_failures_show_that_recall_exceeds_the_bound(recall: float) -> None:
    failures = failures_needed(recall, 0.8)
    assert isinstance(failures, int)
    shown = proportion(int(recall * failures + 1e-9), failures)
    assert isinstance(shown, Proportion)
    assert shown.interval.low >= 0.8


def test_a_recall_at_the_bound_can_never_be_shown_to_exceed_it() -> None:
    assert failures_needed(0.8, 0.8) == Undefined("a recall of 0.8 is not above 0.8")


@pytest.mark.parametrize(("expected", "raters"), [(0.5, 2), (0.6, 2), (0.7, 3)])
def test_so_many_units_put_the_lower_end_of_agreement_at_the_bound(expected: float, raters: int) -> None:
    chance = np.random.default_rng(1)
    units = units_for_agreement(expected, 0.4, raters)
    assert isinstance(units, int)
    values: list[float] = []
    for _ in range(1500):
        truth = chance.normal(0, expected**0.5, (units, 1))
        found = icc(truth + chance.normal(0, (1 - expected) ** 0.5, (units, raters)), 2)
        assert isinstance(found, ICC)
        values.append(found.value)
    # The formula rests on the normal approximation of the spread; for few units that is rough.
    assert expected - 1.96 * float(np.std(values)) == pytest.approx(0.4, abs=0.035)


@given(st.floats(0.45, 0.95), st.integers(2, 6))
def test_better_agreement_and_more_raters_take_fewer_units(expected: float, raters: int) -> None:
    units, better, more = (
        units_for_agreement(*case)
        for case in ((expected, 0.4, raters), (expected + 0.02, 0.4, raters), (expected, 0.4, raters + 1))
    )
    assert isinstance(units, int)
    assert isinstance(better, int)
    assert isinstance(more, int)
    assert max(better, more) <= units


def test_agreement_that_is_not_above_the_bound_can_never_be_shown_to_be() -> None:
    assert isinstance(conversations_for_agreement(0.4, 0.4, 2, 1), Undefined)


def test_conversations_of_several_replies_count_for_more_than_one_and_less_than_all() -> None:
    alone, of_four = (conversations_for_agreement(0.6, 0.4, 2, units) for units in (1, 4))
    assert (alone, of_four) == (41, 26)  # four replies with ICC .5 are worth 1.6


@pytest.mark.slow
@pytest.mark.parametrize("pairs", [10, 40])
def test_an_effect_that_is_called_detectable_is_found_in_four_of_five_samples(pairs: int) -> None:
    rng = np.random.default_rng(3)
    sure = t_interval(0.0, pairs**-0.5, pairs, "pairs")
    assert isinstance(sure, Interval)
    effect = detectable_effect(sure)
    found = 0
    for _ in range(3000):
        scores = rng.normal(effect, 1, pairs)
        interval = t_interval(float(scores.mean()), float(scores.std(ddof=1)) * pairs**-0.5, pairs, "pairs")
        assert isinstance(interval, Interval)
        found += interval.low > 0
    assert found / 3000 == pytest.approx(0.8, abs=0.03)
