"""Read conversations from files of any shape, one at a time, and count what went wrong.

Memory does not grow with the number of conversations in JSONL, CSV, TSV and Parquet files; a JSON document and a text
chat are read whole.

`read` takes files, folders, patterns and standard input, recognises what is in them, and gives one conversation after
the other. Each shape has its own module; what they all need is in `names`, `talk` and `fields`.

The shape and the fields of a record are looked up once and remembered for all records with the same fields. Where a
record does not fit what is remembered, it is recognised anew before it is called bad.

The first identities are kept in a dictionary. Beyond that they go into a temporary SQLite database, which keeps a few
megabytes in memory and the rest on disk, and is gone when it is closed.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple, Self

from attunement.conversations.files import Source, find, records
from attunement.conversations.json_files import parse_exactly
from attunement.conversations.messages import (
    About,
    BadRecord,
    Fields,
    Format,
    InexactNumber,
    Layout,
    Place,
    Record,
    Talk,
    is_object,
    join,
    lay_out,
    read_about,
)
from attunement.conversations.model import Conversation, Identity, Origin, fingerprint
from attunement.conversations.shapes import ChatText, RowGroup, Shape, recognise
from attunement.errors import InputError

_LAYOUTS_KEPT = 64  # a file whose records all have different fields must not fill the memory with layouts
_ID_DIGITS = 16  # of the content's hash: among a million conversations, two share them once in 40 million times
_FIELDS_SHOWN = 12
_NOTHING = About(None, None, None, Origin.UNKNOWN, {})


class NoSystem(BadRecord):
    """Nothing says which system took part. One option mends it for the whole file, so it is never skipped."""


class Assembled(NamedTuple):
    """A conversation, and whether a last message without a reply was left out of it."""

    conversation: Conversation
    unanswered: bool


class _Understood(NamedTuple):
    shape: Shape
    layout: Layout


class Assembler:
    """Makes the conversations of one file.

    Args:
        wanted: The shape of the records, or None to recognise it.
        fields: Names of fields, where the usual ones are not to be taken.
        system: The system of conversations that do not name theirs.
        stem: The id of a conversation that is the whole file.
    """

    def __init__(self, wanted: Format | None, fields: Fields, system: str | None, stem: str | None) -> None:
        self._wanted = wanted
        self._fields = fields
        self._system = system
        self._stem = stem
        self._understood: dict[tuple[str, ...], _Understood] = {}

    def assemble(self, record: Record) -> Assembled:
        """The conversation in `record`.

        Raises:
            BadRecord: There is none, or it cannot be read.
        """
        if isinstance(record.value, BadRecord):
            raise record.value
        try:
            talk, about = self._read(record.value, record.exact)
        except InexactNumber:
            talk, about = self._read(parse_exactly(record.raw), exact=True)
        if all(not turn.assistant or turn.assistant.isspace() for turn in talk.turns):
            raise BadRecord("there is no reply of the assistant")
        system = about.system or self._system
        if system is None:
            raise NoSystem("nothing says which system took part in this conversation; name it with --system NAME")
        conversation = Conversation(
            id=about.id or self._id_for(record.value) or fingerprint(talk.turns)[:_ID_DIGITS],
            system=system,
            turns=talk.turns,
            metadata=about.metadata,
            instructions=join(about.instructions or "", talk.instructions or "") or None,
            origin=about.origin,
        )
        return Assembled(conversation, talk.unanswered)

    def _id_for(self, value: Any) -> str | None:
        if self._fields.id is not None:
            raise BadRecord(f"there is no id in a field '{self._fields.id}'")
        whole_file = isinstance(value, ChatText) or (isinstance(value, RowGroup) and value.shape.id is None)
        return self._stem if whole_file else None

    def _read(self, value: Any, exact: bool) -> tuple[Talk, About]:
        keys = tuple(value) if is_object(value) else ()
        remembered = self._understood.get(keys)
        if remembered is None:
            understood = self._understand(value, keys)
            if understood is None:
                raise BadRecord(self._unknown(value))
        else:
            try:
                return _read_as(remembered, value, exact)
            except BadRecord:
                understood = self._understand(value, keys)
                if understood is None or understood == remembered:
                    raise
        if len(self._understood) >= _LAYOUTS_KEPT:
            self._understood.clear()
        self._understood[keys] = understood
        return _read_as(understood, value, exact)

    def _understand(self, value: Any, keys: tuple[str, ...]) -> _Understood | None:
        shape = recognise(value, self._wanted, self._fields)
        if shape is None:
            return None
        fields = self._fields
        if isinstance(value, RowGroup) and value.shape.id is not None:
            fields = replace(fields, id=value.shape.id)
        return _Understood(shape, lay_out(keys, shape.keys, fields))

    def _unknown(self, value: Any) -> str:
        any_shape = self._wanted is None or self._wanted.is_kind
        shape = "conversation" if any_shape else f"conversation in the shape '{self._wanted}'"
        if not is_object(value):
            return f"this is no {shape}"
        given = ", ".join(f"'{key}'" for key in tuple(value)[:_FIELDS_SHOWN])
        return (
            f"no {shape} is recognised in the fields {given}; name the shape with --format, "
            "or the fields with --prompt-field and --response-field"
        )


def _read_as(understood: _Understood, value: Any, exact: bool) -> tuple[Talk, About]:
    talk = understood.shape.talk(value, exact)
    about = read_about(value, understood.layout, exact) if is_object(value) else _NOTHING
    return talk, about


class BadLines:
    """The file of bad records. It is made when the first one comes, so that a clean file leaves none behind."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def write(self, place: Place, reason: str, raw: bytes | str) -> None:
        """Keep one bad record.

        Bytes that are not UTF-8 are kept as lone surrogates, as Python's `surrogateescape` does.

        Raises:
            InputError: The file cannot be written.
        """
        words = raw if isinstance(raw, str) else raw.decode("utf-8", "surrogateescape")
        entry = {"file": place.file, "line": place.line, "reason": reason, "raw": words}
        try:
            if self._file is None:
                self._file = self._path.open("w", encoding="ascii")
            self._file.write(json.dumps(entry) + "\n")
        except OSError as error:
            raise InputError(f"{self._path}: bad lines cannot be written there: {error.strerror}.") from error


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


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read.

    Attributes:
        format: The kind of file or the shape of records; None recognises both.
        system: The name of the system for conversations that do not say theirs.
        fields: Names of fields, where the usual ones are not to be taken.
        skip_bad: The file to which bad records go; None stops at the first one.
    """

    format: Format | None = None
    system: str | None = None
    fields: Fields = field(default_factory=Fields)
    skip_bad: Path | None = None


@dataclass(slots=True)
class Counts:
    """What was met so far while reading."""

    files: int = 0
    conversations: int = 0
    unanswered: int = 0  # conversations whose last message had no reply and was left out
    bad: int = 0


def read(inputs: Sequence[str | Path], options: ReadOptions | None = None) -> "Reading":
    """Read conversations from `inputs`: files, folders, patterns such as `chats/*.jsonl`, and `-` for standard input.

    Raises:
        InputError: A name leads to no file, or bad records would be written over one that is read.
    """
    options = options or ReadOptions()
    reading = Reading(find(inputs), options)
    if options.skip_bad is not None and options.skip_bad.resolve() in [path.resolve() for path in reading.paths]:
        raise InputError(f"{options.skip_bad}: bad lines would be written over a file that is read; move it away.")
    return reading


class Reading:
    """Conversations as they are read. Iterating again reads the files again.

    Attributes:
        counts: What was met so far.
    """

    def __init__(self, sources: Sequence[Source], options: ReadOptions) -> None:
        self._sources = sources
        self._options = options
        self.counts = Counts()

    @property
    def paths(self) -> list[Path]:
        """The files that are read; standard input is not among them."""
        return [source.path for source in self._sources if source.path is not None]

    @property
    def rereadable(self) -> bool:
        """Whether the input can be read twice; standard input cannot."""
        return len(self.paths) == len(self._sources)

    @property
    def bad_lines(self) -> Path | None:
        """The file to which bad records go; it exists only once there was one."""
        return self._options.skip_bad

    def __iter__(self) -> Iterator[Conversation]:
        """Read one conversation after the other.

        Raises:
            InputError: A file cannot be read, a conversation has no system, or, without `skip_bad`, a record is bad.
        """
        self.counts = Counts()
        skip_bad = self._options.skip_bad
        with Seen() as seen, nullcontext() if skip_bad is None else BadLines(skip_bad) as bad_lines:
            for source in self._sources:
                self.counts.files += 1
                yield from self._conversations(source, seen, bad_lines)

    def _conversations(self, source: Source, seen: Seen, bad_lines: BadLines | None) -> Iterator[Conversation]:
        options, counts, file = self._options, self.counts, str(source)
        assembler = Assembler(options.format, options.fields, options.system, source.stem)
        record = None
        for record in records(source, options.format, options.fields):
            place = Place(file, record.line)
            try:
                conversation, unanswered = assembler.assemble(record)
                if before := seen.note(conversation.identity, place):
                    raise BadRecord(_twice(conversation, before))
            except BadRecord as bad:
                self._refuse(bad, place, record.raw, bad_lines)
                continue
            counts.conversations += 1
            counts.unanswered += unanswered
            yield conversation
        if record is None:
            self._refuse(BadRecord("the file holds nothing"), Place(file, 1), b"", bad_lines)

    def _refuse(self, bad: BadRecord, place: Place, raw: bytes | str, bad_lines: BadLines | None) -> None:
        exact_place = place if bad.line is None else place._replace(line=place.line + bad.line - 1)
        if bad_lines is None or isinstance(bad, NoSystem):
            raise InputError(f"{exact_place}: {bad.reason}.") from None
        self.counts.bad += 1
        bad_lines.write(exact_place, bad.reason, raw)


def _twice(conversation: Conversation, before: Place) -> str:
    return (
        f"the conversation '{conversation.id}' of the system '{conversation.system}' was already read at {before}; "
        "each needs an id of its own within its system"
    )


__all__ = ["Counts", "Fields", "Format", "ReadOptions", "Reading", "read"]
