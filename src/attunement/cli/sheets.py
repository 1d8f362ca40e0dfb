"""`attune hand-out` and `attune take-in`: units go out to be rated elsewhere, and come back as ratings."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from attunement.cli.reading import BlindOption, counted
from attunement.cli.studies import AskedOption, StudyArgument

if TYPE_CHECKING:
    from attunement.instruments import Instrument
    from attunement.people.exchange.taking import Raters, Taken
    from attunement.study import Study

_SHOWN = 12
"""Columns that are named as not read: enough to see which table it is."""
Format = Literal["csv", "label-studio", "argilla"]
FormatOption = Annotated[Format, typer.Option("--format", help="Where people rate: a spreadsheet, or another tool.")]


def hand_out(
    study: StudyArgument,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FOLDER", help="A new folder for the files.", show_default=False)
    ],
    format: FormatOption = "csv",
    sample: Annotated[
        str | None, typer.Option("--sample", metavar="NAME", help="Which sample of attune plan; else the newest.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Hand out every conversation, without a sample.")] = False,
    instrument: AskedOption = None,
    raters: Annotated[
        int, typer.Option("--raters", min=1, help="With argilla: how many people it asks for each unit.")
    ] = 1,
) -> None:
    """Write files with which people rate elsewhere: a spreadsheet, Label Studio or Argilla.

    The files hold what was said and what is asked, in an order of chance. They name no system and show no rating, and
    the id of a unit is a random word that only this study can trace back. `attune take-in` reads the answers.

    Example: attune hand-out chats.study.db --format label-studio -o to-rate
    """
    from attunement.people.exchange import argilla, label_studio, sheets
    from attunement.people.exchange.handing import hand_out as hand_out_units
    from attunement.people.exchange.handing import new_folder
    from attunement.study import Study

    with Study(study) as opened:
        asked, keys = _wanted(opened, instrument, sample, everything=everything)
        folder = new_folder(output)
        outgoing = hand_out_units(opened, asked, format, keys)
        match format:
            case "csv":
                files = sheets.write(folder, asked, outgoing)
            case "label-studio":
                files = label_studio.write(folder, asked, outgoing)
            case "argilla":
                files = argilla.write(folder, asked, outgoing, raters=raters)
        place = opened.place
    typer.echo(f"Handed out {counted(len(outgoing), 'unit')} to be rated with {asked.id}:")
    for file in files:
        typer.echo(f"  {file}")
    typer.echo(_next(format, folder, place))


def take_in(
    study: Annotated[str, typer.Argument(help="The study that the units were handed out from.")],
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE", help="Filled sheets, or what the other tool exported.")
    ],
    format: FormatOption = "csv",
    rater: Annotated[
        list[str] | None,
        typer.Option(
            "--rater", metavar="NAME|ID=NAME", help="Who rated; or the name of whom the file calls ID (repeatable)."
        ),
    ] = None,
    about: Annotated[
        list[str] | None,
        typer.Option("--about", metavar="WHAT=TEXT", help="About the rater, such as profession=nurse (repeatable)."),
    ] = None,
    blind: BlindOption = None,
) -> None:
    """Take in what people rated elsewhere.

    Everything is checked first: an answer that is not on the scale, one that is missing, or an unknown unit is named
    with its line, and then nothing is taken in. Units without any answer are left for later. The answers become
    ordinary ratings of people, which attune agree sees at once.

    Example: attune take-in chats.study.db to-rate/to-fill.csv --rater Ada --about profession=psychologist
    """
    from itertools import chain

    from attunement.people.exchange import argilla, label_studio, sheets
    from attunement.people.exchange.taking import take_in as take_in_answers
    from attunement.study import Study

    who = _raters(rater or [], about or [])._replace(blind=blind)
    with Study(study) as opened:
        match format:
            case "csv":
                taken = take_in_answers(opened, chain.from_iterable(map(sheets.read, files)), who)
            case "label-studio":
                taken = take_in_answers(opened, chain.from_iterable(map(label_studio.read, files)), who)
            case "argilla":
                entries = chain.from_iterable(map(argilla.read, files))
                taken = take_in_answers(opened, entries, who, argilla.question_names)
        place = opened.place
    typer.echo("\n".join(_sentences(taken, place)))


def _wanted(
    study: "Study", instrument: str | None, sample: str | None, *, everything: bool
) -> tuple["Instrument", set[int] | None]:
    """What is asked, and the keys of the conversations; None for all."""
    from attunement.cli.plan import asked_instrument
    from attunement.errors import InputError
    from attunement.people.drawing import find_sample
    from attunement.study.samples import latest_sample

    if everything and sample:
        raise InputError("--all hands out every conversation: leave out --sample")
    if sample:
        found = find_sample(study, sample)
        asked = asked_instrument(study, instrument or found.instrument)
        if asked.id != found.instrument:
            raise InputError(f"the sample {sample!r} is for {found.instrument}, not for {asked.id}")
        return asked, set(found.units)
    asked = asked_instrument(study, instrument)
    if everything:
        return asked, None
    newest = latest_sample(study, asked.id)
    if newest is None:
        raise InputError(
            f"{study.place} has no sample for {asked.id}: draw one with attune plan --draw N, or hand out --all"
        )
    return asked, set(newest.units)


def _raters(named: list[str], about: list[str]) -> "Raters":
    from attunement.errors import InputError
    from attunement.people.exchange.taking import Raters

    plain = [name for name in named if "=" not in name]
    if len(plain) > 1 or (plain and len(named) > 1):
        raise InputError("--rater is one name for all answers, or ID=NAME for each person in the file")
    pairs: list[dict[str, str]] = []
    for option, texts in (("--rater", [name for name in named if "=" in name]), ("--about", about)):
        parted = [text.partition("=") for text in texts]
        if any(not key.strip() or not value.strip() for key, _, value in parted):
            raise InputError(f"{option} looks like {'ID=NAME' if option == '--rater' else 'profession=nurse'}")
        pairs.append({key.strip(): value.strip() for key, _, value in parted})
    if plain and not plain[0].strip():
        raise InputError("--rater is empty: say who rated")
    return Raters(plain[0].strip() if plain else None, names=pairs[0], about=pairs[1])


def _next(format: Format, folder: Path, place: str) -> str:
    """What to do with the files."""
    match format:
        case "csv":
            filled = folder / "to-fill.csv"
            return f"Give each rater a copy. When it is filled: attune take-in {place} {filled} --rater NAME"
        case "label-studio":
            return (
                "Put the configuration into a new project's labelling interface and import the tasks; export as JSON, "
                f"then: attune take-in {place} EXPORT.json --format label-studio --rater ID=NAME"
            )
        case "argilla":
            return (
                f'Load it with argilla.Dataset.from_disk("{folder}"); write the submitted records with '
                f"records.to_json, then: attune take-in {place} FILE --format argilla --rater ID=NAME"
            )


def _sentences(taken: "Taken", place: str) -> Iterator[str]:
    names = ", ".join(rater.name for rater in taken.raters.values())
    if not taken.units:
        yield "Nothing was taken in: nobody has answered yet."
        return
    yield f"Took in {counted(taken.units, 'unit')} rated by {names}: {counted(taken.new, 'rating')} kept in {place}."
    if taken.known:
        yield f"Already in the study: {taken.known:,}."
    if taken.differing.count:
        yield f"Different there: {taken.differing.count:,}; what the study holds stands: {taken.differing}."
    if taken.unrated:
        yield f"Not rated yet: {counted(taken.unrated, 'unit')}."
    if taken.not_asked:
        yield f"Left out, because they are not asked of so short a conversation: {counted(taken.not_asked, 'answer')}."
    if taken.unread:
        yield f"Not read, because no item is called so: {', '.join(map(repr, list(taken.unread)[:_SHOWN]))}."
