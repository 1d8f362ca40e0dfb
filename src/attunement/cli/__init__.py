"""The command `attune`: parse, call, print.

Every command imports what it needs inside its function, so that `attune --help` stays fast. An error that the user can
fix prints one line on standard error and exits with code 2.
"""

import signal
import sys
import traceback
from collections.abc import Callable
from typing import Annotated, NoReturn

import typer

from attunement.cli import analysis, data, demo, instrument, judge, people, report
from attunement.cli.commands import Command, Group
from attunement.errors import AttunementError
from attunement.reports.sanitize import for_terminal, in_a_line

app = typer.Typer(
    name="attune",
    cls=Group,
    help="Evaluate empathetic and therapeutic dialogue with versioned instruments.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _add(heading: str, *commands: Callable[..., None], **named: Callable[..., None]) -> None:
    """Add commands under a heading of the help; `named` are commands whose names are taken or reserved in Python."""
    for command in commands:
        app.command(cls=Command, rich_help_panel=heading)(command)
    for name, command in named.items():
        app.command(name, cls=Command, rich_help_panel=heading)(command)


_add("Judge", demo.demo, judge.judge, judge.estimate, judge.self_test)
app.add_typer(judge.judges, name="judges", rich_help_panel="Judge")
_add("Read results", report.show, report.report, report.view, report.gate, report.methods)
_add("People", people.plan, people.annotate, people.review)
_add("Statistics", analysis.agree, analysis.compare, analysis.correct, analysis.bench)
_add("Data", data.describe, data.convert, data.export, **{"import": data.import_})
_add("Data", data.delete)
app.add_typer(instrument.app, name="instrument", rich_help_panel="Instruments")
_add("Instruments", judge.prompt)


def _print_version(wanted: bool) -> None:
    if wanted:
        from attunement import __version__

        typer.echo(f"attune {__version__}")
        raise typer.Exit


_LONGEST = 20_000
"""Characters of an error: it may list many problems."""
TERMINATED = 128 + signal.SIGTERM


@app.callback()
def _options(  # pyright: ignore[reportUnusedFunction]
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", callback=_print_version, is_eager=True)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the full traceback of an error.")] = False,
) -> None:
    """Evaluate empathetic and therapeutic dialogue with versioned instruments."""


def _terminate(*_: object) -> NoReturn:
    """End in a way that removes temporary files. `judge` and served pages have handlers of their own."""
    sys.exit(TERMINATED)


def main() -> None:
    """Run the command line."""
    signal.signal(signal.SIGTERM, _terminate)
    try:
        app(prog_name="attune")
    except AttunementError as error:
        if "--debug" in sys.argv:
            sys.stderr.write(for_terminal(traceback.format_exc()))
        else:
            sys.stderr.write(f"attune: {in_a_line(str(error), _LONGEST)}\n")
        sys.exit(2)
    except BrokenPipeError:
        # The reader of our output, such as `head`, has closed the pipe. Closing our end keeps Python from complaining
        # at exit.
        sys.stderr.close()
        sys.exit(0)
