"""What happens when a rater answers, submits, skips, raises an alarm or takes an answer back.

Each answer is kept as it is set. What was handed in becomes ordinary ratings of the study in the same transaction;
answers to a worked example go to a table of their own.

The unit that was handed in last can be taken back until the next one is handed in. Its page is open again with
everything on it; its ratings leave the study and stand in the trail in full, so that nothing is lost or overwritten.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import Connection, Table, func, select

from attunement import rules
from attunement.annotation import answers
from attunement.annotation.adjudication import decided_in
from attunement.annotation.answers import Change, Draft, Missing
from attunement.annotation.projects import record
from attunement.annotation.records import Assignment, GoneError, Member, Project, Task, Work
from attunement.annotation.tasks import ASSIGNMENTS, assignment_in, find_assignment, read_drafts
from attunement.annotation.training import keep_practice, settle
from attunement.errors import InputError
from attunement.ratings import RaterKind, Rating, Round
from attunement.store import Rater, Study, now, schema
from attunement.store.rows import insert_into, rating_row, to_json
from attunement.store.schema import practice


class Submitted(NamedTuple):
    """What came of submitting: kept, or what is missing."""

    missing: tuple[Missing, ...]
    ratings: int = 0


def save(study: Study, project: Project, member: Member, task: Task, changes: Sequence[Change]) -> int | None:
    """Keep answers as they are set. An older change than the one that is kept does nothing.

    Returns:
        Where a change was older, the number of the newest that is kept: another window of the same rater made it.

    Raises:
        InputError: A change does not fit what was asked; then none is kept.
        GoneError: The unit was submitted, or given to somebody else.
    """
    drafts = [answers.read(change, project.instrument, task.unit, task.items) for change in changes]
    with study.writing() as connection:
        assignment, behind = _still_open(connection, member, task.assignment), False
        for draft in drafts:
            row = _draft_row(draft, assignment)
            if connection.execute(_keep_draft(connection.dialect.name), row).rowcount:
                content = {name: row[name] for name in ("item", "state", "value", "comment", "evidence")}
                record(connection, project, "set", member=member, assignment=assignment.key, content=content)
            else:
                behind = True
        return newest(read_drafts(connection, assignment)) if behind else None


def flag(study: Study, project: Project, member: Member, assignment: Assignment, *, flagged: bool) -> None:
    """Mark a unit for the coordinator to look at, or take the mark back."""
    with study.writing() as connection:
        _still_open(connection, member, assignment)
        query = schema.assignments.update().where(schema.assignments.c.key == assignment.key)
        connection.execute(query.values(flagged=flagged))
        record(connection, project, "flag", member=member, assignment=assignment.key, content={"flagged": flagged})


def newest(drafts: Mapping[str, Draft]) -> int:
    """The number of the last change of a unit."""
    return max((draft.number for draft in drafts.values()), default=0)


def submit(
    study: Study, project: Project, member: Member, task: Task, *, seen: Mapping[str, int] | None = None
) -> Submitted:
    """Hand a unit in. Where something is missing it says what, and nothing changes.

    A second submission of the same unit does nothing: what was handed in stays.

    Args:
        study: Where it is kept.
        project: What the unit belongs to.
        member: Whose unit it is.
        task: The unit.
        seen: By item, the last change that the rater's page knows of.

    Raises:
        GoneError: The unit is not open, or there is a newer change than those the rater has seen.
    """
    rater = _rater(study, project, member) if task.assignment.unit.conversation is not None else None
    with study.writing() as connection:
        assignment = find_assignment(connection, member, task.assignment.public)
        if assignment is not None and assignment.state is Work.SUBMITTED:
            return Submitted(())
        assignment = _open(assignment)
        drafts = read_drafts(connection, assignment)
        if seen is not None and any(draft.number > seen.get(item, 0) for item, draft in drafts.items()):
            raise GoneError("you changed this unit in another window: reload the page, look at it and submit it again")
        lacking = answers.missing(project.instrument, task.items, drafts)
        if lacking:
            return Submitted(tuple(lacking))
        at = now()
        if rater is None:
            count = keep_practice(connection, assignment, task.items, drafts, at)
        else:
            made = _ratings(connection, project, rater, task, drafts, at)
            connection.execute(schema.ratings.insert(), made)
            count = len(made)
        _finish(connection, assignment, Work.SUBMITTED, at)
        record(connection, project, "submitted", member=member, assignment=assignment.key)
        if assignment.round is Round.CALIBRATION:
            settle(connection, project, member, assignment)
    return Submitted((), count)


def skip(study: Study, project: Project, member: Member, assignment: Assignment, *, reason: str, text: str) -> None:
    """Leave a unit out, with a reason. What was set so far stays as a draft and becomes no rating."""
    if assignment.round is Round.CALIBRATION:
        raise InputError("a practice example cannot be skipped")
    with study.writing() as connection:
        current = _still_open(connection, member, assignment)
        _finish(connection, current, Work.SKIPPED, now())
        content = {"reason": reason, "text": text}
        record(connection, project, "skipped", member=member, assignment=current.key, content=content)


def warn(study: Study, project: Project, member: Member, assignment: Assignment, *, public: str, text: str) -> str:
    """Tell the coordinator that a person may be in danger; returns when it was kept.

    The page names the notice, so that one that is sent again because the network failed is kept once.
    """
    at = now()
    row = {
        "project": project.key,
        "member": member.key,
        "assignment": assignment.key,
        "public": public,
        "at": at,
        "text": text,
    }
    with study.writing() as connection:
        once = insert_into(schema.notices, connection.dialect.name).on_conflict_do_nothing()
        new = connection.execute(once, row).rowcount
        if new:
            record(connection, project, "urgent", member=member, assignment=assignment.key, content={"text": text})
    return at


@cache
def _keep_draft(dialect: str) -> Any:
    """The statement that keeps a draft unless a later one is there; made once, which takes longer than to run it."""
    upsert = insert_into(schema.drafts, dialect)
    news = {column.name: upsert.excluded[column.name] for column in schema.drafts.c if not column.primary_key}
    later = upsert.excluded.number >= schema.drafts.c.number
    return upsert.on_conflict_do_update(index_elements=["assignment", "item"], set_=news, where=later)


def _still_open(connection: Connection, member: Member, assignment: Assignment) -> Assignment:
    return _open(find_assignment(connection, member, assignment.public))


def _open(current: Assignment | None) -> Assignment:
    if current is None or current.state is not Work.OPEN:
        done = current is not None and current.state in {Work.SUBMITTED, Work.SKIPPED}
        raise GoneError(
            "this unit was handed in already" if done else "this unit is not yours any more: go on with the next one"
        )
    return current


def _finish(connection: Connection, assignment: Assignment, state: Work, at: str) -> None:
    query = schema.assignments.update().where(schema.assignments.c.key == assignment.key)
    connection.execute(query.values(state=state, done=at))


def _rater(study: Study, project: Project, member: Member) -> Rater:
    """The member as a rater of the study, made at the first submission.

    The random name stands in the settings, so that two people with one name never become one rater.
    """
    if member.rater is not None:
        return next(rater for rater in study.raters() if rater.key == member.rater)
    settings = {"person": member.public, "round": project.number, **(member.profile or {})}
    rater = study.save_rater(member.name, RaterKind.PERSON, settings)
    with study.writing() as connection:
        query = schema.members.update().where(schema.members.c.key == member.key)
        connection.execute(query.values(rater=rater.key))
    return rater


def _ratings(
    connection: Connection, project: Project, rater: Rater, task: Task, drafts: Mapping[str, Draft], at: str
) -> list[dict[str, Any]]:
    """The rows of the ratings that a unit amounts to. Their time is that of the assignment, which finds them by it."""
    instrument, unit, assignment = project.instrument, task.unit, task.assignment
    outcomes = {item: draft.outcome for item, draft in drafts.items() if draft.outcome is not None}
    spoken = rules.apply(instrument, unit, outcomes)
    earlier = _times_rated(connection, rater, task)
    key = assignment.unit.conversation
    if key is None:
        return []
    rows: list[dict[str, Any]] = []
    for item in task.items:
        wording = instrument.item_hashes[item]
        rating = Rating(
            conversation=unit.conversation.identity,
            turn=unit.turn,
            item=item,
            outcome=outcomes[item],
            rater=rater.name,
            rater_kind=RaterKind.PERSON,
            repeat=earlier.get(wording, 0),
            round=assignment.round,
            reasoning=drafts[item].comment.strip(),
            evidence=answers.findings(drafts[item], unit),
            rules=spoken.get(item, ()),
            item_hash=wording,
            asked=wording,
            instrument=instrument.hash,
            at=at,
        )
        rows.append(rating_row(rating, key, rater.key))
    return rows


def _times_rated(connection: Connection, rater: Rater, task: Task) -> dict[str, int]:
    """How often this rater rated the same words of the unit before in the same kind of round, by wording."""
    table = schema.ratings.c
    query = (
        select(table.asked, func.max(table.repeat) + 1)
        .where(table.conversation == task.assignment.unit.conversation, table.rater == rater.key)
        .where(table.turn == (task.unit.turn or 0), table.round == task.assignment.round)
        .group_by(table.asked)
    )
    return {row[0]: row[1] for row in connection.execute(query)}


def _draft_row(draft: Draft, assignment: Assignment) -> dict[str, Any]:
    outcome = draft.outcome
    return {
        "assignment": assignment.key,
        "item": draft.item,
        "number": draft.number,
        "state": outcome and outcome.state.value,
        "value": None if outcome is None or outcome.value is None else str(outcome.value),
        "at": now(),
        "comment": draft.comment,
        "evidence": to_json(draft.evidence),
    }


_KEPT = ("item", "state", "value", "at", "reasoning", "evidence")
"""What the trail holds of each answer that was taken back."""


def last_handed_in(study: Study, member: Member) -> Assignment | None:
    """The unit of the work that the rater can take back; None where there is none."""
    with study.reading() as connection:
        return _last(connection, member)


def take_back(study: Study, project: Project, member: Member, assignment: Assignment) -> None:
    """Open the page of `assignment` again, and put its ratings into the trail.

    Raises:
        GoneError: It is not the last one that was handed in, or others have gone on with its ratings.
    """
    with study.writing() as connection:
        current = find_assignment(connection, member, assignment.public)
        last = _last(connection, member)
        if current is None or last is None or current.key != last.key:
            raise GoneError("only the unit that you handed in last can be changed")
        answers = _take_out(connection, project, member, current)
        if not answers:
            raise GoneError("this unit cannot be changed any more, because others have gone on with it")
        query = schema.assignments.update().where(schema.assignments.c.key == current.key)
        connection.execute(query.values(state=Work.OPEN, done=None))
        record(connection, project, "taken back", member=member, assignment=current.key, content={"answers": answers})


def _last(connection: Connection, member: Member) -> Assignment | None:
    table = schema.assignments.c
    query = (
        ASSIGNMENTS.where(table.member == member.key, table.round != Round.CALIBRATION, table.done.is_not(None))
        .order_by(table.done.desc(), table.key.desc())
        .limit(1)
    )
    row = connection.execute(query).mappings().first()
    found = None if row is None else assignment_in(row)
    return found if found is not None and found.state is Work.SUBMITTED else None


def _take_out(connection: Connection, project: Project, member: Member, assignment: Assignment) -> list[dict[str, Any]]:
    """Take the answers of an assignment out of the study; none where an adjudicator has decided about them."""
    if assignment.unit.example is not None:
        return _remove(connection, practice, practice.c.assignment == assignment.key)
    rating = schema.ratings.c
    of_unit = (rating.conversation == assignment.unit.conversation) & (rating.turn == (assignment.unit.turn or 0))
    if connection.scalar(select(rating.key).where(of_unit, decided_in(project)).limit(1)) is not None:
        return []
    of_unit &= rating.instrument == project.instrument.hash
    own = (rating.rater == member.rater) & (rating.round == assignment.round) & (rating.at == assignment.done)
    return _remove(connection, schema.ratings, of_unit & own)


def _remove(connection: Connection, table: Table, wanted: Any) -> list[dict[str, Any]]:
    columns = [table.c[name] for name in _KEPT]
    rows = [dict(row) for row in connection.execute(select(*columns).where(wanted)).mappings()]
    connection.execute(table.delete().where(wanted))
    return rows
