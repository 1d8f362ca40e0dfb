"""Was this conversation read before, and where? Answered in flat memory, however many there are.

The first identities are kept in a dictionary. Beyond that they go into a temporary SQLite database, which keeps a few
megabytes in memory and the rest on disk, and is gone when it is closed.
"""

from typing import TYPE_CHECKING, Self

from attunement.conversations.model import Identity
from attunement.conversations.readers.record import Place

if TYPE_CHECKING:
    import sqlite3

_IN_MEMORY = 20_000  # a few megabytes; most files have fewer conversations and never need the database


class Seen:
    """Remembers each identity with the place where it was first met. Close it, or use it in a `with` statement."""

    def __init__(self, in_memory: int = _IN_MEMORY) -> None:
        self._in_memory = in_memory
        self._places: dict[Identity, Place] = {}
        self._files: dict[str, int] = {}
        self._database: sqlite3.Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def note(self, identity: Identity, place: Place) -> Place | None:
        """Remember `identity`. Gives the place where it was met before, or None where it is new."""
        if self._database is not None:
            return self._note_in_database(self._database, identity, place)
        if before := self._places.get(identity):
            return before
        self._places[identity] = place
        if len(self._places) > self._in_memory:
            self._spill()
        return None

    def close(self) -> None:
        """Forget everything."""
        self._places.clear()
        if self._database is not None:
            self._database.close()
            self._database = None

    def _spill(self) -> None:
        import sqlite3

        # An empty name is a private file that SQLite deletes by itself. Nothing in it must survive a crash.
        database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -8192"):
            database.execute(f"PRAGMA {pragma}")
        database.execute("CREATE TABLE seen (identity BLOB PRIMARY KEY, file INTEGER, line INTEGER) WITHOUT ROWID")
        database.execute("BEGIN")
        for identity, place in self._places.items():
            self._note_in_database(database, identity, place)
        self._places.clear()
        self._database = database

    def _note_in_database(self, database: "sqlite3.Connection", identity: Identity, place: Place) -> Place | None:
        key = _key(identity)
        file = self._files.setdefault(place.file, len(self._files))
        added = database.execute("INSERT OR IGNORE INTO seen VALUES (?, ?, ?)", (key, file, place.line))
        if added.rowcount:
            return None
        file, line = database.execute("SELECT file, line FROM seen WHERE identity = ?", (key,)).fetchone()
        return Place(list(self._files)[file], line)


def _key(identity: Identity) -> bytes:
    # The length of the first part keeps two different pairs apart; files may hold lone surrogates.
    return f"{len(identity.system)}:{identity.system}{identity.id}".encode("utf-8", "surrogatepass")
