"""Which run asks which judge about which conversations, so that no two runs pay for the same questions.

A run that was killed cannot say so. On its own machine the process is looked up; elsewhere a run counts as over when it
has given no sign of life for a minute.
"""

import os
import secrets
import socket
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from sqlalchemy import Connection, delete, select

from attunement.errors import StudyError
from attunement.output import is_running
from attunement.store.rows import Rater, insert_into, insert_row, record_of
from attunement.store.schema import claims, conversations, runs
from attunement.store.study import Study, now

SIGN_OF_LIFE = 10.0  # seconds
_OVER_AFTER = timedelta(seconds=60)
_TOKEN = secrets.token_hex(8)  # the number of a process may be used again


class ActiveRun(NamedTuple):
    key: int
    host: str
    process: int
    token: str
    seen: str

    def is_over(self) -> bool:
        ended = self.process == os.getpid() or not is_running(self.process)
        if self.host == socket.gethostname() and self.token != _TOKEN and ended:
            return True
        return datetime.now(UTC) - datetime.fromisoformat(self.seen) > _OVER_AFTER


def begin_run(study: Study) -> int:
    """Register a run and return its key."""
    at = now()
    values = {"host": socket.gethostname(), "process": os.getpid(), "token": _TOKEN, "began": at, "seen": at}
    return study.write_beside_others(lambda connection: insert_row(connection, runs, **values))


def keep_run(study: Study, run: int) -> None:
    """Give a sign of life.

    Raises:
        StudyError: Another run has taken over, because the last sign was too long ago.
    """
    seen = runs.update().where(runs.c.key == run).values(seen=now())
    if not study.write_beside_others(lambda connection: connection.execute(seen).rowcount):
        raise StudyError(
            f"this run gave no sign of life for a while, and another run on {study.place} took over; run the same "
            "command to continue when that one has ended"
        )


def end_run(study: Study, run: int) -> None:
    """Give back everything that the run has claimed."""
    study.write_beside_others(lambda connection: connection.execute(delete(runs).where(runs.c.key == run)))


def claim(study: Study, run: int, rater: Rater, keys: Sequence[int]) -> None:
    """Claim the questions of a judge about these conversations for a run, until it ends.

    Raises:
        StudyError: Another run has claimed one of them.
    """
    rows = [{"conversation": key, "rater": rater.key, "run": run} for key in sorted(keys)]
    others = (
        select(runs, conversations.c.system, conversations.c.id)
        .where(claims.c.conversation.in_(keys), claims.c.rater == rater.key, claims.c.run != run)
        .where(claims.c.run == runs.c.key, claims.c.conversation == conversations.c.key)
        .order_by(claims.c.conversation)
    )

    def save(connection: Connection) -> None:
        insert = insert_into(claims, connection.dialect.name).on_conflict_do_nothing()
        connection.execute(insert, rows)
        while row := connection.execute(others).mappings().first():
            other = record_of(ActiveRun, row)
            if not other.is_over():
                raise StudyError(
                    f"another run (process {other.process} on {other.host}) is asking {rater.name} about the same "
                    f"conversations, such as {row['system']}/{row['id']}, in {study.place}: wait until it ends, or "
                    "give each run its own part. If it was killed on another machine, try again in a minute"
                )
            connection.execute(delete(runs).where(runs.c.key == other.key))
            connection.execute(insert, rows)

    if rows:
        study.write_beside_others(save)
