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


def test_the_published_sample_size_comes_out() -> None:
    assert sample_size(variance=1 / 9, effect=0.03) == 969


def test_five_turns_that_resemble_each_other_need_three_times_as_many() -> None:
    assert design_effect(5, 0.5) == 3
    assert sample_size(1, 0.5, design=design_effect(5, 0.5)) == pytest.approx(3 * sample_size(1, 0.5), abs=3)


@given(st.floats(0.01, 10), st.integers(2, 10_000), st.floats(0.5, 0.99))
def test_the_smallest_effect_is_the_one_that_needs_this_many(variance: float, units: int, power: float) -> None:
    effect = minimal_detectable_effect(variance, units, power=power)
    assert sample_size(variance, effect, power=power) in {units, units + 1}


def test_no_effect_cannot_be_shown() -> None:
    with pytest.raises(ValueError, match="infinitely many"):
        sample_size(1, 0)


def test_a_width_needs_the_units_that_give_it() -> None:
    assert sample_size_for_width(variance=1, half_width=0.196) == 100


@given(st.floats(0.005, 0.5))
def test_so_many_units_without_failure_show_the_bound_and_one_less_does_not(bound: float) -> None:
    units = units_without_failure(bound)
    assert upper_bound(0, units) <= bound + 1e-9
    assert units == 1 or upper_bound(0, units - 1) > bound - 1e-9


@pytest.mark.parametrize("recall", [1.0, 0.95, 0.9, 0.82])
def test_so_many_failures_show_that_recall_exceeds_the_bound(recall: float) -> None:
    failures = failures_needed(recall, 0.8)
    assert failures is not None
    shown = proportion(int(recall * failures + 1e-9), failures)
    assert isinstance(shown, Proportion)
    assert shown.interval.low >= 0.8


def test_a_recall_at_the_bound_can_never_be_shown_to_exceed_it() -> None:
    assert failures_needed(0.8, 0.8) is None
