from math import sqrt
from typing import NamedTuple

import numpy as np
import pytest
from benchmarks.coverage_corrected import Case, Coverage, coverage, difference_coverage, sampled
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from attunement.statistics.ppi import ANY, SHARE, Estimate, Range, Units, corrected_mean, plain_mean
from attunement.statistics.results import Interval, Undefined

SCORES = st.lists(st.integers(1, 5), min_size=2, max_size=20)
Z = 1.959963985
RNG = np.random.default_rng(0)


def of(result: Estimate | Undefined) -> Estimate:
    assert isinstance(result, Estimate), result
    return result


def interval(result: Estimate | Undefined) -> Interval:
    found = of(result).interval
    assert isinstance(found, Interval), found
    return found


class Sample(NamedTuple):
    """What people and the judge said of some units, and the judge of others; `each` of them are a conversation."""

    people: ArrayLike
    judge: ArrayLike
    alone: ArrayLike
    probability: ArrayLike = 0.5
    each: int = 1

    def mean(self, *, trust: float | None = None, finite: bool = False, range: Range = ANY) -> Estimate | Undefined:
        people, judge, alone = (np.asarray(column, dtype=np.float64) for column in self[:3])
        count = len(people) + len(alone)
        chance = np.full(count, np.nan)
        chance[: len(people)] = self.probability
        everything = np.concatenate([people, np.full(len(alone), np.nan)])
        units = Units(np.concatenate([judge, alone]), everything, np.arange(count) // self.each, chance)
        return corrected_mean(units, range, finite=finite, trust=trust)


PUBLISHED = Sample([4, 3, 5, 2, 4, 3], [5, 3, 5, 4, 4, 4], [5, 4, 3, 5, 4, 4, 5, 4, 3, 5])


def talks(labelled: int, unlabelled: int, rng: np.random.Generator) -> Sample:
    """Five turns a conversation, rated by people whose mean is 3, and by a judge that is half a point too kind."""

    def scores(count: int) -> tuple[np.ndarray, np.ndarray]:
        people = 3 + 0.7 * (np.repeat(rng.normal(size=count), 5) + rng.normal(size=5 * count))
        return people, 3.5 + 0.8 * (people - 3) + 0.5 * rng.normal(size=5 * count)

    people, judge = scores(labelled)
    return Sample(people, judge, scores(unlabelled)[1], each=5)


@pytest.mark.parametrize(
    ("trust", "value", "low", "high"),
    [(1.0, 3.533333, 2.777812, 4.288855), (0.0, 3.5, 2.733913, 4.266087), (0.462963, 3.515432, 2.844022, 4.186842)],
)
def test_the_published_example_comes_out(trust: float, value: float, low: float, high: float) -> None:
    # The paper holds the labelled units against the ten others, we against all sixteen: our lambda is 16/10 of theirs.
    result = of(PUBLISHED.mean(trust=1.6 * trust))
    assert result.value == pytest.approx(value, abs=5e-7)
    se = sqrt(float(result.pull @ result.pull))  # population variances, as in the paper
    # The paper subtracts the mean of the ten from the ten, we that of all sixteen from all.
    assert (result.value - Z * se, result.value + Z * se) == pytest.approx((low, high), abs=2e-4)


def test_six_labels_have_a_value_and_no_interval() -> None:
    result = of(PUBLISHED.mean())
    assert result.interval == Undefined("too few labelled conversations: 6, and an interval needs at least 10")


@given(SCORES, st.data())
def test_without_trust_it_is_the_mean_of_people(people: list[int], data: st.DataObject) -> None:
    judge = data.draw(st.lists(st.integers(1, 5), min_size=len(people), max_size=len(people)))
    alone = data.draw(SCORES)
    assert of(Sample(people, judge, alone).mean(trust=0)).value == pytest.approx(np.mean(people))


@given(SCORES, st.integers(-3, 3))
def test_a_judge_that_is_off_by_a_constant_is_fully_corrected(people: list[int], off: int) -> None:
    judge = np.array(people) + off
    result = of(Sample(people, judge, np.repeat(judge, 50)).mean(trust=1))
    assert result.value == pytest.approx(np.mean(people))


def test_a_constant_judge_earns_no_trust_and_costs_nothing() -> None:
    sample = Sample(list(range(12)), [4] * 12, [4] * 100)
    assert of(sample.mean()).trust == 0
    assert of(sample.mean()).value == np.mean(range(12))


def test_a_judge_that_runs_against_people_is_not_trusted() -> None:
    people = np.arange(20.0)
    assert of(Sample(people, -people, -np.arange(100.0)).mean()).trust == 0


def test_a_good_judge_spares_ratings() -> None:
    sample = talks(30, 300, np.random.default_rng(1))
    people, corrected = interval(sample.mean(trust=0)), interval(sample.mean())
    assert corrected.high - corrected.low < 0.75 * (people.high - people.low)
    assert corrected.method.endswith("over 30 labelled conversations")


def test_labelled_units_sampled_rarely_weigh_more() -> None:
    sample = Sample([1, 5], [1, 5], [1, 1, 1, 5], probability=[1 / 3, 1])
    assert of(sample.mean(trust=0)).value == 2


def test_units_with_a_missing_score_do_not_enter() -> None:
    assert of(Sample([4, np.nan, 2], [4, 4, np.nan], [3, np.nan]).mean(trust=0)).value == 4


@pytest.mark.parametrize("sample", [Sample([], [], [1]), Sample([np.nan], [1], [1]), Sample([1], [np.nan], [1])])
def test_samples_without_scores_have_a_reason(sample: Sample) -> None:
    assert sample.mean() == Undefined("no unit was rated by people and the judge")


def test_scores_that_never_vary_are_not_taken_for_certainty() -> None:
    assert of(Sample([3] * 12, [4] * 12, [4] * 40).mean()).interval == Undefined(
        "no score differs from another, so this sample cannot show how far they vary"
    )


# Shares


def test_a_share_is_put_together_from_what_the_judge_passed_and_what_it_failed() -> None:
    # It failed 20 of 100; of 5 of those, people fail 4; of 15 others they fail 3.
    judge = [0] * 5 + [1] * 15
    people = [0] * 4 + [1] + [0] * 3 + [1] * 12
    sample = Sample(people, judge, [0] * 15 + [1] * 65, probability=0.2)
    assert of(sample.mean(range=SHARE)).value == pytest.approx(0.2 * 1 / 5 + 0.8 * 12 / 15)


def test_where_people_rated_nothing_that_the_judge_failed_their_share_counts_alone() -> None:
    sample = Sample([1] * 18 + [0] * 2, [1] * 20, [0] * 5 + [1] * 75, probability=0.2)
    assert of(sample.mean(range=SHARE)).value == pytest.approx(0.9)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=10, max_size=40), st.booleans())
def test_an_interval_of_a_share_never_leaves_the_range_and_has_a_width(
    pairs: list[tuple[int, int]], finite: bool
) -> None:
    people, judge = zip(*pairs, strict=True)
    found = of(Sample(people, judge, [1] * 60 + [0] * 20).mean(range=SHARE, finite=finite))
    limits = interval(found)
    assert 0 <= limits.low <= found.value <= limits.high <= 1
    assert limits.high - limits.low > 0.02


def test_t_intervals_of_rare_failures_left_the_range_and_those_of_shares_do_not() -> None:
    people = [1] * 19 + [0]
    sample = Sample(people, [1] * 20, [1] * 80, probability=0.2)
    assert interval(sample.mean()).high > 1
    assert interval(sample.mean(range=SHARE)).high < 1


@pytest.mark.parametrize("range", [SHARE, Range(1, 5, is_share=False)])
def test_the_interval_about_a_study_shrinks_to_nothing_when_people_have_rated_all(range: Range) -> None:
    people, judge = [1, 1, 1, 0] * 10, [1, 1, 0, 0] * 10
    widths = [
        limits.high - limits.low
        for alone, chance in ((160, 0.2), (10, 0.8), (0, 1.0))
        for limits in [interval(Sample(people, judge, [1] * alone, chance).mean(range=range, finite=True))]
    ]
    assert widths[0] > widths[1] > widths[2] == pytest.approx(0, abs=1e-9)


def test_replies_of_one_conversation_count_less_than_conversations() -> None:
    values = [1.0] * 57 + [0.0] * 3
    apart, together = (interval(plain_mean(values, np.arange(60) // each)) for each in (1, 3))
    assert together.high - together.low > 1.2 * (apart.high - apart.low)


def test_weights_that_make_few_conversations_count_most_give_no_interval_of_scores() -> None:
    people = [float(at % 3) for at in range(24)]
    sample = Sample(people, people, [1.0] * 20, probability=[1.0] * 20 + [0.01] * 4)
    assert "drawn so unevenly that they count like 4" in str(of(sample.mean()).interval)


@pytest.mark.parametrize("failing", [0.02, 0.1])
def test_intervals_of_rare_failures_contain_the_truth_as_often_as_they_say(failing: float) -> None:
    found = coverage(Case(50, 250, failing=failing), 400)
    assert found.covered >= 0.93
    assert found.outside == 0


def test_the_bounds_of_a_sample_do_not_depend_on_the_order_of_units() -> None:
    units, _ = sampled(np.random.default_rng(3), Case(replies=3))
    turned = Units(*(column[::-1] for column in units))
    assert interval(corrected_mean(units)) == pytest.approx(interval(corrected_mean(turned)))


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        Case(20, 100, 1, 0.02, "poor"),
        Case(50, 250, 1, 0.5),
        Case(50, 250, 5, 0.1, "poor"),
        Case(50, 250, 10, 0.02),
        Case(200, 1000, 5, 0.02, "poor", flagged=True),
        Case(500, 2500, 1, 0.05),
    ],
)
def test_intervals_of_corrected_shares_contain_the_truth_as_often_as_they_say(case: Case) -> None:
    found = coverage(case, 1500)
    print(f"{case}: {found.covered:.3f}")
    # Where hardly anything fails, no interval of so few can cover exactly 95 %; it covers more.
    assert 0.93 <= found.covered <= (0.97 if case.failing > 0.05 else 1)
    assert found.outside == 0


@pytest.mark.slow
@pytest.mark.parametrize("paired", [True, False])
def test_intervals_of_corrected_differences_contain_the_truth_as_often_as_they_say(paired: bool) -> None:
    found: Coverage = difference_coverage(Case(200, 1000, 1, 0.3), 1000, paired=paired, corrected=True)
    assert 0.93 <= found.covered <= 0.975


@pytest.mark.slow
@pytest.mark.parametrize("labelled", [10, 20, 40])
def test_corrected_means_contain_the_truth_as_often_as_they_say(labelled: int) -> None:
    rng = np.random.default_rng(labelled)
    found = [interval(talks(labelled, 5 * labelled, rng).mean()) for _ in range(2000)]
    assert 0.93 <= np.mean([each.low <= 3 <= each.high for each in found]) <= 0.97
