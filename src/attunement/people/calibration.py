"""Did a rater answer the worked examples as the instrument does?

After the last example of an attempt the rater has passed, gets a second attempt, or is asked to talk to the
coordinator. A score agrees with the known one when it is at most one level away, a criterion when it is the same:
neighbouring levels are what boundary rules are for, and nobody learns a scale of five in one go.
"""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection, select

from attunement.instruments import Value
from attunement.people.assigned import ASSIGNMENTS, assignment_in
from attunement.people.assignment import Place
from attunement.people.practice import Checked, checked
from attunement.people.projects import add_places, record
from attunement.people.records import Assignment, Member, MemberState, Project, Work
from attunement.ratings import Outcome, Round
from attunement.study import Study
from attunement.study import tables_people as tables
from attunement.study.encoding import from_json

ATTEMPTS = 2
_TINY = 1e-9


class Result(NamedTuple):
    """What came of an attempt."""

    attempt: int
    right: int
    total: int
    passed: bool


def agrees(known: Value, outcome: Outcome | None) -> bool:
    """Whether an answer is the known one, or on a scale of scores at most one level away."""
    if outcome is None or outcome.value is None:
        return False
    if isinstance(known, int) and isinstance(outcome.value, int):
        return abs(known - outcome.value) <= 1
    return known == outcome.value


def settle(connection: Connection, project: Project, member: Member, assignment: Assignment) -> None:
    """Where `assignment` was the last of its attempt, write down the result and what follows from it."""
    attempt = assignment.attempt
    of_attempt = _attempt(connection, member, attempt)
    if any(entry.state is Work.OPEN for entry in of_attempt):
        return
    keys = [entry.key for entry in of_attempt]
    right = right_of(checked(connection, tables.assignments.c.key.in_(keys)))
    passed = right >= project.settings.pass_mark * len(of_attempt) - _TINY
    content = Result(attempt, right, len(of_attempt), passed)._asdict()
    record(connection, project, "calibrated", member=member, content=content)
    if passed:
        return
    if attempt < ATTEMPTS:
        again = [Place(entry.unit.key, Round.CALIBRATION) for entry in reversed(of_attempt)]
        add_places(connection, project, member.key, again, start=len(of_attempt), attempt=attempt + 1)
        return
    hold = tables.members.update().where(tables.members.c.key == member.key)
    connection.execute(hold.values(state=MemberState.HELD))
    record(connection, project, "held", member=member)


def right_of(answers: Sequence[Checked]) -> int:
    """How many worked examples were answered as the instrument does, in all that is known about them."""
    wrong = {answer.assignment for answer in answers if not agrees(answer.known, answer.given)}
    return len({answer.assignment for answer in answers} - wrong)


def results(study: Study, project: Project) -> dict[int, list[Result]]:
    """The results of all attempts of a project's raters, by the key of the member."""
    table = tables.events.c
    query = select(table.member, table.content).where(table.project == project.key, table.kind == "calibrated")
    found: dict[int, list[Result]] = {}
    with study.reading() as connection:
        for member, content in connection.execute(query.order_by(table.key)):
            found.setdefault(member, []).append(Result(**from_json(content)))
    return found


def release(study: Study, project: Project, member: Member, by: Member | None) -> None:
    """Let a rater who failed the calibration go on after a talk with the coordinator."""
    with study.writing() as connection:
        query = tables.members.update().where(tables.members.c.key == member.key)
        connection.execute(query.values(state=MemberState.ACTIVE))
        record(connection, project, "released", member=by, content={"rater": member.name})


def _attempt(connection: Connection, member: Member, attempt: int) -> list[Assignment]:
    table = tables.assignments.c
    own = (table.member == member.key) & (table.round == Round.CALIBRATION) & (table.attempt == attempt)
    rows = connection.execute(ASSIGNMENTS.where(own).order_by(table.position)).mappings()
    return [assignment_in(row) for row in rows]
