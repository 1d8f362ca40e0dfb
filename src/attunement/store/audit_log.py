"""Who did what, when, and with which version of the instrument?

The log has every event of people's work, every adjudicated answer, every reading and review, and every signature, in
the order of time. Nothing in it is ever changed; what depends on a conversation goes when the conversation is
deleted.
"""

from collections.abc import Iterator, Sequence
from heapq import merge
from typing import Any

from sqlalchemy import ColumnElement, FromClause, Table, select

from attunement.ratings import Round
from attunement.store import schema
from attunement.store.export import Export, Record, columns
from attunement.store.rows import from_json
from attunement.store.study import Study

AUDIT_COLUMNS = columns(
    "at project project_number:integer who role kind instrument_hash system conversation turn:integer round "
    "content:json"
)
"""The columns of the log. `who` is empty for what was done on the command line."""


def audit_events(study: Study, project: int | None = None) -> Export:
    """Everything that was done, or what was done in one project."""
    makers = (_work, _adjudications, _reviews, _readings, _sign_offs)
    return Export(AUDIT_COLUMNS, merge(*(make(study, project) for make in makers), key=lambda record: record["at"]))


_MEMBER, _PROJECT, _CONVERSATION = schema.members.c, schema.projects.c, schema.conversations.c


def _work(study: Study, project: int | None) -> Iterator[Record]:
    event, unit = schema.events.c, schema.project_units.c
    joined = (
        schema.events.join(schema.projects, event.project == _PROJECT.key)
        .outerjoin(schema.members, event.member == _MEMBER.key)
        .outerjoin(schema.assignments, event.assignment == schema.assignments.c.key)
        .outerjoin(schema.project_units, schema.assignments.c.unit == unit.key)
        .outerjoin(schema.conversations, unit.conversation == _CONVERSATION.key)
    )
    more = [_CONVERSATION.system, _CONVERSATION.id, unit.turn, schema.assignments.c.round]
    for row in _rows(study, schema.events, joined, more, project):
        content = from_json(row["content"])
        if isinstance(content.get("evidence"), str):  # a change is saved as the row that it became
            content["evidence"] = from_json(content["evidence"])
        yield _record(row, row["kind"], content, turn=row["turn"] or None, round=row["round"])


def _adjudications(study: Study, project: int | None) -> Iterator[Record]:
    rating = schema.ratings
    joined = (
        rating.join(schema.members, rating.c.rater == _MEMBER.rater)
        .join(schema.projects, _MEMBER.project == _PROJECT.key)
        .join(schema.conversations, rating.c.conversation == _CONVERSATION.key)
    )
    more = [_CONVERSATION.system, _CONVERSATION.id]
    for row in _rows(study, rating, joined, more, project, rating.c.round == Round.ADJUDICATION):
        content = {"item": row["item"], "state": row["state"], "value": row["value"], "reason": row["reasoning"]}
        yield _record(row, "decided", content, turn=row["turn"] or None, round=row["round"])


def _reviews(study: Study, project: int | None) -> Iterator[Record]:
    for row in _rows_of_members(study, schema.reviews, project):
        content = {
            "decision": row["decision"],
            "judge_verdict": row["verdict"],
            "judges": from_json(row["judges"]),
            "findings": from_json(row["findings"]),
            "reason": row["reason"],
        }
        yield _record(row, "reviewed", content)


def _readings(study: Study, project: int | None) -> Iterator[Record]:
    for row in _rows_of_members(study, schema.readings, project):
        yield _record(row, f"review {row['kind']}", {})


def _sign_offs(study: Study, project: int | None) -> Iterator[Record]:
    for row in _rows_of_members(study, schema.sign_offs, project):
        content = {name: row[name] for name in ("name", "role", "study", "decision", "conditions")}
        content |= {name: from_json(row[name]) for name in ("basis", "numbers")}
        yield _record({**row, "role": "reviewer"}, "sign-off", content)


def _rows_of_members(study: Study, table: Table, project: int | None) -> Iterator[dict[str, Any]]:
    joined = table.join(schema.members, table.c.member == _MEMBER.key).join(
        schema.projects, _MEMBER.project == _PROJECT.key
    )
    if "conversation" not in table.c:
        return _rows(study, table, joined, [], project)
    joined = joined.join(schema.conversations, table.c.conversation == _CONVERSATION.key)
    return _rows(study, table, joined, [_CONVERSATION.system, _CONVERSATION.id], project)


def _rows(
    study: Study,
    table: Table,
    joined: FromClause,
    more: Sequence[ColumnElement[Any]],
    project: int | None,
    *conditions: ColumnElement[bool],
) -> Iterator[dict[str, Any]]:
    """The rows of a table with their project and member, in the order of time."""
    about = (_PROJECT.name.label("project_name"), _PROJECT.number, _MEMBER.name.label("who"), _MEMBER.role)
    query = select(table, *(column for column in about if column.name not in table.c), *more)
    query = query.select_from(joined).where(*conditions).order_by(table.c.at, table.c.key)
    if project is not None:
        query = query.where(_PROJECT.key == project)
    with study.reading() as connection, connection.execution_options(yield_per=1000).execute(query) as rows:
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
