"""Read conversations from files of any shape, one at a time, and count what went wrong.

Memory does not grow with the number of conversations in JSONL, CSV, TSV and Parquet files; a JSON document and a text
chat are read whole. A record that cannot be read is a `BadRecord` until `Reading` reports it with its place.

The shape and the fields of a record are looked up once and remembered for all records with the same fields. If a
record does not fit what is remembered, it is recognised anew before it is called bad.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any, NamedTuple, Self

from attunement.conversations.files import Source, find, records
from attunement.conversations.json_files import parse_exactly
from attunement.conversations.messages import (
    BadRecord,
    Dialogue,
    Fields,
    Format,
    InexactNumber,
    Layout,
    Place,
    Record,
    RecordInfo,
    is_object,
    join,
    lay_out,
    read_info,
)
from attunement.conversations.model import Conversation, Identity, fingerprint
from attunement.conversations.shapes import ChatText, RowGroup, Shape, recognise
from attunement.errors import InputError

_MOST_LAYOUTS = 64  # a file whose records all have different fields must not fill the memory with layouts
_ID_DIGITS = 16  # of the content's hash: among a million conversations, two share them once in 40 million times
_FIELDS_SHOWN = 12


class NoSystem(BadRecord):
    """The record does not name the system. One option fixes it for the whole file, so it is never skipped."""


class Assembled(NamedTuple):
    """A conversation, and whether a last message without a reply was left out of it."""

    conversation: Conversation
    unanswered: bool


class Assembler:
    """Makes the conversations of one file.

    Args:
        wanted: The shape of the records, or None to recognise it.
        fields: Names of fields to use instead of the usual ones.
        system: The system of conversations that do not name theirs.
        stem: The id of a conversation that is the whole file.
    """

    def __init__(self, wanted: Format | None, fields: Fields, system: str | None, stem: str | None) -> None:
        self._wanted = wanted
        self._fields = fields
        self._system = system
        self._stem = stem
        self._known: dict[tuple[str, ...], tuple[Shape, Layout]] = {}

    def assemble(self, record: Record) -> Assembled:
        """The conversation in `record`.

        Raises:
            BadRecord: There is none, or it cannot be read.
        """
        if isinstance(record.value, BadRecord):
            raise record.value
        try:
            dialogue, info = self._read(record.value, record.exact)
        except InexactNumber:
            dialogue, info = self._read(parse_exactly(record.raw), exact=True)
        if all(not turn.assistant or turn.assistant.isspace() for turn in dialogue.turns):
            raise BadRecord("there is no assistant message")
        system = info.system or self._system
        if system is None:
            raise NoSystem("no system name found; name the system of this conversation with --system NAME")
        conversation = Conversation(
            id=info.id or self._id_for(record.value) or fingerprint(dialogue.turns)[:_ID_DIGITS],
            system=system,
            turns=dialogue.turns,
            metadata=info.metadata,
            instructions=join(info.instructions or "", dialogue.instructions or "") or None,
            origin=info.origin,
        )
        return Assembled(conversation, dialogue.unanswered)

    def _id_for(self, value: Any) -> str | None:
        if self._fields.id is not None:
            raise BadRecord(f"there is no id in a field '{self._fields.id}'")
        whole_file = isinstance(value, ChatText) or (isinstance(value, RowGroup) and value.shape.id is None)
        return self._stem if whole_file else None

    def _read(self, value: Any, exact: bool) -> tuple[Dialogue, RecordInfo]:
        keys = tuple(value) if is_object(value) else ()
        known = self._known.get(keys)
        if known is not None:
            try:
                return _read_as(*known, value, exact)
            except BadRecord:
                shape = recognise(value, self._wanted, self._fields)
                if shape is None or shape == known[0]:
                    raise
        else:
            shape = recognise(value, self._wanted, self._fields)
            if shape is None:
                raise BadRecord(self._not_recognised(value))
        column = value.shape.id if isinstance(value, RowGroup) else None
        fields = self._fields if column is None else replace(self._fields, id=column)
        if len(self._known) >= _MOST_LAYOUTS:
            self._known.clear()
        self._known[keys] = shape, lay_out(keys, shape.keys, fields)
        return _read_as(*self._known[keys], value, exact)

    def _not_recognised(self, value: Any) -> str:
        named = self._wanted is not None and not self._wanted.is_kind
        shape = f"conversation in the shape '{self._wanted}'" if named else "conversation"
        if not is_object(value):
            return f"this is not a {shape}"
        given = ", ".join(f"'{key}'" for key in tuple(value)[:_FIELDS_SHOWN])
        return (
            f"no {shape} is recognised in the fields {given}; name the shape with --format, "
            "or the fields with --prompt-field and --response-field"
        )


def _read_as(shape: Shape, layout: Layout, value: Any, exact: bool) -> tuple[Dialogue, RecordInfo]:
    return shape.dialogue(value, exact), read_info(value, layout, exact) if is_object(value) else RecordInfo()


class _BadLines:
    """The file of bad records. It is made when the first one comes, so that a clean file leaves none."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def write(self, place: Place, reason: str, raw: bytes | str) -> None:
        # Bytes that are not UTF-8 become lone surrogates.
        text = raw if isinstance(raw, str) else raw.decode("utf-8", "surrogateescape")
        entry = {"file": place.file, "line": place.line, "reason": reason, "raw": text}
        try:
            if self._file is None:
                self._file = self._path.open("w", encoding="ascii")
            self._file.write(json.dumps(entry) + "\n")
        except OSError as error:
            raise InputError(f"{self._path}: bad lines cannot be written there: {error.strerror}.") from error


class Seen:
    """The identities that were read, each with its first place.

    They are in a temporary SQLite database, which keeps a few megabytes in memory and the rest on disk, so that memory
    does not grow with the number of conversations.
    """

    def __init__(self) -> None:
        import sqlite3

        # An empty name is a private file that SQLite deletes by itself. Nothing in it must survive a crash.
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -8192"):
            self._database.execute(f"PRAGMA {pragma}")
        table = "seen (identity BLOB PRIMARY KEY, file INTEGER, line INTEGER) WITHOUT ROWID"
        self._database.execute(f"CREATE TABLE {table}")
        self._database.execute("BEGIN")
        self._files: dict[str, int] = {}

    def note(self, identity: Identity, place: Place) -> Place | None:
        """Remember `identity`. Gives the place where it was read before, or None if it is new."""
        # The length of the first part keeps two different pairs apart; files may hold lone surrogates.
        key = f"{len(identity.system)}:{identity.system}{identity.id}".encode("utf-8", "surrogatepass")
        file = self._files.setdefault(place.file, len(self._files))
        row = (key, file, place.line)
        if self._database.execute("INSERT OR IGNORE INTO seen VALUES (?, ?, ?)", row).rowcount:
            return None
        file, line = self._database.execute("SELECT file, line FROM seen WHERE identity = ?", (key,)).fetchone()
        return Place(list(self._files)[file], line)

    def close(self) -> None:
        self._database.close()


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read.

    Attributes:
        format: The kind of file or the shape of records; None recognises both.
        system: The name of the system for conversations that do not name theirs.
        fields: Names of fields to use instead of the usual ones.
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
        InputError: A name leads to no file, or bad records would be written over a file that is read.
    """
    options = options or ReadOptions()
    reading = Reading(find(inputs), options)
    if options.skip_bad is not None and options.skip_bad.resolve() in [path.resolve() for path in reading.paths]:
        raise InputError(f"{options.skip_bad}: bad lines would be written over a file that is read; move it away.")
    return reading


class Reading:
    """Conversations as they are read. Iterating again reads the files again; `counts` says what was met so far."""

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
        with (
            closing(Seen()) as seen,
            nullcontext() if self.bad_lines is None else _BadLines(self.bad_lines) as bad_lines,
        ):
            for source in self._sources:
                self.counts.files += 1
                yield from self._conversations(source, seen, bad_lines)

    def _conversations(self, source: Source, seen: Seen, bad_lines: _BadLines | None) -> Iterator[Conversation]:
        options, counts, file = self._options, self.counts, str(source)
        assembler = Assembler(options.format, options.fields, options.system, source.stem)
        record = None
        for record in records(source, options.format, options.fields):
            place = Place(file, record.line)
            try:
                conversation, unanswered = assembler.assemble(record)
                if before := seen.note(conversation.identity, place):
                    raise BadRecord(
                        f"the conversation '{conversation.id}' of the system '{conversation.system}' was already read "
                        f"at {before}; each needs an id of its own within its system"
                    )
            except BadRecord as bad:
                self._report(bad, place, record.raw, bad_lines)
                continue
            counts.conversations += 1
            counts.unanswered += unanswered
            yield conversation
        if record is None:
            self._report(BadRecord("the file is empty"), Place(file, 1), b"", bad_lines)

    def _report(self, bad: BadRecord, place: Place, raw: bytes | str, bad_lines: _BadLines | None) -> None:
        """Write a bad record to the file for them, or stop with an error if there is no such file."""
        exact_place = place if bad.line is None else place._replace(line=place.line + bad.line - 1)
        if bad_lines is None or isinstance(bad, NoSystem):
            raise InputError(f"{exact_place}: {bad.reason}.") from None
        self.counts.bad += 1
        bad_lines.write(exact_place, bad.reason, raw)


__all__ = ["Counts", "Fields", "Format", "ReadOptions", "Reading", "read"]
