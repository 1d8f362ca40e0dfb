"""`attune plan`: how many conversations and ratings are needed, and which ones people rate."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attunement.cli.reading import ForceOption, refuse_to_overwrite
from attunement.cli.studies import AskedOption, StudyArgument

if TYPE_CHECKING:
    from attunement.instruments import Instrument
    from attunement.study import Study
    from attunement.study.samples import Sample


def plan(
    study: StudyArgument,
    draw: Annotated[
        int | None,
        typer.Option("--draw", metavar="N", min=1, help="Draw N conversations at random for people to rate."),
    ] = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            "--by", metavar="COLUMN", help="Draw by stratum: system, verdict, origin or a metadata column; repeatable."
        ),
    ] = None,
    all_flagged: Annotated[
        bool, typer.Option("--all-flagged", help="Take every conversation a judge flagged, and draw N of the others.")
    ] = False,
    certify: Annotated[
        float,
        typer.Option("--certify", min=0, max=1, help="The share kept apart for certifying; 0 makes no split."),
    ] = 0.5,
    seed: Annotated[int, typer.Option("--seed", min=0, max=2**31 - 1, help="The same seed draws the same sample.")] = 0,
    name: Annotated[str | None, typer.Option("--name", help="The name of the sample; else it is numbered.")] = None,
    extend: Annotated[
        str | None,
        typer.Option("--extend", metavar="SAMPLE", help="Draw N more to this sample, as it was drawn."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="Also write the drawn ids to a .txt or .csv file."),
    ] = None,
    precision: Annotated[
        float | None,
        typer.Option(
            "--precision", help="How far an interval may reach: points of the scale, or a share (0.05: 5 in a hundred)."
        ),
    ] = None,
    raters: Annotated[int, typer.Option("--raters", min=2, help="How many people rate each conversation.")] = 2,
    instrument: AskedOption = None,
    force: ForceOption = False,
) -> None:
    """Say how many conversations and ratings are needed, or draw the ones that people rate.

    Without --draw it only prints the numbers. With --draw it keeps a sample in the study: at random by conversation,
    each with its probability, split into `develop` (to tune a judge on) and `certify` (for the figures you report).
    A sample is never overwritten. --extend makes a larger one that holds it; probabilities stay right because it
    draws within the strata of the first draw, and conversations that came in since form strata of their own.

    Example: attune plan chats.study.db --all-flagged --draw 100 --by system -o ids.csv
    """
    from attunement.errors import InputError
    from attunement.study import Study

    if precision is not None and not precision > 0:
        raise InputError("--precision is how far an interval may reach either way, so it is above 0")
    if draw is None and (by or all_flagged or extend or name or output):
        raise InputError("say with --draw how many conversations to draw")
    if extend and (by or all_flagged):
        raise InputError("--extend draws as the sample was drawn: leave out --by and --all-flagged")
    if output is not None:
        _check(output, force=force)
    with Study(study) as opened:
        asked = asked_instrument(opened, instrument)
        if draw is None:
            _say(_numbers(opened, asked, precision, raters))
            return
        from attunement.people.drawing import draw_sample, extend_sample

        if extend:
            sample = extend_sample(opened, asked, extend, draw, name=name)
        else:
            share = certify or None
            sample = draw_sample(
                opened, asked, draw, by=by or (), all_flagged=all_flagged, certify=share, seed=seed, name=name
            )
        if output is not None:
            _write(opened, sample, output)
        _say(_drawn(sample, opened.place, output))


def asked_instrument(study: "Study", name: str | None) -> "Instrument":
    """An instrument of the study, or one that is yet to be asked."""
    from attunement.errors import InputError
    from attunement.instruments.lint import checked
    from attunement.study import chosen_instrument

    known = study.instruments()
    if name is None and not known:
        raise InputError(f"nothing is rated in {study.place} yet: say with --instrument what is to be asked")
    if name is None or any(name in {entry.id, entry.hash} for entry in known):
        return chosen_instrument(study, name)
    return checked(name)


def _numbers(study: "Study", instrument: "Instrument", precision: float | None, raters: int) -> Iterator[str]:
    from attunement.errors import StudyError
    from attunement.people.plan_text import paragraphs
    from attunement.people.planning import plan

    numbers = plan(study, instrument, width=precision, raters=raters)
    if not numbers.conversations:
        raise StudyError(
            f"{study.place} holds no conversation, so there is nothing to plan: judge or import some first"
        )
    yield from paragraphs(numbers, instrument, study.place)


def _drawn(sample: "Sample", place: str, output: Path | None) -> Iterator[str]:
    splits = [drawn.split for drawn in sample.units.values()]
    split = ", ".join(f"{splits.count(name):,} to {name}" for name in ("develop", "certify") if name in splits)
    yield (
        f"Drew {len(sample.units):,} conversations for {sample.instrument} (seed {sample.seed}) and kept them as "
        f"{sample.name} in {place}{f', with those of {extended}' if (extended := sample.design['extends']) else ''}"
        f"{f': {split}' if split else ''}."
    )
    for stratum, counts in sample.design["strata"].items():
        share = counts["drawn"] / counts["there"]
        yield f"  {stratum}: {counts['drawn']:,} of {counts['there']:,} (probability {share:.3g})"
    if output is not None:
        yield f"Wrote their ids to {output}."


def _check(output: Path, *, force: bool) -> None:
    """Refuse what cannot be written before a sample is kept that would then lack its file."""
    from attunement.errors import InputError

    if output.suffix.lower() not in {".txt", ".csv"}:
        raise InputError(f"{output}: ids are written to a .txt or a .csv file")
    if not output.parent.is_dir():
        raise InputError(f"{output} cannot be written: the folder {output.parent} does not exist")
    refuse_to_overwrite(output, force=force)


def _write(study: "Study", sample: "Sample", output: Path) -> None:
    from attunement.conversations.writing import replacing
    from attunement.study.table_files import Column, Export, write

    names = {summary.key: summary.identity for page in study.summaries(1000) for summary in page}
    if output.suffix.lower() == ".txt":
        with replacing(output) as stream:
            for key in sample.units:
                stream.write(f"{names[key]}\n".encode("utf-8", "surrogatepass"))
        return
    columns = [Column("system"), Column("id"), Column("stratum"), Column("probability", "number"), Column("split")]
    records = ({**names[key]._asdict(), **drawn._asdict()} for key, drawn in sample.units.items())
    write(Export(columns, records), output, "csv")


def _say(paragraphs: Iterator[str]) -> None:
    """Print paragraphs in lines that fit the terminal."""
    import shutil
    from textwrap import wrap

    width = min(shutil.get_terminal_size((100, 24)).columns, 100)
    before = ""
    for paragraph in paragraphs:
        row = paragraph.startswith("  ")
        if before and not row and not before.endswith("?"):
            typer.echo()
        indent = "    " if row else ""
        lines = wrap(paragraph, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
        typer.echo("\n".join(lines))
        before = paragraph
