"""`attune report`: a study as a page that can be read, shown and sent."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from attunement.cli.hiding import NamesOption, NoTextOption, RedactOption, hiding_of
from attunement.cli.reading import ForceOption, refuse_to_overwrite
from attunement.cli.studies import ScoringOption, StudyArgument

if TYPE_CHECKING:
    from attunement.reports.forms import Forms
    from attunement.reports.html.writing import Written


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
    """Write a study as a page: what needs attention first, then verdicts, charts and every conversation.

    The page is one file that needs no network: it opens from disk and can be sent by mail. Every figure leads to its
    conversations and every verdict to the words it rests on. A very large study becomes an index and a folder of pages.

    With --markdown, --junit, --json, --latex or --inspect it is written in these forms instead, or beside -o; - is
    standard output. What --redact and --no-text leave out is left out of all of them.

    Example: attune report chats.study.db -o report.html
    """
    from attunement.reports.choosing import instrument_of
    from attunement.reports.forms import Forms, report_only, write_forms
    from attunement.reports.html.analyses import analysed
    from attunement.reports.html.writing import Wishes, write_report
    from attunement.study import Study

    hiding = hiding_of(redact=redact, names=names, no_text=no_text)
    forms = Forms(markdown, junit, as_json, latex, inspect, junit_per, gate, baseline, inspect_system)
    page = output or (None if forms.wanted else "report.html")
    _check(forms, page, charts, force=force)
    with Study(study) as opened:
        chosen = instrument_of(opened, instrument)
        wishes = Wishes(hiding, *analysed(opened, chosen, hiding))
        if page:
            written = write_report(opened, chosen, page, wishes)
            typer.echo("\n".join(_sentences(written, page)), err="-" in forms.wanted.values())
            made = written.report
        else:
            made = report_only(opened, chosen, wishes)
        for said in write_forms(opened, made, forms, name=instrument):
            typer.echo(said, err=True)
    if charts:
        from attunement.reports.html.exporting import export_charts

        files = export_charts(made, charts)
        typer.echo(f"Wrote {len(files)} files with charts to {charts}.", err="-" in forms.wanted.values())


def _check(forms: "Forms", page: str | None, charts: Path | None, *, force: bool) -> None:
    """Refuse what cannot be meant, before anything is read."""
    from attunement.errors import InputError

    targets = [f"{page}index.html" if page and page.endswith("/") else page, *forms.wanted.values()]
    for target in filter(None, targets):
        refuse_to_overwrite(target, force=force)
        if targets.count(target) > 1:
            raise InputError(f"two forms cannot both go to {target}: give each a name of its own")
    if charts:
        refuse_to_overwrite(charts / "verdicts.svg", force=force)  # every report has this one
    if (forms.gate or forms.baseline) and not (forms.markdown or forms.json):
        raise InputError("--gate and --baseline are for a summary: give --markdown or --json too")
    if forms.inspect_system and not forms.inspect:
        raise InputError("--inspect-system chooses what --inspect writes: give both")


def _sentences(written: "Written", output: str) -> list[str]:
    from attunement.reports.wording import counted

    top = written.report.top
    size = f"{written.bytes / 1e6:,.1f} MB"
    found = f"{counted(top.conversations, 'conversation')}. Not judged: {top.not_judged:,}."
    if not top.nobody_judged:
        found += f" Unsafe according to {top.according}: {top.unsafe:,}. Safety not judged: {top.safety_not_judged:,}."
    return [
        found,
        f"Wrote {output} ({size})."
        if written.files == 1
        else f"Wrote {output}: an index and {written.files - 1:,} pages ({size}).",
    ]
