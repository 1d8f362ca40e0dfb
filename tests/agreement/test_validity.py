"""The rule of the verdicts: valid, weak, not valid."""

import numpy as np

from attunement.agreement.results import Undefined
from attunement.agreement.single_raters import judge_statistic, people_statistic
from attunement.agreement.validity import Stand, stand
from attunement.signals.validity import Verdict

UNITS = 80
WHERE = np.arange(UNITS)


def people(noise: float) -> np.ndarray:
    rng = np.random.default_rng(3)
    truth = np.tile(np.arange(1, 6), UNITS // 5)
    return np.clip(np.rint(truth[:, None] + rng.normal(0, noise, (UNITS, 3))), 1, 5)


def ruled(judge: np.ndarray, rated: np.ndarray, trivial: np.ndarray | None = None, *, alone: bool = False) -> Stand:
    counting = {} if trivial is None else {"word count": judge_statistic(trivial, rated)}
    return stand(judge_statistic(judge, rated), None if alone else people_statistic(rated), counting, WHERE)


RATED = people(0.7)
GOOD = RATED[:, 0].copy()
POOR = np.where(np.arange(UNITS) % 3 > 0, np.roll(GOOD, 7), GOOD)
"""Every third answer is that of a person, the others belong to other units."""


def test_a_judge_like_a_person_that_beats_counting_is_valid() -> None:
    found = ruled(GOOD, RATED, POOR)
    assert found.verdict is Verdict.VALID
    assert found.best == "word count"


def test_a_judge_above_counting_that_does_not_reach_people_is_weak() -> None:
    partly = np.where(np.arange(UNITS) % 4 > 0, GOOD, np.roll(GOOD, 7))
    found = ruled(partly, RATED, np.roll(GOOD, 3))
    assert found.verdict is Verdict.WEAK
    assert found.gap is not None
    assert isinstance(found.gap.value, float)
    assert found.gap.value < 0


def test_a_judge_that_agrees_as_people_do_but_no_better_than_counting_is_not_valid() -> None:
    assert ruled(GOOD, RATED, RATED[:, 1]).verdict is Verdict.NOT_VALID


def test_a_judge_must_beat_chance_where_no_trivial_judge_does() -> None:
    shuffled = np.random.default_rng(1).permutation(GOOD)
    found = ruled(shuffled, RATED)
    assert found.verdict is Verdict.NOT_VALID
    assert found.best == ""
    assert found.ahead == found.judge


def test_a_judge_that_always_says_the_same_is_not_valid() -> None:
    assert ruled(np.full(UNITS, 3.0), RATED).verdict is Verdict.NOT_VALID


def test_without_two_people_a_judge_is_weak_at_best() -> None:
    found = ruled(GOOD, RATED[:, 1:2], alone=True)
    assert found.verdict is Verdict.WEAK
    assert found.gap is None


def test_too_few_conversations_give_no_interval_and_so_no_validity() -> None:
    found = stand(judge_statistic(GOOD, RATED), people_statistic(RATED), {}, WHERE % 9)
    assert found.verdict is Verdict.NOT_VALID
    assert isinstance(found.judge.interval, Undefined)
