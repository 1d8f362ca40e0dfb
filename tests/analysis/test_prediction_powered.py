from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from attunement.statistics.estimates import Mean
from attunement.statistics.ppi import PredictionPowered, prediction_powered_mean
from attunement.statistics.results import Interval, Undefined


class Sample(NamedTuple):
    people: ArrayLike
    judge: ArrayLike
    judge_unlabelled: ArrayLike
    conversations: tuple[ArrayLike, ArrayLike] | None = None
    weights: ArrayLike | None = None

    def mean(self, trust: float | None = None) -> PredictionPowered | Undefined:
        return prediction_powered_mean(**self._asdict(), trust=trust)


PUBLISHED = Sample([4, 3, 5, 2, 4, 3], [5, 3, 5, 4, 4, 4], [5, 4, 3, 5, 4, 4, 5, 4, 3, 5])
SCORES = st.lists(st.integers(1, 5), min_size=2, max_size=20)
Z = 1.959963985


def of(result: PredictionPowered | Undefined) -> PredictionPowered:
    assert isinstance(result, PredictionPowered), result
    return result


def interval(result: PredictionPowered | Undefined) -> Interval:
    found = of(result).interval
    assert isinstance(found, Interval), found
    return found


def talks(labelled: int, unlabelled: int, rng: np.random.Generator) -> Sample:
    """Five turns a conversation, rated by people whose mean is 3, and by a judge that is half a point too kind."""

    def scores(count: int) -> tuple[np.ndarray, np.ndarray]:
        people = 3 + 0.7 * (np.repeat(rng.normal(size=count), 5) + rng.normal(size=5 * count))
        return people, 3.5 + 0.8 * (people - 3) + 0.5 * rng.normal(size=5 * count)

    people, judge = scores(labelled)
    _, alone = scores(unlabelled)
    numbers = np.repeat(np.arange(labelled + unlabelled), 5)
    return Sample(people, judge, alone, (numbers[: 5 * labelled], numbers[5 * labelled :]))


@pytest.mark.parametrize(
    ("trust", "value", "low", "high"),
    [(1.0, 3.533333, 2.777812, 4.288855), (0.0, 3.5, 2.733913, 4.266087), (None, 3.515432, 2.844022, 4.186842)],
)
def test_the_published_example_comes_out(trust: float | None, value: float, low: float, high: float) -> None:
    result = of(PUBLISHED.mean(trust))
    assert result.value == pytest.approx(value, abs=5e-7)
    assert (result.value - Z * result.se, result.value + Z * result.se) == pytest.approx((low, high), abs=5e-7)


def test_the_published_lambda_comes_out() -> None:
    assert of(PUBLISHED.mean()).trust == pytest.approx(0.462963, abs=5e-7)


def test_six_labels_have_a_value_and_no_interval() -> None:
    result = of(PUBLISHED.mean())
    assert result.interval == Undefined("too few labelled units: 6, and an interval needs at least 10")


@given(SCORES, st.data())
def test_without_trust_it_is_the_mean_of_people(people: list[int], data: st.DataObject) -> None:
    judge = data.draw(st.lists(st.integers(1, 5), min_size=len(people), max_size=len(people)))
    alone = data.draw(SCORES)
    result = of(Sample(people, judge, alone).mean(0))
    assert result.value == pytest.approx(np.mean(people))
    assert isinstance(result.people_only, Mean)
    assert result.value == pytest.approx(result.people_only.value)


@given(SCORES, st.integers(-3, 3))
def test_a_judge_that_is_off_by_a_constant_is_fully_corrected(people: list[int], off: int) -> None:
    judge = np.array(people) + off
    result = of(Sample(people, judge, np.repeat(judge, 50)).mean(1))
    assert result.value == pytest.approx(np.mean(people))


def test_a_constant_judge_earns_no_trust_and_costs_nothing() -> None:
    result = of(Sample(list(range(12)), [4] * 12, [4] * 100).mean())
    assert result.trust == 0
    assert result.gain == pytest.approx(1)


def test_a_judge_that_runs_against_people_is_not_trusted() -> None:
    people = np.arange(20.0)
    talk = np.arange(20)
    sample = Sample(people, -people, -np.arange(100.0), (talk, np.arange(20, 120)))
    assert of(sample.mean()).trust == 0


def test_a_good_judge_spares_ratings() -> None:
    result = of(talks(30, 300, np.random.default_rng(1)).mean())
    people, corrected = result.people_only, interval(result)
    assert isinstance(people, Mean)
    assert isinstance(people.interval, Interval)
    assert corrected.high - corrected.low < people.interval.high - people.interval.low
    assert result.gain > 2
    assert corrected.method.endswith("over 30 labelled conversations")


def test_the_judge_alone_is_biased_where_the_corrected_mean_is_not() -> None:
    result = of(talks(60, 600, np.random.default_rng(2)).mean())
    assert isinstance(result.judge_only, Mean)
    assert result.judge_only.value == pytest.approx(3.5, abs=0.1)
    assert result.value == pytest.approx(3, abs=0.1)


def test_labelled_units_sampled_rarely_weigh_more() -> None:
    sample = Sample([1, 5], [1, 5], [1, 1, 1, 5], weights=[3, 1])
    assert of(sample.mean(0)).value == 2


def test_units_with_a_missing_score_do_not_enter() -> None:
    sample = Sample([4, np.nan, 2], [4, 4, np.nan], [3, np.nan])
    assert of(sample.mean(0)).value == 4


@pytest.mark.parametrize(
    ("sample", "reason"),
    [
        (Sample([], [], [1]), "no unit was rated by people and the judge"),
        (Sample([np.nan], [1], [1]), "no unit was rated by people and the judge"),
        (Sample([1], [1], []), "no unit was rated by the judge alone"),
    ],
)
def test_samples_without_scores_have_a_reason(sample: Sample, reason: str) -> None:
    assert sample.mean() == Undefined(reason)


def test_scores_that_never_vary_are_not_taken_for_certainty() -> None:
    sample = Sample([3] * 12, [4] * 12, [4] * 40, (range(12), range(12, 52)))
    assert of(sample.mean()).interval == Undefined(
        "no score differs from another, so this sample cannot show how far they vary"
    )


def test_nine_labelled_conversations_have_no_interval() -> None:
    result = of(talks(9, 50, np.random.default_rng(3)).mean())
    assert result.interval == Undefined("too few labelled conversations: 9, and an interval needs at least 10")


@pytest.mark.filterwarnings("ignore")  # ppi_py's own
def test_ppi_py_agrees_on_independent_units() -> None:
    package = pytest.importorskip("ppi_py")
    rng = np.random.default_rng(4)
    people = rng.normal(size=40)
    judge, alone = people + 0.5 + 0.5 * rng.normal(size=40), 0.5 + 1.1 * rng.normal(size=300)
    ours = interval(Sample(people, judge, alone).mean())
    theirs = package.ppi_mean_ci(people, judge, alone, alpha=0.05)
    assert (ours.low, ours.high) == pytest.approx(tuple(float(bound[0]) for bound in theirs), abs=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("labelled", [10, 20, 40])
def test_corrected_means_hold_the_truth_as_often_as_they_say(labelled: int) -> None:
    rng = np.random.default_rng(labelled)
    found = [interval(talks(labelled, 5 * labelled, rng).mean()) for _ in range(2500)]
    assert 0.93 <= np.mean([each.low <= 3 <= each.high for each in found]) <= 0.97
