"""Read conversations from files of any format, one at a time, and count errors.

Memory does not grow with the number of conversations in JSONL, CSV, TSV and Parquet files; a JSON document and a text
chat are read whole. An unreadable record is a `BadRecord`, which `Reading` reports with its place.

The shape and the field meanings are cached for all records with the same fields. If a record does not fit the cached
shape, it is detected again before it counts as bad.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from io import BufferedReader, TextIOWrapper
from itertools import chain
from pathlib import Path
from typing import IO, Any, NamedTuple, Self

from attunement.conversations.chats import ChatText, begins_like_a_chat
from attunement.conversations.files import Format, Source, column_names, find, first_line, opened, records_of
from attunement.conversations.json_files import (
    BadRecord,
    Merge,
    Place,
    Record,
    decoded,
    is_list,
    is_object,
    json_of_any_kind,
)
from attunement.conversations.logs import LOGS, Calls
from attunement.conversations.messages import (
    ID,
    Dialogue,
    Fields,
    Layout,
    RecordInfo,
    Speakers,
    join,
    message_keys,
    plain,
    unknown_speaker,
    weave,
)
from attunement.conversations.model import Conversation, Identity, fingerprint
from attunement.conversations.rows import RowGroup, Unskippable, put_together
from attunement.conversations.shapes import Recognizer, Shape
from attunement.errors import InputError
from attunement.output import check_output, open_private

_MOST_LAYOUTS = 64  # a file whose records all have different fields must not fill the memory with layouts
_ID_DIGITS = 16  # of the content's hash: the chance that two in a million conversations share them is 1 in 40 million
_FIELDS_SHOWN = 12


class Assembled(NamedTuple):
    """A conversation, whether a last message without a reply was left out, and how many notices were."""

    conversation: Conversation
    unanswered: bool
    notices: int


class Assembler:
    """Makes the conversations of one file.

    Args:
        wanted: The shape of the records, or None to detect it.
        fields: Names of fields and speakers to use instead of the usual ones, or besides them.
        system: The system of conversations without one.
        stem: The id of a conversation that is the whole file.
    """

    def __init__(self, wanted: Format | None, fields: Fields, system: str | None, stem: str | None) -> None:
        self._wanted = wanted
        self._fields = fields
        self._system = system
        self._stem = stem
        self._recognizer = Recognizer(wanted, fields)
        self._known: dict[tuple[str, ...], tuple[Shape, Layout]] = {}

    def assemble(self, record: Record) -> Assembled:
        """The conversation in `record`.

        Raises:
            BadRecord: There is none, or it cannot be read.
        """
        value = record.value
        if isinstance(value, BadRecord):
            raise value
        if isinstance(value, RowGroup):
            shape = value.shape
            named = shape.id is not None and value.get(shape.id) not in (None, "")
            fields = replace(self._fields, id=shape.id) if named else self._fields
            dialogue, info = weave(value.messages()), Layout(value, shape.part.keys, fields).read(value)
        else:
            dialogue, info = self._read(value)
        if all(not turn.assistant or turn.assistant.isspace() for turn in dialogue.turns):
            raise BadRecord("there is no assistant message")
        system = info.system or self._system
        if system is None:
            raise Unskippable("no system name found; give one with --system NAME")
        conversation = Conversation(
            id=info.id or self._id_for(value) or fingerprint(dialogue.turns)[:_ID_DIGITS],
            system=system,
            turns=dialogue.turns,
            metadata=info.metadata,
            instructions=join(info.instructions or "", dialogue.instructions or "") or None,
            origin=info.origin,
        )
        return Assembled(conversation, dialogue.unanswered, dialogue.notices)

    def _id_for(self, value: Any) -> str | None:
        if self._fields.id is not None:
            raise BadRecord(f"there is no id in a field '{self._fields.id}'")
        whole_file = isinstance(value, ChatText) or (isinstance(value, RowGroup) and value.shape.id is None)
        return self._stem if whole_file else None

    def _read(self, value: Any) -> tuple[Dialogue, RecordInfo]:
        keys = tuple(value) if is_object(value) else ()
        if known := self._known.get(keys):
            try:
                return _read_as(*known, value)
            except BadRecord as error:
                before = error
        else:
            before = None
        shape = self._recognizer.shape(value)
        if shape is None:
            raise before or BadRecord(self._not_recognised(value))
        if len(self._known) >= _MOST_LAYOUTS:
            self._known.clear()
        self._known[keys] = shape, Layout(keys, shape.keys, self._fields)
        return _read_as(*self._known[keys], value)

    def _not_recognised(self, value: Any) -> str:
        named = self._wanted is not None and not self._wanted.is_kind
        shape = f"conversation in the layout '{self._wanted}'" if named else "conversation"
        before = next((known.family for known, _ in reversed(self._known.values())), None)
        before = f" (the records before it were read as '{before}')" if before else ""
        if not is_object(value):
            return f"this is not a {shape}{before}"
        if (keys := message_keys(value)) and isinstance(value[keys[0]], str):
            return unknown_speaker(keys[0], value[keys[0]])
        given = ", ".join(f"'{key}'" for key in tuple(value)[:_FIELDS_SHOWN])
        return (
            f"no {shape} found in the fields {given}; give the layout with --format, or the fields with "
            f"--prompt-field and --response-field{before}"
        )


def _read_as(shape: Shape, layout: Layout, value: Any) -> tuple[Dialogue, RecordInfo]:
    return weave(shape.read(value)), layout.read(value) if is_object(value) else RecordInfo()


class FileReader:
    """Reads the records of one file, one per conversation; `notes` says what was done with them."""

    def __init__(self, source: Source, wanted: Format | None, fields: Fields) -> None:
        self._source = source
        self._forced = wanted if wanted is not None and wanted.is_kind else None
        self._recognizer = Recognizer(wanted, fields)
        self._speakers = Speakers(fields)
        self._calls = Calls()
        self.notes: list[str] = []

    def records(self) -> Iterator[Record]:
        """The records of the file; rows of the same conversation are combined.

        Raises:
            InputError: The file cannot be read at all, or its type is not recognized.
        """
        with opened(self._source) as stream:
            found = self._rewritten(self._of_kind(stream))
            for record in found:
                row = None if isinstance(record.value, BadRecord) else self._recognizer.row(record.value)
                yield from [record] if row is None else put_together(chain([record], found), row, self.notes)
        if self._calls.left_out:
            self.notes.append(f"log entries that are not calls to a model, left out: {self._calls.left_out:,}")

    def _of_kind(self, stream: BufferedReader) -> Iterator[Record]:
        kind = self._forced or self._source.kind
        lines: Iterator[bytes] = iter(stream)
        if kind is None and stream.peek().startswith(b"PAR1"):
            kind = Format.PARQUET
        elif self._forced is None and kind in (None, Format.TEXT):
            # Any file may be called `.txt`, and a pipe has no name.
            first, lines = first_line(lines)
            kind = self._kind_by(first) or kind
        if kind is Format.JSON:
            return json_of_any_kind(lines, self._recognizer.is_conversation, self._find_list)
        if kind is Format.TEXT:
            return iter([self._text(b"".join(lines))])
        return records_of(kind, stream, lines, str(self._source))

    def _kind_by(self, line: bytes) -> Format | None:
        if begins_like_a_chat(line.decode("utf-8", "replace"), self._speakers):
            return Format.TEXT
        if line.lstrip().startswith((b"{", b"[")):
            return Format.JSON
        columns = dict.fromkeys(column_names(line), "")
        return Format.CSV if message_keys(columns) or self._recognizer.is_conversation(columns) else None

    def _text(self, raw: bytes) -> Record:
        try:
            return Record(1, ChatText(decoded(raw)), raw)
        except BadRecord as error:
            return Record(1, error, raw)

    def _find_list(self, value: dict[str, Any]) -> tuple[str, Merge] | None:
        """The list of records in a document, if the document is not a record itself."""
        if log := next((log for log in LOGS if log.matches(value)), None):
            return log.key, log.record
        if self._recognizer.is_conversation(value):
            return None
        for key, inner in value.items():
            if not is_list(inner) or not inner:
                continue
            if any(map(self._recognizer.is_conversation, Calls().rewrite(inner[0]))):
                # Fields next to the list, such as the system, are copied to records that lack them.
                outer = {name: cell for name, cell in value.items() if name != key and plain(name) not in ID}
                return key, partial(_with_fields, outer)
        return None

    def _rewritten(self, records: Iterator[Record]) -> Iterator[Record]:
        """The records; calls in the logs of other tools are rewritten as plain ones."""
        for record in records:
            if not is_object(record.value):
                yield record
                continue
            try:
                values = self._calls.rewrite(record.value)
            except BadRecord as error:
                values = [error]
            for value in values:
                yield record._replace(value=value)


def _with_fields(outer: dict[str, Any], _: dict[str, Any], entry: Any) -> Any:
    return {**outer, **entry} if is_object(entry) else entry


class _BadLines:
    """The file of bad records. It is created with the first one, so valid input leaves no file."""

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
                check_output(self._path)
                self._file = TextIOWrapper(open_private(self._path), "ascii", write_through=True)
            self._file.write(json.dumps(entry) + "\n")
        except OSError as error:
            raise InputError(f"{self._path}: cannot write invalid records there: {error.strerror}.") from error


class Seen:
    """The identities read so far, each with its first place.

    They are in a temporary SQLite database with a few megabytes in memory and the rest on disk, so memory does not grow
    with the number of conversations.
    """

    def __init__(self) -> None:
        import sqlite3

        # With an empty name, SQLite creates a private file and deletes it. Its content need not survive a crash.
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        for pragma in ("journal_mode = OFF", "synchronous = OFF", "cache_size = -8192"):
            self._database.execute(f"PRAGMA {pragma}")
        table = "seen (identity BLOB PRIMARY KEY, file INTEGER, line INTEGER) WITHOUT ROWID"
        self._database.execute(f"CREATE TABLE {table}")
        self._database.execute("BEGIN")
        self._files: dict[str, int] = {}

    def note(self, identity: Identity, place: Place) -> Place | None:
        """Add `identity`. Returns the place where it was read before, or None if it is new."""
        # The length of the first part makes the key unambiguous; files may contain lone surrogates.
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
        format: The file type or the shape of records; None detects both.
        system: The system name for conversations without one.
        fields: Names of fields to use instead of the usual ones.
        skip_bad: The file for bad records; None stops at the first one.
    """

    format: Format | None = None
    system: str | None = None
    fields: Fields = field(default_factory=Fields)
    skip_bad: Path | None = None


@dataclass(slots=True)
class Counts:
    """The counts of what was read so far. `notes` says what was done with each file: grouped, sorted, left out."""

    files: int = 0
    conversations: int = 0
    turns: int = 0
    unanswered: int = 0  # last messages that were left out because they had no reply
    notices: int = 0  # entries of a chat that were left out because nobody said them
    bad: int = 0
    first_bad: str = ""
    notes: list[str] = field(default_factory=list[str])


def read(inputs: Sequence[str | Path], options: ReadOptions | None = None) -> "Reading":
    """Read conversations from `inputs`: files, folders, patterns such as `chats/*.jsonl`, and `-` for standard input.

    Raises:
        InputError: A name matches no file, or the file for bad records is also an input file.
    """
    options = options or ReadOptions()
    reading = Reading(find(inputs), options)
    if options.skip_bad is not None and options.skip_bad.resolve() in [path.resolve() for path in reading.paths]:
        raise InputError(
            f"{options.skip_bad} is an input file, but invalid records would be written to it; move it "
            f"to another folder."
        )
    return reading


class Reading:
    """An iterable of conversations. Iterating again reads the files again; `counts` has the counts so far."""

    def __init__(self, sources: Sequence[Source], options: ReadOptions) -> None:
        self._sources = sources
        self._options = options
        self.counts = Counts()

    @property
    def paths(self) -> list[Path]:
        """The input files, without standard input."""
        return [source.path for source in self._sources if source.path is not None]

    @property
    def rereadable(self) -> bool:
        """Whether the input can be read twice; standard input cannot."""
        return len(self.paths) == len(self._sources)

    @property
    def bad_lines(self) -> Path | None:
        """The file for bad records; it exists only if there was one."""
        return self._options.skip_bad

    def __iter__(self) -> Iterator[Conversation]:
        """Read one conversation after the other.

        Raises:
            InputError: A file cannot be read, a conversation has no system, or a record is bad and `skip_bad` is not
            set.
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
        records = FileReader(source, options.format, options.fields)
        record = None
        for record in records.records():
            place = Place(file, record.line)
            try:
                conversation, unanswered, notices = assembler.assemble(record)
                if before := seen.note(conversation.identity, place):
                    # The rows of a conversation in two files are two halves of it.
                    raise (Unskippable if isinstance(record.value, RowGroup) else BadRecord)(
                        f"the conversation '{conversation.id}' of the system '{conversation.system}' was already read "
                        f"at {before}; ids must be unique within a system"
                    )
            except BadRecord as bad:
                self._report(bad, place, record.raw, bad_lines)
                continue
            counts.conversations += 1
            counts.turns += len(conversation.turns)
            counts.unanswered += unanswered
            counts.notices += notices
            yield conversation
        counts.notes += (f"{file}: {note}" for note in records.notes)
        if record is None:
            self._report(BadRecord("the file is empty"), Place(file, 1), b"", bad_lines)

    def _report(self, bad: BadRecord, place: Place, raw: bytes | str, bad_lines: _BadLines | None) -> None:
        """Write a bad record to its file, or raise an error if there is none."""
        exact_place = place if bad.line is None else place._replace(line=place.line + bad.line - 1)
        if bad_lines is None or isinstance(bad, Unskippable):
            raise InputError(f"{exact_place}: {bad.reason}.") from None
        self.counts.bad += 1
        self.counts.first_bad = self.counts.first_bad or f"{exact_place}: {bad.reason}"
        bad_lines.write(exact_place, bad.reason, raw)


__all__ = ["Counts", "Fields", "Format", "ReadOptions", "Reading", "read"]
