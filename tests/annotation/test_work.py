"""A rater's way through a project, and what the study holds afterwards."""

from collections import Counter
from pathlib import Path

import pytest
from sqlalchemy import func, select

from attunement.annotation import projects
from attunement.annotation.dashboard import load_dashboard, mark_seen
from attunement.annotation.submission import flag, save, skip, submit, warn
from attunement.annotation.tasks import (
    Change,
    GoneError,
    Step,
    assignment_of,
    drafts_of,
    next_step,
    progress,
    save_profile,
)
from attunement.conversations import Origin
from attunement.errors import InputError
from attunement.ratings import ABSTAINED, RaterKind, Round
from attunement.store import schema
from attunement.store.annotation import notices
from attunement.store.projects import AssignmentState, ProjectState, Settings, UnitKey
from tests.annotation.projects import COACHING, EMPATHY, Begun, begin_project, change, talks


@pytest.fixture
def begun(tmp_path: Path) -> Begun:
    return begin_project(tmp_path / "a.study.db")


def events(begun: Begun) -> Counter[str]:
    with begun.study.reading() as connection:
        return Counter(connection.scalars(select(schema.events.c.kind)))


def test_three_raters_rate_everything_and_the_study_holds_ordinary_ratings(study_place: str) -> None:
    begun = begin_project(study_place, talks(6), repeats=0.4, gap=2)
    for number in (1, 2, 3):
        assert begun.work(number, lambda _, score=number: score) == 8
    ratings = list(begun.study.ratings())
    assert Counter(rating.round for rating in ratings) == {Round.MAIN: 6 * 3 * 5, Round.REPEAT: 2 * 3 * 5}
    assert {rating.rater for rating in ratings} == {"rater 1", "rater 2", "rater 3"}
    assert {rating.rater_kind for rating in ratings} == {RaterKind.PERSON}
    assert all(rating.asked == rating.item_hash == EMPATHY.item_hashes[rating.item] for rating in ratings)
    assert {rating.instrument for rating in ratings} == {EMPATHY.hash}
    assert begun.study.raters()[0].settings["profession"] == "nurse"


def test_cannot_judge_comments_and_evidence_reach_the_rating(begun: Begun) -> None:
    member = begun.arrive()
    task = begun.next_task()
    assert task is not None
    marked = {"turn": 1, "speaker": "assistant", "start": 0, "end": 4}
    changes = [change(item, 4) for item in task.items[1:]]
    changes.append(Change(item=task.items[0], number=1, state="abstained", comment="Too short.", evidence=[marked]))
    save(begun.study, begun.project, member, task, changes)
    submit(begun.study, begun.project, begun.rater(), task)
    rating = next(rating for rating in begun.study.ratings() if rating.item == task.items[0])
    assert rating.outcome == ABSTAINED
    assert rating.reasoning == "Too short."
    assert rating.evidence[0]["quote"] == "Tell"


def test_nothing_is_handed_in_while_something_is_missing(begun: Begun) -> None:
    member = begun.arrive()
    task = begun.next_task()
    assert task is not None
    save(begun.study, begun.project, member, task, [change("safety", 1)])
    done = submit(begun.study, begun.project, member, task)
    assert ("safety", "note") in [tuple(entry) for entry in done]
    assert not list(begun.study.ratings())
    assert drafts_of(begun.study, task.assignment)["safety"].outcome is not None


def test_an_older_change_that_arrives_late_changes_nothing_and_every_change_is_an_event(begun: Begun) -> None:
    member = begun.arrive()
    task = begun.next_task()
    assert task is not None
    for value, number in ((2, 1), (5, 3), (4, 2)):
        save(begun.study, begun.project, member, task, [change("emotion", value, number=number)])
    outcome = drafts_of(begun.study, task.assignment)["emotion"].outcome
    assert outcome is not None
    assert outcome.value == 5
    assert events(begun)["set"] == 2


def test_a_unit_that_was_handed_in_stays_as_it_is(begun: Begun) -> None:
    begun.arrive()
    task = begun.next_task()
    assert task is not None
    begun.hand_in(task)
    with pytest.raises(GoneError, match="already been submitted"):
        save(begun.study, begun.project, begun.rater(), task, [change("emotion", 1, number=9)])
    current = assignment_of(begun.study, begun.rater(), task.assignment.public)
    assert current is not None
    again = task._replace(assignment=current)
    assert submit(begun.study, begun.project, begun.rater(), again) == ()
    assert len(list(begun.study.ratings())) == 5


def test_nobody_finds_or_changes_the_unit_of_another_rater(begun: Begun) -> None:
    begun.arrive(1)
    other = begun.arrive(2)
    task = begun.next_task(1)
    assert task is not None
    assert assignment_of(begun.study, other, task.assignment.public) is None
    with pytest.raises(GoneError):
        save(begun.study, begun.project, other, task, [change("emotion", 1)])


def test_a_change_that_does_not_fit_leaves_the_others_of_its_batch_unsaved(begun: Begun) -> None:
    member = begun.arrive()
    task = begun.next_task()
    assert task is not None
    with pytest.raises(InputError):
        save(begun.study, begun.project, member, task, [change("emotion", 4), change("safety", 9)])
    assert drafts_of(begun.study, task.assignment) == {}


def test_a_skipped_unit_keeps_its_reason_and_becomes_no_rating(begun: Begun) -> None:
    member = begun.arrive()
    task = begun.next_task()
    assert task is not None
    skip(begun.study, begun.project, member, task.assignment, reason="distress", text="")
    following = begun.next_task()
    assert following is not None
    assert following.assignment.key != task.assignment.key
    assert events(begun)["skipped"] == 1
    assert load_dashboard(begun.study, begun.project).raters[0].skipped == 1
    assert not list(begun.study.ratings())


def test_a_flag_can_be_set_and_taken_back(begun: Begun) -> None:
    member = begun.arrive()
    task = begun.next_task()
    assert task is not None
    for flagged, count in ((True, 1), (False, 0)):
        flag(begun.study, begun.project, member, task.assignment, flagged=flagged)
        assert load_dashboard(begun.study, begun.project).raters[0].flagged == count


def test_an_urgent_notice_that_is_sent_twice_is_one_and_reaches_the_coordinator(begun: Begun) -> None:
    member = begun.arrive()
    task = begun.next_task()
    assert task is not None
    for _ in range(2):
        warn(begun.study, begun.project, member, task.assignment, public="notice-1", text="She said goodbye.")
    (notice,) = notices(begun.study, begun.project)
    assert (notice.text, notice.member, notice.seen) == ("She said goodbye.", "rater 1", None)
    mark_seen(begun.study, begun.project, "notice-1", begun.coordinator())
    assert notices(begun.study, begun.project)[0].seen is not None


def test_a_rater_first_says_who_they_are_then_reads_what_to_expect_then_works(begun: Begun) -> None:
    assert next_step(begun.study, begun.project, begun.rater())[0] is Step.PROFILE
    save_profile(begun.study, begun.project, begun.rater(), {"profession": "nurse"})
    assert next_step(begun.study, begun.project, begun.rater())[0] is Step.WELCOME
    begun.arrive()
    assert next_step(begun.study, begun.project, begun.rater())[0] is Step.TASK
    begun.work()
    assert next_step(begun.study, begun.project, begun.rater())[0] is Step.DONE


def test_the_profile_stays_once_ratings_rest_on_it(begun: Begun) -> None:
    begun.arrive()
    task = begun.next_task()
    assert task is not None
    begun.hand_in(task)
    with pytest.raises(GoneError, match="can no longer be changed"):
        save_profile(begun.study, begun.project, begun.rater(), {"profession": "clinician"})


@pytest.mark.parametrize("origin", [Origin.REAL, Origin.UNKNOWN])
def test_a_study_with_people_who_may_be_real_opens_once_the_coordinator_said_what_to_do(
    tmp_path: Path, origin: Origin
) -> None:
    begun = begin_project(tmp_path / "a.study.db", talks(3, origin=origin))
    begun.arrive()
    assert next_step(begun.study, begun.project, begun.rater())[0] is Step.CLOSED
    projects.change(begun.study, begun.project, begun.coordinator(), escalation="Ring the duty doctor.")
    task = begun.next_task()
    assert task is not None
    assert task.careful
    assert events(begun)["settings"] == 1


def test_while_paused_an_open_unit_can_be_finished_and_no_new_one_begun(begun: Begun) -> None:
    begun.arrive()
    task = begun.next_task()
    assert task is not None
    projects.set_state(begun.study, begun.project, ProjectState.PAUSED, begun.coordinator())
    assert next_step(begun.study, begun.project, begun.rater())[0] is Step.TASK
    begun.hand_in(task)
    assert next_step(begun.study, begun.project, begun.rater())[0] is Step.PAUSED
    projects.set_state(begun.study, begun.project, ProjectState.OPEN, begun.coordinator())
    assert next_step(begun.study, begun.project, begun.rater())[0] is Step.TASK


def test_progress_counts_what_is_done_of_the_work(begun: Begun) -> None:
    begun.arrive()
    task = begun.next_task()
    assert task is not None
    assert progress(begun.study, begun.rater(), task.assignment) == (0, 4)
    begun.hand_in(task)
    assert progress(begun.study, begun.rater(), None) == (1, 4)


def test_two_people_of_one_name_in_two_projects_stay_two_raters_and_a_new_round_keeps_its_people(
    tmp_path: Path,
) -> None:
    begun = begin_project(tmp_path / "a.study.db", raters=1)
    begun.work()
    units = [UnitKey(key) for key in range(1, 3)]
    other = Begun(begun.study, projects.create(begun.study, COACHING, units, ["rater 1"], _alone()))
    other.work(answer=lambda _: "YES")
    again = projects.create(begun.study, EMPATHY, [UnitKey(1, 1)], ["rater 1"], _alone(), members_of=begun.project)
    assert again.number == 2
    second = Begun(begun.study, again)
    assert second.rater().rater == begun.rater().rater
    assert other.rater().rater != begun.rater().rater
    assert len(begun.study.raters()) == 2


def test_who_rates_the_same_unit_in_a_second_round_overwrites_nothing(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "a.study.db", talks(1), raters=1)
    begun.work(answer=lambda _: 3)
    again = projects.create(begun.study, EMPATHY, [UnitKey(1, 1)], ["rater 1"], _alone(), members_of=begun.project)
    second = Begun(begun.study, again)
    with second.study.writing() as connection:
        connection.execute(schema.members.update().values(began="2026"))
    task = second.next_task()
    assert task is not None
    second.hand_in(task, answer=lambda _: 5)
    given = {(rating.repeat, rating.outcome.value) for rating in begun.study.ratings() if rating.item == "emotion"}
    assert given == {(0, 3), (1, 5)}


def test_a_changed_instrument_is_refused_with_a_way_out(begun: Begun) -> None:
    changed = EMPATHY.model_copy(update={"title": "Another title"})
    projects.same_instrument(begun.project, EMPATHY)
    with pytest.raises(InputError, match="--new-round"):
        projects.same_instrument(begun.project, type(EMPATHY).model_validate(changed.canonical()))


def test_forgetting_a_conversation_takes_all_that_rests_on_its_words(study_place: str) -> None:
    begun = begin_project(study_place)
    begun.work()
    (kept,) = begun.study.find("c0")
    begun.study.delete(kept.key)
    with begun.study.reading() as connection:
        for table in (schema.assignments, schema.drafts, schema.events, schema.project_units):
            text = " ".join(str(row) for row in connection.execute(select(table)))
            assert "about 0" not in text
        units = connection.scalar(select(func.count()).select_from(schema.project_units))
    assert units == 3
    assert begun.next_task(2) is None or begun.arrive(2)


def test_a_project_needs_units_and_enough_raters_with_names_of_their_own(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "a.study.db")
    unit = UnitKey(1, 1)
    for units, raters, reason in (
        ([], ["a", "b", "c"], "nothing to rate"),
        ([unit], ["a"], "3 raters"),
        ([unit], ["a", "a", "b"], "a different name"),
    ):
        with pytest.raises(InputError, match=reason):
            projects.create(begun.study, EMPATHY, units, raters, Settings())


def test_known_answers_must_stand_on_the_scale(begun: Begun) -> None:
    unit = UnitKey(1, 1)
    with pytest.raises(InputError, match="not on the scale"):
        projects.create(
            begun.study, EMPATHY, [unit], ["a"], _alone(), gold=[projects.GoldUnit(unit, {"emotion": "YES"})]
        )


def test_gold_units_are_rated_in_a_round_of_their_own(begun: Begun) -> None:
    gold = [projects.GoldUnit(UnitKey(2, 1), {"emotion": 5})]
    other = Begun(
        begun.study,
        projects.create(begun.study, EMPATHY, [UnitKey(1, 1)], ["a"], _alone(), gold=gold),
    )
    assert other.work() == 2
    assert Counter(rating.round for rating in begun.study.ratings()) == {Round.MAIN: 5, Round.GOLD: 5}


def test_withdrawn_work_is_told_apart_from_handed_in_work(begun: Begun) -> None:
    begun.arrive()
    task = begun.next_task()
    assert task is not None
    with begun.study.writing() as connection:
        connection.execute(schema.assignments.update().values(state=AssignmentState.WITHDRAWN))
    with pytest.raises(GoneError, match="no longer assigned to you"):
        save(begun.study, begun.project, begun.rater(), task, [change("emotion", 1)])


def _alone() -> Settings:
    return Settings(per_unit=1, calibration=0, attention=0, repeats=0)


def test_a_skipped_unit_does_not_come_back_as_a_repeat(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "a.study.db", raters=1, repeats=1.0, gap=1)
    member = begun.arrive()
    first = begun.next_task()
    assert first is not None
    skip(begun.study, begun.project, member, first.assignment, reason="distress", text="")
    seen: list[int] = []
    while task := begun.next_task():
        seen.append(task.assignment.unit.key)
        begun.hand_in(task)
    assert first.assignment.unit.key not in seen
    assert len(seen) == 6
