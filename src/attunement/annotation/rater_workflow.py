"""What comes next for a rater?"""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from sqlalchemy import case, func, select

from attunement.annotation.projects import lacks_escalation, record, state_of
from attunement.annotation.records import Assignment, GoneError, Member, MemberState, Project, ProjectState, Work
from attunement.annotation.tasks import next_assignment
from attunement.ratings import Round
from attunement.store import Study, now, schema
from attunement.store.rows import to_json

_LONGEST_UNIT = 900
"""Seconds of one unit that count as work."""


class Step(StrEnum):
    """What comes next for a rater."""

    CLOSED = "closed"
    """The coordinator has not yet said what to do when a person may be in danger."""
    PROFILE = "profile"
    WELCOME = "welcome"
    HELD = "held"
    PAUSED = "paused"
    TASK = "task"
    DONE = "done"


class Progress(NamedTuple):
    """How far a rater is, in the practice or in the work."""

    done: int
    total: int


def next_step(study: Study, project: Project, member: Member) -> tuple[Step, Assignment | None]:
    """What the rater does next; with the assignment where it is one."""
    if member.profile is None:
        return Step.PROFILE, None
    if lacks_escalation(study, project):
        return Step.CLOSED, None
    if member.began is None:
        return Step.WELCOME, None
    if member.state is MemberState.HELD:
        return Step.HELD, None
    assignment = next_assignment(study, member)
    if assignment is None:
        return Step.DONE, None
    # A unit that was opened may be finished while the project is paused.
    if assignment.opened is None and state_of(study, project).state is ProjectState.PAUSED:
        return Step.PAUSED, None
    return Step.TASK, assignment


def progress(study: Study, member: Member, assignment: Assignment | None) -> Progress:
    """How far the rater is in the part that `assignment` belongs to; without one, in the work."""
    table = schema.assignments.c
    own = (table.member == member.key) & (table.state != Work.WITHDRAWN)
    practising = assignment is not None and assignment.round is Round.CALIBRATION
    if assignment is not None and practising:
        own = own & (table.round == Round.CALIBRATION) & (table.attempt == assignment.attempt)
    else:
        own = own & (table.round != Round.CALIBRATION)
    done = func.sum(case((table.state == Work.OPEN, 0), else_=1))
    with study.reading() as connection:
        finished, total = connection.execute(select(done, func.count()).where(own)).one()
    return Progress(finished or 0, total)


def state_profile(study: Study, project: Project, member: Member, profile: Mapping[str, Any]) -> None:
    """Keep what a rater says about themselves. From the first submission on it stays, because reports rest on it."""
    with study.writing() as connection:
        query = schema.members.update().where(schema.members.c.key == member.key, schema.members.c.rater.is_(None))
        if not connection.execute(query.values(profile=to_json(dict(profile)))).rowcount:
            raise GoneError("what you said about yourself stands with your ratings and cannot be changed any more")
        record(connection, project, "profile", member=member, content=profile)


def begin(study: Study, project: Project, member: Member) -> None:
    """Keep that the rater read what to expect and went on."""
    with study.writing() as connection:
        query = schema.members.update().where(schema.members.c.key == member.key, schema.members.c.began.is_(None))
        if connection.execute(query.values(began=now())).rowcount:
            record(connection, project, "began", member=member)


def open_unit(study: Study, project: Project, member: Member, assignment: Assignment, *, warned: bool = False) -> None:
    """Keep when the rater first saw the unit, and whether it came with a warning."""
    if assignment.opened is not None:
        return
    table = schema.assignments
    with study.writing() as connection:
        first = table.update().where(table.c.key == assignment.key, table.c.opened.is_(None))
        if connection.execute(first.values(opened=now())).rowcount:
            record(connection, project, "opened", member=member, assignment=assignment.key, content={"warned": warned})


def own_counts(study: Study, member: Member) -> tuple[int, int]:
    """How many worked examples and how many units a rater has."""
    table = schema.assignments.c
    own = (table.member == member.key) & (table.state != Work.WITHDRAWN) & (table.attempt == 1)
    practice = func.sum(case((table.round == Round.CALIBRATION, 1), else_=0))
    with study.reading() as connection:
        examples, total = connection.execute(select(practice, func.count()).where(own)).one()
    return examples or 0, total - (examples or 0)


def own_time(study: Study, member: Member) -> tuple[int, int]:
    """How many units a rater finished today, and in how many minutes of work; for their own eyes."""
    table = schema.assignments.c
    today = now()[:10]
    query = select(table.opened, table.done).where(
        table.member == member.key, table.round != Round.CALIBRATION, table.done >= today, table.opened.is_not(None)
    )
    with study.reading() as connection:
        spans = [
            (datetime.fromisoformat(done) - datetime.fromisoformat(opened)).total_seconds()
            for opened, done in connection.execute(query)
        ]
    # Who leaves a unit open over lunch did not work on it for that long.
    return len(spans), round(sum(min(span, _LONGEST_UNIT) for span in spans) / 60)
