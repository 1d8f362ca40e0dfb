"""Changes while people work."""

from collections import Counter, defaultdict
from pathlib import Path

import pytest
from sqlalchemy import select

from attunement.annotation.projects import extend, give_skipped, invite, reassign
from attunement.annotation.submission import skip
from attunement.errors import InputError
from attunement.ratings import Round
from attunement.store.projects import AssignmentState, Role, UnitKey, members
from attunement.store.schema import assignments
from tests.annotation.projects import Begun, begin_project, talks


def holders(begun: Begun, round: Round = Round.MAIN) -> dict[int, list[int]]:
    """Who is to rate or has rated each unit."""
    table = assignments.c
    query = select(table.unit, table.member).where(
        table.round == round, table.state.in_([AssignmentState.OPEN, AssignmentState.SUBMITTED])
    )
    found: dict[int, list[int]] = defaultdict(list)
    with begun.study.reading() as connection:
        for unit, member in connection.execute(query):
            found[unit].append(member)
    return found


def loads(begun: Begun) -> Counter[int]:
    return Counter(member for own in holders(begun).values() for member in own)


def test_a_new_rater_takes_a_fair_share_and_every_unit_keeps_its_number_of_raters(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "a.study.db", talks(12), raters=3, per_unit=2, calibration=2)
    begun.arrive()
    newcomer = invite(begun.study, begun.project, Role.RATER, "rater 4", by=begun.coordinator())
    assert all(len(set(own)) == len(own) == 2 for own in holders(begun).values())
    assert loads(begun)[newcomer.key] == 6
    assert len(holders(begun, Round.CALIBRATION)) == 2
    assert all(newcomer.key in own for own in holders(begun, Round.CALIBRATION).values())


def test_a_repeat_goes_with_its_unit(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "a.study.db", talks(12), raters=2, per_unit=1, repeats=1.0)
    invite(begun.study, begun.project, Role.RATER, "rater 3")
    main, repeated = holders(begun), holders(begun, Round.REPEAT)
    assert all(set(own) <= set(main[unit]) for unit, own in repeated.items())


def test_a_name_that_is_taken_is_refused(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "a.study.db")
    for name, problem in (("rater 1", "already"), ("coordinator", "already"), (" ", "a name is empty")):
        with pytest.raises(InputError, match=problem):
            invite(begun.study, begun.project, Role.RATER, name)


def test_more_units_come_at_the_end_and_known_ones_are_left_out(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "a.study.db", talks(4))
    keys = begun.study.save_conversations(talks(7))
    assert extend(begun.study, begun.project, [UnitKey(key, 1) for key in keys]) == 3
    assert len(holders(begun)) == 7
    assert begun.work() == 7
    assert extend(begun.study, begun.project, [UnitKey(key, 1) for key in keys]) == 0


def test_what_a_leaving_rater_did_not_finish_goes_to_those_who_do_not_have_it(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "a.study.db", talks(9), raters=4, per_unit=2)
    begun.arrive()
    task = begun.next_task()
    assert task is not None
    begun.hand_in(task)
    leaver = begun.rater()
    moved = reassign(begun.study, begun.project, leaver, leaving=True, by=begun.coordinator())
    assert all(len(set(own)) == len(own) == 2 for own in holders(begun).values())
    assert loads(begun)[leaver.key] == 1
    assert moved > 0
    assert len(list(begun.study.ratings())) == 5


def test_when_nobody_can_take_over_nothing_changes(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "a.study.db", raters=3)
    before = holders(begun)
    with pytest.raises(InputError, match=r"nobody can take over 4 of 4 units.*: invite another rater first"):
        reassign(begun.study, begun.project, begun.rater(), leaving=True)
    assert holders(begun) == before
    assert all(member.state == "active" for member in members(begun.study, begun.project, Role.RATER))


def test_a_skipped_unit_is_given_to_somebody_else_once(tmp_path: Path) -> None:
    begun = begin_project(tmp_path / "a.study.db", raters=3, per_unit=2)
    member = begun.arrive()
    task = begun.next_task()
    assert task is not None
    skip(begun.study, begun.project, member, task.assignment, reason="distress", text="")
    assert give_skipped(begun.study, begun.project) == 1
    assert give_skipped(begun.study, begun.project) == 0
    own = holders(begun)[task.assignment.unit.key]
    assert len(own) == 2
    assert member.key not in own
