"""The assignments of raters, and what has been submitted."""

from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import Connection, RowMapping, bindparam, case, select

from attunement.annotation.answers import Draft, due_items
from attunement.annotation.projects import example_named, example_unit, may_be_real, unit_of
from attunement.annotation.records import Assignment, Member, Project, ProjectUnit, Task, Work
from attunement.conversations import Origin, Unit
from attunement.ratings import Round
from attunement.store import Study, schema
from attunement.store.rows import conversation_of, from_json, outcome_of

_UNIT = schema.project_units.c
ASSIGNMENTS = select(
    schema.assignments, _UNIT.conversation, _UNIT.turn, _UNIT.example, _UNIT.round.label("unit_round"), _UNIT.answers
).join(schema.project_units, schema.assignments.c.unit == _UNIT.key)
"""Assignments with their units: the columns that `assignment_in` reads."""
# These are asked at every save, so they are put together once: that takes longer than asking them.
_OWN = ASSIGNMENTS.where(
    schema.assignments.c.member == bindparam("own"), schema.assignments.c.public == bindparam("name")
)
_TALK = select(schema.conversations).where(schema.conversations.c.key == bindparam("talk"))


def assignment_of(study: Study, member: Member, public: str) -> Assignment | None:
    """The rater's own assignment with this name; somebody else's is not found."""
    with study.reading() as connection:
        return find_assignment(connection, member, public)


def next_assignment(study: Study, member: Member) -> Assignment | None:
    """The rater's next open assignment: practice first, then in the order of their list."""
    table = schema.assignments.c
    practice_first = case((table.round == Round.CALIBRATION, 0), else_=1)
    query = (
        ASSIGNMENTS.where(table.member == member.key, table.state == Work.OPEN)
        .order_by(practice_first, table.position, table.key)
        .limit(1)
    )
    with study.reading() as connection:
        row = connection.execute(query).mappings().first()
    return None if row is None else assignment_in(row)


def find_assignment(connection: Connection, member: Member, public: str) -> Assignment | None:
    """The rater's own assignment with this name, seen from within a transaction."""
    row = connection.execute(_OWN, {"own": member.key, "name": public}).mappings().first()
    return None if row is None else assignment_in(row)


def task_of(study: Study, project: Project, assignment: Assignment) -> Task:
    """The words that an assignment is about, and what is asked about them."""
    unit = assignment.unit
    if unit.example is not None:
        worked = example_named(project.instrument, unit.example)
        shown = example_unit(project.instrument, worked)
        # In practice one item is asked, the one whose answer is known; an attention unit looks like all others.
        if assignment.round is Round.CALIBRATION:
            return Task(assignment, shown, (worked.item.id,), careful=False)
        return Task(assignment, shown, due_items(project.instrument, shown), may_be_real(study, project))
    with study.reading() as connection:
        row = connection.execute(_TALK, {"talk": unit.conversation}).mappings().one()
    shown = Unit(conversation_of(row), unit.turn)
    careful = shown.conversation.origin in {Origin.REAL, Origin.UNKNOWN}
    return Task(assignment, shown, due_items(project.instrument, shown), careful)


def attention_names(study: Study, project: Project) -> list[str]:
    """The names of the worked examples that stand among the units of a project."""
    query = select(_UNIT.example).where(_UNIT.project == project.key, _UNIT.round == Round.ATTENTION)
    with study.reading() as connection:
        return [name for name in connection.scalars(query) if name is not None]


def drafts_of(study: Study, assignment: Assignment) -> dict[str, Draft]:
    """What stands on the page of an assignment, by item."""
    with study.reading() as connection:
        return read_drafts(connection, assignment)


def read_drafts(connection: Connection, assignment: Assignment) -> dict[str, Draft]:
    """As `drafts_of`, from within a transaction."""
    rows = connection.execute(select(schema.drafts).where(schema.drafts.c.assignment == assignment.key))
    return {
        row.item: Draft(
            row.item,
            None if row.state is None else outcome_of(row.state, row.value, None),
            row.comment,
            tuple(from_json(row.evidence)),
            row.number,
        )
        for row in rows
    }


def assignment_in(row: RowMapping) -> Assignment:
    """The assignment in a row of `ASSIGNMENTS`."""
    return Assignment(
        row["key"],
        row["public"],
        row["project"],
        row["member"],
        unit_of(row),
        row["position"],
        Round(row["round"]),
        row["attempt"],
        Work(row["state"]),
        row["flagged"],
        row["opened"],
        row["done"],
    )


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
    assignment, unit, draft = schema.assignments.c, schema.project_units.c, schema.drafts.c
    query = (
        select(
            *(assignment.key, assignment.member, assignment.unit, assignment.round, assignment.done),
            *(assignment.flagged, unit.conversation, unit.turn, unit.example, unit.round.label("unit_round")),
            *(unit.answers, draft.item, draft.state, draft.value, draft.number, draft.comment, draft.evidence),
        )
        .select_from(
            schema.assignments.join(schema.project_units, assignment.unit == unit.key).join(
                schema.drafts, draft.assignment == assignment.key
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
