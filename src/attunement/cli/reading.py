"""What every command that reads conversations shares: the options, opening the input, and saying what was read."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attunement.conversations.readers.formats import Format

if TYPE_CHECKING:
    from attunement.conversations.readers import Reading
    from attunement.study import Study

_BATCH = 200

FilesArgument = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE",
        help="Files, folders or patterns with conversations; - is standard input.",
        show_default=False,
    ),
]
FormatOption = Annotated[
    Format | None,
    typer.Option("--format", help="The kind of file or the shape of its records, where it is not recognised."),
]
SystemOption = Annotated[
    str | None,
    typer.Option("--system", metavar="NAME", help="The name of the system, for conversations that do not say it."),
]
BlindOption = Annotated[
    bool | None,
    typer.Option(
        "--blind/--not-blind",
        help="Whether people knew neither the system nor the answers of judges and others; else it is not recorded.",
        show_default=False,
    ),
]
SkipBadOption = Annotated[
    bool,
    typer.Option("--skip-bad", help="Go on after a record that cannot be read, and keep it in a file of its own."),
]
PromptFieldOption = Annotated[
    str | None, typer.Option("--prompt-field", metavar="FIELD", help="The field with what the person said.")
]
ResponseFieldOption = Annotated[
    str | None, typer.Option("--response-field", metavar="FIELD", help="The field with the reply.")
]
IdFieldOption = Annotated[
    str | None, typer.Option("--id-field", metavar="FIELD", help="The field with the id of a conversation.")
]
SystemFieldOption = Annotated[
    str | None, typer.Option("--system-field", metavar="FIELD", help="The field with the name of the system.")
]


ForceOption = Annotated[bool, typer.Option("--force", help="Write over a file that is there already.")]


def refuse_to_overwrite(output: str | Path, *, force: bool) -> None:
    """Raise an InputError where writing `output` would replace a file that is there and nobody said so."""
    from attunement.errors import InputError

    if str(output) != "-" and not force and Path(output).exists():
        raise InputError(f"{output} exists already: give another name, or --force to write over it")


def open_conversations(
    files: list[str],
    *,
    format: Format | None = None,
    system: str | None = None,
    skip_bad: bool = False,
    output: str | Path | None = None,
    prompt_field: str | None = None,
    response_field: str | None = None,
    id_field: str | None = None,
    system_field: str | None = None,
) -> "Reading":
    """The conversations in `files`, read with the options that all commands share.

    With `skip_bad`, bad records go to a file beside `output`, or in the current folder where a command has none.

    Raises:
        InputError: A name leads to no file.
    """
    from attunement.conversations.readers import Fields, ReadOptions, read

    fields = Fields(prompt=prompt_field, response=response_field, id=id_field, system=system_field)
    return read(files, ReadOptions(format, system, fields, bad_lines_path(output) if skip_bad else None))


def keep(reading: "Reading", study: "Study") -> None:
    """Put all conversations into the study, a few at a time, so that memory stays flat."""
    waiting = iter(reading)
    while batch := list(islice(waiting, _BATCH)):
        study.keep_conversations(batch)


def bad_lines_path(output: str | Path | None) -> Path:
    """Where bad records go when `output` is written: `chats.jsonl` has them in `chats.jsonl.bad.jsonl`."""
    from attunement.conversations.readers.sources import BAD_LINES

    return Path(f"attune{BAD_LINES}" if output is None or str(output) == "-" else f"{output}{BAD_LINES}")


def what_was_read(reading: "Reading") -> Iterator[str]:
    """Sentences that say how much was read, what was left out, and where bad records went; none without a file."""
    counts = reading.counts
    if counts.files:
        yield f"Read {counted(counts.conversations, 'conversation')} from {counted(counts.files, 'file')}."
    if counts.unanswered:
        yield f"Left out {counted(counts.unanswered, 'last message')} without a reply."
    if counts.bad:
        yield f"Skipped {counted(counts.bad, 'bad record')}; see {reading.bad_lines}."


def counted(number: int, thing: str) -> str:
    """A number with its noun; what reports use for it would be slow to import where files are only read."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"
