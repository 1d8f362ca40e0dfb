"""Practice on worked examples."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunement.annotation.submission import skip
from attunement.annotation.tasks import GoneError, Step, Task, next_step
from attunement.annotation.training import (
    agrees,
    attention_examples,
    calibration_examples,
    example_unit,
    release,
    results,
)
from attunement.ratings import ABSTAINED, Outcome, Round
from attunement.store.projects import MemberState
from tests.annotation.projects import COACHING, EMPATHY, Begun, begin_project


def practise(begun: Begun, *, right: bool) -> list[Task]:
    """Go through the practice that is open."""
    done: list[Task] = []
    while (task := begun.next_task()) and task.assignment.round is Round.CALIBRATION:
        (item, known), *_ = task.assignment.unit.answers.items()
        assert task.items == (item,)
        wrong = 1 if isinstance(known, int) and known > 2 else 5
        begun.hand_in(task, answer=lambda _, value=known if right else wrong: value)
        done.append(task)
        if len(done) == 4:
            break
    return done


def test_who_answers_as_the_instrument_does_goes_on_to_the_work(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "a.study.db", calibration=4)
    begun.arrive()
    assert len(practise(begun, right=True)) == 4
    task = begun.next_task()
    assert task is not None
    assert task.assignment.round is Round.MAIN
    assert results(begun.study, begun.project)[begun.rater().key] == [(1, 4, 4, True)]
    assert not list(begun.study.ratings())


def test_who_fails_gets_a_second_attempt_and_then_has_to_talk_to_the_coordinator(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "a.study.db", calibration=4)
    begun.arrive()
    practise(begun, right=False)
    assert begun.rater().state is MemberState.ACTIVE
    assert len(practise(begun, right=False)) == 4
    assert begun.rater().state is MemberState.HELD
    assert next_step(begun.study, begun.project, begun.rater())[0] is Step.HELD
    release(begun.study, begun.project, begun.rater(), begun.coordinator())
    task = begun.next_task()
    assert task is not None
    assert task.assignment.round is Round.MAIN
    assert [result.passed for result in results(begun.study, begun.project)[begun.rater().key]] == [False, False]


def test_who_passes_at_the_second_attempt_goes_on(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "a.study.db", calibration=4)
    begun.arrive()
    practise(begun, right=False)
    practise(begun, right=True)
    assert begun.rater().state is MemberState.ACTIVE
    task = begun.next_task()
    assert task is not None
    assert task.assignment.round is Round.MAIN


def test_practice_cannot_be_skipped(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "a.study.db", calibration=4)
    member = begun.arrive()
    task = begun.next_task()
    assert task is not None
    with pytest.raises(Exception, match="cannot be skipped") as caught:
        skip(begun.study, begun.project, member, task.assignment, reason="other", text="")
    assert not isinstance(caught.value, GoneError)


@given(st.integers(1, 5), st.integers(1, 5))
def test_scores_agree_within_one_level(known: int, given_score: int) -> None:
    assert agrees(known, Outcome.of(given_score)) is (abs(known - given_score) <= 1)


def test_criteria_agree_only_when_they_are_the_same_and_not_knowing_is_no_agreement() -> None:
    assert agrees("NA", Outcome.of("NA"))
    assert not agrees("YES", Outcome.of("NO"))
    assert not agrees(3, ABSTAINED)
    assert not agrees("YES", None)


def test_practice_takes_boundary_cases_of_every_item_first() -> None:
    chosen = calibration_examples(EMPATHY, None, seed="")
    assert sorted(worked.item.id for worked in chosen) == sorted(["emotion", "validation", "helpfulness", "safety"] * 2)
    assert sum(worked.example.kind == "borderline" for worked in chosen) == 4
    assert len(calibration_examples(COACHING, None, seed="")) == 20


def test_attention_units_are_clear_examples_that_nobody_practised_on() -> None:
    practised = calibration_examples(EMPATHY, None, seed="")
    checks = attention_examples(EMPATHY, None, 100, practised, seed="")
    assert checks
    assert {worked.name for worked in checks}.isdisjoint(worked.name for worked in practised)
    assert all(worked.example.kind == "clear" for worked in checks)


def test_an_attention_unit_looks_like_any_other_and_is_rated_in_full(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "a.study.db", calibration=0, attention=2)
    begun.arrive()
    rounds: list[Round] = []
    while task := begun.next_task():
        assert len(task.items) == 5
        rounds.append(task.assignment.round)
        begun.hand_in(task)
    assert rounds.count(Round.ATTENTION) == 2
    assert {rating.round for rating in begun.study.ratings()} == {Round.MAIN}


def test_the_example_of_a_reply_is_its_last_reply() -> None:
    worked = calibration_examples(EMPATHY, 1, seed="")[0]
    unit = example_unit(EMPATHY, worked)
    assert unit.turn == len(worked.example.turns)
