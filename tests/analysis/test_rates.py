"""Shares as they were drawn: exact, clustered, weighted, and bounded by what was drawn seldom."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunement.statistics.estimates import Rate, rate
from attunement.statistics.power import Recall, recall
from attunement.statistics.results import Interval, Undefined


def bounds(found: Rate | Undefined) -> tuple[float, float]:
    assert isinstance(found, Rate)
    assert isinstance(found.interval, Interval)
    return found.interval.low, found.interval.high


def test_units_drawn_alike_one_a_conversation_have_an_exact_interval() -> None:
    event = np.arange(30) < 29
    low, _ = bounds(rate(event, np.arange(30), None))
    assert low == pytest.approx(0.828, abs=5e-4)
    assert bounds(rate(event, np.arange(30), np.full(30, 7.0))) == bounds(rate(event, np.arange(30), None))


def test_there_is_no_share_of_nothing() -> None:
    assert isinstance(rate(np.zeros(0, bool), np.zeros(0, np.int64), None), Undefined)


@given(st.integers(1, 60), st.integers(5, 60), st.floats(1.5, 50))
def test_what_was_drawn_seldom_can_only_lower_the_bound(flagged: int, others: int, weight: float) -> None:
    failure = np.arange(flagged + others) < flagged
    weights = np.where(failure, 1.0, weight)
    where = np.arange(flagged + others)
    made, plain = recall(failure, failure, where, weights, 0.8), recall(failure, failure, where, None, 0.8)
    assert isinstance(made, Recall)
    assert isinstance(plain, Recall)
    assert bounds(made.rate)[0] <= bounds(plain.rate)[0] + 1e-12
    assert made.rate.value == plain.rate.value == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    ("flagged_fail", "others_fail", "drawn"), [(0.7, 0.005, 100), (0.7, 0.03, 300), (0.4, 0.1, 200)]
)
def test_the_lower_bound_holds_where_all_flagged_and_some_others_were_drawn(
    flagged_fail: float, others_fail: float, drawn: int
) -> None:
    """60 of 1,060 are flagged; the true share caught must lie above the bound in at least 97 % of samples."""
    rng = np.random.default_rng(5)
    truth = 60 * flagged_fail / (60 * flagged_fail + 1000 * others_fail)
    flagged = np.arange(60 + drawn) < 60
    weights = np.where(flagged, 1.0, 1000 / drawn)
    below = 0
    for _ in range(400):
        failure = rng.random(60 + drawn) < np.where(flagged, flagged_fail, others_fail)
        made = recall(failure, flagged, np.arange(60 + drawn), weights, 0.8)
        assert isinstance(made, Recall)
        below += bounds(made.rate)[0] <= truth
    assert below >= 0.97 * 400
