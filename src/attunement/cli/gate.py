"""`attune gate`: decide by exit code whether the conversations of a study may go on."""

import os
import sys
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from attunement.cli.studies import ScoringOption, StudyArgument
from attunement.errors import InputError

if TYPE_CHECKING:
    from attunement.instruments import Instrument
    from attunement.reports.gate import Decision


def gate(
    study: StudyArgument,
    instrument: ScoringOption = None,
    rater: Annotated[
        str, typer.Option(metavar="NAME|panel", help="Whose scorecards decide, where there are several raters.")
    ] = "panel",
    min_conversations: Annotated[
        int, typer.Option(min=1, help="Fewer judged conversations than this leave the gate undecided (3).")
    ] = 1,
    min_pass_rate: Annotated[
        float | None,
        typer.Option(
            min=0,
            max=1,
            metavar="SHARE",
            help="The share of all conversations that must pass, such as 0.9. With it a conversation below the pass "
            "mark does not stop the gate as long as the share holds; an unsafe one still does.",
            show_default=False,
        ),
    ] = None,
    max_rejected: Annotated[
        int, typer.Option(min=0, metavar="N", help="Tolerate N conversations whose safety was not judged.")
    ] = 0,
    accept_unsafe: Annotated[
        int,
        typer.Option(
            min=0, metavar="N", help="Accept N unsafe or flagged conversations. This is said first in the output."
        ),
    ] = 0,
    minimum: Annotated[
        list[str] | None,
        typer.Option(
            "--min",
            metavar="ITEM=SCORE",
            help="For instruments that score replies: stop if any reply has less, such as safety=3; may be given "
            "several times.",
            show_default=False,
        ),
    ] = None,
    with_reviews: Annotated[
        bool,
        typer.Option(
            "--with-reviews",
            help="Let reviewers' decisions count: what one cleared is not unsafe, and a valid sign-off is needed.",
        ),
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the decision as JSON, for other programs.")] = False,
) -> None:
    """Decide by exit code whether the conversations of a study may go on.

    0: nothing stands against it. 1: something failed or is unsafe. 3: nothing failed, but something was not judged,
    is incomplete or needs a person. 2: the command cannot run. Where several hold, 1 wins over 3.

    With --with-reviews, 3 also means that nobody has signed off on this system, judge and instrument, and 1 that
    somebody signed "do not release".

    Example: attune gate chats.study.db --min-conversations 60
    """
    from attunement.reports.choosing import instrument_of, rater_of, reworded
    from attunement.reports.gate import Limits, decide, nothing_judged
    from attunement.reports.gate_reviews import gather_sign_offs
    from attunement.reports.gate_scope import caveats, crisis_talk, entries, version_note
    from attunement.reports.wording import reworded_words
    from attunement.study import Study

    limits = Limits(min_conversations, min_pass_rate, max_rejected, accept_unsafe)
    with Study(study) as opened:
        if not opened.instruments():
            _finish(nothing_judged(limits), None, [], as_json=as_json)
        chosen = instrument_of(opened, instrument)
        limits = limits._replace(minimums=_minimums(chosen, minimum or []))
        if min_pass_rate is not None and chosen.scoring.threshold is None:
            raise InputError(f"{chosen.id} has no pass mark, so there is no pass rate; leave --min-pass-rate out")
        found = entries(opened, chosen, rater_of(opened, rater), with_reviews=with_reviews)
        decision = decide(found, limits, chosen, gather_sign_offs(opened, chosen) if with_reviews else None)
        notes = caveats(chosen, decision, crisis_talk(opened)) + version_note(opened, chosen)
        if changed := reworded(opened, chosen):
            notes.append(reworded_words(changed))
    _finish(decision, chosen, notes, as_json=as_json)


def _minimums(instrument: "Instrument", given: list[str]) -> dict[str, int]:
    """`item=score` as a table; of several for one item the highest counts."""
    from attunement.instruments import Scores

    if given and not isinstance(instrument.scale, Scores):
        raise InputError(f"--min is for instruments that give scores; {instrument.id} asks whether criteria are met")
    minimums: dict[str, int] = {}
    for text in given:
        name, _, score = text.partition("=")
        item = instrument.item(name.strip()).id
        answers = [str(answer) for answer in instrument.scale.answers]
        if score.strip() not in answers:
            raise InputError(f"--min {text}: give a score after the item, such as {item}={answers[len(answers) // 2]}")
        minimums[item] = max(int(score), minimums.get(item, int(score)))
    return minimums


def _finish(decision: "Decision", instrument: "Instrument | None", notes: list[str], *, as_json: bool) -> NoReturn:
    """Print the decision and end with its exit code, even where nobody reads the output to its end."""
    try:
        _print(decision, instrument, notes, as_json=as_json)
    except BrokenPipeError:
        # What is still buffered goes nowhere, or Python would end with an exit code of its own.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise typer.Exit(decision.exit_code)


def _print(decision: "Decision", instrument: "Instrument | None", notes: list[str], *, as_json: bool) -> None:
    if as_json:
        import json

        from attunement.reports.gate import decision_record
        from attunement.reports.records import instrument_record

        record = decision_record(decision) | {"notes": notes}
        typer.echo(json.dumps(record | {"instrument": instrument and instrument_record(instrument)}, indent=2))
        return
    from attunement.reports.terminal import draw_decision, open_console

    draw_decision(decision, instrument, notes, open_console())
