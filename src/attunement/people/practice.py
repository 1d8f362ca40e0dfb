"""How are answers to worked examples kept, and which of them have an answer of the instrument beside them?

An example is no conversation of the study, so its answers stand in a table of their own, with their round. Agreement
and scores never see them.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, select

from attunement.instruments import Value
from attunement.people.answers import Draft
from attunement.people.records import Assignment
from attunement.ratings import Outcome
from attunement.study import tables_people as tables
from attunement.study.encoding import from_json, outcome_of, to_json
from attunement.study.tables_practice import practice


class Checked(NamedTuple):
    """A rater's answer to a worked example, and the instrument's."""

    assignment: int
    member: int
    given: Outcome
    known: Value


def keep_practice(
    connection: Connection, assignment: Assignment, items: Sequence[str], drafts: Mapping[str, Draft], at: str
) -> int:
    """Keep what was handed in about a worked example; returns how many answers there were."""
    known = assignment.unit.answers
    rows = [
        {
            "assignment": assignment.key,
            "item": item,
            "round": assignment.round,
            "state": outcome.state,
            "value": None if outcome.value is None else str(outcome.value),
            "known": to_json(known[item]) if item in known else None,
            "at": at,
            "reasoning": drafts[item].comment.strip(),
            "evidence": to_json(drafts[item].evidence),
        }
        for item in items
        for outcome in [drafts[item].outcome]
        if outcome is not None
    ]
    connection.execute(practice.insert(), rows)
    return len(rows)


def checked(connection: Connection, *wanted: ColumnElement[bool]) -> list[Checked]:
    """The answers that can be compared with the instrument's, of the assignments that are `wanted`."""
    query = (
        select(practice, tables.assignments.c.member)
        .join(tables.assignments, practice.c.assignment == tables.assignments.c.key)
        .where(practice.c.known.is_not(None), *wanted)
        .order_by(practice.c.assignment, practice.c.item)
    )
    return [
        Checked(row.assignment, row.member, outcome_of(row.state, row.value, None), from_json(row.known))
        for row in connection.execute(query)
    ]
