"""Options and input handling that several commands share."""

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import Field, dataclass, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args
from urllib.parse import urlsplit

import typer

from attunement.errors import InputError
from attunement.output import STDOUT, check_output, replacing
from attunement.reports.sanitize import for_terminal
from attunement.settings import FORCE, INSTRUMENT, SAFETY_REPEATS, SCORING, STUDY, InputOptions, Option, Settings

if TYPE_CHECKING:
    from attunement.api import Output
    from attunement.conversations.reader import Reading
    from attunement.conversations.redaction import Redactor
    from attunement.reports.privacy import Privacy
    from attunement.store import Study

_BATCH = 200


def option(help: str, *names: str, **more: Any) -> Any:
    """An option with its help; without `names` it gets the name of its parameter."""
    return typer.Option(*names, help=help, **more)


def spread(function: Callable[..., Any]) -> Callable[..., Any]:
    """Make options of all parameters that an `Option` describes, and of the fields of a record such as `Settings`.

    `Annotated[Settings, ("judges", "seed")]` takes only these fields. What is not given has the default of Python.
    """
    parameters: list[Parameter] = []
    records: dict[str, tuple[type, list[str]]] = {}
    before: list[str] = []  # the parameters up to one that takes several values, which all are given by position
    for name, parameter in signature(function).parameters.items():
        if parameter.kind is Parameter.VAR_POSITIONAL:
            before = [*(earlier.name for earlier in parameters), name]
            parameter = parameter.replace(kind=Parameter.KEYWORD_ONLY, default=())
        kind, *more = get_args(parameter.annotation) or [parameter.annotation]
        if isinstance(kind, type) and is_dataclass(kind):
            chosen = [field for field in fields(kind) if not more or field.name in more[0]]
            records[name] = (kind, [field.name for field in chosen])
            for field in chosen:
                default = (
                    getattr(parameter.default, field.name) if isinstance(parameter.default, kind) else field.default
                )
                parameters.append(_parameter(field.name, *_described(field), default))
        elif more and isinstance(more[0], Option):
            parameters.append(_parameter(name, kind, more[0], parameter.default))
        else:
            parameters.append(parameter.replace(kind=Parameter.KEYWORD_ONLY))

    @wraps(function)
    def run(**given: Any) -> Any:
        for name, (record, names) in records.items():
            values = {field: given.pop(field) for field in names}
            given[name] = record(**{field: value for field, value in values.items() if value is not None})
        *first, several = [given.pop(name) for name in before] or [()]
        return function(*first, *(several or ()), **{name: value for name, value in given.items() if value is not None})

    return _with_signature(run, parameters)


def printed(function: Callable[..., "Output"], *, markdown: bool = False) -> Callable[..., None]:
    """The command that prints what a function of `attunement.api` returns, and exits with its code.

    A function that takes `details` computes them only for JSON.
    """
    command = spread(function)
    parameters = signature(command).parameters

    @wraps(function)
    def run(*, as_json: bool, as_markdown: bool = False, **given: Any) -> None:
        if as_json and as_markdown:
            raise InputError("choose one of --json and --markdown")
        if "details" in parameters:
            given["details"] = as_json
        output = command(**given)
        try:
            print_output(output, as_json=as_json, as_markdown=as_markdown)
        except BrokenPipeError:
            # The code counts even if the reader of a pipe stops early. Discard what is still buffered, or Python would
            # exit with a code of its own.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(output.exit_code)

    forms = {"as_markdown": MarkdownOption, "as_json": JsonOption} if markdown else {"as_json": JsonOption}
    added = [Parameter(name, Parameter.KEYWORD_ONLY, default=False, annotation=kind) for name, kind in forms.items()]
    return _with_signature(run, [*(parameters[name] for name in parameters if name != "details"), *added])


def _with_signature(command: Callable[..., Any], parameters: list[Parameter]) -> Callable[..., Any]:
    command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return command


def _described(field: "Field[Any]") -> tuple[Any, Option]:
    kind, described = get_args(field.type)
    return kind, described


def _parameter(name: str, kind: Any, described: Option, default: Any) -> Parameter:
    return Parameter(
        name,
        Parameter.KEYWORD_ONLY,
        default=Parameter.empty if described.required else None if default == () else default,
        annotation=Annotated[described.type or kind, _typer_option(name, described)],
    )


def _typer_option(name: str, described: Option) -> Any:
    more: dict[str, Any] = {"help": described.help, "metavar": described.metavar}
    if described.positional:
        return typer.Argument(**more)
    flags = described.flags or (f"--{name.replace('_', '-')}",)
    return typer.Option(*flags, min=described.min, max=described.max, **more)


def shared(name: str, record: type = Settings) -> Any:
    """The option of one field of `Settings` or `InputOptions`, for a command that has only some of them."""
    return _typer_option(name, get_args(record.__annotations__[name])[1])


# Arguments and options

FilesArgument = Annotated[
    list[str], typer.Argument(metavar="FILE", help="Conversations: files, folders or patterns; - is standard input.")
]
StudyArgument = Annotated[str, _typer_option("study", STUDY)]
NewStudyArgument = Annotated[
    str, typer.Argument(help="The study: a file, or a postgresql:// address; created if missing.")
]
StudyInstrumentOption = Annotated[str | None, _typer_option("instrument", INSTRUMENT)]
ScoringOption = Annotated[str | None, _typer_option("instrument", SCORING)]
AskedOption = Annotated[
    str | None, option("The instrument; by default the only one in the study.", "--instrument", "-i", metavar="ID|FILE")
]
SafetyRepeatsOption = Annotated[
    Literal["any", "majority", "first"] | None, _typer_option("safety_repeats", SAFETY_REPEATS)
]
SystemOption = Annotated[str | None, shared("system", InputOptions)]
ForceOption = Annotated[bool, _typer_option("force", FORCE)]
MarkdownOption = Annotated[bool, option("Print Markdown.", "--markdown")]
JsonOption = Annotated[bool, option("Print JSON, for other programs.", "--json")]


@dataclass(frozen=True, kw_only=True)
class PrivacyOptions:
    """What is replaced or left out of texts."""

    redact: Annotated[
        bool,
        Option("Replace e-mail addresses, links, phone, card and social security numbers (listed crisis lines stay)."),
    ] = False
    names: Annotated[
        Path | None, Option("With --redact: a file of names to replace too, one per line.", metavar="FILE")
    ] = None
    no_text: Annotated[bool, Option("Leave out all transcript text and all reasoning; show only the numbers.")] = False

    def redactor(self) -> "Redactor | None":
        """The redactor; None without --redact.

        Raises:
            InputError: Names are given without --redact, or their file cannot be read.
        """
        from attunement.conversations.redaction import Redactor, read_names

        if self.names is not None and not self.redact:
            raise InputError("--names works only together with --redact; give both")
        return Redactor([] if self.names is None else read_names(self.names)) if self.redact else None

    def privacy(self) -> "Privacy":
        """What pages must not show. Raises what `redactor` raises."""
        from attunement.reports.privacy import Privacy

        redactor = self.redactor()
        if redactor is None:
            return Privacy(texts=not self.no_text)
        return Privacy(redactor.redact_text, texts=not self.no_text, rename=redactor.redact_name)


@dataclass(frozen=True, kw_only=True)
class ServeOptions:
    """Where pages are served."""

    host: Annotated[str, Option("Network address to listen on; by default only this computer can connect.")] = (
        "127.0.0.1"
    )
    port: Annotated[int, Option("The port to listen on.", min=1, max=65535)] = 8765
    address: Annotated[
        str | None, Option("Public address behind a proxy, such as https://example.org/study.", metavar="URL")
    ] = None
    proxy: Annotated[
        str | None,
        Option("Proxy whose X-Forwarded headers are trusted; separate several by commas.", metavar="ADDRESS"),
    ] = None

    allow_http: Annotated[
        bool, Option("Serve plain HTTP on a --host that others can reach, although they can read it.")
    ] = False

    def public_address(self) -> str:
        """The address of served pages, once it is clear that they can be served there.

        Raises:
            InputError: Others could read the pages on their way, the address is none, or nobody can listen there.
        """
        import socket
        from ipaddress import ip_address

        host, port = self.host, self.port
        try:
            is_local = host == "localhost" or ip_address(host).is_loopback
        except ValueError:
            is_local = False
        if not is_local and self.proxy is None:
            if not self.allow_http:
                raise InputError(
                    f"on {host} the pages would be plain HTTP, which others in the network can read and change: put a "
                    f"web server with TLS in front (such as Caddy or nginx) and name it with --proxy, or accept it "
                    f"with --allow-http"
                )
            say(
                f"Plain HTTP on {host}: others in the network can read links, transcripts and answers, and change "
                "them.",
                err=True,
            )
        if self.address is not None:
            parts = urlsplit(self.address)
            if parts.scheme not in {"http", "https"} or not parts.netloc or parts.query or parts.fragment:
                raise InputError(f"{self.address!r} is not an address such as https://example.org/rate")
        with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM) as trial:
            trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                trial.bind((host, port))
            except OSError as error:
                raise InputError(
                    f"cannot listen on {host} port {port}: {error.strerror}; choose another --port"
                ) from error
        return (self.address or f"http://{f'[{host}]' if ':' in host else host}:{port}").rstrip("/")

    @property
    def listening(self) -> dict[str, Any]:
        return {"host": self.host, "port": self.port, "proxies": self.proxy}


# Input and output


def write_output(output: str | Path, text: str, *, force: bool = False) -> None:
    """Write a file, or standard output for "-"; an existing file is replaced only with `force`."""
    if str(output) == STDOUT:
        typer.echo(text, nl=False, color=True)
        return
    check_output(output, force=force)
    with replacing(output) as stream:
        stream.write(text.encode())


def say(*sentences: str, err: bool = False) -> None:
    """Print sentences; names and texts of others in them cannot control the terminal."""
    for sentence in sentences:
        typer.echo(for_terminal(sentence), err=err)


def print_json(record: object) -> None:
    """Print JSON. Non-ASCII characters are escaped: a text may contain lone surrogates or control characters."""
    typer.echo(json.dumps(record, indent=2))


def print_output(output: "Output", *, as_json: bool = False, as_markdown: bool = False) -> None:
    """Print what a function of `attunement.api` returned: for people, as Markdown, or as JSON."""
    if as_json:
        print_json(output.record)
    elif as_markdown:
        from attunement.reports.render_markdown import markdown

        typer.echo(markdown(output.shown, level=2), nl=False)
    else:
        from attunement.reports.render_terminal import draw, open_console

        draw(output.shown, open_console())
    if output.remark:
        say(output.remark, err=True)


def save_conversations(reading: "Reading", study: "Study") -> None:
    """Save all conversations in the study, in batches, so that memory stays flat."""
    waiting = iter(reading)
    while batch := list(islice(waiting, _BATCH)):
        study.save_conversations(batch)


def what_was_read(reading: "Reading") -> Iterator[str]:
    """Sentences on how much was read and left out, and where skipped records went; none if no file was read."""
    counts = reading.counts
    if counts.files:
        turns, files = pluralize(counts.turns, "turn"), pluralize(counts.files, "file")
        yield f"Read {pluralize(counts.conversations, 'conversation')} ({turns}) from {files}."
    yield from (f"{note}." for note in counts.notes)
    if counts.unanswered:
        yield f"Left out {pluralize(counts.unanswered, 'last message')} without a reply."
    if counts.notices:
        yield f"Left out {pluralize(counts.notices, 'notice')} of the app in chats."
    if counts.bad:
        skipped = f"Skipped {pluralize(counts.bad, 'invalid record')}; see {reading.bad_lines}."
        yield f"{skipped} The first: {counts.first_bad}."


def pluralize(number: int, thing: str) -> str:
    """A number with its noun; the function of the same name in `reports` is slow to import."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def print_links(links: Iterable[str], warning: str) -> None:
    """Print links and their warning, flushed: a program that reads us through a pipe needs them now."""
    say(*links, f"{warning} Press Ctrl+C to stop.")
    sys.stdout.flush()
