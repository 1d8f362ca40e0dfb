"""How does a rater correct a slip in what they have just handed in?

The unit that was handed in last can be taken back until the next one is handed in. Its page is open again with
everything on it; its ratings leave the study and stand in the trail in full, so that nothing is lost or overwritten.
"""

from typing import Any

from sqlalchemy import Connection, Table, select

from attunement.people.adjudication import decided_in
from attunement.people.assigned import ASSIGNMENTS, assignment_in, find_assignment
from attunement.people.errors import GoneError
from attunement.people.projects import record
from attunement.people.records import Assignment, Member, Project, Work
from attunement.ratings import Round
from attunement.study import Study
from attunement.study import tables as kept
from attunement.study import tables_people as tables
from attunement.study.tables_practice import practice

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
        query = tables.assignments.update().where(tables.assignments.c.key == current.key)
        connection.execute(query.values(state=Work.OPEN, done=None))
        record(connection, project, "taken back", member=member, assignment=current.key, content={"answers": answers})


def _last(connection: Connection, member: Member) -> Assignment | None:
    table = tables.assignments.c
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
    rating = kept.ratings.c
    of_unit = (rating.conversation == assignment.unit.conversation) & (rating.turn == (assignment.unit.turn or 0))
    if connection.scalar(select(rating.key).where(of_unit, decided_in(project)).limit(1)) is not None:
        return []
    of_unit &= rating.instrument == project.instrument.hash
    own = (rating.rater == member.rater) & (rating.round == assignment.round) & (rating.at == assignment.done)
    return _remove(connection, kept.ratings, of_unit & own)


def _remove(connection: Connection, table: Table, wanted: Any) -> list[dict[str, Any]]:
    columns = [table.c[name] for name in _KEPT]
    rows = [dict(row) for row in connection.execute(select(*columns).where(wanted)).mappings()]
    connection.execute(table.delete().where(wanted))
    return rows
