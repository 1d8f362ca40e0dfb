"""What everybody said about one unit, and raters' remarks.

For the coordinator, who reads a unit because raters lie apart, somebody skipped or flagged it, or a person may be in
danger. Raters are numbers here; the adjudicator's decision stands beside their answers.
"""

from collections.abc import Iterator
from typing import NamedTuple

from sqlalchemy import select

from attunement.annotation.adjudication import decided_in, unit_in
from attunement.annotation.answers import Draft, due_items
from attunement.annotation.projects import example_named, example_unit, members, unit_of
from attunement.annotation.records import Assignment, Project, ProjectUnit, Role, Work
from attunement.annotation.tasks import ASSIGNMENTS, assignment_in, handed_in
from attunement.conversations import Unit
from attunement.instruments import Value
from attunement.ratings import Outcome, Round
from attunement.store import Study, schema
from attunement.store.rows import from_json, outcome_of


class Remark(NamedTuple):
    """Something a rater wants the coordinator to know: a skipped unit, a flag, or a comment."""

    kind: str
    at: str
    number: int
    key: int
    """Of the unit."""
    unit: str
    item: str
    text: str
    reason: str = ""


def remarks(study: Study, project: Project) -> list[Remark]:
    """What raters skipped and flagged, then what they commented; of each the newest first."""
    number, name = numbers(study, project), unit_names(study, project)
    found = list(_skips(study, project, number, name))
    for handed in handed_in(study, project, list(Round)):
        who, key, unit = number[handed.member], handed.unit.key, name[handed.unit.key]
        if handed.flagged:
            found.append(Remark("flag", handed.done, who, key, unit, "", ""))
        found += [
            Remark("comment", handed.done, who, key, unit, project.instrument.item(item).title, answer.comment)
            for item, answer in handed.answers.items()
            if answer.comment.strip() and handed.round is not Round.CALIBRATION
        ]
    for assignment in _flagged_open(study, project):
        key = assignment.unit.key
        found.append(Remark("flag", assignment.opened or "", number[assignment.member], key, name[key], "", ""))
    newest = sorted(found, key=lambda remark: remark.at, reverse=True)
    return sorted(newest, key=lambda remark: remark.kind == "comment")


def unit_names(study: Study, project: Project) -> dict[int, str]:
    """By key of the unit: how the coordinator reads it."""
    unit, talk = schema.project_units.c, schema.conversations.c
    query = (
        select(unit.key, unit.turn, unit.example, talk.system, talk.id)
        .select_from(schema.project_units.outerjoin(schema.conversations, unit.conversation == talk.key))
        .where(unit.project == project.key)
        .order_by(unit.key)
    )
    with study.reading() as connection:
        return {
            key: f"example {example}" if system is None else f"{system}/{id}" + (f" #{turn}" if turn else "")
            for key, turn, example, system, id in connection.execute(query)
        }


def numbers(study: Study, project: Project) -> dict[int, int]:
    """By key of the member: the number under which a rater is shown."""
    return {member.key: number for number, member in enumerate(members(study, project, Role.RATER), 1)}


def _skips(study: Study, project: Project, number: dict[int, int], name: dict[int, str]) -> Iterator[Remark]:
    event, assignment = schema.events.c, schema.assignments.c
    query = (
        select(event.at, event.member, event.content, assignment.unit)
        .where(event.project == project.key, event.kind == "skipped", event.assignment == assignment.key)
        .order_by(event.key)
    )
    with study.reading() as connection:
        for at, member, content, unit in connection.execute(query):
            said = from_json(content)
            yield Remark("skip", at, number[member], unit, name[unit], "", said["text"], said["reason"])


def _flagged_open(study: Study, project: Project) -> list[Assignment]:
    assignment = schema.assignments.c
    query = ASSIGNMENTS.where(
        assignment.project == project.key, assignment.flagged.is_(True), assignment.state != Work.SUBMITTED
    )
    with study.reading() as connection:
        return [assignment_in(row) for row in connection.execute(query).mappings()]


class Voice(NamedTuple):
    """What one rater answered; `again` where the unit came a second time."""

    number: int
    again: bool
    answers: dict[str, Draft]


class Settled(NamedTuple):
    """What an adjudicator decided about an item."""

    outcome: Outcome
    reason: str


class UnitDetail(NamedTuple):
    """A unit with everything that was said about it."""

    unit: ProjectUnit
    name: str
    words: Unit
    items: tuple[str, ...]
    """The items that are asked about it."""
    voices: tuple[Voice, ...]
    known: dict[str, Value]
    """The answers that are known to be right, by item."""
    settled: dict[str, Settled]
    remarks: tuple[Remark, ...]


def unit_detail(study: Study, project: Project, key: int) -> UnitDetail | None:
    """The unit of the project with this key; None where there is none."""
    table = schema.project_units
    query = select(table, table.c.key.label("unit"), table.c.round.label("unit_round"))
    with study.reading() as connection:
        row = connection.execute(query.where(table.c.project == project.key, table.c.key == key)).mappings().first()
    if row is None:
        return None
    unit, number = unit_of(row), numbers(study, project)
    if unit.example is None:
        words = unit_in(study, unit)
        items = due_items(project.instrument, words)
    else:
        worked = example_named(project.instrument, unit.example)
        words = example_unit(project.instrument, worked)
        items = (worked.item.id,) if unit.round is Round.CALIBRATION else due_items(project.instrument, words)
    own = [handed for handed in handed_in(study, project, list(Round)) if handed.unit.key == key]
    voices = [Voice(number[handed.member], handed.round is Round.REPEAT, handed.answers) for handed in own]
    return UnitDetail(
        unit,
        unit_names(study, project)[key],
        words,
        tuple(items),
        tuple(sorted(voices, key=lambda voice: (voice.number, voice.again))),
        unit.answers,
        _settled(study, project, unit),
        tuple(remark for remark in remarks(study, project) if remark.key == key and remark.kind != "comment"),
    )


def _settled(study: Study, project: Project, unit: ProjectUnit) -> dict[str, Settled]:
    rating = schema.ratings.c
    query = (
        select(rating.item, rating.state, rating.value, rating.reasoning)
        .where(rating.conversation == unit.conversation, rating.turn == (unit.turn or 0))
        .where(decided_in(project))
        .order_by(rating.key)
    )
    with study.reading() as connection:
        return {
            item: Settled(outcome_of(state, value, None), reasoning)
            for item, state, value, reasoning in connection.execute(query)
        }
