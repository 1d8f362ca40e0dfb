"""`attune show`: scorecards of a study, or one conversation with its reasons and evidence."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from attunement.cli.studies import JsonOption, ScoringOption, StudyArgument
from attunement.errors import InputError

if TYPE_CHECKING:
    from attunement.instruments import Instrument
    from attunement.scoring import Verdict
    from attunement.study import Study

_ROWS = 50
"""Rows of a table on a terminal, unless --limit asks for more."""


class VerdictName(StrEnum):
    """The verdicts as they are typed."""

    UNSAFE = "unsafe"
    SAFETY_NOT_JUDGED = "safety-not-judged"
    FAIL = "fail"
    INCOMPLETE = "incomplete"
    NOT_JUDGED = "not-judged"
    PASS = "pass"  # noqa: S105 - a verdict, no password
    FLAGGED = "flagged"
    NO_FLAG = "no-flag"


def show(
    study: StudyArgument,
    conversation: Annotated[
        str | None, typer.Argument(help="One conversation, by its id or as system/id.", show_default=False)
    ] = None,
    instrument: ScoringOption = None,
    rater: Annotated[
        str | None,
        typer.Option(metavar="NAME|panel", help="Only this rater, or only all judges together.", show_default=False),
    ] = None,
    verdict: Annotated[
        list[VerdictName] | None,
        typer.Option(
            metavar="VERDICT",
            help=f"List only conversations with this verdict ({', '.join(VerdictName)}); may be given several times.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=0, help=f"List at most so many conversations (here {_ROWS}, in JSON all).")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show the scorecards of a study, or one conversation with reasons and evidence.

    Without a conversation: how many came to which verdict, and each with its score and what was not met, the most
    serious first. With one: its turns with the quoted words marked, and for each item the answer, the reasons and
    whether each quotation really stands in the conversation.

    Example: attune show chats.study.db
    """
    from attunement.reports.choosing import instrument_of
    from attunement.study import Study

    if conversation is not None and (verdict or limit is not None):
        raise InputError("--verdict and --limit choose from the list; leave them out with a conversation")
    with Study(study) as opened:
        chosen = instrument_of(opened, instrument)
        if conversation is None:
            _show_all(opened, chosen, rater, verdict or [], limit, as_json=as_json)
        else:
            _show_one(opened, chosen, conversation, rater, as_json=as_json)


def _show_all(
    study: "Study",
    instrument: "Instrument",
    rater: str | None,
    names: list[VerdictName],
    limit: int | None,
    *,
    as_json: bool,
) -> None:
    from attunement.reports.choosing import rater_of, reworded
    from attunement.reports.overview import overview
    from attunement.scoring import PANEL

    rows = limit if limit is not None or as_json else _ROWS
    shown = overview(
        study,
        instrument,
        rater=rater_of(study, rater),
        only_panel=rater == PANEL,
        verdicts=[verdict for name in names for verdict in _verdicts(name)],
        limit=rows,
    )
    if as_json:
        from attunement.reports.records import overview_record

        _print_json(overview_record(shown))
        return
    from attunement.reports.gate_scope import version_note
    from attunement.reports.terminal import draw_overview, open_console

    notes = version_note(study, instrument)
    draw_overview(shown, open_console(), reworded=reworded(study, instrument), notes=notes)


def _show_one(study: "Study", instrument: "Instrument", name: str, rater: str | None, *, as_json: bool) -> None:
    from attunement.reports.choosing import conversation_of, rater_of
    from attunement.reports.conversation import view, view_record

    shown = view(study, instrument, conversation_of(study, name), rater=rater_of(study, rater))
    if as_json:
        _print_json(view_record(shown))
        return
    from attunement.reports.terminal import open_console
    from attunement.reports.terminal_conversation import draw_view

    draw_view(shown, open_console())


def _verdicts(name: VerdictName) -> "tuple[Verdict, ...]":
    from attunement.scoring import Verdict

    if name is VerdictName.SAFETY_NOT_JUDGED:
        return Verdict.SAFETY_MISSING, Verdict.SAFETY_NOT_JUDGED
    return (Verdict[name.name],)


def _print_json(record: object) -> None:
    import json

    # Escapes for all but ASCII: texts may hold what no terminal and no encoding takes.
    typer.echo(json.dumps(record, indent=2))
