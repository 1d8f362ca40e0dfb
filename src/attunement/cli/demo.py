"""`attune demo`: one story about bundled conversations, with the command behind each part."""

import os
import shlex
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attunement.cli.judge import STUDIES, FolderOption
from attunement.cli.options import option, shared
from attunement.errors import InputError
from attunement.output import make_folder

if TYPE_CHECKING:
    from attunement import api

_KEYS = {"OPENAI_API_KEY": "openai:MODEL", "ANTHROPIC_API_KEY": "anthropic:MODEL"}
_RECORDED = "recorded"
_INTRODUCTION = """\
31 conversations and 34 single replies of two support bots, Harbor and Lumen.
They were written for this demo, some with planted faults."""
_ABOUT_RECORDED = """\
The judge is a large language model. Its answers were recorded on
{date}, so no key is needed; nothing in them was changed."""


def demo(
    judge: Annotated[
        str,
        option(
            "recorded, openai:MODEL, anthropic:MODEL, local:FILE.gguf or replay:FILE.", "--judge", "-j", metavar="NAME"
        ),
    ] = _RECORDED,
    folder: FolderOption = Path("attunement-demo"),
    base_url: Annotated[str | None, shared("base_url")] = None,
    annotate: Annotated[
        bool, option("Instead, open the web pages where people rate the bundled replies.", "--annotate")
    ] = False,
    port: Annotated[int, option("With --annotate: the port to listen on.", min=1, max=65535)] = 8765,
) -> None:
    """Try the main steps on bundled conversations.

    It judges them, quotes two findings, compares the two systems, checks the judge on planted faults and writes a
    report. Each part shows the command, so that you can run it on your own files. The answers of a large language model
    are recorded, so no key is needed; --judge asks another judge. Running it again repeats no calls.

    Example: attune demo
    """
    from attunement import api
    from attunement.cli.run import verdict_sentences
    from attunement.conversations import Responses
    from attunement.instruments import Instrument
    from attunement.reports import planted
    from attunement.reports.blocks import Bullets
    from attunement.reports.comparison import findings
    from attunement.reports.render_terminal import draw_blocks, open_console
    from attunement.scoring import is_signals

    if is_signals(judge):
        raise InputError("signals gives pointers, not answers, so it has nothing to show here; leave out --judge")
    files = {
        instrument: [_short(planted.folder() / name) for name in names] for instrument, names in planted.FILES.items()
    }
    studies = {instrument: _short(folder / name) for instrument, name in STUDIES.items()}
    make_folder(folder)
    if annotate:
        _annotate(studies["empathy-v2"], files["empathy-v2"], port)
        return
    recorded = judge == _RECORDED
    name = f"replay:{_short(planted.folder() / 'recorded.answers')}" if recorded else judge
    typer.echo(_INTRODUCTION)
    if recorded:
        typer.echo(_ABOUT_RECORDED.format(date=planted.RECORDED_ON))
    address = ["--base-url", base_url] if base_url else []
    titles = {"coaching-v1": "Judge conversations on 18 criteria", "empathy-v2": "Judge single replies on five scores"}
    checks = list[tuple[Instrument, planted.Check]]()
    for instrument, place in studies.items():
        last = ["--responses", "last"] if instrument == "empathy-v2" else []
        _part(
            titles[instrument],
            ["judge", *files[instrument], "-i", instrument, *last, "-j", name, *address, "--study", place],
        )
        result = api.judge(
            files[instrument], place, judges=name, instrument=instrument, responses=Responses.LAST, base_url=base_url
        )
        for sentence in verdict_sentences(result):
            typer.echo(sentence)
        checks.append((result.instrument, planted.check(result.scorecards(), result.instrument)))
        if instrument == "coaching-v1":
            _tell_findings(place, result)
            _part("Which of the two systems is better?", ["compare", place, "Harbor", "Lumen"])
            found = api.compare(place, "Harbor", "Lumen").found
            draw_blocks([Bullets(list(findings(found)))], open_console())
    _part("Which planted faults did the judge find?", ["self-test", "-j", name, *address, "--folder", _short(folder)])
    for sentence in planted.sentences(checks)[:2]:
        typer.echo(sentence)
    typer.echo("We planted these faults ourselves, and real ones are harder to find.")
    typer.echo("How far a judge agrees with people on your data: attune annotate, then attune agree.")
    page = _short(folder / "report.html")
    _part("The report", ["report", studies["coaching-v1"], "-o", page])
    for sentence in api.report(studies["coaching-v1"], page).found[-1:]:
        typer.echo(sentence)
    known = [name for key, name in _KEYS.items() if os.environ.get(key)] or ["openai:MODEL"]
    typer.echo(f"\nWith another judge: attune demo --judge {known[0]} --folder other-demo")
    typer.echo("With your own conversations: attune judge FILE --instrument coaching-v1 --judge NAME")


def _tell_findings(place: str, result: "api.Result") -> None:
    """The two findings that the report shows first."""
    from attunement.reports.html.listing import Listing
    from attunement.reports.privacy import SHOW_ALL
    from attunement.reports.study_report import Report
    from attunement.store import Study

    with Study(place) as study, closing(Listing()) as listing:
        first = Report(study, result.instrument, listing, SHOW_ALL).first[:2]
    for example in first:
        identity = f"{example.row.system}/{example.row.id}"
        _part(f"{identity}: {example.row.status}", ["show", place, identity])
        typer.echo(f"Not met: {example.title}. {example.reason}")
        if example.quote:
            typer.echo(f"The transcript has, in turn {example.turn}: “{example.quote}”")


def _annotate(place: str, files: list[str], port: int) -> None:
    from attunement.cli import app
    from attunement.store import Study
    from attunement.store.projects import latest_project

    def run(title: str, words: list[str]) -> None:
        _part(title, words)
        if code := app(words, prog_name="attune", standalone_mode=False):
            raise typer.Exit(code)

    run("Import the replies into a study", ["import", place, *files])
    with Study(place) as study:
        begun = latest_project(study, "empathy-v2") is not None
    # The first time this sets up the project; after that it continues where people left off.
    new = [] if begun else ["--raters", "2", "--units", "10"]
    run("Open the pages where people rate", ["annotate", place, "-i", "empathy-v2", *new, "--port", str(port)])


def _part(title: str, words: list[str]) -> None:
    typer.secho(f"\n{title}", bold=True)
    typer.secho(f"$ attune {shlex.join(words)}", dim=True)


def _short(path: Path) -> str:
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)
