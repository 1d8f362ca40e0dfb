"""`attune demo`: try the main steps on bundled conversations."""

import os
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from attunement.cli.judge import STUDIES, FolderOption
from attunement.cli.options import option, shared
from attunement.output import make_folder

_KEYS = {"OPENAI_API_KEY": "openai:MODEL", "ANTHROPIC_API_KEY": "anthropic:MODEL"}
_EXITS = {1: "something failed or is unsafe", 3: "something was not judged, or needs a person"}


def demo(
    context: typer.Context,
    judge: Annotated[
        str, option("signals, openai:MODEL, anthropic:MODEL or local:FILE.gguf.", "--judge", "-j", metavar="NAME")
    ] = "signals",
    folder: FolderOption = Path("attunement-demo"),
    base_url: Annotated[str | None, shared("base_url")] = None,
    annotate: Annotated[
        bool, option("Instead, open the web pages where people rate the bundled replies.", "--annotate")
    ] = False,
    port: Annotated[int, option("With --annotate: the port to listen on.", min=1, max=65535)] = 8765,
) -> None:
    """Try the main steps on bundled conversations.

    It judges them, shows the scorecards, runs the gate and writes a report. Each step prints its command, so that you
    can run it on your own files. The rule check `signals` needs no key and no network. It only gives pointers; an LLM
    judge gives answers. Everything is saved in a folder, so running the command again repeats no calls.

    Example: attune demo
    """
    from attunement.reports import planted
    from attunement.scoring import is_signals

    files = {
        instrument: [_short(planted.folder() / name) for name in names] for instrument, names in planted.FILES.items()
    }
    studies = {instrument: _short(folder / name) for instrument, name in STUDIES.items()}
    asked = ["--judge", judge, *(["--base-url", base_url] if base_url else [])]
    make_folder(folder)
    step = _Steps(context)
    if annotate:
        place = studies["empathy-v2"]
        step("Import the replies into a study", ["import", place, *files["empathy-v2"]])
        step("Open the pages where people rate", ["annotate", place, *_setup(place), "--port", str(port)])
        return
    step("What the files contain", ["describe", *files["coaching-v1"]])
    for instrument, title in (("coaching-v1", "Judge whole conversations"), ("empathy-v2", "Judge single replies")):
        last = ["--responses", "last"] if instrument == "empathy-v2" else []
        step(title, ["judge", *files[instrument], "-i", instrument, *last, *asked, "--study", studies[instrument]])
        step("The scorecards", ["show", studies[instrument]])
    step("The gate: does this pass?", ["gate", studies["coaching-v1"]])
    if not is_signals(judge):
        step("Which of the two systems does better?", ["compare", studies["coaching-v1"], "Harbor", "Lumen"])
        step("Which planted faults does this judge find?", ["self-test", *asked, "--folder", _short(folder)])
    page = _short(folder / "report.html")
    step("The report as a web page", ["report", studies["coaching-v1"], "-o", page, "--force"])
    known = [name for key, name in _KEYS.items() if os.environ.get(key)]
    if is_signals(judge) and known:
        typer.echo(f"\nYou have an API key in the environment. To use an LLM judge: attune demo --judge {known[0]}")
    elif is_signals(judge):
        typer.echo("\nTo use an LLM judge, set OPENAI_API_KEY and run: attune demo --judge openai:MODEL")
    typer.echo("With your own conversations: attune judge FILE --instrument coaching-v1 --judge NAME")


def _setup(place: str) -> list[str]:
    """Options that set up the project the first time; after that it continues where people left off."""
    from attunement.store import Study
    from attunement.store.projects import latest_project

    with Study(place) as study:
        begun = latest_project(study, "empathy-v2") is not None
    return ["-i", "empathy-v2", *([] if begun else ["--raters", "2", "--units", "10"])]


class _Steps:
    """Prints a title and a command, then runs the command in this process."""

    def __init__(self, context: typer.Context) -> None:
        self._command = context.find_root().command
        self._number = 0

    def __call__(self, title: str, words: list[str]) -> None:
        self._number += 1
        typer.secho(f"\n{self._number}. {title}", bold=True)
        typer.secho(f"$ attune {shlex.join(words)}\n", dim=True)
        sys.stdout.flush()
        code = self._command.main(words, prog_name="attune", standalone_mode=False) or 0
        sys.stdout.flush()
        if code in _EXITS:
            typer.secho(f"(exit code {code}: {_EXITS[code]})", dim=True)
        elif code:
            raise typer.Exit(code)


def _short(path: Path) -> str:
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)
