"""Whether raters put units in the same order, one with another."""

import numpy as np
import pytest
from scipy.stats import spearmanr

from attunement.analysis.reliability import favoured, judge_order, people_order

PEOPLE = np.array([[1, 2, 1], [2, 1, 3], [3, 3, 2], [4, 5, 5], [5, 4, 4], [3, 4, 4]], float)
JUDGE = np.array([0.2, 0.1, 0.9, 1.8, 1.1, 1.5])


def test_the_order_of_people_is_the_mean_over_their_pairs() -> None:
    expected = np.mean([spearmanr(PEOPLE[:, a], PEOPLE[:, b]).statistic for a, b in ((0, 1), (0, 2), (1, 2))])
    assert people_order(PEOPLE).value() == pytest.approx(expected)


def test_the_order_of_a_judge_is_the_mean_over_single_people_and_not_the_one_with_their_mean() -> None:
    value = judge_order(JUDGE, PEOPLE).value()
    assert value == pytest.approx(np.mean([spearmanr(JUDGE, person).statistic for person in PEOPLE.T]))
    assert value < spearmanr(JUDGE, PEOPLE.mean(axis=1)).statistic


def test_a_judge_that_repeats_one_person_is_no_better_than_that_person() -> None:
    others = PEOPLE[:, 1:]
    assert judge_order(PEOPLE[:, 0], others).value() == pytest.approx(
        np.mean([spearmanr(PEOPLE[:, 0], other).statistic for other in others.T])
    )


def test_a_count_is_turned_the_way_that_suits_it() -> None:
    assert judge_order(favoured(-JUDGE, PEOPLE), PEOPLE).value() == pytest.approx(judge_order(JUDGE, PEOPLE).value())
    assert (favoured(JUDGE, PEOPLE) == JUDGE).all()


def test_one_person_has_no_order_with_another() -> None:
    with pytest.raises(ValueError, match="two people"):
        people_order(PEOPLE[:, :1])
