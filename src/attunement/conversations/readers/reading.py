"""Every way in: files of any shape become conversations, one at a time, with what went wrong counted or told.

Memory does not grow with the number of conversations in JSONL, CSV, TSV and Parquet files; a JSON document and a text
chat are read whole.
"""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from attunement.conversations.model import Conversation
from attunement.conversations.readers.assembly import Assembler, NoSystem
from attunement.conversations.readers.badlines import BadLines
from attunement.conversations.readers.fields import Fields
from attunement.conversations.readers.formats import Format
from attunement.conversations.readers.opening import records
from attunement.conversations.readers.record import BadRecord, Place
from attunement.conversations.readers.seen import Seen
from attunement.conversations.readers.sources import Source, find
from attunement.errors import InputError


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
