"""Whether people agree: four outcomes, each by its rule, with the number that would decide."""

import numpy as np
import pytest

from attunement.analysis.ratings_table import YES_NO
from attunement.analysis.reliability import ReliabilityStatus, reliability
from attunement.statistics.results import Interval, Undefined
from attunement.statistics.tables import Floats
from tests.analysis.trust_samples import FIVE, three_people


def standing(people: Floats, scale: object = FIVE) -> ReliabilityStatus:
    return reliability(people, np.arange(len(people)), scale).status  # type: ignore[arg-type]


def test_people_who_see_the_same_are_reliable() -> None:
    found = reliability(three_people(60, 0.5)[1], np.arange(60), FIVE)
    assert found.status is ReliabilityStatus.RELIABLE
    assert found.needed is None
    assert (found.people, found.units, found.conversations) == (3, 60, 60)


def test_people_who_answer_at_random_disagree() -> None:
    people = np.random.default_rng(0).integers(1, 6, (60, 3)).astype(float)
    assert standing(people) is ReliabilityStatus.DISAGREE


def test_a_low_alpha_on_many_units_is_disagreement_though_its_interval_reaches_up() -> None:
    # Twelve conversations of ten replies: few clusters, so the interval is wide, but a hundred units and more.
    rng = np.random.default_rng(3)
    conversation = np.repeat(np.arange(12), 10)
    shared = rng.normal(0, 1.2, 12)[conversation]
    people = np.clip(np.round(3 + shared[:, None] * 0.6 + rng.normal(0, 1.3, (120, 2))), 1, 5)
    found = reliability(people, conversation, FIVE)
    assert isinstance(found.interval, Interval)
    assert found.interval.low < found.alpha.value < 0.4 < found.interval.high  # type: ignore[union-attr]
    assert found.status is ReliabilityStatus.DISAGREE


def test_few_conversations_are_not_enough_and_it_says_how_many_are() -> None:
    found = reliability(three_people(8, 0.2)[1], np.arange(8), FIVE)
    assert found.status is ReliabilityStatus.NOT_ENOUGH
    assert found.needed == 41  # as `attune plan` has it for an alpha of .6


def test_few_conversations_on_which_people_disagree_ask_for_a_hundred_units() -> None:
    people = np.array([[1.0, 5.0], [5.0, 1.0], [3.0, 4.0], [2.0, 5.0]])
    assert reliability(people, np.arange(4), FIVE).needed == 100


def test_an_interval_on_both_sides_asks_for_the_number_that_narrows_it() -> None:
    found = reliability(three_people(25, 1.8, seed=1)[1], np.arange(25), FIVE)
    assert found.status is ReliabilityStatus.NOT_ENOUGH
    assert isinstance(found.needed, int)
    assert found.needed > 25


def test_nearly_always_the_same_answer_is_too_little_variation() -> None:
    people = np.ones((60, 2))
    people[:3, 0] = 0
    people[2:4, 1] = 0
    found = reliability(people, np.arange(60), YES_NO)
    assert found.status is ReliabilityStatus.LITTLE_VARIATION
    assert found.share == pytest.approx(115 / 120)
    assert found.rare.ratings == 5  # type: ignore[union-attr]
    assert found.rare.value == pytest.approx(2 / 5)  # type: ignore[union-attr]
    assert found.needed == 60 * 30 // 4  # four of sixty units show the rare answer, and thirty are needed


@pytest.mark.parametrize("people", [np.zeros((0, 0)), np.full((12, 2), np.nan), np.ones((40, 1))])
def test_without_two_people_on_a_unit_there_is_not_enough(people: Floats) -> None:
    found = reliability(people, np.arange(len(people)), FIVE)
    assert found.status is ReliabilityStatus.NOT_ENOUGH
    assert isinstance(found.alpha, Undefined)
    assert found.needed == 100


def test_units_of_one_conversation_are_not_taken_for_independent() -> None:
    rng = np.random.default_rng(5)
    conversation = np.repeat(np.arange(15), 8)
    people = np.clip(np.round(3 + rng.normal(0, 1.5, 15)[conversation][:, None] + rng.normal(0, 0.8, (120, 2))), 1, 5)
    together = reliability(people, conversation, FIVE).interval
    apart = reliability(people, np.arange(120), FIVE).interval
    assert isinstance(together, Interval)
    assert isinstance(apart, Interval)
    assert together.high - together.low > apart.high - apart.low
