import numpy as np
import pytest

from attunement.statistics.alpha import alpha_statistic
from attunement.statistics.bootstrap import bootstrap
from attunement.statistics.kappa import kappa_statistic
from attunement.statistics.results import Interval, Undefined
from attunement.statistics.tables import Floats, FromSums, FromWeights, Statistic


def mean_statistic(values: Floats) -> FromSums:
    parts = np.column_stack([values, np.ones(len(values))])
    return FromSums(parts, lambda totals: totals[:, 0] / totals[:, 1], np.arange(len(values)))


def weighted_mean(values: Floats) -> FromWeights:
    return FromWeights(lambda weights: weights @ values / weights.sum(axis=1), np.ones(len(values), dtype=bool))


def of(result: Interval | Undefined) -> Interval:
    assert isinstance(result, Interval), result
    return result


def talks(count: int, units: int = 5, seed: int = 0) -> tuple[Floats, Floats]:
    """Three raters of `units` replies in each of `count` conversations that differ, and whose reply each is."""
    rng = np.random.default_rng(seed)
    true = rng.normal(size=(count, 1)) + rng.normal(size=(count, units))
    ratings = true.reshape(-1, 1) + rng.normal(size=(count * units, 3))
    return np.clip(np.round(ratings + 3), 1, 5), np.repeat(np.arange(count), units)


def test_the_same_seed_gives_the_same_interval() -> None:
    statistic = alpha_statistic(talks(60)[0])
    assert bootstrap(statistic, draws=200) == bootstrap(statistic, draws=200)
    assert bootstrap(statistic, draws=200) != bootstrap(statistic, draws=200, seed=1)


@pytest.mark.parametrize("statistic", [mean_statistic, weighted_mean])
@pytest.mark.parametrize("count", [30, 3000])
def test_the_interval_of_a_mean_is_nearly_the_classical_one(statistic: type, count: int) -> None:
    values = np.random.default_rng(3).normal(size=count)
    interval = of(bootstrap(statistic(values), draws=4000))
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
    single, together = of(bootstrap(mean_statistic(values), draws=8000)), of(bootstrap(patterned, draws=8000))
    assert together.low == pytest.approx(single.low, abs=0.01)
    assert together.high == pytest.approx(single.high, abs=0.01)


@pytest.mark.parametrize(
    ("count", "method"),
    [(12, "studentised bootstrap over 12 conversations"), (60, "percentile bootstrap over 60 conversations")],
)
def test_the_method_follows_from_the_number_of_conversations(count: int, method: str) -> None:
    ratings, conversations = talks(count)
    assert of(bootstrap(alpha_statistic(ratings), conversations)).method == method


def test_conversations_widen_the_interval_that_dependent_units_would_give() -> None:
    values = np.repeat(np.random.default_rng(5).normal(size=60), 10)
    alone = of(bootstrap(mean_statistic(values)))
    together = of(bootstrap(mean_statistic(values), np.repeat(np.arange(60), 10)))
    assert together.se == pytest.approx(alone.se * np.sqrt(10), rel=0.1)


def test_many_conversations_of_many_values_are_resampled_by_weights() -> None:
    rng = np.random.default_rng(6)
    ratings = rng.normal(size=(300, 1)) + rng.normal(size=(300, 3))
    statistic = alpha_statistic(ratings)
    assert isinstance(statistic, FromWeights)
    interval = of(bootstrap(statistic, np.arange(300) // 3, draws=300))
    assert interval.low < 0.5 < interval.high
    assert interval.high - interval.low < 0.25


def test_few_conversations_of_many_values_take_bca() -> None:
    rng = np.random.default_rng(7)
    ratings = rng.normal(size=(60, 1)) + rng.normal(size=(60, 3))
    interval = of(bootstrap(alpha_statistic(ratings), np.arange(60) // 3, draws=300))
    assert interval.method == "BCa bootstrap over 20 conversations"
    assert interval.low < alpha_statistic(ratings).value() < interval.high


def test_below_ten_conversations_there_is_no_interval() -> None:
    ratings, conversations = talks(9)
    assert bootstrap(alpha_statistic(ratings), conversations) == Undefined(
        "too few conversations: 9, and an interval needs at least 10"
    )


def test_conversations_without_a_pair_of_ratings_do_not_count() -> None:
    ratings, conversations = talks(12)
    ratings[conversations < 3, 1:] = np.nan
    result = bootstrap(alpha_statistic(ratings), conversations)
    assert result == Undefined("too few conversations: 9, and an interval needs at least 10")


def test_nine_units_are_too_few() -> None:
    assert bootstrap(mean_statistic(np.arange(9.0))) == Undefined("too few units: 9, and an interval needs at least 10")


@pytest.mark.parametrize("units", [20, 80])
def test_perfect_agreement_is_not_taken_for_certainty(units: int) -> None:
    answers = np.arange(units) % 2
    assert bootstrap(kappa_statistic(answers, answers)) == Undefined(
        "every resample gives 1, so this sample cannot show how sure that is"
    )


def test_a_statistic_without_a_value_has_no_interval() -> None:
    constant = np.full((30, 2), 5.0)
    assert bootstrap(alpha_statistic(constant)) == Undefined("the statistic has no value on this sample")


@pytest.mark.parametrize("units", [20, 80])
def test_a_single_odd_answer_is_too_little_variation(units: int) -> None:
    ratings = np.full((units, 2), 5.0)
    ratings[0] = [1, 5]
    result = bootstrap(alpha_statistic(ratings))
    assert isinstance(result, Undefined)
    assert result.reason.startswith("too little variation: the statistic has no value in 3")


def test_what_hangs_on_one_conversation_has_no_interval() -> None:
    conversations = np.repeat(np.arange(12), 2)
    values = (conversations == 0).astype(float)

    def of_totals(totals: Floats) -> Floats:
        # Defined in nearly every resample by itself, but not where the first conversation is left out.
        return np.where(totals[:, 1] > 0, totals[:, 0], np.nan) if len(totals) == 12 else totals[:, 0]

    statistic = FromSums(np.column_stack([np.arange(24.0), values]), of_totals, np.arange(24))
    assert bootstrap(statistic, conversations) == Undefined(
        "without a certain one of the 12 conversations the statistic has no value"
    )


def test_a_bound_beyond_the_range_of_the_statistic_is_cut_off() -> None:
    ratings = np.repeat(np.arange(24.0)[:, None] % 5, 3, axis=1)
    ratings[:6, 0] = (ratings[:6, 0] + 1) % 5
    interval = of(bootstrap(alpha_statistic(ratings)))
    assert interval.high <= 1


def coverage(count: int, samples: int, level: float = 0.95) -> float:
    """How often intervals of alpha hold the alpha of very many conversations."""
    truth = alpha_statistic(talks(40_000, seed=999)[0]).value()
    held = 0
    for seed in range(samples):
        ratings, conversations = talks(count, seed=seed)
        interval = of(bootstrap(alpha_statistic(ratings), conversations, draws=600, level=level, seed=seed))
        held += interval.low <= truth <= interval.high
    return held / samples


@pytest.mark.slow
@pytest.mark.parametrize("count", [10, 20, 40])
def test_intervals_of_alpha_hold_the_truth_about_as_often_as_they_say(count: int) -> None:
    assert 0.93 <= coverage(count, samples=1000) <= 0.97


def test_an_interval_says_how_it_was_made() -> None:
    statistic: Statistic = alpha_statistic(talks(60)[0])
    interval = of(bootstrap(statistic, level=0.9))
    assert interval.level == 0.9
    assert interval.method == "percentile bootstrap over 300 units"
