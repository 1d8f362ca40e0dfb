"""Intervals of agreement: over conversations, wide where little can be known, and right as often as they say."""

import numpy as np
import pytest
from benchmarks.coverage import Case, covered
from hypothesis import given
from hypothesis import strategies as st

from attunement.statistics.alpha import alpha_statistic
from attunement.statistics.intervals import Difference, Statistic, agreement_difference, agreement_interval
from attunement.statistics.kappa import ac2_statistic, judge_kappa_statistic, people_kappa_statistic
from attunement.statistics.results import Interval, Undefined
from attunement.statistics.tables import Floats, Ints
from tests.analysis.trust_samples import noisy, three_people


def of(result: Interval | Undefined) -> Interval:
    assert isinstance(result, Interval), result
    return result


def talks(count: int, units: int = 5, seed: int = 0) -> tuple[Floats, Ints]:
    """Three raters of `units` replies in each of `count` conversations that differ, and whose reply each is."""
    rng = np.random.default_rng(seed)
    true = rng.normal(size=(count, 1)) + rng.normal(size=(count, units))
    ratings = true.reshape(-1, 1) + rng.normal(size=(count * units, 3))
    return np.clip(np.round(ratings + 3), 1, 5), np.repeat(np.arange(count), units)


def alone(statistic: Statistic) -> Interval | Undefined:
    """The interval where each unit is a conversation of its own."""
    return agreement_interval(statistic, np.arange(len(statistic.pattern)))


def test_perfect_agreement_on_two_failures_shows_little_however_many_units_were_fine() -> None:
    answers = np.zeros(500)
    answers[:2] = 1
    rare = of(alone(alpha_statistic(np.column_stack([answers, answers]), "nominal")))
    assert rare.high == 1
    assert rare.low < 0.5
    half = of(alone(alpha_statistic(np.column_stack([np.tile([0.0, 1.0], 250)] * 2), "nominal")))
    assert half.low > 0.98


@pytest.mark.parametrize("units", [10, 20, 80])
def test_a_single_odd_answer_has_a_wide_interval(units: int) -> None:
    ratings = np.full((units, 2), 5.0)
    ratings[0] = [1, 5]
    found = of(alone(alpha_statistic(ratings)))
    assert found.high > 0.8


def test_conversations_widen_the_interval_that_dependent_units_would_give() -> None:
    ratings = np.repeat(talks(40, units=1)[0], 6, axis=0)
    statistic = alpha_statistic(ratings)
    apart, together = of(alone(statistic)), of(agreement_interval(statistic, np.repeat(np.arange(40), 6)))
    assert together.se == pytest.approx(apart.se * np.sqrt(6), rel=0.05)
    assert together.high - together.low > 1.8 * (apart.high - apart.low)


def test_below_ten_conversations_there_is_no_interval() -> None:
    ratings, conversations = talks(9)
    few = Undefined("too few conversations: 9, and an interval needs at least 10")
    assert agreement_interval(alpha_statistic(ratings), conversations) == few
    ratings, conversations = talks(12)
    ratings[conversations < 3, 1:] = np.nan  # conversations without a pair of ratings do not count
    assert agreement_interval(alpha_statistic(ratings), conversations) == few


def test_a_statistic_without_a_value_has_no_interval() -> None:
    assert alone(alpha_statistic(np.full((30, 2), 5.0))) == Undefined("the statistic has no value on this sample")


def test_a_constant_judge_is_known_to_agree_no_better_than_chance() -> None:
    _, people = three_people(200, 0.5)
    found = of(alone(judge_kappa_statistic(np.full(200, 4.0), people)))
    assert found.low == pytest.approx(0, abs=0.1)
    assert found.high < 0.1


def test_many_different_values_are_ranked() -> None:
    rng = np.random.default_rng(6)
    ratings = rng.normal(size=(300, 1)) + rng.normal(size=(300, 3))
    found = of(agreement_interval(alpha_statistic(ratings), np.arange(300) // 3))
    assert found.low < 0.5 < found.high < found.low + 0.25


@pytest.mark.parametrize("name", ["alpha", "judge", "people", "ac2"])
def test_the_standard_error_is_that_of_resampled_conversations(name: str) -> None:
    truth, people = three_people(600, 0.9)
    judge, conversation = noisy(truth, 1.1, np.random.default_rng(3)), np.repeat(np.arange(200), 3)

    def statistic(units: Ints) -> Statistic:
        return {
            "alpha": lambda: alpha_statistic(people[units]),
            "judge": lambda: judge_kappa_statistic(judge[units], people[units]),
            "people": lambda: people_kappa_statistic(people[units]),
            "ac2": lambda: ac2_statistic(people[units], "quadratic", [1.0, 2.0, 3.0, 4.0, 5.0]),
        }[name]()

    rng = np.random.default_rng(0)
    drawn = [
        statistic(np.concatenate([3 * pick + np.arange(3) for pick in rng.integers(0, 200, 200)])).value()
        for _ in range(400)
    ]
    found = of(agreement_interval(statistic(np.arange(600)), conversation))
    assert found.se == pytest.approx(np.std(drawn), rel=0.12)


def test_a_difference_on_the_same_units_is_surer_than_its_parts() -> None:
    truth, people = three_people(300, 0.8)
    own, theirs = judge_kappa_statistic(truth, people), people_kappa_statistic(people)
    where = np.arange(300)
    found = agreement_difference(own, theirs, (where, where))
    assert isinstance(found, Difference)
    assert found.value == pytest.approx(own.value() - theirs.value())
    interval, parts = of(found.interval), [of(alone(each)) for each in (own, theirs)]
    assert interval.low < found.value < interval.high
    assert interval.high - interval.low < sum(part.high - part.low for part in parts)


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=10, max_size=40))
def test_an_interval_contains_the_value_and_stays_in_its_range(rows: list[tuple[int, int]]) -> None:
    ratings = np.array(rows, dtype=float)
    statistics = [alpha_statistic(ratings), alpha_statistic(ratings, "nominal"), people_kappa_statistic(ratings),
                  ac2_statistic(ratings, "quadratic", [1.0, 2.0, 3.0, 4.0])]  # fmt: skip
    for statistic in statistics:
        found = alone(statistic)
        if isinstance(found, Interval):
            assert found.low - 1e-9 <= statistic.value() <= found.high + 1e-9
            assert found.high <= 1 + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("coefficient", ["alpha", "kappa", "AC2", "rate", "ICC"])
@pytest.mark.parametrize(("units", "cluster", "prevalence"), [(100, 1, 0.1), (50, 5, 0.5), (500, 10, 0.02)])
@pytest.mark.parametrize("agreement", [0.2, 0.9])
def test_intervals_contain_the_truth_as_often_as_they_say(
    coefficient: str, units: int, cluster: int, prevalence: float, agreement: float
) -> None:
    assert covered(Case(coefficient, units, cluster, prevalence, agreement), 400).share >= 0.92
