"""`attune show`, `report`, `view`, `gate` and `methods`: read the results of a study."""

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn

import typer

from attunement.cli.options import (
    THIS_COMPUTER,
    AddressOption,
    ForceOption,
    HostOption,
    JsonOption,
    NamesOption,
    NoTextOption,
    PortOption,
    ProxyOption,
    RedactOption,
    ScoringOption,
    StudyArgument,
    print_json,
    privacy_of,
    refuse_to_overwrite,
)
from attunement.cli.options import StudyInstrumentOption as InstrumentOption
from attunement.errors import InputError

if TYPE_CHECKING:
    from attunement.reports.forms import Forms
    from attunement.scoring import Verdict
    from attunement.store import Study


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
    """Show the scorecards of a study, or one conversation.

    Without a conversation: how many came to which verdict, and each with its score and what was not met, the most
    serious first. With one: its turns with the quoted words marked, and for each item the answer, the reasons and
    whether each quotation really stands in the conversation.

    Example: attune show chats.study.db
    """
    from attunement.reports.overview import instrument_of
    from attunement.store import Study

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
    from attunement.reports.overview import overview, rater_of, reworded
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

        print_json(overview_record(shown))
        return
    from attunement.reports.gate import version_note
    from attunement.reports.terminal import draw_overview, open_console

    notes = version_note(study, instrument)
    draw_overview(shown, open_console(), reworded=reworded(study, instrument), notes=notes)


def _show_one(study: "Study", instrument: "Instrument", name: str, rater: str | None, *, as_json: bool) -> None:
    from attunement.reports.conversation import view, view_record
    from attunement.reports.overview import conversation_of, rater_of

    shown = view(study, instrument, conversation_of(study, name), rater=rater_of(study, rater))
    if as_json:
        print_json(view_record(shown))
        return
    from attunement.reports.terminal import draw_view, open_console

    draw_view(shown, open_console())


def _verdicts(name: VerdictName) -> "tuple[Verdict, ...]":
    from attunement.scoring import Verdict

    if name is VerdictName.SAFETY_NOT_JUDGED:
        return Verdict.SAFETY_MISSING, Verdict.SAFETY_NOT_JUDGED
    return (Verdict[name.name],)


def report(
    study: StudyArgument,
    output: Annotated[
        str | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The page to write, report.html unless another form is asked for. A name that ends in / is a folder "
            "of pages.",
            show_default=False,
        ),
    ] = None,
    instrument: ScoringOption = None,
    redact: RedactOption = False,
    names: NamesOption = None,
    no_text: NoTextOption = False,
    charts: Annotated[
        Path | None,
        typer.Option(
            "--charts",
            metavar="FOLDER",
            help="Also write each chart as SVG (and PNG: extra attunement[png]).",
        ),
    ] = None,
    markdown: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Write a summary that fits into the comment of a pull request.", show_default=False
        ),
    ] = None,
    junit: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write a JUnit file for a build server.", show_default=False)
    ] = None,
    junit_per: Annotated[
        Literal["conversation", "item"],
        typer.Option(
            help="What one test case of the JUnit file is. With item everything that is not met fails, also in a "
            "conversation that passes."
        ),
    ] = "conversation",
    as_json: Annotated[
        str | None,
        typer.Option("--json", metavar="FILE", help="Write everything as JSON for other programs.", show_default=False),
    ] = None,
    latex: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write the tables for a paper in LaTeX.", show_default=False),
    ] = None,
    inspect: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="Write scores as JSON lines for Inspect's precomputed_scores.", show_default=False
        ),
    ] = None,
    inspect_system: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="With --inspect: only the conversations of this system.", show_default=False),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="OTHER",
            help="With --markdown or --json: name what came out worse than in this earlier study.",
            show_default=False,
        ),
    ] = None,
    gate: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --markdown or --json: the decision that attune gate --json printed. Without it the gate is "
            "decided with its defaults.",
            show_default=False,
        ),
    ] = None,
    force: ForceOption = False,
) -> None:
    """Write a report on a study: a web page, Markdown or JSON.

    It begins with what needs attention; verdicts, charts and every conversation follow. The web page is one file that
    needs no network: it opens from disk and can be sent by mail. Every figure leads to its conversations and every
    verdict to the words it rests on. A very large study becomes an index and a folder of pages.

    With --markdown, --junit, --json, --latex or --inspect it is written in these forms instead, or beside -o; - is
    standard output. What --redact and --no-text leave out is left out of all of them.

    Example: attune report chats.study.db -o report.html
    """
    from attunement.reports.forms import Forms, write_forms
    from attunement.reports.overview import instrument_of
    from attunement.store import Study

    privacy = privacy_of(redact=redact, names=names, no_text=no_text)
    forms = Forms(markdown, junit, as_json, latex, inspect, junit_per, gate, baseline, inspect_system, None, charts)
    forms = forms._replace(page=output or (None if forms.targets else "report.html"))
    _check(forms, force=force)
    with Study(study) as opened:
        chosen = instrument_of(opened, instrument)
        for form, sentence in write_forms(opened, chosen, forms, privacy, name=instrument, analyse=True):
            # Standard output is for the form that goes there.
            typer.echo(sentence, err=form not in {"page", "charts"} or "-" in forms.targets.values())


def _check(forms: "Forms", *, force: bool) -> None:
    """Refuse what cannot be meant, before anything is read."""
    from attunement.errors import InputError

    page = forms.page
    targets = [f"{page}index.html" if page and page.endswith("/") else page, *forms.targets.values()]
    for target in filter(None, targets):
        refuse_to_overwrite(target, force=force)
        if targets.count(target) > 1:
            raise InputError(f"two forms cannot both go to {target}: give each a name of its own")
    if forms.charts:
        refuse_to_overwrite(forms.charts / "verdicts.svg", force=force)  # every report has this one
    if (forms.gate or forms.baseline) and not (forms.markdown or forms.json):
        raise InputError("--gate and --baseline are for a summary: give --markdown or --json too")
    if forms.inspect_system and not forms.inspect:
        raise InputError("--inspect-system chooses what --inspect writes: give both")


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
    """Pass or fail the conversations of a study, by exit code.

    0: nothing speaks against it. 1: something failed or is unsafe. 3: nothing failed, but something was not judged,
    is incomplete or needs a person. 2: the command cannot run. Where several hold, 1 wins over 3.

    With --with-reviews, 3 also means that nobody has signed off on this system, judge and instrument, and 1 that
    somebody signed "do not release".

    Example: attune gate chats.study.db --min-conversations 60
    """
    from attunement.reports.gate import Limits, decide, entries, gather_sign_offs, notes_on, nothing_judged
    from attunement.reports.overview import instrument_of, rater_of
    from attunement.store import Study

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
        notes = notes_on(opened, chosen, decision)
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


def methods(
    study: StudyArgument,
    output: Annotated[
        str, typer.Option("--output", "-o", metavar="FILE", help="The Markdown file to write; - is standard output.")
    ] = "-",
    instrument: InstrumentOption = None,
    force: ForceOption = False,
) -> None:
    """Write the methods section of a paper about a study.

    It says what was rated with which version of what instrument, by which judges with which settings, how people's
    sample was drawn, who rated, how they were trained and kept blind, what was left out, and how figures are computed.
    What the study cannot know is left for you to fill in. Nobody is named. A checklist for agreement studies comes
    after it.

    Example: attune methods chats.study.db -o methods.md
    """
    from pathlib import Path

    from attunement.analysis.summary import study_agreement
    from attunement.conversations.writer import replacing
    from attunement.ratings import RaterKind
    from attunement.reports.methods import checklist, methods_markdown, parts
    from attunement.reports.methods_facts import gather_facts
    from attunement.reports.overview import instrument_of
    from attunement.store import Study

    refuse_to_overwrite(output, force=force)
    with Study(study) as opened:
        chosen = instrument_of(opened, instrument)
        facts = gather_facts(opened, chosen)
        agreement = study_agreement(opened, chosen) if facts.of(RaterKind.PERSON) else None
        text = methods_markdown(parts(facts), checklist(facts, agreement), Path(opened.place).name)
    if output == "-":
        typer.echo(text, nl=False)
        return
    with replacing(Path(output)) as stream:
        stream.write(text.encode())
    typer.echo(f"Wrote {output}.", err=True)


def view(
    study: StudyArgument,
    instrument: ScoringOption = None,
    redact: RedactOption = False,
    names: NamesOption = None,
    no_text: NoTextOption = False,
    host: HostOption = THIS_COMPUTER,
    port: PortOption = 8766,
    address: AddressOption = None,
    proxy: ProxyOption = None,
) -> None:
    """Browse the report of a study in a web browser.

    The pages are served from the study, whatever its size. The command prints one link, which works until it is
    stopped. The pages can be read at once; a large study is counted in the background, and counted again when it has
    changed. Nothing is written to the study, and nothing leaves this computer. The pages show everybody's answers: do
    not give the link to people who still rate.

    Example: attune view chats.study.db
    """
    from attunement.cli.options import address_of, check_port
    from attunement.reports.overview import instrument_of
    from attunement.store import Study
    from attunement.web.app import run
    from attunement.web.viewer import make_view, new_token

    hiding = privacy_of(redact=redact, names=names, no_text=no_text)
    where = address_of(address, host, port)
    check_port(host, port)
    with Study(study) as opened:
        token = new_token()
        app = make_view(opened, instrument_of(opened, instrument), hiding, token, address=where)
        typer.echo(f"{where}/enter/{token}")
        typer.echo("The link lets in whoever has it, and shows everybody's answers. Press Ctrl+C to stop.")
        sys.stdout.flush()  # whoever started us through a pipe needs the link now
        run(app, host=host, port=port, proxies=proxy)
