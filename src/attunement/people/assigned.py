"""Which assignments are there, what are they about, and what stands on their pages?"""

from sqlalchemy import Connection, RowMapping, bindparam, case, select

from attunement.conversations import Origin, Unit
from attunement.people.answers import Draft, due_items
from attunement.people.examples import example_named, example_unit
from attunement.people.projects import may_be_real, unit_of
from attunement.people.records import Assignment, Member, Project, Task, Work
from attunement.ratings import Round
from attunement.study import Study
from attunement.study import tables as kept
from attunement.study import tables_people as tables
from attunement.study.encoding import conversation_of, from_json, outcome_of

_UNIT = tables.project_units.c
ASSIGNMENTS = select(
    tables.assignments, _UNIT.conversation, _UNIT.turn, _UNIT.example, _UNIT.round.label("unit_round"), _UNIT.answers
).join(tables.project_units, tables.assignments.c.unit == _UNIT.key)
"""Assignments with their units: the columns that `assignment_in` reads."""
# These are asked at every save, so they are put together once: that takes longer than asking them.
_OWN = ASSIGNMENTS.where(
    tables.assignments.c.member == bindparam("own"), tables.assignments.c.public == bindparam("name")
)
_TALK = select(kept.conversations).where(kept.conversations.c.key == bindparam("talk"))


def assignment_of(study: Study, member: Member, public: str) -> Assignment | None:
    """The rater's own assignment with this name; somebody else's is not found."""
    with study.reading() as connection:
        return find_assignment(connection, member, public)


def next_assignment(study: Study, member: Member) -> Assignment | None:
    """The rater's next open assignment: practice first, then in the order of their list."""
    table = tables.assignments.c
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
    rows = connection.execute(select(tables.drafts).where(tables.drafts.c.assignment == assignment.key))
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
