import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunement.agreement.power import (
    design_effect,
    failures_needed,
    minimal_detectable_effect,
    sample_size,
    sample_size_for_width,
    units_without_failure,
)
from attunement.agreement.proportions import Proportion, proportion, upper_bound
from attunement.agreement.results import Undefined


def test_the_published_sample_size_comes_out() -> None:
    assert sample_size(variance=1 / 9, effect=0.03) == 969


def test_five_turns_that_resemble_each_other_need_three_times_as_many() -> None:
    assert design_effect(5, 0.5) == 3
    assert sample_size(1, 0.5) == 32
    assert sample_size(1, 0.5, design=design_effect(5, 0.5)) == 95


@given(st.floats(0.01, 10), st.integers(2, 10_000), st.floats(0.5, 0.99))
def test_the_smallest_effect_is_the_one_that_needs_this_many(variance: float, units: int, power: float) -> None:
    effect = minimal_detectable_effect(variance, units, power=power)
    assert isinstance(effect, float)
    assert sample_size(variance, effect, power=power) in {units, units + 1}


def test_what_no_number_of_units_can_show_is_undefined() -> None:
    assert sample_size(1, 0) == Undefined("no number of units shows an effect of zero")
    assert sample_size_for_width(1, 0) == Undefined("no number of units gives an interval without width")
    assert units_without_failure(0) == Undefined("no number of units shows that nothing ever fails")
    assert minimal_detectable_effect(1, 0) == Undefined("there are no units")


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
