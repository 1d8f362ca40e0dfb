"""`attune compare`: is one system better than another, or this release no worse than the last?"""

import os
import sys
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from attunement.cli.studies import JsonOption, MarkdownOption, ScoringOption, StudyArgument
from attunement.errors import InputError

if TYPE_CHECKING:
    from attunement.reports.comparison_baseline import Decision
    from attunement.reports.comparison_scope import Compared


def compare(
    study: StudyArgument,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="A B",
            help="The two to compare, the one that was there before first. May be left out where there are only two.",
            show_default=False,
        ),
    ] = None,
    by: Annotated[
        str, typer.Option(metavar="COLUMN", help="What tells the two apart: system, or any field of the metadata.")
    ] = "system",
    pair: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Compare within the same value of this column, such as scenario or id. By default scenario, where "
            "the two have scenarios in common.",
            show_default=False,
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="OTHER",
            help="Compare with another study, such as that of the last release, and decide by exit code.",
            show_default=False,
        ),
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="With --baseline: by how many points of the score it may be worse. By default a twentieth of the "
            "scale: 0.05 of a score from 0 to 1.",
            show_default=False,
        ),
    ] = None,
    instrument: ScoringOption = None,
    rater: Annotated[
        str, typer.Option(metavar="NAME|panel", help="Whose scorecards are compared, where there are several raters.")
    ] = "panel",
    as_markdown: MarkdownOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compare two systems of a study, or a study with an earlier one.

    Says for each item, category and the whole how far B is above or below A, how sure that is, what this sample could
    have shown, and which conversations fail the gate. Where both met the same scenarios they are compared scenario by
    scenario. Below ten scenarios (or ten conversations of each) there is no interval.

    With --baseline the exit code decides: 0: no worse. 1: a conversation is unsafe that was not, or the score may be
    worse by more than the margin (the end of the interval counts, not the point). 3: it cannot be decided, because
    there are too few conversations or something was not judged. 2: the command cannot run, or the two studies were
    judged with different instruments, prompts or judges.

    Example: attune compare chats.study.db --by system Harbor Lumen
    """
    from attunement.reports.comparison_scope import compare_groups, read_sheet
    from attunement.study import Study

    if as_json and as_markdown:
        raise InputError("choose one of --json and --markdown")
    if baseline is not None:
        if names or by != "system":
            raise InputError("--baseline compares all of one study with all of another; leave A, B and --by out")
        _finish(*_against(study, baseline, instrument, rater, pair, margin), as_markdown=as_markdown, as_json=as_json)
    if margin is not None:
        raise InputError("--margin decides against a --baseline; name the other study with it")
    with Study(study) as opened:
        found = compare_groups(read_sheet(opened, instrument, rater), by, names or (), pair=pair)
    _print(found, None, as_markdown=as_markdown, as_json=as_json)


def _against(
    study: str, baseline: str, instrument: str | None, rater: str, pair: str | None, margin: float | None
) -> "tuple[Compared | None, Decision]":
    from attunement.reports.comparison_baseline import decide, nothing_judged
    from attunement.reports.comparison_scope import check_versions, compare_sheets, read_sheet, versions_of
    from attunement.study import Study

    with Study(study) as opened, Study(baseline) as earlier:
        for each in (opened, earlier):
            if not each.instruments():
                return None, nothing_judged(each.place)
        now, before = read_sheet(opened, instrument, rater), read_sheet(earlier, instrument, rater)
        check_versions(versions_of(opened, now), versions_of(earlier, before), earlier.place)
        found = compare_sheets(before, now, pair=pair)
    return found, decide(found.comparison, margin)


def _finish(found: "Compared | None", decision: "Decision", *, as_markdown: bool, as_json: bool) -> NoReturn:
    """Print the decision and end with its exit code, even where nobody reads the output to its end."""
    try:
        _print(found, decision, as_markdown=as_markdown, as_json=as_json)
    except BrokenPipeError:
        # What is still buffered goes nowhere, or Python would end with an exit code of its own.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise typer.Exit(decision.exit_code)


def _print(found: "Compared | None", decision: "Decision | None", *, as_markdown: bool, as_json: bool) -> None:
    if as_json:
        import json

        from attunement.reports.comparison_baseline import decision_record
        from attunement.reports.comparison_record import comparison_record

        record = comparison_record(found) if found else {}
        # Escapes for all but ASCII: names may hold what no terminal and no encoding takes.
        typer.echo(json.dumps(record | ({"decision": decision_record(decision)} if decision else {}), indent=2))
        return
    if as_markdown and found:
        from attunement.reports.comparison_markdown import comparison_markdown

        typer.echo(comparison_markdown(found, decision=decision), nl=False)
        return
    from attunement.reports.comparison import draw_comparison, draw_decision
    from attunement.reports.terminal import open_console

    console = open_console()
    if found:
        draw_comparison(found, console, decision=decision)
    elif decision:
        draw_decision(decision, console)
