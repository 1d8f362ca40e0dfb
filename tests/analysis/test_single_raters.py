"""How far single raters agree: Cohen's kappa for two, Conger's for more, the same for a judge."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from attunement.statistics.kappa import (
    Kappa,
    PairwiseKappa,
    judge_kappa,
    judge_kappa_statistic,
    kappa,
    people_kappa,
    people_kappa_statistic,
)
from attunement.statistics.results import Undefined
from attunement.statistics.tables import Floats
from tests.analysis.published import COHEN_1960, pairs_of

TABLES = st.integers(2, 5).flatmap(
    lambda raters: st.lists(
        st.lists(st.sampled_from([1.0, 2.0, 3.0, 4.0, 5.0, np.nan]), min_size=raters, max_size=raters),
        min_size=2,
        max_size=30,
    )
)


def value(result: PairwiseKappa | Undefined) -> float:
    assert isinstance(result, PairwiseKappa), result
    return result.value


@pytest.mark.parametrize(("ordered", "weights"), [(True, "quadratic"), (False, "identity")])
def test_two_people_have_cohens_kappa(ordered: bool, weights: str) -> None:
    expected = kappa(*pairs_of(COHEN_1960).T, weights)  # type: ignore[arg-type]
    assert isinstance(expected, Kappa)
    both = pairs_of(COHEN_1960)
    assert value(people_kappa(both, ordered=ordered)) == pytest.approx(expected.value)
    assert value(judge_kappa(both[:, 0], both[:, 1:], ordered=ordered)) == pytest.approx(expected.value)


def test_a_judge_among_several_people_is_held_against_each_of_them_alike() -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(1, 6, 300).astype(float)
    people = np.clip(truth[:, None] + rng.integers(-1, 2, (300, 3)), 1, 5)
    judge = np.clip(truth + rng.integers(-1, 2, 300), 1, 5)
    each = [kappa(judge, person, "quadratic") for person in people.T]
    alone = [one.value for one in each if isinstance(one, Kappa)]
    assert value(judge_kappa(judge, people)) == pytest.approx(np.mean(alone), abs=0.005)


def test_three_people_have_the_pooled_kappa_of_their_pairs() -> None:
    rng = np.random.default_rng(2)
    people = rng.integers(1, 6, (200, 3)).astype(float)
    people[:, 1] = people[:, 0]
    found = [kappa(people[:, one], people[:, two], "quadratic") for one, two in combinations(range(3), 2)]
    pairs = [each for each in found if isinstance(each, Kappa)]
    observed, expected = (1 - np.mean([getattr(each, name) for each in pairs]) for name in ("observed", "expected"))
    assert value(people_kappa(people)) == pytest.approx(1 - observed / expected)


def test_many_people_who_rate_few_units_each_are_pooled() -> None:
    rng = np.random.default_rng(3)
    people = np.full((600, 150), np.nan)
    truth = rng.integers(1, 6, 600)
    for unit in range(600):
        for rater in rng.choice(150, 3, replace=False):
            people[unit, rater] = np.clip(truth[unit] + rng.integers(-1, 2), 1, 5)
    few = np.full((600, 90), np.nan)
    for unit in range(600):
        few[unit, rng.choice(90, 3, replace=False)] = people[unit][~np.isnan(people[unit])]
    assert value(people_kappa(people)) == pytest.approx(value(people_kappa(few)), abs=0.01)


def test_a_constant_judge_agrees_no_better_than_chance() -> None:
    people = np.random.default_rng(4).integers(1, 6, (50, 3)).astype(float)
    assert value(judge_kappa(np.full(50, 4.0), people)) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize(
    ("people", "reason"),
    [
        (np.zeros((0, 0)), "no unit was rated by two people"),
        (np.array([[1.0], [2.0]]), "only one person"),
        (np.array([[1.0, np.nan], [np.nan, 2.0]]), "no unit was rated by two people"),
        (np.full((9, 2), 5.0), "every rating is 5"),
    ],
)
def test_where_there_is_no_figure_there_is_a_reason(people: Floats, reason: str) -> None:
    result = people_kappa(people)
    assert isinstance(result, Undefined)
    assert result.reason == reason


def test_without_a_common_unit_the_judge_has_no_figure() -> None:
    judge, people = np.array([1.0, np.nan]), np.array([[np.nan], [2.0]])
    assert judge_kappa(judge, people) == Undefined("no unit was rated by a person and the judge")


@given(TABLES)
def test_neither_the_order_of_people_nor_a_shift_of_the_scale_matters(rows: list[list[float]]) -> None:
    people = np.array(rows)
    assert_allclose(
        people_kappa_statistic(people[:, ::-1] + 1000).value(),
        people_kappa_statistic(people).value(),
        rtol=1e-6,
        atol=1e-7,
    )


@given(TABLES)
def test_units_that_one_person_rated_say_nothing_about_people(rows: list[list[float]]) -> None:
    people = np.array(rows)
    single = np.full((1, people.shape[1]), np.nan)
    single[0, 0] = 3
    assert_allclose(
        people_kappa_statistic(np.vstack([people, single])).value(),
        people_kappa_statistic(people).value(),
        rtol=1e-9,
        atol=1e-9,
    )


def test_a_judge_that_copies_a_person_is_as_good_as_that_person() -> None:
    people = np.random.default_rng(5).integers(1, 6, (80, 2)).astype(float)
    judge = judge_kappa_statistic(people[:, 0], people[:, 1:])
    assert judge.value() == pytest.approx(people_kappa_statistic(people).value(), abs=1e-9)
