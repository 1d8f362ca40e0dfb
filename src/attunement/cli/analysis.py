"""`attune agree`, `compare`, `correct` and `bench`."""

import shlex
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attunement import api
from attunement.cli.options import (
    option,
    print_output,
    printed,
    spread,
)
from attunement.errors import InputError
from attunement.settings import Settings

if TYPE_CHECKING:
    from rich.table import Table

    from attunement.datasets.base import Dataset, FigureTable, LoadedDataset, Part, PublishedFigures


agree = printed(api.agree, markdown=True)
compare = printed(api.compare, markdown=True)
correct = printed(api.correct, markdown=True)


_STOPPED = (2, 130)
"""Exit codes of a run that end the command: it could not run, or it was interrupted."""


@spread
def bench(
    settings: Annotated[Settings, ("repeats", "limit", "base_url", "max_cost")],
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The data set; omit it to list them all.")] = None,
    folder: Annotated[
        Path | None, option("Folder with the data: a clone of their repository.", "--from", metavar="FOLDER")
    ] = None,
    judges: Annotated[
        list[str] | None,
        option("Also ask this judge, as attune judge does; repeatable.", "--judge", "-j", metavar="NAME"),
    ] = None,
    study: Annotated[
        str | None,
        option("Where to save it: a file, or a postgresql:// address (by default NAME.study.db).", metavar="PLACE"),
    ] = None,
    fails: Annotated[
        list[str] | None,
        option("What a failure is, as in attune agree: <=2, no, or ITEM=harmful; repeatable.", metavar="[ITEM=]ANSWER"),
    ] = None,
    full: Annotated[
        bool, option("Show the trust card of each judge and item, and every published figure.", "--full")
    ] = False,
) -> None:
    """Test judges on public data that people have rated.

    Without a name it lists the data sets, their licenses and where to get them. The data are not part of Attunement,
    and nothing is downloaded. With --judge, a judge answers what the people were asked, and is compared with them and
    with the published figures.

    Example: attune bench kumar2025 --from replication-data --judge openai:gpt-5.2
    """
    from attunement.datasets.catalogue import DATASETS, find_dataset, save_dataset
    from attunement.reports.render_terminal import line, open_console
    from attunement.store import Study, shown_place

    if name is None:
        _print_sets(DATASETS)
        return
    chosen = find_dataset(name)
    if folder is None:
        raise InputError(f"name the folder with the data of {name} with --from; get them at: {chosen.where}")
    loaded = chosen.read(folder)
    readable = [part for part in loaded.parts if part.has_text]
    if judges and not readable:
        raise InputError(
            f"{name} does not include the text of the conversations, so a judge cannot rate them; leave out --judge"
        )
    place = study or f"{name}.study.db"
    with Study(place, create=True) as opened:
        saved = save_dataset(loaded, opened)
        sentences = list(_about(loaded, saved.conversations, saved.new_ratings, opened.place))
    console = open_console()
    for sentence in sentences:
        console.print(line(sentence))
    code = _ask(readable, place, replace(settings, judges=judges)) if judges else 0
    people = [loaded.people] if loaded.people else []
    for part in loaded.parts:
        words = [shown_place(place), "--instrument", part.instrument.id]
        words += [*(["--people", *people] if people else []), *(["--full"] if full else [])]
        words += [word for entry in fails or () for word in ("--fails", entry)]
        typer.secho(f"\n$ attune agree {shlex.join(words)}", dim=True)
        sys.stdout.flush()
        output = api.agree(place, part.instrument.id, people=people, full=full, fails=fails or (), details=False)
        print_output(output)
    _print_figures(loaded.figures(), full=full)
    raise typer.Exit(code)


def _about(loaded: "LoadedDataset", conversations: int, new: int, place: str) -> Iterator[str]:
    from attunement.ratings import RaterKind

    counts = loaded.counts()
    people, models = counts[RaterKind.PERSON], counts[RaterKind.MODEL]
    there = "" if new == counts.total() else f" {counts.total() - new:,} of the ratings were in the study already."
    yield (
        f"{conversations:,} conversations, {people:,} ratings by people and {models:,} by models are in {place}.{there}"
    )
    yield from loaded.notes
    if refused := loaded.refused():
        most = "; ".join(f"{what} ({count:,} times)" for what, count in refused.most_common(5))
        yield f"{refused.total():,} values are not valid answers: {most}."


def _ask(parts: "Sequence[Part]", place: str, settings: Settings) -> int:
    """Ask the judges about each part that has text; returns the highest exit code."""
    from attunement.cli.run import run_and_report

    worst = 0
    for part in parts:
        typer.echo(f"\n{part.instrument.title}")
        sys.stdout.flush()
        asked = replace(settings, instrument=part.instrument)
        code = run_and_report(part.conversations, place, asked, quiet=False, json=False)
        if code in _STOPPED:
            raise typer.Exit(code)
        worst = max(worst, code)
    return worst


def _print_sets(sets: "Sequence[Dataset]") -> None:
    from rich.table import Table

    from attunement.reports.render_terminal import line, open_console

    console = open_console()
    for entry in sets:
        console.print(line(entry.name, "bold"))
        drawn = Table.grid(padding=(0, 2))
        for what in ("what", "people", "shows", "licence", "where"):
            drawn.add_row(line(f"  {what}"), line(getattr(entry, what)))
        console.print(drawn)
    console.print(line("\nDownload a data set, then: attune bench NAME --from FOLDER"))


def _print_figures(figures: "PublishedFigures", *, full: bool) -> None:
    from attunement.reports.render_terminal import line, open_console

    console = open_console()
    for table in [*figures.tables, *(figures.details if full else [])]:
        console.print()
        console.print(line(table.title, "bold"))
        if table.rows:
            console.print(_drawn(table))
        for remark in table.remarks:
            console.print(line(remark))
    if figures.details and not full:
        console.print(line("\nFor each published figure, use --full"))
    if figures.counts:
        console.print()
    for count in figures.counts:
        console.print(line(f"{count}.", "bold"))


def _drawn(table: "FigureTable") -> "Table":
    from attunement.reports.render_terminal import line, plain_table

    drawn = plain_table()
    drawn.padding = (0, 1, 0, 0)  # seven columns of numbers and a long name must fit into 80 characters
    for place, column in enumerate(table.columns):
        numbers = all(row[place][-1:].isdigit() or not row[place] for row in table.rows)
        drawn.add_column(line(column), justify="right" if numbers and place else "left")
    for row in table.rows:
        drawn.add_row(*(line(cell) for cell in row))
    return drawn
