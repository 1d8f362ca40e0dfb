"""How are answers and ratings kept where there may be some already?

The unique keys decide: a row whose key is there already changes nothing, unless what is there is an ERROR. That nobody
asked again is no news about an ERROR. A run writes little else, so the rows go straight to the driver: SQLAlchemy's own
way of handing values over takes twice as long as the database.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Dialect, Table, bindparam, literal_column
from sqlalchemy.dialects import sqlite

from attunement.ratings import ErrorKind

# Written out, because the values of a row are all that is handed over with the statement.
_NOT_ASKED: list[Any] = [literal_column(f"'{kind}'") for kind in (ErrorKind.BUDGET, ErrorKind.SKIPPED)]


def insert_into(table: Table, dialect: str) -> Any:
    """An insert that can say what happens where the row is there already, in the words of the database."""
    if dialect != "postgresql":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql  # only where it is used: every run and every command loads this module

    return postgresql.insert(table)


class Upsert:
    """Keeps rows of one table, which has a column `error`."""

    def __init__(self, table: Table, key: Sequence[str], dialect: Dialect) -> None:
        """`key` names the columns that are unique together."""
        columns = [column.name for column in table.c if not column.primary_key]
        insert = insert_into(table, dialect.name).values({name: bindparam(name) for name in columns})
        news = {name: insert.excluded[name] for name in columns if name not in key}
        new, old = insert.excluded.error, table.c.error
        newer = new.is_(None) | new.not_in(_NOT_ASKED) | old.in_(_NOT_ASKED)
        kept = insert.on_conflict_do_update(index_elements=key, set_=news, where=old.is_not(None) & newer)
        self._statement = str(kept.inline().compile(dialect=dialect))

    def keep(self, connection: Connection, rows: Sequence[tuple[Any, ...]]) -> int:
        """Keep `rows` and say how many are new or took the place of an ERROR.

        A row has the values of all columns but the primary key, in the order of the table, their texts escaped.
        """
        if not rows:
            return 0
        done = connection.exec_driver_sql(self._statement, rows, execution_options={"preserve_rowcount": True})
        return done.rowcount
