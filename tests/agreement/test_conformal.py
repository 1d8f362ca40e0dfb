import numpy as np
import pytest

from attunement.agreement.conformal import ConformalSets, conformal_sets
from attunement.agreement.results import Undefined

SCALE = range(1, 6)


def of(result: ConformalSets | Undefined) -> ConformalSets:
    assert isinstance(result, ConformalSets), result
    return result


def test_the_radius_is_the_miss_that_so_many_stay_within() -> None:
    # With 19 units, 90 % of 20 is the 18th smallest miss.
    misses = np.arange(19) / 10
    assert of(conformal_sets(3 + misses, np.full(19, 3), SCALE)).radius == pytest.approx(1.7)


def test_sets_hold_the_scores_of_the_scale_within_the_radius() -> None:
    sets = ConformalSets(1.0, 0.9, tuple(SCALE), 20, 20)
    assert sets.scores(3) == (2, 3, 4)
    assert sets.scores(4.6) == (4, 5)
    assert sets.scores(9) == ()


def test_too_few_units_cannot_keep_the_promise() -> None:
    assert conformal_sets([1, 2], [1, 2], SCALE) == Undefined("2 units cannot promise 90%; at least 9 are needed")
    assert conformal_sets([], [], SCALE) == Undefined("0 units cannot promise 90%; at least 9 are needed")
    talks = np.repeat(np.arange(8), 10)
    assert conformal_sets(np.ones(80), np.ones(80), SCALE, talks) == Undefined(
        "8 conversations cannot promise 90%; at least 9 are needed"
    )


def test_each_conversation_counts_the_same_however_long_it_is() -> None:
    judge = np.concatenate([np.full(1000, 3.0), np.full(10, 5.0)])
    talks = np.concatenate([np.zeros(1000), np.arange(1, 11)])
    assert of(conformal_sets(judge, np.full(1010, 3.0), SCALE, talks)).radius == 2


def test_a_unit_without_both_scores_does_not_enter() -> None:
    judge = np.append(np.full(12, 3.0), np.nan)
    assert of(conformal_sets(judge, np.full(13, 3.0), SCALE)).units == 12


@pytest.mark.slow
@pytest.mark.parametrize("conversations", [10, 20, 40])
def test_the_promise_holds_for_new_conversations(conversations: int) -> None:
    rng = np.random.default_rng(conversations)
    held: list[bool] = []
    for _ in range(1500):
        talks = np.repeat(np.arange(conversations + 1), 4)
        people = np.clip(np.round(3 + rng.normal(size=len(talks))), 1, 5)
        off = rng.normal(size=conversations + 1)[talks]
        judge = people + off + 0.5 * rng.normal(size=len(talks))
        sets = of(conformal_sets(judge[:-4], people[:-4], SCALE, talks[:-4]))
        held.append(int(people[-1]) in sets.scores(judge[-1]))
    assert np.mean(held) >= 0.88
