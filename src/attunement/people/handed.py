"""What has been handed in so far: whose answers, about which unit, when?"""

from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import select

from attunement.people.answers import Draft
from attunement.people.projects import unit_of
from attunement.people.records import Project, ProjectUnit, Work
from attunement.ratings import Round
from attunement.study import Study
from attunement.study import tables_people as tables
from attunement.study.encoding import from_json, outcome_of


class Handed(NamedTuple):
    """One assignment that was handed in, with all its answers."""

    assignment: int
    member: int
    unit: ProjectUnit
    round: Round
    done: str
    flagged: bool
    answers: dict[str, Draft]
    """By item."""


def handed_in(study: Study, project: Project, rounds: Collection[Round] = (Round.MAIN,)) -> list[Handed]:
    """Everything that was handed in in these rounds, in the order in which it came in."""
    assignment, unit, draft = tables.assignments.c, tables.project_units.c, tables.drafts.c
    query = (
        select(
            *(assignment.key, assignment.member, assignment.unit, assignment.round, assignment.done),
            *(assignment.flagged, unit.conversation, unit.turn, unit.example, unit.round.label("unit_round")),
            *(unit.answers, draft.item, draft.state, draft.value, draft.number, draft.comment, draft.evidence),
        )
        .select_from(
            tables.assignments.join(tables.project_units, assignment.unit == unit.key).join(
                tables.drafts, draft.assignment == assignment.key
            )
        )
        .where(assignment.project == project.key, assignment.state == Work.SUBMITTED)
        .where(assignment.round.in_(list(rounds)))
        .order_by(assignment.done, assignment.key)
    )
    found: dict[int, Handed] = {}
    with study.reading() as connection:
        for row in connection.execute(query).mappings():
            handed = found.get(row["key"])
            if handed is None:
                of_unit = unit_of(row)
                handed = Handed(
                    row["key"], row["member"], of_unit, Round(row["round"]), row["done"], row["flagged"], {}
                )
                found[handed.assignment] = handed
            outcome = None if row["state"] is None else outcome_of(row["state"], row["value"], None)
            spans = tuple(from_json(row["evidence"]))
            handed.answers[row["item"]] = Draft(row["item"], outcome, row["comment"], spans, row["number"])
    return list(found.values())
