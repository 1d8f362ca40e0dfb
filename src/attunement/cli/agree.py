"""`attune agree`: how far people and judges agree, and how far each judge can be believed."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attunement.cli.reading import ForceOption, refuse_to_overwrite
from attunement.cli.studies import InstrumentOption
from attunement.errors import InputError

if TYPE_CHECKING:
    from attunement.agreement.asking import Wish
    from attunement.agreement.ratings_file import Reading
    from attunement.agreement.summary import Agreement
    from attunement.instruments import Instrument


def agree(
    study: Annotated[
        str | None, typer.Argument(help="The study: a file, or a postgresql:// address.", show_default=False)
    ] = None,
    instrument: InstrumentOption = None,
    judge: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Only this judge; in a table of ratings: this rater is a judge. May be given several times.",
            show_default=False,
        ),
    ] = None,
    people: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME|WORD",
            help="Only people with this name, or of whom this is known, such as clinician.",
            show_default=False,
        ),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="ITEM", help="Only this item. May be given several times.", show_default=False),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Also for each part: system, or anything the conversations say of themselves, such as language.",
            show_default=False,
        ),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Everything: the trust card of each judge and item, with technical names.")
    ] = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print everything as JSON, for other programs.")] = False,
    picture: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Also draw a picture: .svg, or .png (extra attunement[png]).",
            show_default=False,
        ),
    ] = None,
    force: ForceOption = False,
    ratings: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="A table of ratings instead of a study: CSV, TSV, JSONL, Parquet or XLSX. Name its columns with the "
            "options below.",
            show_default=False,
        ),
    ] = None,
    unit: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="What was rated. Several columns together may say it.", show_default=False),
    ] = None,
    rater: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Who rated. Without --value: the column of one person's ratings, given once for each person.",
            show_default=False,
        ),
    ] = None,
    item: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="What it was rated on.", show_default=False)
    ] = None,
    value: Annotated[str | None, typer.Option(metavar="COLUMN", help="The rating.", show_default=False)] = None,
    system: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Which system answered.", show_default=False)
    ] = None,
    conversation: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="The conversation, where one was rated in several places.", show_default=False
        ),
    ] = None,
    repeat: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="The first, second, ... time of asking.", show_default=False),
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option(
            metavar="ANSWERS",
            help="All answers from the lowest to the highest, such as 1-5 or no,yes. Others are refused and counted. "
            "Without it the scale is what occurs.",
            show_default=False,
        ),
    ] = None,
    na: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WORD", help="An answer that means “does not apply”, beside NA and N/A.", show_default=False
        ),
    ] = None,
) -> None:
    """How far people and judges agree, and how far each judge can be believed.

    For each item: how far your raters agree with each other, how far each judge agrees with them, how many failures it
    missed, and a verdict. Only ratings of the main round count, and simulated raters are never people.

    Example: attune agree chats.study.db
    """
    if (study is None) == (ratings is None):
        raise InputError("name a study, or a table of ratings with --ratings")
    if markdown and as_json:
        raise InputError("--markdown and --json exclude each other")
    from attunement.agreement.asking import Wish
    from attunement.agreement.ratings_file import Reading

    wish = Wish(tuple(judge or ()), tuple(people or ()), tuple(only or ()), by, full or as_json or bool(picture))
    reading = Reading(
        unit=tuple(unit or ()),
        rater=tuple(rater or ()),
        value=value,
        item=item,
        system=system,
        conversation=conversation,
        repeat=repeat,
        scale=tuple(part.strip() for part in scale.split(",")) if scale else (),
        na=tuple(na or ()),
    )
    if picture:
        from attunement.reports.trust_picture import picture_format

        picture_format(picture)  # before the work, not after it
        refuse_to_overwrite(picture, force=force)
    if ratings is None:
        found, chosen = _of_study(str(study), instrument, wish, reading)
        title = f"Agreement on {chosen.id} {chosen.version}"
    else:
        found, chosen = _of_table(ratings, wish, reading, instrument), None
        title = f"Agreement in {ratings.name}"
    _print(found, title, chosen, full=full, markdown=markdown, as_json=as_json)
    if picture:
        from attunement.reports.trust_picture import write_picture

        write_picture(found, picture, title)
        typer.echo(f"The picture is in {picture}.", err=True)


def _of_study(place: str, instrument: str | None, wish: "Wish", reading: "Reading") -> "tuple[Agreement, Instrument]":
    from attunement.agreement.asking import agreement_in
    from attunement.reports.choosing import instrument_of
    from attunement.study import Study

    if any(reading):
        raise InputError("--unit, --rater, --item, --value, --system, --scale and the like go with --ratings")
    with Study(place) as study:
        chosen = instrument_of(study, instrument)
        return agreement_in(study, chosen, wish), chosen


def _of_table(path: Path, wish: "Wish", reading: "Reading", instrument: str | None) -> "Agreement":
    from attunement.agreement.asking import agreement_of

    if instrument:
        raise InputError("--instrument goes with a study")
    if not reading.rater:
        raise InputError("--rater: name the column that says who rated, or one column for each person")
    if reading.value and (not reading.unit or len(reading.rater) != 1):
        raise InputError("a long table needs --unit and one --rater beside --value")
    by = None if wish.by == "system" else wish.by
    return agreement_of(path, reading._replace(judges=wish.judges, by=by), wish)


def _print(
    found: "Agreement", title: str, instrument: "Instrument | None", *, full: bool, markdown: bool, as_json: bool
) -> None:
    if as_json:
        import json

        from attunement.reports.agreement_records import agreement_record
        from attunement.reports.records import instrument_record

        record = agreement_record(found, instrument=instrument_record(instrument) if instrument else None)
        typer.echo(json.dumps(record, indent=2, allow_nan=False))
    elif markdown:
        from attunement.reports.agreement_markdown import agreement_markdown

        typer.echo(agreement_markdown(found, title, full=full), nl=False)
    else:
        from attunement.reports.agreement_terminal import draw_agreement
        from attunement.reports.terminal import open_console

        draw_agreement(found, title, open_console(), full=full)
