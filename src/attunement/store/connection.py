"""Open, create or refuse a study, and upgrade one of an earlier version.

A foreign file, a damaged one, or a study written by a newer version gives one clear sentence and is not touched: the
first bytes of a file tell what it is, and they are read before any database software opens it. A password never
appears in a message.

Each upgrade step changes the tables of one version into those of the next. The version this program writes follows from
the number of steps, so the two cannot disagree. A study is upgraded when it is opened, in one transaction: a step that
fails leaves it as it was.
"""

import os
import re
import sqlite3
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine, create_engine, event, inspect, select
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, OperationalError, SQLAlchemyError

from attunement.errors import NoStudyError, StudyError
from attunement.store.schema import KEY, about, metadata

T = TypeVar("T")
Step = Callable[[Connection], None]


_FIRST = 3
"""The version before the first step. Older ones were never released."""


def _add_runs_and_long_keys(connection: Connection) -> None:
    """Version 4 adds the runs that are under way, and keys of eight bytes in PostgreSQL."""
    if connection.dialect.name == "postgresql":
        known = set(inspect(connection).get_table_names())
        for table in (table for table in metadata.sorted_tables if table.name in known):
            for column in table.columns:
                if column.type is KEY:
                    connection.exec_driver_sql(f'ALTER TABLE {table.name} ALTER COLUMN "{column.name}" TYPE BIGINT')
            if "key" in table.columns:
                connection.exec_driver_sql(f"ALTER SEQUENCE {table.name}_key_seq AS BIGINT")
    metadata.create_all(connection)


STEPS: list[Step] = [_add_runs_and_long_keys]
"""Each step leads from one version to the next, the first one from `_FIRST`."""


def current_version() -> int:
    return _FIRST + len(STEPS)


def upgrade(connection: Connection, version: int) -> None:
    """Run the steps that lead from `version` to the current one."""
    for step in STEPS[version - _FIRST :]:
        step(connection)
    stamp = about.update().where(about.c.name == "schema").values(value=str(current_version()))
    connection.execute(stamp)


_MAGIC = b"SQLite format 3\x00"
_OURS = 0x41747475
"""The application id ("Attu") in the header of a study file, and the lock under which PostgreSQL is written."""
_PAGE_AT, _JOURNAL_AT, _OURS_AT = slice(16, 18), slice(18, 20), slice(68, 72)
_HEADER = 100
_WAIT = 60  # seconds for another process that is writing; a transaction of ours takes a fraction of one


def connect(place: str | Path) -> Engine:
    """An engine for the database at `place`. Nothing is opened yet."""
    url = _url(place)
    if url.get_backend_name() == "postgresql":
        # A connection may have been cut while a run waited for a judge, so it is tried before it is used.
        timeout = {} if "connect_timeout" in url.query else {"connect_timeout": 20}
        # Positional values, as SQLite takes them: named ones would need a dict for each row of a run.
        return create_engine(url, hide_parameters=True, pool_pre_ping=True, connect_args=timeout, paramstyle="format")
    engine = create_engine(url, hide_parameters=True, connect_args={"timeout": _WAIT})
    event.listen(engine, "connect", _tune)
    event.listen(engine, "begin", _begin)
    return engine


def prepare(engine: Engine, place: str | Path, *, create: bool) -> None:
    """Make sure that `engine` leads to a study of this version; with `create` make it if nothing is there."""
    shown = shown_place(place)
    is_file = engine.dialect.name == "sqlite"
    if is_file:
        _check_file(Path(place), create=create)
    with database_errors(shown, "opened"), engine.connect() as connection:
        if not is_file:
            _check_encoding(connection, shown)
        version = _version(connection, shown)
    if version is None and not create:
        raise NoStudyError(f"{shown} is empty: it is not a study")
    if version != current_version():
        with database_errors(shown, "made" if version is None else "brought up to date"), writing(engine) as connection:
            _make_current(connection, shown)
    if is_file:
        with database_errors(shown, "opened"):
            _use_log(engine)


def shown_place(place: str | Path) -> str:
    """The place as people may see it: without a password."""
    url = _url(place)
    if url.get_backend_name() == "sqlite":
        return str(place)
    user = f"{url.username}@" if url.username else ""
    port = f":{url.port}" if url.port else ""
    return f"postgresql://{user}{url.host or ''}{port}/{url.database or ''}"


@contextmanager
def writing(engine: Engine, *, alone: bool = True) -> Generator[Connection]:
    """A transaction that writes. One that is `alone` runs while no other writes, so it can rely on what it has read.

    Runs save with `alone=False`: they only add rows, or replace an ERROR, and unique keys decide what is new. In
    PostgreSQL such transactions do not wait for each other. SQLite has one writer at a time; it takes its lock at the
    start, because to ask for it in the middle could fail at once instead of waiting.
    """
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        if engine.dialect.name == "postgresql":
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock{'' if alone else '_shared'}({_OURS})")
        yield connection


def write_beside_others(engine: Engine, work: Callable[[Connection], T]) -> T:
    """Do `work` in a transaction that is not alone; once more where it and another waited for each other."""
    for tries_left in reversed(range(_TRIES)):
        try:
            with writing(engine, alone=False) as connection:
                return work(connection)
        except OperationalError as error:
            if not tries_left or getattr(error.orig, "sqlstate", None) not in _CONFLICTS:
                raise
    raise AssertionError


_TRIES = 10
_CONFLICTS = {"40001", "40P01"}  # serialization failure, deadlock


@contextmanager
def database_errors(shown: str, done: str) -> Generator[None]:
    """Turn errors of the database into one sentence: that the study cannot be `done`."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error, OverflowError) as error:
        reason = _reason(error)
        if any(sign in reason for sign in _DAMAGED):
            raise StudyError(f"{shown} is damaged ({reason}); restore a backup") from error
        raise StudyError(f"{shown} cannot be {done}: {_PLAIN.get(reason, reason)}") from error
    except UnicodeDecodeError as error:  # SQLite's complaint repeats the damaged words, which are no text any more
        raise StudyError(f"{shown} is damaged (in the names of its tables); restore a backup") from error


_DAMAGED = ("malformed", "not a database", "corrupt", "Could not decode")
_PLAIN = {
    "attempt to write a readonly database": "the file or its folder is read-only; copy it to a folder you can write to"
}


@contextmanager
def damage_errors(shown: str) -> Generator[None]:
    """Turn an invalid value into one sentence: the database does not notice a wrong byte inside a value, but we do."""
    try:
        yield
    except (ValueError, TypeError, KeyError) as error:
        raise StudyError(f"{shown} is damaged: it contains invalid values; restore a backup") from error


def _reason(error: Exception) -> str:
    text = str(error.orig if isinstance(error, DBAPIError) else error).strip()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    # Where several addresses were tried, PostgreSQL's driver opens with a line that says only that.
    line = next((line for line in lines if "FATAL:" in line), lines[0] if lines else "no reason given")
    return line.rpartition("FATAL:")[2].strip()


def _url(place: str | Path) -> URL:
    text = str(place)
    if "://" not in text:
        # SQLite takes some names, such as :memory:, for something else than a file; a whole path it does not.
        return URL.create("sqlite", database=str(Path(text).absolute()))
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        # What cannot be read may hold a password anywhere, so it is not repeated, nor is what Python says about it.
        raise StudyError("this is not the address of a database: one looks like postgresql://USER@HOST/NAME") from None
    if url.get_backend_name() != "postgresql":
        raise StudyError(f"a study is a file or a postgresql:// address, not {url.get_backend_name()}")
    try:
        import psycopg  # noqa: F401  # pyright: ignore[reportUnusedImport]
    except ImportError as error:
        raise StudyError("a study in PostgreSQL needs one more package: pip install 'attunement[postgres]'") from error
    return url.set(drivername="postgresql+psycopg")


def _check_file(path: Path, *, create: bool) -> None:
    if path.is_dir():
        raise StudyError(f"{path} is a folder, not a study")
    try:
        with path.open("rb") as file:
            start = file.read(_HEADER)
    except FileNotFoundError:
        if not create:
            raise NoStudyError(f"there is no study at {path}") from None
        if not path.parent.is_dir():
            raise StudyError(f"{path} cannot be made: the folder {path.parent} does not exist") from None
        _make_private(path)
        return
    except OSError as error:
        raise StudyError(f"{path} cannot be read: {error.strerror or error}") from error
    if not start:
        if not create:
            raise NoStudyError(f"{path} is empty; it was not changed")
        return
    if not start.startswith(_MAGIC):
        raise StudyError(f"{path} is not a study but another kind of file; it was not changed")
    if int.from_bytes(start[_OURS_AT], "big") != _OURS:
        raise StudyError(f"{path} is a database, but not a study; it was not changed")
    if not set(start[_JOURNAL_AT]) <= {1, 2}:  # SQLite would quietly write the right ones when it opens the file
        raise StudyError(f"{path} is damaged (in its first bytes); restore a backup")
    page = int.from_bytes(start[_PAGE_AT], "big") or 1
    if path.stat().st_size % (65536 if page == 1 else page) and not Path(f"{path}-wal").exists():
        raise StudyError(f"{path} is damaged (it ends in the middle of a page); restore a backup")


def _make_private(path: Path) -> None:
    """Make an empty file that only its owner can read; SQLite gives its companions the same permissions."""
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600))
    except OSError as error:
        raise StudyError(f"{path} cannot be made: {error.strerror or error}") from error


def _check_encoding(connection: Connection, shown: str) -> None:
    encoding = connection.exec_driver_sql("SHOW server_encoding").scalar()
    if encoding != "UTF8":
        raise StudyError(f"{shown} stores text as {encoding}, which cannot hold all texts: create it with UTF8")


def _version(connection: Connection, shown: str) -> int | None:
    """The version of the study, or None where the database is empty."""
    names = inspect(connection).get_table_names()
    if about.name not in names:
        if names:
            raise StudyError(f"{shown} is a database, but not a study; it was not changed")
        return None
    version = connection.scalar(select(about.c.value).where(about.c.name == "schema"))
    if version is None or not re.fullmatch("[0-9]{1,9}", version):
        raise StudyError(f"{shown} has no version of a study; it was not changed")
    if int(version) < _FIRST:
        raise StudyError(
            f"{shown} was made before the first release of Attunement (study version {version}), and is not read any "
            "more; it was not changed"
        )
    if int(version) > current_version():
        raise StudyError(
            f"{shown} was written by a newer Attunement (study version {version}, this one knows "
            f"{current_version()}): update Attunement; the study was not changed"
        )
    return int(version)


def _make_current(connection: Connection, shown: str) -> None:
    version = _version(connection, shown)  # once more: another process may have been quicker
    if version is not None:
        upgrade(connection, version)
        return
    metadata.create_all(connection)
    connection.execute(about.insert(), {"name": "schema", "value": str(current_version())})
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(f"PRAGMA application_id = {_OURS}")


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("writes") else "BEGIN")


def _tune(connection: sqlite3.Connection, _: Any) -> None:
    connection.isolation_level = None  # transactions begin where we say, tables included
    connection.execute("PRAGMA synchronous = NORMAL")  # what is committed survives a killed process
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA secure_delete = ON")  # deleted text does not stay in free pages
    connection.execute("PRAGMA cache_size = -16384")  # 16 MB: conversations come in any order
    # The log goes into the file after 16 MB, not 4: most pages change again and again, and are copied less often.
    connection.execute("PRAGMA wal_autocheckpoint = 4096")


def _use_log(engine: Engine) -> None:
    """Make SQLite write a log first, so that others can read while one process writes. The file remembers it.

    This is the one thing for which SQLite itself does not wait until others are done.
    """
    deadline = monotonic() + _WAIT
    while True:
        try:
            _pragma(engine, "journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or monotonic() > deadline:
                raise
            sleep(0.02)


def empty_log(engine: Engine) -> bool:
    """Move the log into the file and empty it, so that deleted text is in neither.

    Returns False if another process kept the log in use for as long as we wait.
    """
    if engine.dialect.name != "sqlite":
        return True
    busy, *_ = _pragma(engine, "wal_checkpoint(TRUNCATE)")
    return not busy


def _pragma(engine: Engine, text: str) -> Any:
    pooled = engine.raw_connection()
    try:
        return pooled.cursor().execute(f"PRAGMA {text}").fetchone()
    finally:
        pooled.close()
