import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunement.statistics.estimates import Proportion, lower_bound, proportion, upper_bound
from attunement.statistics.results import Undefined


def of(result: Proportion | Undefined) -> Proportion:
    assert isinstance(result, Proportion), result
    return result


def test_no_failure_in_sixty_still_allows_some() -> None:
    assert upper_bound(0, 60) == pytest.approx(1 - 0.05 ** (1 / 60))
    assert upper_bound(0, 60) == pytest.approx(0.049, abs=5e-4)
    assert of(proportion(0, 60)).interval.high == pytest.approx(0.060, abs=5e-4)


@pytest.mark.parametrize(("caught", "expected"), [(29, 0.83), (28, 0.78)])
def test_one_more_miss_of_thirty_takes_the_bound_below_eighty(caught: int, expected: float) -> None:
    assert of(proportion(caught, 30)).interval.low == pytest.approx(expected, abs=5e-3)


def test_all_or_nothing_reaches_the_end_of_the_scale() -> None:
    assert of(proportion(30, 30)).interval.high == 1
    assert lower_bound(0, 30) == 0


def test_an_empty_share_is_undefined() -> None:
    assert proportion(0, 0) == Undefined("there are no units")


@pytest.mark.parametrize(("events", "units"), [(3, 2), (-1, 2), (0, 0)])
def test_what_is_no_share_has_no_bound(events: int, units: int) -> None:
    with pytest.raises(ValueError, match="is no share"):
        lower_bound(events, units)


@given(st.integers(1, 80).flatmap(lambda units: st.tuples(st.integers(0, units), st.just(units))))
def test_statsmodels_agrees_on_every_count(counts: tuple[int, int]) -> None:
    module = pytest.importorskip("statsmodels.stats.proportion")
    ours = of(proportion(*counts)).interval
    assert (ours.low, ours.high) == pytest.approx(module.proportion_confint(*counts, method="beta"), abs=1e-9)
