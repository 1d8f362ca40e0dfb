"""Failures that people found: which a judge misses, how, and when that can be known."""

import numpy as np
import pytest

from attunement.analysis.failures import FailureDetection, Units, detect_failures
from attunement.analysis.ratings_table import AnswerState
from attunement.statistics.estimates import Rate
from attunement.statistics.results import Interval, Undefined
from attunement.statistics.tables import Floats
from tests.analysis.trust_samples import GATE

NO, YES, NA, ERROR, ABSTAINED, UNASKED = 0.0, 1.0, 2.0, 3.0, 4.0, np.nan
_STATES = {2.0: AnswerState.NA, 3.0: AnswerState.ERROR, 4.0: AnswerState.ABSTAINED}


def seen(people: object, judge: object, conversation: object = None, weights: Floats | None = None) -> Units:
    """Answers in the words above."""
    sides = [np.atleast_1d(np.array(side, dtype=float)) for side in (people, judge)]
    values, states = [], []
    for side in sides:
        state = np.where(np.isnan(side), AnswerState.NOT_ASKED, AnswerState.VALUE).astype(np.int64)
        for sign, kind in _STATES.items():
            state[side == sign] = kind
        values.append(np.where(side <= YES, side, np.nan))
        states.append(state)
    if values[0].ndim == 1:
        values[0], states[0] = values[0][:, None], states[0][:, None]
    where = np.arange(len(values[1])) if conversation is None else np.array(conversation)
    judge = values[1][:, None], states[1][:, None]
    return Units(GATE, values[0], states[0], *judge, where, weights)


def recall(found: FailureDetection) -> Rate:
    assert isinstance(found.recall, Rate), found.recall
    return found.recall


def test_a_judge_that_says_anything_but_no_has_missed_it() -> None:
    people = [[NO, NO]] * 6
    found = detect_failures(seen(people, [NO, YES, NA, ERROR, ABSTAINED, UNASKED]))
    assert (found.failures, found.missed, found.missed_as_na, found.missed_as_unanswered) == (5, 4, 1, 2)
    assert found.not_asked == 1
    assert recall(found).value == pytest.approx(1 / 5)


def test_one_persons_no_is_a_failure_and_a_second_confirms_it() -> None:
    people = [[NO, YES], [NO, NO], [YES, YES], [NA, NO], [NA, YES]]
    found = detect_failures(seen(people, [YES, NO, NO, YES, YES]))
    assert (found.failures, found.missed) == (3, 2)
    assert (found.confirmed, found.confirmed_missed) == (1, 0)
    assert (found.fine, found.false_alarms) == (2, 1)


def test_a_persons_na_is_no_failure_but_a_label() -> None:
    found = detect_failures(seen([[NA, NA]] * 3, [NO, YES, YES]))
    assert (found.failures, found.fine, found.false_alarms) == (0, 3, 1)
    assert found.recall == Undefined("people found no failure")


@pytest.mark.parametrize(("caught", "low"), [(29, 0.83), (28, 0.78)])
def test_the_interval_is_exact_for_one_unit_a_conversation(caught: int, low: float) -> None:
    judge = [NO] * caught + [YES] * (30 - caught)
    interval = recall(detect_failures(seen([[NO, NO]] * 30, judge))).interval
    assert isinstance(interval, Interval)
    assert interval.low == pytest.approx(low, abs=0.005)
    assert "exact" in interval.method


def test_several_units_of_a_conversation_are_clustered() -> None:
    conversation = np.repeat(np.arange(20), 3)
    judge = np.where(conversation < 15, NO, YES)  # whole conversations are missed
    interval = recall(detect_failures(seen([[NO, NO]] * 60, judge, conversation))).interval
    assert isinstance(interval, Interval)
    assert "conversations" in interval.method
    assert interval.low < 0.56  # 45 of 60 independent units would give .62


def test_where_all_are_caught_whole_conversations_bound_the_recall() -> None:
    conversation = np.repeat(np.arange(12), 4)
    interval = recall(detect_failures(seen([[NO, NO]] * 48, [NO] * 48, conversation))).interval
    assert isinstance(interval, Interval)
    assert 0.025 ** (1 / 12) < interval.low < 0.8  # 48 independent units would give .93


def test_conversations_that_stand_for_many_weigh_more() -> None:
    # 20 flagged ones, all drawn and caught; 10 of 100 unflagged ones drawn, and missed.
    weights = np.array([1.0] * 20 + [10.0] * 10)
    found = detect_failures(seen([[NO, NO]] * 30, [NO] * 20 + [YES] * 10, weights=weights))
    assert recall(found).value == pytest.approx(20 / 120)


def test_recall_cannot_be_known_where_people_saw_only_what_was_flagged() -> None:
    people = [[NO, NO]] * 5 + [[YES, NO]] * 2 + [[np.nan, np.nan]] * 40
    found = detect_failures(seen(people, [NO] * 7 + [YES] * 40))
    assert found.unknowable
    assert "cannot be known" in found.unknowable


UNSEEN = [np.nan, np.nan]


def test_recall_can_be_known_where_people_saw_a_like_share_of_what_was_not_flagged() -> None:
    people = ([[NO, NO]] * 5 + [UNSEEN] * 5) + ([[YES, YES]] * 22 + [UNSEEN] * 21)
    assert detect_failures(seen(people, [NO] * 10 + [YES] * 43)).unknowable is None
    assert detect_failures(seen([[NO, NO]] * 5, [NO] * 5)).unknowable is None


def test_recall_cannot_be_known_where_nothing_says_how_the_few_others_were_chosen() -> None:
    people = [[NO, NO]] * 40 + [[YES, YES]] * 10 + [UNSEEN] * 150
    judge = [NO] * 40 + [YES] * 160
    chosen = detect_failures(seen(people, judge)).unknowable
    assert chosen is not None
    assert "40 of 40" in chosen
    assert "10 of 160" in chosen
    drawn = np.array([1.0] * 40 + [16.0] * 160)
    assert detect_failures(seen(people, judge, weights=drawn)).unknowable is None


def test_what_one_person_saw_of_the_unflagged_confirms_nothing_and_clears_nothing() -> None:
    people = [[NO, NO]] * 40 + [[YES, np.nan]] * 60
    assert detect_failures(seen(people, [NO] * 40 + [YES] * 60)).unknowable


def test_none_missed_among_few_that_stand_for_many_shows_little() -> None:
    """40 flagged, all failures; 20 of 1,000 others drawn, none a failure: up to 17 % of those may be."""
    people = [[NO, NO]] * 40 + [[YES, YES]] * 20
    found = detect_failures(seen(people, [NO] * 40 + [YES] * 20, weights=np.array([1.0] * 40 + [50.0] * 20)))
    interval = recall(found).interval
    assert isinstance(interval, Interval)
    assert (recall(found).value, interval.high) == (1, 1)
    assert interval.low == pytest.approx(40 / (40 + 1000 * (1 - 0.025 ** (1 / 20))))


def test_those_who_were_drawn_and_not_yet_labelled_are_stood_for() -> None:
    people = [[NO, NO]] * 40 + [[YES, YES]] * 10 + [UNSEEN] * 10
    judge, weights = [NO] * 40 + [YES] * 20, np.array([1.0] * 40 + [50.0] * 20)
    interval = recall(detect_failures(seen(people, judge, weights=weights))).interval
    assert isinstance(interval, Interval)
    assert interval.low == pytest.approx(40 / (40 + 1000 * (1 - 0.025 ** (1 / 10))))


def test_false_alarms_have_an_exact_interval() -> None:
    found = detect_failures(seen([[YES, YES]] * 60, [YES] * 60))
    assert isinstance(found.false_alarm_rate, Rate)
    assert isinstance(found.false_alarm_rate.interval, Interval)
    assert found.false_alarm_rate.interval.high == pytest.approx(0.06, abs=0.001)  # 0 of 60 still allows 6.0 %


def test_false_alarms_and_precision_are_weighted_as_conversations_were_drawn() -> None:
    # All 50 flagged were drawn, 20 of them failures; 50 of 1,000 others, all fine.
    people = [[NO, NO]] * 20 + [[YES, YES]] * 80
    weights = np.array([1.0] * 50 + [20.0] * 50)
    found = detect_failures(seen(people, [NO] * 50 + [YES] * 50, weights=weights))
    assert isinstance(found.false_alarm_rate, Rate)
    assert found.false_alarm_rate.value == pytest.approx(30 / 1030)
    assert isinstance(found.precision, Rate)
    assert found.precision.value == pytest.approx(20 / 50)
