"""`attune export`: the ratings, the scorecards, the practice or the trail of a study as a table for other programs."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from attunement.cli.reading import ForceOption, refuse_to_overwrite
from attunement.cli.studies import StudyArgument


def export(
    study: StudyArgument,
    output: Annotated[
        str, typer.Argument(metavar="OUT", help="The file to write: .jsonl, .csv or .parquet; - is standard output.")
    ],
    what: Annotated[
        Literal["ratings", "scorecards", "practice", "events"],
        typer.Option(
            "--what",
            help=(
                "One row a rating, one row a scorecard of a conversation, one row an answer of a person to a worked "
                "example (calibration and attention), or the full trail of people's work."
            ),
        ),
    ] = "ratings",
    format: Annotated[
        Literal["jsonl", "csv", "parquet"] | None,
        typer.Option("--format", help="What to write, where the name of the file does not say it."),
    ] = None,
    instrument: Annotated[
        str | None,
        typer.Option(
            "--instrument",
            "-i",
            metavar="ID|FILE",
            help="With scorecards: which instrument of the study, or a .yaml file with weights of its own.",
        ),
    ] = None,
    dictionary: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Also write what each column means and what can stand in it, as .csv, .json or .md.",
            show_default=False,
        ),
    ] = None,
    force: ForceOption = False,
) -> None:
    """Write the ratings, the scorecards, the practice or the trail of a study as a table.

    Ratings come with everything that is known about them: the conversation, the item, the outcome with its reasons
    and evidence, who gave it, and what the answer behind it cost. `attune import` reads them back.

    Example: attune export chats.study.db ratings.csv
    """
    from attunement.errors import AttunementError
    from attunement.study import Study, chosen_instrument, exporting, practice, table_files, trail

    chosen = format or table_files.format_of(output)
    if "://" not in study and output != "-" and Path(output).resolve() == Path(study).resolve():
        raise AttunementError(f"{output} is the study itself, so it is not written over; give the output another name")
    if instrument and what != "scorecards":
        raise AttunementError(f"--instrument chooses what scorecards are made with; of {what} everything is written")
    refuse_to_overwrite(output, force=force)
    if dictionary:
        refuse_to_overwrite(dictionary, force=force)
    with Study(study) as opened:
        if what == "ratings":
            scored, rows = None, exporting.ratings(opened)
        elif what == "practice":
            scored, rows = None, practice.practice(opened)
        elif what == "events":
            scored, rows = None, trail.trail(opened)
        else:
            scored = chosen_instrument(opened, instrument)
            rows = exporting.scorecards(opened, scored)
        if dictionary:
            from attunement.reports.dictionary import dictionary as describe
            from attunement.reports.dictionary import write_dictionary

            write_dictionary(describe(what, rows.columns, scored), dictionary)
        count = table_files.write(rows, output, chosen)
    target = "standard output" if output == "-" else output
    one, more = _ROWS[what]
    typer.echo(f"Wrote {count:,} {one if count == 1 else more} to {target}.", err=True)


_ROWS = {
    "ratings": ("rating", "ratings"),
    "scorecards": ("scorecard", "scorecards"),
    "practice": ("answer to a worked example", "answers to worked examples"),
    "events": ("event", "events"),
}
