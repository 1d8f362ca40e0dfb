"""Options and input handling that several commands share."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal
from urllib.parse import urlsplit

import typer

from attunement.conversations.messages import Format
from attunement.conversations.model import Responses
from attunement.errors import InputError

InstrumentOption = Annotated[str, typer.Option("--instrument", "-i", help="The instrument: its name, or a .yaml file.")]
ItemOption = Annotated[
    list[str] | None, typer.Option("--item", metavar="ID", help="Only this item of the instrument; may be repeated.")
]
# The names of `questions.Layout` and `questions.Ask`, written out: importing them would slow `attune --help` down.
LayoutOption = Annotated[
    Literal["criterion-first", "transcript-first"],
    typer.Option("--layout", help="What comes first in a prompt. The transcript first lets a prefix cache serve it."),
]
AskOption = Annotated[
    Literal["together", "separately"] | None,
    typer.Option("--ask", help="All items of a unit in one call, or one a call; else as the file says."),
]
ResponsesOption = Annotated[
    Responses, typer.Option("--responses", help="For instruments about replies: rate every reply, or only the last.")
]
JudgeOption = Annotated[
    list[str],
    typer.Option(
        "--judge",
        "-j",
        metavar="NAME",
        help="openai:MODEL, anthropic:MODEL, local:FILE.gguf or signals; may be repeated.",
    ),
]
BaseUrlOption = Annotated[
    str | None, typer.Option("--base-url", metavar="URL", help="The address of an OpenAI-compatible service.")
]
TemperatureOption = Annotated[float, typer.Option("--temperature", help="0 asks for the likeliest answer.")]
SeedOption = Annotated[int | None, typer.Option("--seed", help="For the judge, and for --sample.")]
RepeatsOption = Annotated[int, typer.Option("--repeats", min=1, help="How often every question is asked.")]
StopOnGateOption = Annotated[
    bool, typer.Option("--stop-on-gate", help="Ask no more about a conversation once a safety criterion has failed.")
]
LimitOption = Annotated[int | None, typer.Option("--limit", min=1, help="Only the first N conversations.")]
SampleOption = Annotated[int | None, typer.Option("--sample", min=1, help="Only N conversations, drawn at random.")]
FilterOption = Annotated[
    list[str] | None, typer.Option("--filter", metavar="FIELD=VALUE", help="Only these, such as system=Harbor.")
]
StudyOption = Annotated[
    str | None,
    typer.Option("--study", metavar="PLACE", help="Where answers are kept: a file, or a postgresql:// address."),
]
PriceInOption = Annotated[
    float | None, typer.Option("--price-in", help="Dollars a million prompt tokens, where the list has no price.")
]
PriceOutOption = Annotated[float | None, typer.Option("--price-out", help="Dollars a million reply tokens.")]


if TYPE_CHECKING:
    from attunement.conversations.reader import Reading
    from attunement.reports.html.text import Privacy
    from attunement.store import Study

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
SkipInvalidOption = Annotated[
    bool,
    typer.Option("--skip-invalid", help="Skip records that cannot be read, and save them in a separate file."),
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
    skip_invalid: bool = False,
    output: str | Path | None = None,
    prompt_field: str | None = None,
    response_field: str | None = None,
    id_field: str | None = None,
    system_field: str | None = None,
) -> "Reading":
    """The conversations in `files`, read with the options that all commands share.

    With `skip_invalid`, records that cannot be read go to a file beside `output`, or in the current folder where a
    command has none.

    Raises:
        InputError: A name leads to no file.
    """
    from attunement.conversations.reader import Fields, ReadOptions, read

    fields = Fields(prompt=prompt_field, response=response_field, id=id_field, system=system_field)
    return read(files, ReadOptions(format, system, fields, bad_lines_path(output) if skip_invalid else None))


def keep(reading: "Reading", study: "Study") -> None:
    """Put all conversations into the study, a few at a time, so that memory stays flat."""
    waiting = iter(reading)
    while batch := list(islice(waiting, _BATCH)):
        study.save_conversations(batch)


def bad_lines_path(output: str | Path | None) -> Path:
    """Where bad records go when `output` is written: `chats.jsonl` has them in `chats.jsonl.bad.jsonl`."""
    from attunement.conversations.files import BAD_LINES

    return Path(f"attune{BAD_LINES}" if output is None or str(output) == "-" else f"{output}{BAD_LINES}")


def what_was_read(reading: "Reading") -> Iterator[str]:
    """Sentences that say how much was read, what was left out, and where bad records went; none without a file."""
    counts = reading.counts
    if counts.files:
        yield f"Read {pluralize(counts.conversations, 'conversation')} from {pluralize(counts.files, 'file')}."
    if counts.unanswered:
        yield f"Left out {pluralize(counts.unanswered, 'last message')} without a reply."
    if counts.bad:
        yield f"Skipped {pluralize(counts.bad, 'invalid record')}; see {reading.bad_lines}."


def pluralize(number: int, thing: str) -> str:
    """A number with its noun; what reports use for it would be slow to import where files are only read."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


StudyArgument = Annotated[str, typer.Argument(help="The study: a file, or a postgresql:// address.")]
StudyInstrumentOption = Annotated[
    str | None,
    typer.Option("--instrument", "-i", metavar="ID", help="Which instrument of the study.", show_default=False),
]
ScoringOption = Annotated[
    str | None,
    typer.Option(
        "--instrument",
        "-i",
        metavar="ID|FILE",
        help="Which instrument of the study; or a .yaml file with the same items that scores them otherwise, without "
        "asking anybody again.",
        show_default=False,
    ),
]
AskedOption = Annotated[
    str | None,
    typer.Option(
        "--instrument",
        "-i",
        metavar="ID|FILE",
        help="What is asked; else the only one in the study.",
        show_default=False,
    ),
]
MarkdownOption = Annotated[bool, typer.Option("--markdown", help="Print it as Markdown.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print it as JSON, for other programs.")]


if TYPE_CHECKING:
    from attunement.conversations.redaction import Redactor

RedactOption = Annotated[
    bool,
    typer.Option(
        "--redact",
        help="Replace e-mail addresses, links, phone, card and social security numbers; listed crisis lines stay.",
    ),
]
NamesOption = Annotated[
    Path | None, typer.Option("--names", metavar="FILE", help="With --redact: names to replace too, one a line.")
]
NoTextOption = Annotated[
    bool, typer.Option("--no-text", help="Leave out all that was said and all reasons; keep the figures.")
]


def redactor_of(*, redact: bool, names: Path | None) -> "Redactor | None":
    """What replaces private words, as the user said; None where nothing is replaced.

    Raises:
        InputError: Names are given without --redact, or their file cannot be read.
    """
    from attunement.conversations.redaction import Redactor, read_names
    from attunement.errors import InputError

    if names is not None and not redact:
        raise InputError("--names replaces names only together with --redact; give both")
    return Redactor([] if names is None else read_names(names)) if redact else None


def hiding_of(*, redact: bool, names: Path | None, no_text: bool) -> "Privacy":
    """What pages must not show, as the user said; it raises what `redactor_of` does."""
    from attunement.reports.html.text import Privacy

    redactor = redactor_of(redact=redact, names=names)
    if redactor is None:
        return Privacy(texts=not no_text)
    return Privacy(redactor.redact_text, texts=not no_text, rename=redactor.redact_name)


HostOption = Annotated[str, typer.Option(help="Where to listen; the default is reached from this computer only.")]
PortOption = Annotated[int, typer.Option(min=1, max=65535, help="The port to listen on.")]
AddressOption = Annotated[
    str | None,
    typer.Option(metavar="URL", help="How the pages are reached behind a proxy, such as https://example.org/study."),
]
ProxyOption = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="The proxy whose X-Forwarded headers are believed; several with commas."),
]
THIS_COMPUTER = "127.0.0.1"


def address_of(given: str | None, host: str, port: int) -> str:
    """How the pages are reached: as the user says, or where we listen."""
    if given is None:
        return f"http://{f'[{host}]' if ':' in host else host}:{port}"
    parts = urlsplit(given)
    if parts.scheme not in {"http", "https"} or not parts.netloc or parts.query or parts.fragment:
        raise InputError(f"{given!r} is no address: it looks like https://example.org/rate")
    return given.rstrip("/")


def check_port(host: str, port: int) -> None:
    """Say at once, and before anything is printed, that nobody can listen there."""
    import socket

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as trial:
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind((host, port))
        except OSError as error:
            raise InputError(f"cannot listen on {host} port {port}: {error.strerror}; choose another --port") from error
