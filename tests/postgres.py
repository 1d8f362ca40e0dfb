"""A PostgreSQL server of the tests' own: started once, with one fresh database per test.

It lies in a temporary folder, listens on no network but a socket in that folder, and runs as an unprivileged user,
because PostgreSQL refuses to run as root.
"""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import NamedTuple

import psycopg
import pytest


class Server(NamedTuple):
    """A running server."""

    folder: Path

    def address(self, database: str, *, user: str = "owner", password: str | None = None) -> str:
        """The address of a database, as a user of Attunement writes it."""
        login = user if password is None else f"{user}:{password}"
        return f"postgresql://{login}@/{database}?host={self.folder}"

    def execute(self, statement: str) -> None:
        """Run a statement outside any transaction."""
        with psycopg.connect(self.address("postgres"), autocommit=True) as connection:
            connection.execute(statement)  # pyright: ignore[reportArgumentType]

    def new_database(self, options: str = "") -> str:
        """The address of a database made for the occasion."""
        name = f"study{next(_NUMBERS)}"
        self.execute(f"CREATE DATABASE {name} {options}")
        return self.address(name)


_NUMBERS = count(1)
_UNPRIVILEGED = ("postgres", "nobody")


def programs() -> Path | None:
    """The folder with PostgreSQL's server programs; Debian keeps them off the PATH (package `postgresql`)."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    return max(Path("/usr/lib/postgresql").glob("*/bin"), default=None)


def unprivileged_user() -> pwd.struct_passwd | None:
    """Whom to run the server as; None where we are not root and may run it ourselves."""
    if os.geteuid() != 0:
        return None
    users = {user.pw_name: user for user in pwd.getpwall()}
    return next(users[name] for name in _UNPRIVILEGED if name in users)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """The server. Skips where PostgreSQL is not installed."""
    found = programs()
    if found is None:
        pytest.skip("PostgreSQL's server is not installed (Debian: postgresql)")
    user = unprivileged_user()
    # A socket's path may have about a hundred characters, so the folder is not below pytest's own.
    folder = Path(tempfile.mkdtemp(prefix="attune-pg-"))
    as_user = {} if user is None else {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
    if user is not None:
        os.chown(folder, user.pw_uid, user.pw_gid)
    data = folder / "data"
    try:
        subprocess.run(
            [found / "initdb", "-D", data, "-U", "owner", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync"],
            check=True,
            capture_output=True,
            cwd=folder,
            **as_user,
        )
        # Whoever is called `guest` needs a password, so that a wrong one can be tried.
        rules = data / "pg_hba.conf"
        rules.write_text(f"local all guest scram-sha-256\n{rules.read_text()}")
        settings = ["listen_addresses=", f"unix_socket_directories={folder}", "fsync=off", "full_page_writes=off"]
        options = [part for setting in settings for part in ("-c", setting)]
        with (folder / "log").open("wb") as log:
            process = subprocess.Popen(
                [found / "postgres", "-D", data, *options], stdout=log, stderr=log, cwd=folder, **as_user
            )
        try:
            server = Server(folder)
            _wait_for(server, process)
            server.execute("CREATE ROLE guest LOGIN PASSWORD 'right'")
            yield server
        finally:
            # SIGINT ends connections that are still open; SIGTERM would wait for them.
            process.send_signal(signal.SIGINT)
            process.wait(30)
    finally:
        shutil.rmtree(folder)


def _wait_for(server: Server, process: subprocess.Popen[bytes]) -> None:
    for _ in range(300):
        if process.poll() is not None:
            break
        try:
            server.execute("SELECT 1")
            return
        except psycopg.OperationalError:
            time.sleep(0.1)
    raise RuntimeError((server.folder / "log").read_text())


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def study_place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A place for a new study, once in each kind of database."""
    if request.param == "sqlite":
        return str(tmp_path / "a.study.db")
    server: Server = request.getfixturevalue("postgres")
    return server.new_database()
