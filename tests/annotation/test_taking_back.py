"""A rater corrects a slip in the unit they have just handed in, and the trail holds what it was before."""

import json
from pathlib import Path

import pytest
from sqlalchemy import select

from attunement.annotation.adjudication import Decision, decide, disputes
from attunement.annotation.projects import create
from attunement.annotation.submission import last_submitted, save, skip, submit, undo_submit
from attunement.annotation.tasks import GoneError, Task, progress
from attunement.ratings import Round
from attunement.store import samples, schema
from attunement.store.projects import UnitKey
from tests.annotation.judged_projects import adjudicator
from tests.annotation.projects import EMPATHY, Begun, begin_project, change, talks


@pytest.fixture
def begun(tmp_path: Path) -> Begun:
    return begin_project(tmp_path / "a.study.db")


def hand_in_next(begun: Begun, number: int = 1) -> Task:
    task = begun.next_task(number)
    assert task is not None
    begun.hand_in(task, number)
    return task


def taken_back(begun: Begun) -> list[dict[str, object]]:
    with begun.study.reading() as connection:
        contents = connection.scalars(select(schema.events.c.content).where(schema.events.c.kind == "taken back"))
        return [answer for content in contents for answer in json.loads(content)["answers"]]


def test_the_last_unit_is_open_again_as_it_was_and_the_trail_holds_its_ratings(study_place: str) -> None:
    begun = begin_project(study_place)
    begun.arrive()
    first = hand_in_next(begun)
    following = begun.next_task()
    assert following is not None
    undo_submit(begun.study, begun.project, begun.rater(), first.assignment)
    assert not list(begun.study.ratings())
    assert {answer["item"] for answer in taken_back(begun)} == set(first.items)
    assert {answer["value"] for answer in taken_back(begun)} == {"3"}
    again = begun.next_task()
    assert again is not None
    assert again.assignment.key == first.assignment.key
    assert progress(begun.study, begun.rater(), again.assignment).done == 0
    save(begun.study, begun.project, begun.rater(), again, [change("emotion", 5, number=2)])
    assert submit(begun.study, begun.project, begun.rater(), again) == ()
    assert {rating.item: rating.outcome.value for rating in begun.study.ratings()} == {
        **dict.fromkeys(first.items, 3),
        "emotion": 5,
    }
    after = begun.next_task()
    assert after is not None
    assert after.assignment.key == following.assignment.key


def test_only_the_last_unit_can_be_taken_back_and_only_once(begun: Begun) -> None:
    begun.arrive()
    assert last_submitted(begun.study, begun.rater()) is None
    first, second = hand_in_next(begun), hand_in_next(begun)
    with pytest.raises(GoneError, match="submitted last"):
        undo_submit(begun.study, begun.project, begun.rater(), first.assignment)
    undo_submit(begun.study, begun.project, begun.rater(), second.assignment)
    assert len(list(begun.study.ratings())) == 5
    with pytest.raises(GoneError, match="submitted last"):
        undo_submit(begun.study, begun.project, begun.rater(), second.assignment)


def test_nobody_takes_back_the_unit_of_another_rater_a_skipped_one_or_practice(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "b.study.db", calibration=1, pass_mark=0)
    member = begun.arrive()
    practised = hand_in_next(begun)
    with pytest.raises(GoneError):
        undo_submit(begun.study, begun.project, member, practised.assignment)
    first = begun.next_task()
    assert first is not None
    skip(begun.study, begun.project, member, first.assignment, reason="other", text="")
    assert last_submitted(begun.study, member) is None
    other = begun.arrive(2)
    with pytest.raises(GoneError):
        undo_submit(begun.study, begun.project, other, first.assignment)


def test_a_check_of_attention_can_be_taken_back_like_any_unit(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "b.study.db", talks(1), raters=1, attention=1)
    begun.arrive()
    hand_in_next(begun)
    check = hand_in_next(begun)
    assert check.assignment.round is Round.ATTENTION
    undo_submit(begun.study, begun.project, begun.rater(), check.assignment)
    assert not list(samples.practice_answers(begun.study).records)
    assert len(taken_back(begun)) == 5
    hand_in_next(begun)
    assert len(list(samples.practice_answers(begun.study).records)) == 5


def test_what_an_adjudicator_has_decided_about_stays(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "b.study.db", talks(1))
    for number, score in ((1, 1), (2, 5), (3, 3)):
        begun.work(number, lambda _, score=score: score)
    last = last_submitted(begun.study, begun.rater(3))
    assert last is not None
    (dispute,) = disputes(begun.study, begun.project)
    decide(begun.study, begun.project, adjudicator(begun), dispute, dict.fromkeys(dispute.items, Decision(4, "why")))
    with pytest.raises(GoneError, match="it has been adjudicated"):
        undo_submit(begun.study, begun.project, begun.rater(3), last)
    assert sum(rating.round is Round.MAIN for rating in begun.study.ratings()) == 15


def test_what_was_decided_in_an_earlier_round_keeps_nobody_from_taking_back(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "b.study.db", talks(1), raters=2)
    for number, score in ((1, 1), (2, 5)):
        begun.work(number, lambda _, score=score: score)
    (dispute,) = disputes(begun.study, begun.project)
    decide(begun.study, begun.project, adjudicator(begun), dispute, dict.fromkeys(dispute.items, Decision(4, "why")))
    units = [UnitKey(kept.key, 1) for kept in begun.study.conversations()]
    again = create(begun.study, EMPATHY, units, ["Eve", "Max"], begun.project.settings)
    second = Begun(begun.study, again)
    second.arrive()
    task = hand_in_next(second)
    undo_submit(second.study, again, second.rater(), task.assignment)
    assert second.next_task() is not None
