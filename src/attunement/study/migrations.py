"""How a study of an earlier version becomes one of this version.

Each step changes the tables of one version into those of the next. The version this program writes follows from the
number of steps, so the two cannot disagree. A study is brought up to date when it is opened, in one transaction: a
step that fails leaves it as it was.
"""

from collections.abc import Callable

from sqlalchemy import Connection, select

from attunement.study.encoding import from_json, to_json
from attunement.study.tables import about, metadata
from attunement.study.tables_people import assignments, drafts, project_units
from attunement.study.tables_practice import practice

Step = Callable[[Connection], None]


def _add_samples_and_people(connection: Connection) -> None:
    """Version 2 adds tables and changes none: samples and splits, calibrators, and the work of people."""
    metadata.create_all(connection)


def _add_practice(connection: Connection) -> None:
    """Version 3 keeps answers to worked examples as ratings; those handed in before are read from their pages."""
    metadata.create_all(connection)
    query = (
        select(assignments.c.round, assignments.c.done, project_units.c.answers, drafts)
        .join(project_units, assignments.c.unit == project_units.c.key)
        .join(drafts, drafts.c.assignment == assignments.c.key)
        .where(assignments.c.state == "submitted", project_units.c.example.is_not(None), drafts.c.state.is_not(None))
    )
    rows = [
        {
            "assignment": row.assignment,
            "item": row.item,
            "round": row.round,
            "state": row.state,
            "value": row.value,
            "known": to_json(known[row.item]) if row.item in known else None,
            "at": row.done,
            "reasoning": row.comment,
            "evidence": row.evidence,
        }
        for row in connection.execute(query)
        for known in [from_json(row.answers)]
    ]
    if rows:
        connection.execute(practice.insert(), rows)


STEPS: list[Step] = [_add_samples_and_people, _add_practice]
"""The first step leads from version 1 to version 2, and so on. Version 1 is the first one there was."""


def current() -> int:
    """The version of the studies that this program writes."""
    return 1 + len(STEPS)


def upgrade(connection: Connection, version: int) -> None:
    """Run the steps that lead from `version` to the current one."""
    for step in STEPS[version - 1 :]:
        step(connection)
    stamp = about.update().where(about.c.name == "schema").values(value=str(current()))
    connection.execute(stamp)
