import numpy as np
import pytest

import attunement.statistics.bootstrap as module
from attunement.statistics.alpha import alpha_statistic
from attunement.statistics.bootstrap import clustered_interval
from attunement.statistics.kappa import judge_kappa_statistic, people_kappa_statistic
from attunement.statistics.results import Interval, Undefined
from attunement.statistics.tables import Floats, FromSums, FromWeights, Ints, Statistic, combined
from tests.analysis.trust_samples import noisy, three_people


def mean_statistic(values: Floats) -> FromSums:
    parts = np.column_stack([values, np.ones(len(values))])
    return FromSums(parts, lambda totals: totals[:, 0] / totals[:, 1], np.arange(len(values)))


def weighted_mean(values: Floats) -> FromWeights:
    return FromWeights(lambda weights: weights @ values / weights.sum(axis=1), np.ones(len(values), dtype=bool))


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
    return clustered_interval(statistic, np.arange(statistic.units))


def test_the_same_data_give_the_same_interval() -> None:
    ratings, conversations = talks(60)
    first, second = (clustered_interval(alpha_statistic(ratings), conversations) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("statistic", [mean_statistic, weighted_mean])
@pytest.mark.parametrize("count", [30, 900, 3000])
def test_the_interval_of_a_mean_is_nearly_the_classical_one(statistic: type, count: int) -> None:
    values = np.random.default_rng(3).normal(size=count)
    interval = of(alone(statistic(values)))
    error = values.std(ddof=1) / np.sqrt(count)
    assert interval.se == pytest.approx(error, rel=0.05)
    assert interval.low == pytest.approx(values.mean() - 2 * error, abs=error / 2)
    assert interval.high == pytest.approx(values.mean() + 2 * error, abs=error / 2)


def test_alike_units_drawn_as_patterns_give_what_drawing_them_singly_gives() -> None:
    values = np.random.default_rng(4).integers(1, 6, size=400).astype(float)
    parts, pattern = np.unique(values, return_inverse=True)
    patterned = FromSums(
        np.column_stack([parts, np.ones(5)]), lambda totals: totals[:, 0] / totals[:, 1], pattern.astype(np.int64)
    )
    single, together = of(alone(mean_statistic(values))), of(alone(patterned))
    assert together.low == pytest.approx(single.low, abs=0.03)
    assert together.high == pytest.approx(single.high, abs=0.03)


@pytest.mark.parametrize(
    ("count", "method"),
    [
        (12, "studentised bootstrap over 12 conversations"),
        (60, "percentile bootstrap over 60 conversations"),
        (1000, "linearised, over 1000 conversations"),
    ],
)
def test_the_method_follows_from_the_number_of_conversations(count: int, method: str) -> None:
    ratings, conversations = talks(count)
    found = of(clustered_interval(alpha_statistic(ratings), conversations))
    assert (found.method, found.level) == (method, 0.95)


def test_conversations_of_one_unit_are_resampled_as_units() -> None:
    assert of(alone(alpha_statistic(talks(60, units=1)[0]))).method == "percentile bootstrap over 60 units"


def test_conversations_widen_the_interval_that_dependent_units_would_give() -> None:
    values = np.repeat(np.random.default_rng(5).normal(size=60), 10)
    apart = of(alone(mean_statistic(values)))
    together = of(clustered_interval(mean_statistic(values), np.repeat(np.arange(60), 10)))
    assert together.se == pytest.approx(apart.se * np.sqrt(10), rel=0.1)


def test_many_conversations_of_many_values_are_resampled_by_weights() -> None:
    rng = np.random.default_rng(6)
    ratings = rng.normal(size=(300, 1)) + rng.normal(size=(300, 3))
    statistic = alpha_statistic(ratings)
    assert isinstance(statistic, FromWeights)
    interval = of(clustered_interval(statistic, np.arange(300) // 3))
    assert interval.low < 0.5 < interval.high
    assert interval.high - interval.low < 0.25


def test_few_conversations_of_many_values_take_bca() -> None:
    rng = np.random.default_rng(7)
    ratings = rng.normal(size=(60, 1)) + rng.normal(size=(60, 3))
    interval = of(clustered_interval(alpha_statistic(ratings), np.arange(60) // 3))
    assert interval.method == "BCa bootstrap over 20 conversations"
    assert interval.low < alpha_statistic(ratings).value() < interval.high


def test_below_ten_conversations_there_is_no_interval() -> None:
    ratings, conversations = talks(9)
    assert clustered_interval(alpha_statistic(ratings), conversations) == Undefined(
        "too few conversations: 9, and an interval needs at least 10"
    )


def test_conversations_without_a_pair_of_ratings_do_not_count() -> None:
    ratings, conversations = talks(12)
    ratings[conversations < 3, 1:] = np.nan
    result = clustered_interval(alpha_statistic(ratings), conversations)
    assert result == Undefined("too few conversations: 9, and an interval needs at least 10")


def test_perfect_agreement_has_a_lower_end_that_rises_with_the_number() -> None:
    ends: list[float] = []
    for number in (12, 120):
        answers = np.tile([1.0, 2.0, 3.0, 4.0], number // 4)
        ends.append(of(alone(alpha_statistic(np.column_stack([answers, answers])))).low)
    assert ends[0] == pytest.approx(0.025 ** (1 / 12))
    assert ends[1] > 0.95


@pytest.mark.parametrize("units", [20, 80])
def test_what_no_resample_changes_is_not_taken_for_certainty(units: int) -> None:
    assert alone(mean_statistic(np.full(units, 4.0))) == Undefined(
        "every resample gives 4, so this sample cannot show how sure that is"
    )


def test_a_constant_judge_has_no_interval_however_many_conversations() -> None:
    _, people = three_people(2000, 0.5)
    for units in (40, 2000):
        assert isinstance(alone(judge_kappa_statistic(np.full(units, 4.0), people[:units])), Undefined)


def test_a_statistic_without_a_value_has_no_interval() -> None:
    assert alone(alpha_statistic(np.full((30, 2), 5.0))) == Undefined("the statistic has no value on this sample")


@pytest.mark.parametrize("units", [20, 80])
def test_a_single_odd_answer_is_too_little_variation(units: int) -> None:
    ratings = np.full((units, 2), 5.0)
    ratings[0] = [1, 5]
    result = alone(alpha_statistic(ratings))
    assert isinstance(result, Undefined)
    assert result.reason.startswith("too little variation: the statistic has no value in 3")


def test_what_hangs_on_one_conversation_has_no_interval() -> None:
    conversations = np.repeat(np.arange(12), 2)
    values = (conversations == 0).astype(float)

    def of_totals(totals: Floats) -> Floats:
        # Defined in nearly every resample by itself, but not where the first conversation is left out.
        return np.where(totals[:, 1] > 0, totals[:, 0], np.nan) if len(totals) == 12 else totals[:, 0]

    statistic = FromSums(np.column_stack([np.arange(24.0), values]), of_totals, np.arange(24))
    assert clustered_interval(statistic, conversations) == Undefined(
        "without a certain one of the 12 conversations the statistic has no value"
    )


def test_a_bound_beyond_the_range_of_the_statistic_is_cut_off() -> None:
    ratings = np.repeat(np.arange(24.0)[:, None] % 5, 3, axis=1)
    ratings[:6, 0] = (ratings[:6, 0] + 1) % 5
    assert of(alone(alpha_statistic(ratings))).high <= 1


@pytest.mark.parametrize("each", [1, 3])
@pytest.mark.parametrize("name", ["alpha", "judge", "people", "gap"])
def test_very_many_conversations_give_what_resampling_gives(
    name: str, each: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth, people = three_people(1500 * each, 0.9)
    judge = noisy(truth, 1.1, np.random.default_rng(3))
    own, theirs = judge_kappa_statistic(judge, people), people_kappa_statistic(people)
    gap = combined([own, theirs], lambda values: values[:, 0] - values[:, 1])
    statistic = {"alpha": alpha_statistic(people), "judge": own, "people": theirs, "gap": gap}[name]
    conversation = np.repeat(np.arange(1500), each)
    quick = of(clustered_interval(statistic, conversation))
    monkeypatch.setattr(module, "VERY_MANY", 10_000)
    slow = of(clustered_interval(statistic, conversation))
    assert "linearised" in quick.method
    assert "bootstrap" in slow.method
    assert quick.se == pytest.approx(slow.se, rel=0.1)
    assert (quick.low, quick.high) == pytest.approx((slow.low, slow.high), abs=0.3 * slow.se)


@pytest.mark.slow
@pytest.mark.parametrize("count", [10, 20, 40])
def test_intervals_of_alpha_cover_the_truth_about_as_often_as_they_say(count: int) -> None:
    truth = alpha_statistic(talks(40_000, seed=999)[0]).value()
    covered = 0
    for seed in range(1000):
        ratings, conversations = talks(count, seed=seed)
        interval = of(clustered_interval(alpha_statistic(ratings), conversations))
        covered += interval.low <= truth <= interval.high
    assert 0.93 <= covered / 1000 <= 0.97
