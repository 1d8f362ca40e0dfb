"""Shares as they were drawn: exact, clustered, weighted, and bounded by what was drawn seldom."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunement.analysis.failures import Units, detect_failures
from attunement.analysis.ratings_table import AnswerState
from attunement.statistics.estimates import Rate, rate
from attunement.statistics.results import Interval, Undefined
from tests.analysis.trust_samples import GATE


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


def weighed(failure: np.ndarray, flagged: np.ndarray, weights: np.ndarray | None) -> Rate:
    """Recall as `detect_failures` has it: two people agree on every failure."""
    people = np.where(failure, 0.0, 1.0)[:, None].repeat(2, axis=1)
    states = np.full(people.shape, AnswerState.VALUE, dtype=np.int64)
    judge = np.where(flagged, 0.0, 1.0)[:, None]
    where = np.arange(len(failure))
    found = detect_failures(Units(GATE, people, states, judge, states[:, :1], where, weights)).recall
    assert isinstance(found, Rate)
    return found


@given(st.integers(1, 60), st.integers(5, 60), st.floats(1.5, 50))
def test_what_was_drawn_seldom_can_only_lower_the_bound(flagged: int, others: int, weight: float) -> None:
    failure = np.arange(flagged + others) < flagged
    made, plain = weighed(failure, failure, np.where(failure, 1.0, weight)), weighed(failure, failure, None)
    assert bounds(made)[0] <= bounds(plain)[0] + 1e-12
    assert made.value == plain.value == 1


def test_several_units_of_a_conversation_count_for_less() -> None:
    event = np.random.default_rng(0).random(40) < 0.7
    where = np.repeat(np.arange(20), 2)
    both = rate(np.repeat(event[::2], 2), where, None)
    assert bounds(both)[0] == pytest.approx(bounds(rate(event[::2], np.arange(20), None))[0], abs=0.06)


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
        below += bounds(weighed(failure, flagged, weights))[0] <= truth
    assert below >= 0.97 * 400
