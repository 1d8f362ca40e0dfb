"""What did everybody say about one unit?

For the coordinator, who reads a unit because raters lie apart, somebody skipped or flagged it, or a person may be in
danger. Raters are numbers here; the adjudicator's decision stands beside their answers.
"""

from typing import NamedTuple

from sqlalchemy import select

from attunement.conversations import Unit
from attunement.instruments import Value
from attunement.people.adjudication import decided_in, unit_in
from attunement.people.answers import Draft, due_items
from attunement.people.examples import example_named, example_unit
from attunement.people.handed import handed_in
from attunement.people.projects import unit_of
from attunement.people.records import Project, ProjectUnit
from attunement.people.remarks import Remark, numbers, remarks, unit_names
from attunement.ratings import Outcome, Round
from attunement.study import Study
from attunement.study import tables as kept
from attunement.study import tables_people as tables
from attunement.study.encoding import outcome_of


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
    table = tables.project_units
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
    rating = kept.ratings.c
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
