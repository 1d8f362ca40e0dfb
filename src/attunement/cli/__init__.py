"""The command `attune`: parse, call, print. What it prints for people is plain English.

Each command lives in a module of its own and imports what it needs inside the function, so that `attune --help`
stays quick. What the user can mend is one line on standard error and exit code 2.
"""

import sys
import traceback
from typing import Annotated

import typer

from attunement.cli import analysis, data, demo, instrument, judge, people, report, study
from attunement.cli import demo as examples
from attunement.cli import demo as judge_info
from attunement.cli import instrument as prompt
from attunement.cli import report as gate
from attunement.cli import report as methods
from attunement.cli import report as view
from attunement.errors import AttunementError

app = typer.Typer(
    name="attune",
    help="Evaluate empathetic and therapeutic dialogue with versioned instruments.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo.demo)
app.command()(judge.judge)
app.command()(judge.estimate)
app.command()(judge_info.judge_info)
app.command()(study.show)
app.command()(report.report)
app.command()(view.view)
app.command()(methods.methods)
app.command()(gate.gate)
app.command()(analysis.agree)
app.command()(analysis.compare)
app.command()(analysis.correct)
app.command()(study.add)
app.command()(people.plan)
app.command()(people.annotate)
app.command()(people.review)
app.command()(people.hand_out)
app.command()(people.take_in)
app.command()(analysis.bench)
app.command()(prompt.prompt)
app.command()(data.stats)
app.command()(data.convert)
app.command()(study.export)
app.command("import")(study.import_)
app.command()(study.forget)
app.command()(examples.examples)
app.add_typer(instrument.app, name="instrument")


def _print_version(wanted: bool) -> None:
    if wanted:
        from attunement import __version__

        typer.echo(f"attune {__version__}")
        raise typer.Exit


@app.callback()
def _options(  # pyright: ignore[reportUnusedFunction]
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", callback=_print_version, is_eager=True)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the full traceback of an error.")] = False,
) -> None:
    """Evaluate empathetic and therapeutic dialogue with versioned instruments."""


def main() -> None:
    """Run the command line; errors the user can mend are one line and exit code 2."""
    try:
        app()
    except AttunementError as error:
        if "--debug" in sys.argv:
            traceback.print_exc()
        else:
            sys.stderr.write(f"attune: {error}\n")
        sys.exit(2)
    except BrokenPipeError:
        # The reader of our output, such as `head`, has seen enough. Closing keeps Python from complaining at exit.
        sys.stderr.close()
        sys.exit(0)
