"""`attune instrument` and `attune prompt`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from attunement.cli import options
from attunement.cli.commands import Command, Group
from attunement.cli.options import ForceOption, refuse_to_overwrite

app = typer.Typer(cls=Group, help="List, show, check, create and import instruments.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="ID|FILE", help="The id of an instrument, or the path of its YAML file.")]
Output = Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write to this file.")]


@app.command("list", cls=Command)
def list_() -> None:
    """List the instruments that can be used by name.

    These are the built-in ones and those in your own folder. Your own folder is the one that the environment variable
    ATTUNEMENT_INSTRUMENTS names.

    Example: attune instrument list
    """
    from attunement.errors import InstrumentError
    from attunement.instruments import available, load_file
    from attunement.reports.instrument_page import item_noun, version_mark
    from attunement.reports.sanitize import visible

    paths: dict[str, Path] = {}
    for entry in available():
        origin = "built in" if entry.built_in else "your own"
        try:
            made = load_file(entry.path)
        except InstrumentError as error:
            typer.echo(f"{typer.style(visible(entry.id), bold=True)}  {origin}, cannot be used: {visible(str(error))}")
            continue
        count = len(made.items)
        typer.echo(
            f"{typer.style(made.id, bold=True)}  version {visible(made.version)}, {origin}, "
            f"version mark {version_mark(made.hash)}"
        )
        typer.echo(f"  {visible(made.title)}: {count} {item_noun(made, count)}, asked about each {made.unit}")
        if entry.id in paths:
            typer.echo(
                f"  {entry.path} has the same id as {paths[entry.id]}; give it another id, or name it by its path."
            )
        paths.setdefault(entry.id, entry.path)


@app.command(cls=Command)
def show(
    name: Name,
    item: Annotated[str | None, typer.Option(metavar="ID", help="Show only this item.")] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Write Markdown.")] = False,
    html: Annotated[bool, typer.Option("--html", help="Write one HTML file to read in a browser or print.")] = False,
    output: Output = None,
    force: ForceOption = False,
) -> None:
    """Show what an instrument asks and how it is scored.

    With -o FILE the ending .md or .html says the format too.

    Example: attune instrument show coaching-v1 --html -o coaching.html
    """
    from attunement.instruments import load
    from attunement.reports.instrument_page import instrument_page

    if markdown and html:
        raise typer.BadParameter("--markdown and --html cannot be given together; choose one")
    if output:
        refuse_to_overwrite(output, force=force)
    ending = output.suffix.lower() if output and not (markdown or html) else ""
    page = instrument_page(load(name), item)
    if markdown or ending == ".md":
        from attunement.reports.render_markdown import markdown as as_markdown

        text = as_markdown(page)
    elif html or ending in {".html", ".htm"}:
        from attunement.reports.render_html import html_page

        text = html_page(page, what="instrument")
    else:
        from rich.console import Console

        from attunement.reports.render_terminal import WIDEST, draw

        console = Console() if output is None else Console(width=WIDEST, color_system=None)
        # Captured, because rich would end the program with 1 when the reader of a pipe has seen enough.
        with console.capture() as drawn:
            draw(page, console)
        text = drawn.get()
    _put(text, output)


@app.command(cls=Command)
def lint(name: Name) -> None:
    """Check an instrument for errors and doubtful parts.

    What is missing or contradictory is an error, what is doubtful a warning. Ends with 1 when there are errors and with
    2 when the file cannot be opened.

    Example: attune instrument lint my-instrument.yaml
    """
    from attunement.instruments import load
    from attunement.instruments.lint import Level
    from attunement.instruments.lint import lint as problems_of
    from attunement.reports.sanitize import visible

    problems = problems_of(load(name))
    for problem in problems:
        typer.echo(f"{problem.level:<8} {visible(str(problem))}")
    errors = sum(problem.level is Level.ERROR for problem in problems)
    typer.echo(f"{_count(errors, 'error')}, {_count(len(problems) - errors, 'warning')}")
    if errors:
        raise typer.Exit(1)


@app.command("hash", cls=Command)
def hash_(name: Name) -> None:
    """Print the sha256 of an instrument and of each of its items.

    Example: attune instrument hash coaching-v1
    """
    from attunement.instruments import load

    instrument = load(name)
    typer.echo(f"{instrument.hash}  {instrument.id}")
    for item in instrument.items:
        typer.echo(f"{item.hash(instrument.scale)}  {instrument.id}/{item.id}")
    typer.echo(
        "Layout, comments and the order of keys change no hash. Any other change gives the instrument a new one; an "
        "item gets a new one only when what a rater reads of it changes."
    )


@app.command(cls=Command)
def schema(output: Output = None, force: ForceOption = False) -> None:
    """Print the JSON Schema of instrument files, for editors.

    Example: attune instrument schema -o instrument.schema.json
    """
    from attunement.instruments.loader import schema_text

    if output:
        refuse_to_overwrite(output, force=force)
    _put(schema_text(), output)


@app.command(cls=Command)
def new(
    id: Annotated[str, typer.Argument(metavar="ID", help="The id of the new instrument.")],
    unit: Annotated[
        Literal["response", "conversation"],
        typer.Option(help="What it asks about: every reply by itself, or whole conversations."),
    ] = "conversation",
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="The new file; without it, ID.yaml here.")
    ] = None,
) -> None:
    """Create an instrument of your own from a small example.

    The example works as it is and has comments; change it part by part.

    Example: attune instrument new team-tone --unit response
    """
    from attunement.conversations import UnitKind
    from attunement.instruments.loader import starter

    path = output or Path(f"{id}.yaml")
    _create(path, starter(id, UnitKind(unit)))
    typer.echo(f"Wrote {path}. Change it, then check it: attune instrument lint {path}")


@app.command("import", cls=Command)
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A rubric or a prompt template in Markdown.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="OUT.yaml", help="The new file; without it, print it.")
    ] = None,
    items: Annotated[
        str | None, typer.Option(metavar="INSTRUMENT", help="Take the items of a prompt template from this instrument.")
    ] = None,
) -> None:
    """Create an instrument from a Markdown rubric or prompt.

    The texts are taken over word for word.

    What has no place in an instrument is listed with its line; nothing is dropped silently.

    Example: attune instrument import rubric.md -o my-rubric.yaml
    """
    from attunement.instruments import load
    from attunement.instruments.importer import import_markdown
    from attunement.instruments.loader import SCHEMA_FILE, to_yaml

    imported = import_markdown(file, items_from=load(items) if items else None)
    text = to_yaml(imported.instrument, SCHEMA_FILE.name if output else None)
    if output is None:
        typer.echo(text, nl=False)
    else:
        _create(output, text)
        typer.echo(f"Wrote {output}. Check it: attune instrument lint {output}", err=True)
    for remark in imported.remarks:
        typer.echo(f"note: {remark}", err=True)
    if imported.unplaced:
        typer.echo(f"Not in the instrument ({len(imported.unplaced)}):", err=True)
    for line, words, reason in imported.unplaced:
        typer.echo(f"{file}, line {line}: {reason}: {words}", err=True)


def _count(number: int, noun: str) -> str:
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"


def _put(text: str, output: Path | None) -> None:
    """Print `text`, or write it to a file."""
    if output is None:
        typer.echo(text, nl=False, color=True)
    else:
        _write(output, text, "w")


def _create(path: Path, text: str) -> None:
    """Write a new instrument, and beside it the schema that its first line names."""
    from attunement.instruments.loader import SCHEMA_FILE, schema_text

    _write(path, text, "x")
    beside = path.with_name(SCHEMA_FILE.name)
    if not beside.exists():
        _write(beside, schema_text(), "x")


def _write(path: Path, text: str, mode: Literal["w", "x"]) -> None:
    from attunement.errors import AttunementError

    try:
        with path.open(mode, encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError as error:
        raise AttunementError(f"{path} is already there and is left as it is; choose another name with -o") from error
    except OSError as error:
        raise AttunementError(f"{path} cannot be written: {error.strerror or error}") from error


if TYPE_CHECKING:
    from attunement.conversations import Conversation
    from attunement.conversations.reader import Reading
    from attunement.prompts import Question


def prompt(
    files: options.FilesArgument,
    instrument: options.InstrumentOption = "coaching-v1",
    item: options.ItemOption = None,
    conversation: Annotated[
        str | None, typer.Option("--conversation", metavar="ID", help="Which conversation; else the first one.")
    ] = None,
    layout: options.LayoutOption = "criterion-first",
    ask: options.AskOption = None,
    responses: options.ResponsesOption = options.Responses.ALL,
    json: Annotated[bool, typer.Option("--json", help="One line of JSON a question, for programs.")] = False,
    format: options.FormatOption = None,
    system: options.SystemOption = None,
    prompt_field: options.PromptFieldOption = None,
    response_field: options.ResponseFieldOption = None,
    id_field: options.IdFieldOption = None,
    system_field: options.SystemFieldOption = None,
) -> None:
    """Print exactly what a judge is sent about a conversation.

    Each question comes with its hash, which covers every word of it, and an estimate of its tokens. Nothing is sent.

    Example: attune prompt chats.jsonl --instrument coaching-v1 --item CQ8
    """
    from attunement.conversations import units
    from attunement.instruments.lint import checked
    from attunement.prompts import Ask, Layout, Questionnaire

    chosen = _choose(
        options.open_conversations(
            files,
            format=format,
            system=system,
            prompt_field=prompt_field,
            response_field=response_field,
            id_field=id_field,
            system_field=system_field,
        ),
        conversation,
    )
    questionnaire = Questionnaire(
        checked(instrument), layout=Layout(layout), items=item, ask=Ask(ask) if ask is not None else None
    )
    for unit in units(chosen, questionnaire.instrument.unit, responses):
        for question in questionnaire.questions(unit):
            typer.echo(_as_json(question) if json else _as_text(question))


def _choose(conversations: "Reading", id: str | None) -> "Conversation":
    from attunement.errors import InputError

    for conversation in conversations:
        if id is None or id in {conversation.id, str(conversation.identity)}:
            return conversation
    raise InputError("there is no conversation to ask about" if id is None else f"there is no conversation {id!r}")


def _as_json(question: "Question") -> str:
    import orjson

    content: dict[str, Any] = {
        "unit": str(question.unit),
        "items": [item.id for item in question.items],
        "hash": question.hash,
        "tokens": question.tokens(),
        "messages": question.messages(),
        "schema": question.schema,
    }
    return orjson.dumps(content).decode()


def _as_text(question: "Question") -> str:
    import orjson

    text = question.render()
    items = ", ".join(item.id for item in question.items)
    return "\n".join(
        [
            f"##### {items} about {question.unit}",
            f"##### hash {question.hash}, about {question.tokens():,} tokens",
            "##### system",
            text.system,
            "##### user",
            text.user,
            "##### the reply must fit this JSON Schema",
            orjson.dumps(question.schema).decode(),
            "",
        ]
    )
