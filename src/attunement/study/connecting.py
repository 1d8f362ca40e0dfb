"""How is a study opened, made, or refused?

A foreign file, a damaged one, or a study written by a newer version gives one clear sentence and is not touched.
"""

import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, inspect, select
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DatabaseError, OperationalError

from attunement.errors import StudyError
from attunement.study.tables import SCHEMA_VERSION, about, metadata

_MAGIC = b"SQLite format 3\x00"


def connect(place: str | Path, *, create: bool) -> Engine:
    """An engine on the study at `place`, which is there and of this version."""
    url = _url(place)
    if url.drivername == "sqlite":
        _check_file(Path(url.database or ""), create=create)
    engine = create_engine(url, connect_args={"timeout": 60} if url.drivername == "sqlite" else {})
    if url.drivername == "sqlite":
        event.listen(engine, "connect", _tune)
    try:
        with engine.begin() as connection:
            _prepare(connection, _shown(place), create=create)
    except OperationalError as error:
        raise StudyError(f"{_shown(place)} cannot be opened: {_first_line(error)}") from error
    except DatabaseError as error:
        raise StudyError(f"{_shown(place)} is damaged or no study: {_first_line(error)}; it was not changed") from error
    return engine


def _url(place: str | Path) -> URL:
    text = str(place)
    if "://" not in text:
        return URL.create("sqlite", database=text)
    try:
        url = make_url(text)
    except ArgumentError as error:
        raise StudyError(f"{text!r} is no address of a database: {error}") from error
    if url.get_backend_name() != "postgresql":
        raise StudyError(f"a study is a file or a postgresql:// address, not {url.get_backend_name()}")
    try:
        import psycopg  # noqa: F401  # pyright: ignore[reportUnusedImport]
    except ImportError as error:
        raise StudyError("a study in PostgreSQL needs one more package: pip install 'attunement[postgres]'") from error
    return url.set(drivername="postgresql+psycopg")


def _shown(place: str | Path) -> str:
    """The place for people: without a password."""
    text = str(place)
    return make_url(text).render_as_string(hide_password=True) if "://" in text else text


def _check_file(path: Path, *, create: bool) -> None:
    if not path.exists():
        if not create:
            raise StudyError(f"there is no study at {path}")
        if not path.parent.is_dir():
            raise StudyError(f"{path} cannot be made: the folder {path.parent} does not exist")
        return
    if path.is_dir():
        raise StudyError(f"{path} is a folder, not a study")
    with path.open("rb") as file:
        start = file.read(len(_MAGIC))
    if start and start != _MAGIC:
        raise StudyError(f"{path} is no study but another kind of file; it was not changed")


def _tune(connection: sqlite3.Connection, _: Any) -> None:
    connection.execute("PRAGMA journal_mode = WAL")  # readers and one writer at the same time
    connection.execute("PRAGMA synchronous = NORMAL")  # what is committed survives a killed process
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("PRAGMA cache_size = -65536")  # 64 MB: prompt hashes come in random order


def _prepare(connection: Connection, shown: str, *, create: bool) -> None:
    names = inspect(connection).get_table_names()
    if about.name not in names:
        if names:
            raise StudyError(f"{shown} is a database of something else; it was not changed")
        if not create:
            raise StudyError(f"{shown} is empty: it holds no study")
        metadata.create_all(connection)
        connection.execute(about.insert(), {"name": "schema", "value": str(SCHEMA_VERSION)})
        return
    version = connection.scalar(select(about.c.value).where(about.c.name == "schema"))
    if version is None or not version.isdigit():
        raise StudyError(f"{shown} does not say which version of a study it is; it was not changed")
    if int(version) > SCHEMA_VERSION:
        raise StudyError(
            f"{shown} was written by a newer Attunement (study version {version}, this one knows {SCHEMA_VERSION}): "
            "update Attunement; the study was not changed"
        )


def _first_line(error: DatabaseError) -> str:
    return str(error.orig).strip().splitlines()[0] if error.orig and str(error.orig).strip() else "no reason given"
