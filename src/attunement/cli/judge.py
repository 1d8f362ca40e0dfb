"""`attune judge`, `estimate`, `prompt`, `self-test` and `judges`: ask judges, and show information about them."""

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from attunement.api import Output
from attunement.cli.commands import Command, Group
from attunement.cli.options import FilesArgument, option, printed, say, shared, spread
from attunement.errors import InputError
from attunement.output import make_folder
from attunement.settings import InputOptions, Settings

StudyOption = Annotated[
    str | None, option("Where to save answers: a file, or a postgresql:// address.", metavar="PLACE")
]
FolderOption = Annotated[Path, option("Folder for the studies; created if missing.", metavar="FOLDER")]
ESTIMATED = (
    *("judges", "instrument", "items", "layout", "ask", "responses", "repeats", "base_url", "temperature", "seed"),
    *("price_in", "price_out", "price", "filter", "sample", "limit"),
)
STUDIES = {"coaching-v1": "coaching.study.db", "empathy-v2": "replies.study.db"}
"""The study of each instrument in the folder that `attune demo` and `attune self-test` share."""


@spread
def judge(
    files: FilesArgument,
    settings: Settings,
    reading: InputOptions,
    study: StudyOption = None,
    quiet: Annotated[bool, option("Print no progress.", "--quiet", "-q")] = False,
    json: Annotated[bool, option("Print progress and result as JSON, for other programs.", "--json")] = False,
) -> None:
    """Ask judges about conversations and save every answer.

    Answers are saved in a study, and questions that are answered there are not asked again. To pause a run, press
    Ctrl-C; the same command continues it. API keys come from the environment (OPENAI_API_KEY, ANTHROPIC_API_KEY). Exit
    codes: 0 everything answered, 3 errors remain, 2 could not run, 130 stopped with Ctrl-C.

    Example: attune judge chats.jsonl --instrument coaching-v1 --judge openai:gpt-5.2
    """
    from attunement.api import default_study
    from attunement.cli.run import run_and_report

    place = study or default_study(files[0])
    raise typer.Exit(run_and_report(reading.read(files, place), place, settings, quiet=quiet, json=json))


@spread
def estimate(
    files: FilesArgument,
    settings: Annotated[Settings, ESTIMATED],
    reading: InputOptions,
    study: StudyOption = None,
) -> None:
    """Estimate the questions, tokens and cost of a run.

    Nothing is sent. Prices come from a list in the package; the output shows its version and when the price was last
    checked.

    Example: attune estimate chats.jsonl --instrument coaching-v1 --judge openai:gpt-5.2
    """
    from attunement.api import default_study
    from attunement.cli.run import estimates

    place = study or (None if files[0] == "-" else default_study(files[0]))
    for line in estimates(reading.read(files), place, settings):
        say(line)


@spread
def prompt(
    files: FilesArgument,
    settings: Annotated[Settings, ("instrument", "items", "layout", "ask", "responses")],
    reading: InputOptions,
    conversation: Annotated[str | None, option("Which conversation (by default the first).", metavar="ID")] = None,
    json: Annotated[bool, option("Print one line of JSON per question, for other programs.", "--json")] = False,
) -> None:
    """Print the exact prompts for a conversation.

    Each prompt comes with its hash, which covers every word, and an estimate of its tokens. Control characters are
    shown as signs; with --json they are exact. Nothing is sent.

    Example: attune prompt chats.jsonl --instrument coaching-v1 --item CQ8
    """
    import orjson

    from attunement.conversations import units

    for chosen in reading.read(files):
        if conversation is None or conversation in {chosen.id, str(chosen.identity)}:
            break
    else:
        raise InputError(f"there is no conversation {conversation!r}" if conversation else "there is no conversation")
    scope = settings.scope()
    for unit in units(chosen, scope.questionnaire.instrument.unit, scope.responses):
        for question in scope.questionnaire.questions(unit):
            items = [item.id for item in question.items]
            known = {"unit": str(question.unit), "items": items, "hash": question.hash, "tokens": question.tokens()}
            if json:
                messages = {"messages": question.messages(), "schema": question.schema}
                typer.echo(orjson.dumps({**known, **messages}).decode())
                continue
            text = question.render()
            say(
                f"##### {', '.join(items)} about {question.unit}\n"
                f"##### hash {question.hash}, about {known['tokens']:,} tokens\n"
                f"##### system\n{text.system}\n##### user\n{text.user}\n"
                f"##### the reply must fit this JSON Schema\n{orjson.dumps(question.schema).decode()}\n"
            )


@printed
def self_test(
    judge: Annotated[str, option("openai:MODEL, anthropic:MODEL or local:FILE.gguf.", "--judge", "-j", metavar="NAME")],
    folder: FolderOption = Path("attunement-demo"),
    base_url: Annotated[str | None, shared("base_url")] = None,
) -> Output:
    """Test a judge on bundled conversations with planted faults.

    We wrote the conversations ourselves, each for one instrument. Some have planted faults, the others are clean. The
    result lists the faults that the judge found, and its false alarms. Questions answered before are not asked again.
    Exit code 3: some questions have no answer.

    Example: attune self-test --judge openai:gpt-5.2
    """
    from attunement.cli.run import run_and_report
    from attunement.conversations import Responses
    from attunement.engine import rater_settings
    from attunement.ratings import RaterKind
    from attunement.reports import planted
    from attunement.scoring import is_signals
    from attunement.store import Study, scored_conversations

    if is_signals(judge):
        raise InputError("signals gives pointers, not answers, so there is nothing to test; choose an LLM judge")
    make_folder(folder)
    worst, checks = 0, list[Any]()
    for instrument, name in STUDIES.items():
        settings = Settings(judges=judge, instrument=instrument, responses=Responses.LAST, base_url=base_url)
        files = [planted.folder() / file for file in planted.FILES[instrument]]
        code = run_and_report(InputOptions().read(files), folder / name, settings, quiet=False, json=False)
        if code not in {0, 3}:
            raise typer.Exit(code)
        worst = max(worst, code)
        scope, (asked, *_), *_ = settings.prepare(sends=False)
        chosen = scope.questionnaire.instrument
        with Study(folder / name) as study:
            rater = study.find_rater(asked.judge.name, RaterKind.MODEL, rater_settings(asked.judge, scope))
            cards = scored_conversations(study, chosen, rater=rater and rater.name)
            checks.append((chosen, planted.check(cards, chosen)))
    return Output(planted.check_record(checks, judge), planted.check_document(checks), exit_code=worst)


judges = typer.Typer(cls=Group, help="List the kinds of judges, or describe one judge.", no_args_is_help=True)


@judges.command("list", cls=Command)
def list_judges() -> None:
    """List the kinds of judges for --judge.

    The list includes kinds from other installed packages.

    Example: attune judges list
    """
    from attunement.judges import judge_kinds

    for name, meaning in judge_kinds():
        say(f"{name:<18}  {meaning}")


@judges.command("show", cls=Command)
@partial(printed, markdown=True)
def show_judge(
    name: Annotated[str, typer.Argument(help="signals, openai:MODEL, anthropic:MODEL or local:FILE.gguf.")],
    base_url: Annotated[str | None, shared("base_url")] = None,
) -> Output:
    """Show how a judge works, how well it did, and its price.

    For signals, the rule check: how often its pointers were right, on which data, and what it cannot detect. For other
    judges: what the name means, the price, and how to measure them. Nothing is sent.

    Example: attune judges show signals
    """
    from attunement.reports.judge_info import judge_info

    info = judge_info(name, base_url)
    return Output(info.record, info.document())
