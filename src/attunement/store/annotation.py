"""What people enter in an annotation project: drafts, ratings, practice answers, urgent notices, decisions.

A function that takes a `connection` is one step of a transaction, which the caller opens with `Study.writing`.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Table, func, select

from attunement.ratings import Outcome, Round
from attunement.store import schema
from attunement.store.projects import Assignment, AssignmentState, Project, ProjectUnit, Role, unit_of
from attunement.store.rows import (
    StoredRating,
    column_values,
    from_json,
    insert_into,
    outcome_of,
    rating_row,
    record_of,
    to_json,
)
from attunement.store.study import Study, now


class Draft(NamedTuple):
    """What a page shows for one item."""

    item: str
    outcome: Outcome | None
    comment: str = ""
    evidence: tuple[dict[str, Any], ...] = ()
    number: int = 0  # of the change of the unit that set it


def save_draft(connection: Connection, assignment: Assignment, draft: Draft) -> dict[str, Any] | None:
    """Save a draft unless a later one is there; returns its plain data for the log, or None if it was not saved."""
    row = {"assignment": assignment.key, "at": now(), **_answer_columns(draft.outcome)}
    row |= column_values({name: getattr(draft, name) for name in ("item", "number", "comment", "evidence")})
    if not connection.execute(_upsert_draft(connection.dialect.name), row).rowcount:
        return None
    return {name: row[name] for name in ("item", "state", "value", "comment", "evidence")}


def _answer_columns(outcome: Outcome | None) -> dict[str, str | None]:
    if outcome is None:
        return {"state": None, "value": None}
    return {"state": outcome.state.value, "value": None if outcome.value is None else str(outcome.value)}


@cache
def _upsert_draft(dialect: str) -> Any:
    upsert = insert_into(schema.drafts, dialect)
    values = {column.name: upsert.excluded[column.name] for column in schema.drafts.c if not column.primary_key}
    later = upsert.excluded.number >= schema.drafts.c.number
    return upsert.on_conflict_do_update(index_elements=["assignment", "item"], set_=values, where=later)


def drafts_in(connection: Connection, assignment: Assignment) -> dict[str, Draft]:
    """The drafts of an assignment by item."""
    query = select(schema.drafts).where(schema.drafts.c.assignment == assignment.key)
    return {row["item"]: _draft(row) for row in connection.execute(query).mappings()}


def _draft(row: Mapping[Any, Any]) -> Draft:
    outcome = None if row["state"] is None else outcome_of(row["state"], row["value"], None)
    return record_of(Draft, row, outcome=outcome)


class Submission(NamedTuple):
    """A submitted assignment with all its answers."""

    assignment: int
    member: int
    unit: ProjectUnit
    round: Round
    done: str
    flagged: bool
    answers: dict[str, Draft]  # by item


def submissions(study: Study, project: Project, rounds: Collection[Round] = (Round.MAIN,)) -> list[Submission]:
    """Everything that was submitted in these rounds, in the order in which it came in."""
    assignment, unit, draft = schema.assignments.c, schema.project_units.c, schema.drafts.c
    query = (
        select(
            *(assignment.key, assignment.member, assignment.unit, assignment.round, assignment.done),
            *(assignment.flagged, unit.conversation, unit.turn, unit.example, unit.round.label("unit_round")),
            *(unit.answers, draft.item, draft.state, draft.value, draft.number, draft.comment, draft.evidence),
        )
        .where(assignment.unit == unit.key, draft.assignment == assignment.key, assignment.project == project.key)
        .where(assignment.state == AssignmentState.SUBMITTED, assignment.round.in_(list(rounds)))
        .order_by(assignment.done, assignment.key)
    )
    found: dict[int, Submission] = {}
    with study.reading() as connection:
        for row in connection.execute(query).mappings():
            key = row["key"]
            if key not in found:
                found[key] = record_of(Submission, row, assignment=key, unit=unit_of(row), answers={})
            found[key].answers[row["item"]] = _draft(row)
    return list(found.values())


# Ratings and adjudicators' decisions


def insert_ratings(connection: Connection, ratings: Iterable[StoredRating]) -> None:
    rows = [rating_row(rating, conversation, rater) for conversation, rater, rating in ratings]
    connection.execute(schema.ratings.insert(), rows)


def times_rated(connection: Connection, rater: int, unit: ProjectUnit, round: Round) -> dict[str, int]:
    """How often a rater rated a unit before in this round, by the hash of the item's wording."""
    table = schema.ratings.c
    query = (
        select(table.asked, func.max(table.repeat) + 1)
        .where(table.conversation == unit.conversation, table.turn == (unit.turn or 0))
        .where(table.rater == rater, table.round == round)
        .group_by(table.asked)
    )
    return {row[0]: row[1] for row in connection.execute(query)}


class StoredDecision(NamedTuple):
    """What an adjudicator decided about an item of a unit."""

    conversation: int
    turn: int | None
    item: str
    outcome: Outcome
    reason: str
    at: str


def decisions_in(connection: Connection, project: Project) -> list[StoredDecision]:
    """What the adjudicators of this project decided; those of an earlier round decided about other answers."""
    rating = schema.ratings.c
    query = (
        select(rating.conversation, rating.turn, rating.item, rating.state, rating.value, rating.reasoning, rating.at)
        .where(_is_decision(project))
        .order_by(rating.key)
    )
    return [
        StoredDecision(conversation, turn or None, item, outcome_of(state, value, None), reason, at)
        for conversation, turn, item, state, value, reason, at in connection.execute(query)
    ]


def _is_decision(project: Project) -> ColumnElement[bool]:
    rating, member = schema.ratings.c, schema.members.c
    adjudicators = select(member.rater).where(member.project == project.key, member.role == Role.ADJUDICATOR)
    return (rating.round == Round.ADJUDICATION) & rating.rater.in_(adjudicators.where(member.rater.is_not(None)))


def remove_decisions(connection: Connection, project: Project, unit: ProjectUnit) -> list[dict[str, Any]]:
    """Delete the decisions about a unit, and return them for the log."""
    rating = schema.ratings.c
    about = (rating.conversation == unit.conversation) & (rating.turn == (unit.turn or 0))
    return _remove(connection, schema.ratings, _is_decision(project) & about)


def _remove(connection: Connection, table: Table, wanted: ColumnElement[bool]) -> list[dict[str, Any]]:
    columns = [table.c[name] for name in ("item", "state", "value", "at", "reasoning", "evidence")]
    rows = [dict(row) for row in connection.execute(select(*columns).where(wanted)).mappings()]
    connection.execute(table.delete().where(wanted))
    return rows


def remove_answers(
    connection: Connection, project: Project, assignment: Assignment, rater: int | None
) -> list[dict[str, Any]]:
    """Delete the ratings or practice answers that a submitted assignment became, and return them for the log."""
    if assignment.unit.example is not None:
        table, wanted = schema.practice, schema.practice.c.assignment == assignment.key
    else:
        table, rating = schema.ratings, schema.ratings.c
        wanted = (rating.conversation == assignment.unit.conversation) & (rating.turn == (assignment.unit.turn or 0))
        wanted &= (rating.rater == rater) & (rating.round == assignment.round)
        # The ratings have the time of the submission.
        wanted &= (rating.instrument == project.instrument.hash) & (rating.at == assignment.done)
    return _remove(connection, table, wanted)


def rating_counts(study: Study) -> tuple[Any, ...]:
    """Numbers that change whenever a rating or a conversation is added."""
    rating, conversation = schema.ratings.c, schema.conversations.c
    with study.reading() as connection:
        ratings = connection.execute(select(func.count(), func.max(rating.key), func.max(rating.at))).one()
        conversations = connection.execute(select(func.count(), func.max(conversation.key))).one()
    return (*ratings, *conversations)


# Practice


def insert_practice(connection: Connection, assignment: Assignment, drafts: Iterable[Draft], at: str) -> None:
    """Save the answers to a worked example."""
    known = assignment.unit.answers
    rows = [
        {
            "assignment": assignment.key,
            "item": draft.item,
            "round": assignment.round,
            **_answer_columns(draft.outcome),
            "known": to_json(known[draft.item]) if draft.item in known else None,
            "at": at,
            "reasoning": draft.comment.strip(),
            "evidence": to_json(draft.evidence),
        }
        for draft in drafts
        if draft.outcome is not None
    ]
    connection.execute(schema.practice.insert(), rows)


# Urgent notices, the log, and names of units


class Notice(NamedTuple):
    """A rater's report that a person may be in danger."""

    public: str
    at: str
    member: str
    text: str
    unit: int  # the key of the unit that the rater was reading
    conversation: str
    turn: int | None
    seen: str | None


def insert_notice(
    connection: Connection, project: Project, assignment: Assignment, *, public: str, text: str, at: str
) -> bool:
    """Save a notice unless one with this name is there; returns whether it is new."""
    row = {"project": project.key, "member": assignment.member, "assignment": assignment.key}
    once = insert_into(schema.notices, connection.dialect.name).on_conflict_do_nothing()
    return bool(connection.execute(once, {**row, "public": public, "at": at, "text": text}).rowcount)


def notices(study: Study, project: Project) -> list[Notice]:
    """All urgent notices: those that nobody has seen come first, then the newest."""
    notice, assignment, member = schema.notices.c, schema.assignments.c, schema.members.c
    unit, conversation = schema.project_units, schema.conversations
    query = (
        select(schema.notices, member.name, assignment.unit, unit.c.turn, unit.c.example)
        .add_columns(conversation.c.system, conversation.c.id)
        .select_from(
            schema.notices.join(schema.members, notice.member == member.key)
            .join(schema.assignments, notice.assignment == assignment.key)
            .join(unit, assignment.unit == unit.c.key)
            .outerjoin(conversation, unit.c.conversation == conversation.c.key)
        )
        .where(notice.project == project.key)
        .order_by(notice.seen.is_not(None), notice.key.desc())
    )
    with study.reading() as connection:
        return [
            record_of(Notice, row, member=row["name"], conversation=_conversation_name(row))
            for row in connection.execute(query).mappings()
        ]


def _conversation_name(row: Mapping[Any, Any]) -> str:
    """The conversation of a unit, as the coordinator reads it."""
    return f"example {row['example']}" if row["id"] is None else f"{row['system']}/{row['id']}"


def mark_notice_seen(connection: Connection, project: Project, public: str) -> bool:
    """Save that a notice was seen; returns whether this was the first time."""
    table = schema.notices
    own = (table.c.project == project.key) & (table.c.public == public) & table.c.seen.is_(None)
    return bool(connection.execute(table.update().where(own).values(seen=now())).rowcount)


class Event(NamedTuple):
    at: str
    member: int
    unit: int | None  # the key of the unit that it is about
    content: Any


def events(study: Study, project: Project, kind: str) -> Iterator[Event]:
    """The entries of one kind in the log of a project, from the first to the last."""
    event, assignment = schema.events.c, schema.assignments
    query = (
        select(event.at, event.member, assignment.c.unit, event.content)
        .select_from(schema.events.outerjoin(assignment, event.assignment == assignment.c.key))
        .where(event.project == project.key, event.kind == kind)
        .order_by(event.key)
    )
    with study.reading() as connection:
        for row in connection.execute(query).mappings():
            yield record_of(Event, row, content=from_json(row["content"]))


def unit_names(study: Study, project: Project) -> dict[int, str]:
    """How the coordinator reads each unit, by its key."""
    unit, conversation = schema.project_units, schema.conversations
    query = (
        select(unit.c.key, unit.c.turn, unit.c.example, conversation.c.system, conversation.c.id)
        .select_from(unit.outerjoin(conversation, unit.c.conversation == conversation.c.key))
        .where(unit.c.project == project.key)
        .order_by(unit.c.key)
    )
    with study.reading() as connection:
        return {
            row["key"]: _conversation_name(row) + (f" #{row['turn']}" if row["turn"] else "")
            for row in connection.execute(query).mappings()
        }
