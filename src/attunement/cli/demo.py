"""`attune demo`, `attune self-test` and `attune judges`: try the main steps, and find out about judges."""

import os
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attunement.cli import options
from attunement.cli.commands import Command, Group
from attunement.errors import InputError

if TYPE_CHECKING:
    from attunement.instruments import Instrument
    from attunement.reports.planted import Check

FolderOption = Annotated[
    Path, typer.Option("--folder", metavar="FOLDER", help="Where the studies are kept; made if it is not there.")
]
OneJudgeOption = Annotated[
    str,
    typer.Option(
        "--judge",
        "-j",
        metavar="NAME",
        help="openai:MODEL, anthropic:MODEL or local:FILE.gguf.",
    ),
]
STUDIES = {"coaching-v1": "coaching.study.db", "empathy-v2": "replies.study.db"}
"""The study of each instrument, in the folder."""


def self_test(
    judge: OneJudgeOption,
    folder: FolderOption = Path("attunement-demo"),
    base_url: options.BaseUrlOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON, for other programs.")] = False,
) -> None:
    """Test a judge on bundled conversations with planted faults.

    We wrote the conversations ourselves, each for one instrument. Some have planted faults, the others are clean. The
    result says which faults the judge found, and where it found one that is not there. What was judged before is not
    asked again. Exit code 3: some questions have no answer.

    Example: attune self-test --judge openai:gpt-5.2
    """
    from attunement.reports.planted import check_document, check_record
    from attunement.scoring import is_signals

    if is_signals(judge):
        raise InputError("signals gives pointers and no answers, so there is nothing to check; name an LLM judge")
    folder.mkdir(parents=True, exist_ok=True)
    done = [_judge(instrument, folder, judge, base_url, quiet=as_json) for instrument in STUDIES]
    checks = [(instrument, check) for _, instrument, check in done]
    if as_json:
        import json

        typer.echo(json.dumps(check_record(checks, judge), indent=2))
    else:
        from attunement.reports.render_terminal import draw
        from attunement.reports.terminal import open_console

        draw(check_document(checks), open_console())
    raise typer.Exit(max(code for code, *_ in done))


def _judge(
    instrument: str, folder: Path, judge: str, base_url: str | None, *, quiet: bool
) -> "tuple[int, Instrument, Check]":
    """Judge the bundled conversations of one instrument, and hold the answers against what was intended."""
    from attunement.api import Settings
    from attunement.cli.options import open_conversations
    from attunement.cli.running import run_and_report
    from attunement.conversations import Responses
    from attunement.engine import rater_settings
    from attunement.ratings import RaterKind
    from attunement.reports import planted
    from attunement.store import Study, scored_conversations

    files = [str(planted.folder() / name) for name in planted.FILES[instrument]]
    place = folder / STUDIES[instrument]
    settings = Settings(judges=judge, instrument=instrument, responses=Responses.LAST, base_url=base_url)
    code = run_and_report(open_conversations(files), place, settings, quiet=quiet, json=False)
    if code not in {0, 3}:
        raise typer.Exit(code)
    prepared = settings.prepare(sends=False)
    asked = prepared.participants[0].judge
    with Study(place) as study:
        rater = study.find_rater(asked.name, RaterKind.MODEL, rater_settings(asked, prepared.scope))
        chosen = prepared.scope.questionnaire.instrument
        return code, chosen, planted.check(scored_conversations(study, chosen, rater=rater and rater.name), chosen)


if TYPE_CHECKING:
    from collections.abc import Sequence

_KEYS = {"OPENAI_API_KEY": "openai:MODEL", "ANTHROPIC_API_KEY": "anthropic:MODEL"}


def demo(
    context: typer.Context,
    judge: Annotated[
        str,
        typer.Option(
            "--judge", "-j", metavar="NAME", help="signals, openai:MODEL, anthropic:MODEL or local:FILE.gguf."
        ),
    ] = "signals",
    folder: FolderOption = Path("attunement-demo"),
    base_url: options.BaseUrlOption = None,
    annotate: Annotated[
        bool, typer.Option("--annotate", help="Instead, open the pages where people rate the bundled replies.")
    ] = False,
    port: Annotated[int, typer.Option(min=1, max=65535, help="With --annotate: the port to listen on.")] = 8765,
) -> None:
    """Try the main steps on bundled conversations.

    It judges them, shows the scorecards, runs the gate and writes a report. Each step prints its command, so that you
    can do the same with your own files. The rule check `signals` needs no key and no network; it only points, so an LLM
    judge shows more. Everything is kept in a folder; the same command again asks nothing twice.

    Example: attune demo
    """
    from attunement.reports import planted
    from attunement.scoring import is_signals

    def files(instrument: str) -> list[str]:
        return [_short(planted.folder() / name) for name in planted.FILES[instrument]]

    def study(instrument: str) -> str:
        return _short(folder / STUDIES[instrument])

    asked = ["--judge", judge, *(["--base-url", base_url] if base_url else [])]
    folder.mkdir(parents=True, exist_ok=True)
    step = _Steps(context)
    if annotate:
        place = study("empathy-v2")
        step("Put the replies into a study", ["add", place, *files("empathy-v2")])
        step("Open the pages where people rate", ["annotate", place, *_setup(Path(place)), "--port", str(port)])
        return
    step("What is in the files", ["describe", *files("coaching-v1")])
    for instrument, told in (("coaching-v1", "Judge whole conversations"), ("empathy-v2", "Judge single replies")):
        last = ["--responses", "last"] if instrument == "empathy-v2" else []
        step(told, ["judge", *files(instrument), "-i", instrument, *last, *asked, "--study", study(instrument)])
        step("The scorecards", ["show", study(instrument)])
    step("The gate: may this go on?", ["gate", study("coaching-v1")])
    if not is_signals(judge):
        step("Which of the two systems does better?", ["compare", study("coaching-v1"), "Harbor", "Lumen"])
        step("Which planted faults does this judge find?", ["self-test", *asked, "--folder", _short(folder)])
    page = _short(folder / "report.html")
    step("All of it as a page", ["report", study("coaching-v1"), "-o", page, "--force"])
    _say_more(judge)


def _setup(place: Path) -> list[str]:
    """What sets the rating up the first time; after that it goes on where people left off."""
    from attunement.annotation import projects
    from attunement.store import Study

    with Study(place) as study:
        begun = projects.latest(study, "empathy-v2") is not None
    return ["-i", "empathy-v2", *([] if begun else ["--raters", "2", "--units", "10"])]


class _Steps:
    """Says what comes, prints the command, and runs it in this process."""

    def __init__(self, context: typer.Context) -> None:
        self._command = context.find_root().command
        self._number = 0

    def __call__(self, title: str, words: "Sequence[str]") -> None:
        self._number += 1
        typer.secho(f"\n{self._number}. {title}", bold=True)
        typer.secho(f"$ attune {shlex.join(words)}\n", dim=True)
        sys.stdout.flush()
        code = self._command.main(list(words), prog_name="attune", standalone_mode=False) or 0
        sys.stdout.flush()
        if code in _EXITS:
            typer.secho(f"(exit code {code}: {_EXITS[code]})", dim=True)
        elif code:
            raise typer.Exit(code)


_EXITS = {1: "something failed or is unsafe", 3: "something was not judged, or needs a person"}


def _say_more(judge: str) -> None:
    from attunement.scoring import is_signals

    known = [name for key, name in _KEYS.items() if os.environ.get(key)]
    if is_signals(judge) and known:
        typer.echo(f"\nYou have a key in the environment: the same with an LLM judge is attune demo --judge {known[0]}")
    elif is_signals(judge):
        typer.echo("\nWith a key in OPENAI_API_KEY, the same with an LLM judge is: attune demo --judge openai:MODEL")
    typer.echo("With your own conversations: attune judge FILE --instrument coaching-v1 --judge NAME")


def _short(path: Path) -> str:
    """The path as one would type it here."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)


judges = typer.Typer(cls=Group, help="List the kinds of judges, or describe one judge.", no_args_is_help=True)


@judges.command("list", cls=Command)
def list_judges() -> None:
    """List the kinds of judges that can be named with --judge.

    Kinds that other installed packages add are listed too.

    Example: attune judges list
    """
    from attunement.judges import judge_kinds

    for name, meaning in judge_kinds():
        typer.echo(f"{name:<18}  {meaning}")


@judges.command("show", cls=Command)
def show_judge(
    name: Annotated[str, typer.Argument(help="signals, openai:MODEL, anthropic:MODEL or local:FILE.gguf.")],
    base_url: options.BaseUrlOption = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON, for other programs.")] = False,
) -> None:
    """Show how a judge works, what was measured, and its price.

    For signals, the rule check: how often its pointers were right, on which data, and what it cannot see. For other
    judges: what the name says, the price, and how to measure them. Nothing is sent.

    Example: attune judges show signals
    """
    if markdown and as_json:
        raise InputError("--markdown and --json exclude each other")
    from attunement.reports.judge_info import judge_info

    info = judge_info(name, base_url)
    if as_json:
        import json

        typer.echo(json.dumps(info.record, indent=2, ensure_ascii=False))
    elif markdown:
        from attunement.reports.render_markdown import markdown as as_markdown

        typer.echo(as_markdown(info.document()), nl=False)
    else:
        from attunement.reports.render_terminal import draw
        from attunement.reports.terminal import open_console

        draw(info.document(), open_console())
