"""`attune instrument`: list, show, check, create and import instruments."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from attunement.cli import options
from attunement.cli.commands import Command, Group
from attunement.cli.options import option, say, write_output
from attunement.errors import InstrumentError
from attunement.output import check_output

app = typer.Typer(cls=Group, help="List, show, check, create and import instruments.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="ID|FILE", help="The id of an instrument, or the path of its YAML file.")]
Output = Annotated[Path | None, option("Write to this file.", "-o", "--output", metavar="FILE")]


@app.command("list", cls=Command)
def list_() -> None:
    """List the instruments that you can use by name.

    These are the built-in ones and those in the folder that the environment variable ATTUNEMENT_INSTRUMENTS names.

    Example: attune instrument list
    """
    from attunement.instruments import available, load_file
    from attunement.reports.instrument_page import item_noun, short_fingerprint

    paths: dict[str, Path] = {}
    for entry in available():
        origin = "built in" if entry.built_in else "your own"
        try:
            made = load_file(entry.path)
        except InstrumentError as error:
            say(f"{entry.id}  {origin}, cannot be used: {error}")
            continue
        count = len(made.items)
        say(f"{made.id}  version {made.version}, {origin}, fingerprint {short_fingerprint(made.hash)}")
        say(f"  {made.title}: {count} {item_noun(made, count)}, asked about each {made.unit}")
        if entry.id in paths:
            say(f"  {entry.path} has the same id as {paths[entry.id]}; give it another id, or use its path.")
        paths.setdefault(entry.id, entry.path)


@app.command(cls=Command)
def show(
    name: Name,
    item: Annotated[str | None, option("Show only this item.", metavar="ID")] = None,
    markdown: options.MarkdownOption = False,
    html: Annotated[bool, option("Write one HTML file to read in a browser or print.", "--html")] = False,
    output: Output = None,
    force: options.ForceOption = False,
) -> None:
    """Show what an instrument asks and how it is scored.

    With -o FILE, the extension (.md or .html) sets the format.

    Example: attune instrument show coaching-v1 --html -o coaching.html
    """
    from attunement.instruments import load
    from attunement.reports.instrument_page import instrument_page

    if markdown and html:
        raise typer.BadParameter("choose one of --markdown and --html")
    if output:
        check_output(output, force=force)
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
        # Captured, because rich would exit with 1 when the reader of a pipe closes it.
        with console.capture() as drawn:
            draw(page, console)
        text = drawn.get()
    write_output(output or "-", text, force=force)


@app.command(cls=Command)
def lint(name: Name) -> None:
    """Check an instrument for errors and weaknesses.

    Missing or contradictory parts are errors; doubtful wording is a warning. The exit code is 1 if there are errors,
    and 2 if the file cannot be opened.

    Example: attune instrument lint my-instrument.yaml
    """
    from attunement.instruments import load
    from attunement.instruments.lint import Level
    from attunement.instruments.lint import lint as problems_of

    problems = problems_of(load(name))
    for problem in problems:
        say(f"{problem.level:<8} {problem}")
    errors = sum(problem.level is Level.ERROR for problem in problems)
    counts = {"error": errors, "warning": len(problems) - errors}
    say(", ".join(f"{count or 'no'} {noun}{'' if count == 1 else 's'}" for noun, count in counts.items()))
    if errors:
        raise typer.Exit(1)


@app.command("hash", cls=Command)
def hash_(name: Name) -> None:
    """Print the sha256 of an instrument and of each of its items.

    Example: attune instrument hash coaching-v1
    """
    from attunement.instruments import load

    instrument = load(name)
    say(f"{instrument.hash}  {instrument.id}")
    for item in instrument.items:
        say(f"{item.hash(instrument.scale)}  {instrument.id}/{item.id}")
    say(
        "Layout, comments and the order of keys do not change a hash. Any other change gives the instrument a new "
        "hash; an item gets a new hash only if the text that raters read changes."
    )


@app.command(cls=Command)
def schema(output: Output = None, force: options.ForceOption = False) -> None:
    """Print the JSON Schema of instrument files, for editors.

    Example: attune instrument schema -o instrument.schema.json
    """
    from attunement.instruments.loader import schema_text

    write_output(output or "-", schema_text(), force=force)


@app.command(cls=Command)
def new(
    id: Annotated[str, typer.Argument(metavar="ID", help="The id of the new instrument.")],
    unit: Annotated[
        Literal["response", "conversation"], option("What it rates: each reply, or whole conversations.")
    ] = "conversation",
    output: Annotated[
        Path | None,
        option("The new file (by default ID.yaml in this folder).", "-o", "--output", metavar="FILE"),
    ] = None,
) -> None:
    """Create an instrument of your own from a small example.

    The example works as it is and has comments that explain each part.

    Example: attune instrument new team-tone --unit response
    """
    from attunement.conversations import UnitKind
    from attunement.instruments.loader import starter

    path = output or Path(f"{id}.yaml")
    _create(path, starter(id, UnitKind(unit)))
    say(f"Wrote {path}. Change it, then check it: attune instrument lint {path}")


@app.command("import", cls=Command)
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A rubric or a prompt template in Markdown.")],
    output: Annotated[
        Path | None, option("The new file (by default it is printed).", "-o", "--output", metavar="OUT.yaml")
    ] = None,
    items: Annotated[
        str | None, option("Take the items of a prompt template from this instrument.", metavar="INSTRUMENT")
    ] = None,
) -> None:
    """Create an instrument from a Markdown rubric or prompt.

    The texts are copied word for word. Lines that do not fit into an instrument are listed; nothing is dropped
    silently.

    Example: attune instrument import rubric.md -o my-rubric.yaml
    """
    from attunement.instruments import load
    from attunement.instruments.importer import import_markdown
    from attunement.instruments.loader import SCHEMA_FILE, to_yaml

    imported = import_markdown(file, items_from=load(items) if items else None)
    text = to_yaml(imported.instrument, SCHEMA_FILE.name if output else None)
    if output is None:
        write_output("-", text)
    else:
        _create(output, text)
        say(f"Wrote {output}. Check it: attune instrument lint {output}", err=True)
    for remark in imported.remarks:
        say(f"note: {remark}", err=True)
    if imported.unplaced:
        say(f"Not in the instrument ({len(imported.unplaced)}):", err=True)
    for line, words, reason in imported.unplaced:
        say(f"{file}, line {line}: {reason}: {words}", err=True)


def _create(path: Path, text: str) -> None:
    """Write a new instrument, and next to it the schema that its first line names."""
    from attunement.instruments.loader import SCHEMA_FILE, schema_text

    if path.exists():
        raise InstrumentError(f"{path} exists already and was not changed; choose another name with -o")
    write_output(path, text)
    schema = path.with_name(SCHEMA_FILE.name)
    if not schema.exists():
        write_output(schema, schema_text())
