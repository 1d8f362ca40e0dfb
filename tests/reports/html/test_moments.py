import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunement.reports.summary import Moments
from attunement.statistics.estimates import mean
from attunement.statistics.results import Undefined


@given(st.lists(st.lists(st.integers(1, 5), min_size=1, max_size=6), min_size=1, max_size=30))
def test_the_sums_give_the_mean_and_interval_of_the_values_themselves(conversations):
    sums = Moments()
    for values in conversations:
        sums.add(values)
    labels = [number for number, values in enumerate(conversations) for _ in values]
    whole = mean([value for values in conversations for value in values], labels)
    assert not isinstance(whole, Undefined)
    assert sums.mean == pytest.approx(whole.value)
    interval = sums.interval()
    if isinstance(whole.interval, Undefined):
        assert isinstance(interval, Undefined)
    else:
        assert not isinstance(interval, Undefined)
        assert (interval.low, interval.high) == pytest.approx((whole.interval.low, whole.interval.high), abs=1e-6)


def test_without_values_there_is_no_mean():
    sums = Moments()
    sums.add([])
    assert sums.mean is None
    assert isinstance(sums.interval(), Undefined)
