"""The command `attune`: parse, call, print. What it prints for people is plain English.

Each command lives in a module of its own and imports what it needs inside the function, so that `attune --help`
stays quick. What the user can mend is one line on standard error and exit code 2.
"""

import sys
import traceback
from typing import Annotated

import typer

from attunement.cli import (
    add,
    agree,
    annotate,
    bench,
    compare,
    convert,
    correct,
    demo,
    examples,
    export,
    forget,
    gate,
    import_,
    instrument,
    judge,
    judge_info,
    methods,
    plan,
    prompt,
    report,
    review,
    sheets,
    show,
    stats,
    view,
)
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
app.command()(show.show)
app.command()(report.report)
app.command()(view.view)
app.command()(methods.methods)
app.command()(gate.gate)
app.command()(agree.agree)
app.command()(compare.compare)
app.command()(correct.correct)
app.command()(add.add)
app.command()(plan.plan)
app.command()(annotate.annotate)
app.command()(review.review)
app.command()(sheets.hand_out)
app.command()(sheets.take_in)
app.command()(bench.bench)
app.command()(prompt.prompt)
app.command()(stats.stats)
app.command()(convert.convert)
app.command()(export.export)
app.command("import")(import_.import_)
app.command()(forget.forget)
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
