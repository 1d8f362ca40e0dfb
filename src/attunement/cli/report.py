"""`attune show`, `report`, `view`, `gate` and `methods`: read the results of a study."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from attunement import api
from attunement.cli import options
from attunement.cli.options import PrivacyOptions, ServeOptions, option, printed, say, spread
from attunement.errors import InputError
from attunement.output import check_output

if TYPE_CHECKING:
    from attunement.reports.forms import Forms

_SHOW_ALL, _VIEW = PrivacyOptions(), ServeOptions(port=8766)
_ROWS = 50
"""Rows of a table on a terminal, unless --limit asks for more."""


class VerdictName(StrEnum):
    """The verdicts as users type them."""

    UNSAFE = "unsafe"
    SAFETY_NOT_JUDGED = "safety-not-judged"
    FAIL = "fail"
    INCOMPLETE = "incomplete"
    NOT_JUDGED = "not-judged"
    PASS = "pass"  # noqa: S105 - a verdict, no password
    FLAGGED = "flagged"
    NO_FLAG = "no-flag"


def show(
    study: options.StudyArgument,
    conversation: Annotated[str | None, typer.Argument(help="One conversation, by its id or as system/id.")] = None,
    instrument: options.ScoringOption = None,
    rater: Annotated[
        str | None, option("Only this rater, or only all judges together (panel).", metavar="NAME|panel")
    ] = None,
    verdict: Annotated[
        list[VerdictName] | None,
        option(f"Only conversations with this verdict ({', '.join(VerdictName)}); repeatable.", metavar="VERDICT"),
    ] = None,
    limit: Annotated[
        int | None, option(f"Maximum number of conversations in the list (by default {_ROWS}; in JSON all).", min=0)
    ] = None,
    safety_repeats: options.SafetyRepeatsOption = None,
    every: Annotated[
        bool, option("With a conversation: every item, also what is met and not in dispute.", "--all")
    ] = False,
    as_json: options.JsonOption = False,
) -> None:
    """Show the scorecards of a study, or one conversation.

    Without a conversation, it counts the verdicts and lists each conversation with its score and the items that were
    not met, the most serious first. With one, it shows the turns with the quoted words marked, and for each item that
    is not met, not judged or in dispute the answers, the reasoning and whether each quotation was found in the
    transcript; with --all it shows every item.

    Example: attune show chats.study.db
    """
    if conversation is None:
        rows = limit if limit is not None or as_json else _ROWS
        output = api.show(
            study, instrument, rater=rater, verdicts=verdict or (), limit=rows, safety_repeats=safety_repeats
        )
        options.print_output(output, as_json=as_json)
        return
    if verdict or limit is not None:
        raise InputError("--verdict and --limit choose from the list; leave them out with a conversation")
    from attunement.reports.conversation import view, view_record
    from attunement.reports.overview import conversation_of, instrument_of, rater_of
    from attunement.reports.render_terminal import open_console
    from attunement.reports.scorecards import draw_view
    from attunement.store import Study

    with Study(study) as opened:
        chosen = instrument_of(opened, instrument, safety_repeats)
        shown = view(opened, chosen, conversation_of(opened, conversation), rater=rater_of(opened, rater))
    if as_json:
        options.print_json(view_record(shown))
    else:
        draw_view(shown, open_console(), every=every)


@spread
def report(
    study: options.StudyArgument,
    output: Annotated[
        str | None,
        option(
            "The page to write (by default report.html, unless another form is asked for). A name that ends in / "
            "creates a folder of pages.",
            "--output",
            "-o",
            metavar="FILE",
        ),
    ] = None,
    instrument: options.ScoringOption = None,
    privacy: PrivacyOptions = _SHOW_ALL,
    charts: Annotated[
        Path | None, option("Also write each chart as SVG (and PNG: extra attunement[png]).", metavar="FOLDER")
    ] = None,
    markdown: Annotated[
        str | None, option("Write a summary that fits into a comment on a pull request.", metavar="FILE")
    ] = None,
    junit: Annotated[str | None, option("Write a JUnit file for a build server.", metavar="FILE")] = None,
    junit_per: Annotated[
        Literal["conversation", "item"],
        option(
            "What counts as a test case in the JUnit file. With item, every item that is not met fails, even in a "
            "conversation that passes."
        ),
    ] = "conversation",
    as_json: Annotated[
        str | None, option("Write everything as JSON, for other programs.", "--json", metavar="FILE")
    ] = None,
    latex: Annotated[str | None, option("Write the tables for a paper in LaTeX.", metavar="FILE")] = None,
    inspect: Annotated[
        str | None, option("Write scores as JSON lines for Inspect's precomputed_scores.", metavar="FILE")
    ] = None,
    inspect_system: Annotated[
        str | None, option("With --inspect: only the conversations of this system.", metavar="NAME")
    ] = None,
    baseline: Annotated[
        str | None,
        option("With --markdown or --json: list what is worse than in this earlier study.", metavar="OTHER"),
    ] = None,
    gate: Annotated[
        Path | None,
        option(
            "With --markdown or --json: the decision that attune gate --json printed. By default the gate is decided "
            "with its defaults.",
            metavar="FILE",
        ),
    ] = None,
    safety_repeats: options.SafetyRepeatsOption = None,
    force: options.ForceOption = False,
) -> None:
    """Write a report on a study: a web page, Markdown or JSON.

    It begins with what needs attention; verdicts, charts and every conversation follow. The web page is one file that
    works offline and can be sent by mail. Every number links to its conversations and every verdict to the words it is
    based on. A very large study becomes an index and a folder of pages.

    With --markdown, --junit, --json, --latex or --inspect it is written in these formats instead, or in addition to -o;
    - is standard output. --redact and --no-text apply to all of them.

    Example: attune report chats.study.db -o report.html
    """
    from attunement.reports.forms import Forms, write_forms
    from attunement.reports.overview import instrument_of
    from attunement.store import Study

    forms = Forms(markdown, junit, as_json, latex, inspect, junit_per, gate, baseline, inspect_system, None, charts)
    forms = forms._replace(page=output or (None if forms.targets else "report.html"))
    _check(forms, force=force)
    with Study(study) as opened:
        chosen = instrument_of(opened, instrument, safety_repeats)
        for form, sentence in write_forms(opened, chosen, forms, privacy.privacy(), name=instrument, analyse=True):
            # Standard output is for the format that was sent there.
            say(sentence, err=form not in {"page", "charts"} or "-" in forms.targets.values())


def _check(forms: "Forms", *, force: bool) -> None:
    """Reject contradictory options before anything is read."""
    page = forms.page
    targets = [f"{page}index.html" if page and page.endswith("/") else page, *forms.targets.values()]
    for target in filter(None, targets):
        check_output(target, force=force)
        if targets.count(target) > 1:
            raise InputError(f"two formats cannot both go to {target}: give each its own name")
    if forms.charts:
        check_output(forms.charts / "verdicts.svg", force=force)  # every report has this chart
    if (forms.gate or forms.baseline) and not (forms.markdown or forms.json):
        raise InputError("--gate and --baseline need --markdown or --json")
    if forms.inspect_system and not forms.inspect:
        raise InputError("--inspect-system needs --inspect")


@spread
def view(
    study: options.StudyArgument,
    instrument: options.ScoringOption = None,
    privacy: PrivacyOptions = _SHOW_ALL,
    serving: ServeOptions = _VIEW,
    safety_repeats: options.SafetyRepeatsOption = None,
) -> None:
    """Browse the report of a study in a web browser.

    The command serves the pages and prints one link, which works until you stop the command. You can read the pages at
    once; a large study is counted in the background, and again when it changes. Nothing is written to the study, and
    nothing leaves this computer. The pages show everybody's answers: do not give the link to people who are still
    rating.

    Example: attune view chats.study.db
    """
    from attunement.reports.overview import instrument_of
    from attunement.store import Study
    from attunement.web.server import run
    from attunement.web.viewer import make_view, new_token

    where = serving.public_address()
    with Study(study) as opened:
        token = new_token()
        app = make_view(
            opened, instrument_of(opened, instrument, safety_repeats), privacy.privacy(), token, address=where
        )
        options.print_links(
            [f"{where}/enter/{token}"], "Anyone with the link can open the pages, which show everybody's answers."
        )
        run(app, **serving.listening)


gate = printed(api.gate)


def methods(
    study: options.StudyArgument,
    output: Annotated[
        str, option("The Markdown file to write; - is standard output.", "--output", "-o", metavar="FILE")
    ] = "-",
    instrument: options.StudyInstrumentOption = None,
    force: options.ForceOption = False,
) -> None:
    """Write the methods section of a paper about a study.

    It describes which version of which instrument was used, by which judges with which settings, how people's sample
    was drawn, who rated, how they were trained and kept blind, what was left out, and how the numbers are computed.
    Facts that are not in the study are left for you to fill in. Nobody is named. A checklist for agreement studies
    follows.

    Example: attune methods chats.study.db -o methods.md
    """
    from attunement.analysis.summary import study_agreement
    from attunement.ratings import RaterKind
    from attunement.reports.methods import methods_markdown
    from attunement.reports.overview import instrument_of
    from attunement.store import Study
    from attunement.store.study_facts import study_facts

    check_output(output, force=force)
    with Study(study) as opened:
        chosen = instrument_of(opened, instrument)
        facts = study_facts(opened, chosen)
        agreement = study_agreement(opened, chosen) if facts.of(RaterKind.PERSON) else None
        text = methods_markdown(facts, agreement, Path(opened.place).name)
    options.write_output(output, text, force=force)
    if output != "-":
        say(f"Wrote {output}.", err=True)
