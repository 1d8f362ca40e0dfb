"""`attune report`: a study as a page that can be read, shown and sent."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attunement.cli.reading import ForceOption, refuse_to_overwrite

if TYPE_CHECKING:
    from attunement.reports.html.text import Hiding
    from attunement.reports.html.writing import Written


def report(
    study: Annotated[str, typer.Argument(help="The study: a file, or a postgresql:// address.")],
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", metavar="FILE", help="The file to write. A name that ends in / is a folder of pages."
        ),
    ] = "report.html",
    instrument: Annotated[
        str | None,
        typer.Option(
            metavar="ID|FILE",
            help="Which instrument of the study; or a .yaml file with the same items and other weights or threshold.",
            show_default=False,
        ),
    ] = None,
    redact: Annotated[
        bool, typer.Option("--redact", help="Replace e-mail addresses, phone numbers and links; crisis lines stay.")
    ] = False,
    names: Annotated[
        Path | None, typer.Option("--names", metavar="FILE", help="With --redact: names to replace too, one a line.")
    ] = None,
    no_text: Annotated[
        bool, typer.Option("--no-text", help="Leave out all that was said and all reasons; keep the figures.")
    ] = False,
    charts: Annotated[
        Path | None,
        typer.Option("--charts", metavar="FOLDER", help="Also write each chart as a PNG and an SVG file."),
    ] = None,
    force: ForceOption = False,
) -> None:
    """Write a study as a page: what needs attention first, then verdicts, charts and every conversation.

    The page is one file that needs no network: it opens from disk and can be sent by mail. Every figure leads to its
    conversations and every verdict to the words it rests on. A very large study becomes an index and a folder of pages.

    Example: attune report chats.study.db -o report.html
    """
    from attunement.reports.choosing import instrument_of
    from attunement.reports.html.analyses import analysed
    from attunement.reports.html.writing import Wishes, write_report
    from attunement.study import Study

    hiding = _hiding(redact=redact, names=names, no_text=no_text)
    with Study(study) as opened:
        chosen = instrument_of(opened, instrument)
        refuse_to_overwrite(f"{output}index.html" if output.endswith("/") else output, force=force)
        found = analysed(opened, chosen, hiding)
        written = write_report(opened, chosen, output, Wishes(hiding, found.checked, sections=found.sections))
    typer.echo("\n".join(_sentences(written, output)))
    if charts:
        from attunement.reports.html.exporting import export_charts

        files = export_charts(written.report, charts)
        typer.echo(f"Wrote {len(files)} files with charts to {charts}.")


def _hiding(*, redact: bool, names: Path | None, no_text: bool) -> "Hiding":
    from attunement.conversations.redaction import Redactor, read_names
    from attunement.errors import InputError
    from attunement.reports.html.text import Hiding

    if names is not None and not redact:
        raise InputError("--names replaces names only together with --redact; give both")
    redactor = Redactor([] if names is None else read_names(names)) if redact else None
    return Hiding(redactor and redactor.redact_text, texts=not no_text)


def _sentences(written: "Written", output: str) -> list[str]:
    top = written.report.top
    size = f"{written.bytes / 1e6:,.1f} MB"
    return [
        f"{top.conversations:,} conversations. Not judged: {top.not_judged:,}. Unsafe according to {top.according}: "
        f"{top.unsafe:,}. Safety not judged: {top.safety_not_judged:,}.",
        f"Wrote {output} ({size})."
        if written.files == 1
        else f"Wrote {output}: an index and {written.files - 1:,} pages ({size}).",
    ]
