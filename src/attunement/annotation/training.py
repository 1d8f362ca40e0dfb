"""Practice on worked examples: which answers match the instrument's, and how they are saved.

After the last example of an attempt the rater has passed, gets a second attempt, or is asked to talk to the
coordinator. A score agrees with the known one when it is at most one level away, a criterion when it is the same:
neighbouring levels are what boundary rules are for, and nobody learns a scale of five in one go.

An example is no conversation of the study, so its answers stand in a table of their own, with their round. Agreement
and scores never see them.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, select

from attunement.annotation.answers import Draft
from attunement.annotation.projects import Place, add_places, record
from attunement.annotation.records import Assignment, Member, MemberState, Project, Work
from attunement.annotation.tasks import ASSIGNMENTS, assignment_in
from attunement.instruments import Value
from attunement.ratings import Outcome, Round
from attunement.store import Study, schema
from attunement.store.rows import from_json, outcome_of, to_json
from attunement.store.schema import practice


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
        select(practice, schema.assignments.c.member)
        .join(schema.assignments, practice.c.assignment == schema.assignments.c.key)
        .where(practice.c.known.is_not(None), *wanted)
        .order_by(practice.c.assignment, practice.c.item)
    )
    return [
        Checked(row.assignment, row.member, outcome_of(row.state, row.value, None), from_json(row.known))
        for row in connection.execute(query)
    ]


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
    right = right_of(checked(connection, schema.assignments.c.key.in_(keys)))
    passed = right >= project.settings.pass_mark * len(of_attempt) - _TINY
    content = Result(attempt, right, len(of_attempt), passed)._asdict()
    record(connection, project, "calibrated", member=member, content=content)
    if passed:
        return
    if attempt < ATTEMPTS:
        again = [Place(entry.unit.key, Round.CALIBRATION) for entry in reversed(of_attempt)]
        add_places(connection, project, member.key, again, start=len(of_attempt), attempt=attempt + 1)
        return
    hold = schema.members.update().where(schema.members.c.key == member.key)
    connection.execute(hold.values(state=MemberState.HELD))
    record(connection, project, "held", member=member)


def right_of(answers: Sequence[Checked]) -> int:
    """How many worked examples were answered as the instrument does, in all that is known about them."""
    wrong = {answer.assignment for answer in answers if not agrees(answer.known, answer.given)}
    return len({answer.assignment for answer in answers} - wrong)


def results(study: Study, project: Project) -> dict[int, list[Result]]:
    """The results of all attempts of a project's raters, by the key of the member."""
    table = schema.events.c
    query = select(table.member, table.content).where(table.project == project.key, table.kind == "calibrated")
    found: dict[int, list[Result]] = {}
    with study.reading() as connection:
        for member, content in connection.execute(query.order_by(table.key)):
            found.setdefault(member, []).append(Result(**from_json(content)))
    return found


def release(study: Study, project: Project, member: Member, by: Member | None) -> None:
    """Let a rater who failed the calibration go on after a talk with the coordinator."""
    with study.writing() as connection:
        query = schema.members.update().where(schema.members.c.key == member.key)
        connection.execute(query.values(state=MemberState.ACTIVE))
        record(connection, project, "released", member=by, content={"rater": member.name})


def _attempt(connection: Connection, member: Member, attempt: int) -> list[Assignment]:
    table = schema.assignments.c
    own = (table.member == member.key) & (table.round == Round.CALIBRATION) & (table.attempt == attempt)
    rows = connection.execute(ASSIGNMENTS.where(own).order_by(table.position)).mappings()
    return [assignment_in(row) for row in rows]
