import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunement.statistics.confusion import (
    BalancedAccuracy,
    balanced_accuracy,
    class_rates,
    confusion,
    recall_over_conversations,
)
from attunement.statistics.estimates import Mean, Proportion
from attunement.statistics.results import Undefined

PEOPLE = ["NO", "NO", "NO", "NO", "YES", "YES", "YES"]
JUDGE = ["NO", "NA", "ERROR", "YES", "YES", "YES", "NO"]
ANSWERS = st.sampled_from(["YES", "NO", "NA"])


def test_the_table_counts_every_pair() -> None:
    table = confusion(PEOPLE, JUDGE, answers=["YES", "NO"])
    assert table.people == ("YES", "NO")
    assert table.judge == ("YES", "NO", "NA", "ERROR")
    np.testing.assert_array_equal(table.counts, [[2, 1, 0, 0], [1, 1, 1, 1]])


def test_whatever_a_judge_says_instead_of_the_failure_is_a_miss() -> None:
    rates = class_rates(confusion(PEOPLE, JUDGE), "NO")
    assert isinstance(rates.recall, Proportion)
    assert (rates.recall.events, rates.recall.units) == (1, 4)
    assert rates.missed_as == {"NA": 1, "ERROR": 1, "YES": 1}


def test_false_alarms_lower_the_precision() -> None:
    rates = class_rates(confusion(PEOPLE, JUDGE), "NO")
    assert rates.false_alarms == 1
    assert isinstance(rates.precision, Proportion)
    assert rates.precision.value == 0.5
    assert isinstance(rates.specificity, Proportion)
    assert rates.specificity.value == pytest.approx(2 / 3)


def test_balanced_accuracy_lies_within_a_wider_interval_than_either_recall_alone() -> None:
    result = class_rates(confusion(PEOPLE, JUDGE), "NO").balanced_accuracy
    assert isinstance(result, BalancedAccuracy)
    assert result.value == pytest.approx((1 / 4 + 2 / 3) / 2)
    assert result.interval.low < result.value < result.interval.high


def test_rates_without_a_denominator_say_why() -> None:
    rates = class_rates(confusion(["YES", "YES"], ["YES", "NA"]), "NO")
    assert rates.recall == Undefined("people never answered NO")
    assert rates.precision == Undefined("the judge never answered NO")
    assert rates.balanced_accuracy == Undefined("people gave fewer than two different answers")
    only = class_rates(confusion(["NO"], ["NO"]), "NO")
    assert only.specificity == Undefined("people answered NO everywhere")


def test_an_empty_table_has_no_rates() -> None:
    empty = confusion([], [])
    assert class_rates(empty, "NO").recall == Undefined("people never answered NO")
    assert balanced_accuracy(empty) == Undefined("people gave fewer than two different answers")


def test_answers_of_different_numbers_of_units_are_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        confusion(["NO"], ["NO", "YES"])


def test_recall_over_conversations_weighs_what_was_sampled_rarely() -> None:
    result = recall_over_conversations(PEOPLE, JUDGE, "NO", list("aabbccc"), weights=[1, 1, 1, 5, 1, 1, 1])
    assert isinstance(result, Mean)
    assert result.value == pytest.approx(1 / 8)
    assert result.clusters == 2
    assert recall_over_conversations(["YES"], ["NO"], "NO", ["a"]) == Undefined("people never answered NO")


@given(st.lists(st.tuples(ANSWERS, ANSWERS), min_size=1))
def test_scikit_learn_agrees(pairs: list[tuple[str, str]]) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    people, judge = map(list, zip(*pairs, strict=True))
    rates = class_rates(confusion(people, judge), "NO")
    scored = [metrics.precision_score, metrics.recall_score]
    theirs = [score(people, judge, labels=["NO"], average=None, zero_division=np.nan)[0] for score in scored]
    for ours, other in zip((rates.precision, rates.recall), theirs, strict=True):
        assert (ours.value if isinstance(ours, Proportion) else np.nan) == pytest.approx(other, nan_ok=True)


@given(st.lists(st.tuples(ANSWERS, ANSWERS), min_size=1))
def test_recalls_of_all_answers_average_to_the_balanced_accuracy(pairs: list[tuple[str, str]]) -> None:
    table = confusion(*zip(*pairs, strict=True))
    result = balanced_accuracy(table)
    recalls = [class_rates(table, answer).recall for answer in table.people]
    known = [recall.value for recall in recalls if isinstance(recall, Proportion)]
    if len(known) > 1:
        assert isinstance(result, BalancedAccuracy)
        assert result.value == pytest.approx(np.mean(known))
    else:
        assert result == Undefined("people gave fewer than two different answers")
