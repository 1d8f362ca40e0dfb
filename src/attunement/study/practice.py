"""What did people answer to worked examples, as a table for other programs?

The rows carry their round, as ratings do, and the instrument's own answer beside the rater's.
"""

from collections.abc import Iterator

from sqlalchemy import func, select

from attunement.study import tables
from attunement.study import tables_people as people
from attunement.study.encoding import from_json, outcome_of
from attunement.study.store import Study
from attunement.study.table_files import Column, Export, Record
from attunement.study.tables_practice import practice as kept

PRACTICE = (
    *(Column("project"), Column("project_number", "integer"), Column("rater"), Column("round")),
    *(Column("attempt", "integer"), Column("example"), Column("item"), Column("title")),
    *(Column("outcome"), Column("value", "value"), Column("known", "value"), Column("reasoning")),
    *(Column("evidence", "json"), Column("instrument"), Column("instrument_version")),
    *(Column("instrument_hash"), Column("item_hash"), Column("at")),
)
"""The columns of answers to worked examples."""


def practice(study: Study) -> Export:
    """Every answer to a worked example, in practice and among the units, in the order in which they came in."""
    return Export(PRACTICE, _records(study))


def _records(study: Study) -> Iterator[Record]:
    instruments = {instrument.hash: instrument for instrument in study.instruments()}
    assignment, unit, project, member = (
        people.assignments.c,
        people.project_units.c,
        people.projects.c,
        people.members.c,
    )
    # Before the first unit of the work is handed in, a member is no rater of the study yet.
    name = func.coalesce(tables.raters.c.name, member.name).label("rater")
    query = (
        select(kept, assignment.attempt, unit.example, name, project.name, project.number, project.instrument)
        .select_from(
            kept.join(people.assignments, kept.c.assignment == assignment.key)
            .join(people.project_units, assignment.unit == unit.key)
            .join(people.projects, assignment.project == project.key)
            .join(people.members, assignment.member == member.key)
            .outerjoin(tables.raters, member.rater == tables.raters.c.key)
        )
        .order_by(kept.c.at, kept.c.assignment, kept.c.item)
    )
    with study.reading() as connection, connection.execution_options(yield_per=1000).execute(query) as rows:
        for row in rows.mappings():
            instrument, outcome = instruments[row["instrument"]], outcome_of(row["state"], row["value"], None)
            yield {
                "project": row["name"],
                "project_number": row["number"],
                "rater": row["rater"],
                "round": row["round"],
                "attempt": row["attempt"],
                "example": row["example"],
                "item": row["item"],
                "title": instrument.item(row["item"]).title,
                "outcome": outcome.state.value,
                "value": outcome.value,
                "known": None if row["known"] is None else from_json(row["known"]),
                "reasoning": row["reasoning"],
                "evidence": from_json(row["evidence"]),
                "instrument": instrument.id,
                "instrument_version": instrument.version,
                "instrument_hash": instrument.hash,
                "item_hash": instrument.item_hashes[row["item"]],
                "at": row["at"],
            }
