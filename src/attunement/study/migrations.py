"""How a study of an earlier version becomes one of this version.

Each step changes the tables of one version into those of the next. The version this program writes follows from the
number of steps, so the two cannot disagree. A study is brought up to date when it is opened, in one transaction: a
step that fails leaves it as it was.
"""

from collections.abc import Callable

from sqlalchemy import Connection

from attunement.study.tables import about, metadata

Step = Callable[[Connection], None]


def _add_samples_and_people(connection: Connection) -> None:
    """Version 2 adds tables and changes none: samples and splits, calibrators, and the work of people."""
    metadata.create_all(connection)


STEPS: list[Step] = [_add_samples_and_people]
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
