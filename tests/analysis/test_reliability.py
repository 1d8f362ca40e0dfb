"""Whether people agree: three outcomes from the interval, with the number that would decide."""

import numpy as np
import pytest

from attunement.analysis.ratings_table import YES_NO
from attunement.analysis.reliability import PeopleStatus, more_needed, reliability, retest, severity, strength
from attunement.statistics.results import Interval, Undefined
from attunement.statistics.tables import Floats
from tests.analysis.trust_samples import FIVE, three_people


def standing(people: Floats, scale: object = FIVE) -> PeopleStatus:
    return reliability(people, np.arange(len(people)), scale).status  # type: ignore[arg-type]


def test_people_who_see_the_same_are_reliable() -> None:
    found = reliability(three_people(60, 0.5)[1], np.arange(60), FIVE)
    assert found.status is PeopleStatus.AGREE
    assert found.needed is None
    assert (found.people, found.units, found.conversations) == (3, 60, 60)


def test_people_who_answer_at_random_disagree() -> None:
    people = np.random.default_rng(0).integers(1, 6, (60, 3)).astype(float)
    assert standing(people) is PeopleStatus.DISAGREE


def test_a_low_alpha_whose_interval_reaches_up_is_not_called_disagreement() -> None:
    # Twelve conversations of ten replies: few clusters, so the interval is wide.
    rng = np.random.default_rng(3)
    conversation = np.repeat(np.arange(12), 10)
    shared = rng.normal(0, 1.2, 12)[conversation]
    people = np.clip(np.round(3 + shared[:, None] * 0.6 + rng.normal(0, 1.3, (120, 2))), 1, 5)
    found = reliability(people, conversation, FIVE)
    assert isinstance(found.interval, Interval)
    assert found.interval.low < found.alpha.value < 0.4 < found.interval.high  # type: ignore[union-attr]
    assert found.status is PeopleStatus.OPEN
    assert found.needed


def test_an_interval_on_both_sides_asks_for_the_number_that_narrows_it() -> None:
    found = reliability(three_people(25, 1.8, seed=1)[1], np.arange(25), FIVE)
    assert found.status is PeopleStatus.OPEN
    assert isinstance(found.needed, int)
    interval = Interval(0.2, 0.8, 0.95, "", 0.1)
    assert more_needed(0.6, interval, 0.4, 50) == 151  # the interval narrows with the root of the number
    assert more_needed(0.4, interval, 0.4, 50) > 10_000


def test_nearly_always_the_same_answer_is_one_sided() -> None:
    people = np.ones((60, 2))
    people[:3, 0] = 0
    people[2:4, 1] = 0
    found = reliability(people, np.arange(60), YES_NO)
    assert found.one_sided
    assert found.status is PeopleStatus.OPEN
    assert found.share == pytest.approx(115 / 120)
    assert found.rare.ratings == 5  # type: ignore[union-attr]
    assert found.rare.value == pytest.approx(2 / 5)  # type: ignore[union-attr]


@pytest.mark.parametrize("people", [np.zeros((0, 0)), np.full((12, 2), np.nan), np.ones((40, 1))])
def test_without_two_people_on_a_unit_nothing_can_be_told(people: Floats) -> None:
    found = reliability(people, np.arange(len(people)), FIVE)
    assert found.status is PeopleStatus.OPEN
    assert isinstance(found.alpha, Undefined)


@pytest.mark.parametrize(
    ("value", "word"), [(-0.1, "none"), (0.19, "slight"), (0.4, "moderate"), (0.8, "almost perfect")]
)
def test_agreement_has_the_words_of_the_field(value: float, word: str) -> None:
    assert strength(value) == word


def test_a_strict_rater_is_below_the_others() -> None:
    _, people = three_people(80, 0.4)
    people[:, 0] = np.maximum(people[:, 0] - 1, 1)
    found = severity(people, np.arange(80))
    assert [each.value < 0 for each in found] == [True, False, False]  # type: ignore[union-attr]
    assert found[0].interval.high < 0  # type: ignore[union-attr]


def test_repeats_have_a_flip_rate_and_a_spread() -> None:
    found = retest(np.array([[1.0, 1.0, 3.0], [2.0, 2.0, 2.0], [4.0, 5.0, np.nan]]))
    assert not isinstance(found, Undefined)
    assert (found.units, found.same, found.times) == (3, 1, 3)
    assert found.flips == pytest.approx(2 / 3)
    assert found.spread > 0


def test_units_of_one_conversation_are_not_taken_for_independent() -> None:
    rng = np.random.default_rng(5)
    conversation = np.repeat(np.arange(15), 8)
    people = np.clip(np.round(3 + rng.normal(0, 1.5, 15)[conversation][:, None] + rng.normal(0, 0.8, (120, 2))), 1, 5)
    together = reliability(people, conversation, FIVE).interval
    apart = reliability(people, np.arange(120), FIVE).interval
    assert isinstance(together, Interval)
    assert isinstance(apart, Interval)
    assert together.high - together.low > apart.high - apart.low
