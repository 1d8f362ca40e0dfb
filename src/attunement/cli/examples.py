"""`attune examples`: check a judge on the bundled conversations, whose faults are known."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attunement.cli import asking
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


def examples(
    judge: OneJudgeOption,
    folder: FolderOption = Path("attunement-demo"),
    base_url: asking.BaseUrlOption = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the result as JSON, for other programs.")] = False,
) -> None:
    """Check a judge on the bundled conversations: which planted faults does it see?

    The conversations are of our own writing, and each is judged on the instrument it was written for. Faults were
    planted in some, the others are clean. What was judged before is not asked again. Exit code 3: some questions have
    no answer.

    Example: attune examples --judge openai:gpt-5.2
    """
    from attunement.reports.terminal_planted import check_record, draw_check
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
        from attunement.reports.terminal import open_console

        draw_check(checks, open_console())
    raise typer.Exit(max(code for code, *_ in done))


def _judge(
    instrument: str, folder: Path, judge: str, base_url: str | None, *, quiet: bool
) -> "tuple[int, Instrument, Check]":
    """Judge the bundled conversations of one instrument, and hold the answers against what was intended."""
    from attunement.api import Settings
    from attunement.cli.reading import open_conversations
    from attunement.cli.running import run_and_report
    from attunement.conversations import Responses
    from attunement.engine import rater_settings
    from attunement.ratings import RaterKind
    from attunement.reports import planted
    from attunement.study import Study, judged

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
        return code, chosen, planted.check(judged(study, chosen, rater=rater and rater.name), chosen)
