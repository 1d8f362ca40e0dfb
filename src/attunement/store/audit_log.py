"""Who did what, when, and with which version of the instrument?

The trail holds every event of people's work, every adjudicated answer, every reading and review, and every signature,
in the order of time.
Nothing in it is ever changed; what rests on a conversation goes when the conversation is forgotten.
"""

from collections.abc import Iterator
from heapq import merge
from typing import Any

from sqlalchemy import Select, Table, select

from attunement.ratings import Round
from attunement.store import schema
from attunement.store.export import Column, Export, Record
from attunement.store.rows import from_json
from attunement.store.study import Study

AUDIT_COLUMNS = (
    *(Column("at"), Column("project"), Column("project_number", "integer"), Column("who"), Column("role")),
    *(Column("kind"), Column("instrument_hash"), Column("system"), Column("conversation")),
    *(Column("turn", "integer"), Column("round"), Column("content", "json")),
)
"""The columns of the trail. `who` is empty for what was done on the command line."""


def audit_events(study: Study, project: int | None = None) -> Export:
    """Everything that was done, or what was done in one project."""
    makers = (_events, _adjudicating, _reviewing, _readings, _signing)
    return Export(AUDIT_COLUMNS, merge(*(make(study, project) for make in makers), key=lambda record: record["at"]))


_MEMBER, _PROJECT, _TALK = schema.members.c, schema.projects.c, schema.conversations.c
_ABOUT = (_PROJECT.name.label("project_name"), _PROJECT.number, _MEMBER.name.label("who"), _MEMBER.role)


def _events(study: Study, project: int | None) -> Iterator[Record]:
    event, unit = schema.events.c, schema.project_units.c
    query = (
        select(schema.events, *_ABOUT, _TALK.system, _TALK.id, unit.turn, schema.assignments.c.round)
        .select_from(
            schema.events.join(schema.projects, event.project == _PROJECT.key)
            .outerjoin(schema.members, event.member == _MEMBER.key)
            .outerjoin(schema.assignments, event.assignment == schema.assignments.c.key)
            .outerjoin(schema.project_units, schema.assignments.c.unit == unit.key)
            .outerjoin(schema.conversations, unit.conversation == _TALK.key)
        )
        .order_by(event.at, event.key)
    )
    for row in _rows(study, query, project):
        content = from_json(row["content"])
        if isinstance(content.get("evidence"), str):  # a change is kept as the row that it became
            content["evidence"] = from_json(content["evidence"])
        yield _record(row, row["kind"], content, turn=row["turn"] or None, round=row["round"])


def _adjudicating(study: Study, project: int | None) -> Iterator[Record]:
    """What adjudicators decided, each answer with its reason. The words go when the conversation is forgotten."""
    rating = schema.ratings
    query = (
        select(rating, *(column for column in _ABOUT if column.name not in rating.c), _TALK.system, _TALK.id)
        .select_from(
            rating.join(schema.members, rating.c.rater == _MEMBER.rater)
            .join(schema.projects, _MEMBER.project == _PROJECT.key)
            .join(schema.conversations, rating.c.conversation == _TALK.key)
        )
        .where(rating.c.round == Round.ADJUDICATION)
        .order_by(rating.c.at, rating.c.key)
    )
    for row in _rows(study, query, project):
        content = {"item": row["item"], "state": row["state"], "value": row["value"], "reason": row["reasoning"]}
        yield _record(row, "decided", content, turn=row["turn"] or None, round=row["round"])


def _reviewing(study: Study, project: int | None) -> Iterator[Record]:
    for row in _rows(study, _of_member(schema.reviews), project):
        content = {
            "decision": row["decision"],
            "judge_verdict": row["verdict"],
            "judges": from_json(row["judges"]),
            "findings": from_json(row["findings"]),
            "reason": row["reason"],
        }
        yield _record(row, "reviewed", content)


def _readings(study: Study, project: int | None) -> Iterator[Record]:
    for row in _rows(study, _of_member(schema.readings), project):
        yield _record(row, f"review {row['kind']}", {})


def _signing(study: Study, project: int | None) -> Iterator[Record]:
    table = schema.sign_offs
    query = (
        select(table, *(column for column in _ABOUT if column.name != "role"))
        .select_from(
            table.join(schema.members, table.c.member == _MEMBER.key).join(
                schema.projects, _MEMBER.project == _PROJECT.key
            )
        )
        .order_by(table.c.at, table.c.key)
    )
    for row in _rows(study, query, project):
        content = {name: row[name] for name in ("name", "role", "study", "decision", "conditions")}
        content |= {name: from_json(row[name]) for name in ("basis", "numbers")}
        yield _record({**row, "role": "reviewer"}, "sign-off", content)


def _of_member(table: Table) -> Select[Any]:
    about = [column for column in _ABOUT if column.name not in table.c]
    return (
        select(table, *about, _TALK.system, _TALK.id)
        .select_from(
            table.join(schema.members, table.c.member == _MEMBER.key)
            .join(schema.projects, _MEMBER.project == _PROJECT.key)
            .join(schema.conversations, table.c.conversation == _TALK.key)
        )
        .order_by(table.c.at, table.c.key)
    )


def _rows(study: Study, query: Select[Any], project: int | None) -> Iterator[dict[str, Any]]:
    wanted = query if project is None else query.where(_PROJECT.key == project)
    with study.reading() as connection, connection.execution_options(yield_per=1000).execute(wanted) as rows:
        for row in rows.mappings():
            yield dict(row)


def _record(row: dict[str, Any], kind: str, content: Any, **more: Any) -> Record:
    return {
        "at": row["at"],
        "project": row["project_name"],
        "project_number": row["number"],
        "who": row["who"],
        "role": row["role"],
        "kind": kind,
        "instrument_hash": row["instrument"],
        "system": row.get("system"),
        "conversation": row.get("id"),
        **more,
        "content": content,
    }
