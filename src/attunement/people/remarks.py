"""What do raters want the coordinator to know: what they skipped and why, what they flagged, what they remarked?"""

from collections.abc import Iterator
from typing import NamedTuple

from sqlalchemy import select

from attunement.people.assigned import ASSIGNMENTS, assignment_in
from attunement.people.handed import handed_in
from attunement.people.projects import members
from attunement.people.records import Assignment, Project, Role, Work
from attunement.ratings import Round
from attunement.study import Study
from attunement.study import tables as kept
from attunement.study import tables_people as tables
from attunement.study.encoding import from_json


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
    unit, talk = tables.project_units.c, kept.conversations.c
    query = (
        select(unit.key, unit.turn, unit.example, talk.system, talk.id)
        .select_from(tables.project_units.outerjoin(kept.conversations, unit.conversation == talk.key))
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
    event, assignment = tables.events.c, tables.assignments.c
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
    assignment = tables.assignments.c
    query = ASSIGNMENTS.where(
        assignment.project == project.key, assignment.flagged.is_(True), assignment.state != Work.SUBMITTED
    )
    with study.reading() as connection:
        return [assignment_in(row) for row in connection.execute(query).mappings()]
