"""`attune bench`: public data that people rated, loaded into a study, with the published figures beside ours."""

import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from attunement.cli import asking

if TYPE_CHECKING:
    from rich.table import Table

    from attunement.datasets.model import Figures, Known, Loaded, Part
    from attunement.datasets.model import Table as FigureTable

_STOPPED = (2, 130)
"""Exit codes of a run after which nothing else should follow: it could not run, or it was interrupted."""


def bench(
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="The data set; leave it out to list them.", show_default=False),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--from", metavar="FOLDER", help="Where the data lie: a clone of their repository.", show_default=False
        ),
    ] = None,
    judges: Annotated[
        list[str] | None,
        typer.Option(
            "--judge", "-j", metavar="NAME", help="Ask this judge too, as attune judge does; may be repeated."
        ),
    ] = None,
    study: Annotated[
        str | None,
        typer.Option(
            "--study", metavar="PLACE", help="Where it is kept: a file, or a postgresql:// address [NAME.study.db]."
        ),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Show the trust card of each judge and item, and every published figure.")
    ] = False,
    repeats: asking.RepeatsOption = 1,
    limit: asking.LimitOption = None,
    base_url: asking.BaseUrlOption = None,
    max_cost: Annotated[float | None, typer.Option("--max-cost", min=0, help="Stop before this many dollars.")] = None,
) -> None:
    """Load public human-rated data into a study, ask judges about it, and compare with the published figures.

    Without a name: the data sets, their licences and where to get them. The data are not part of Attunement, and
    nothing is downloaded. With --judge, a judge is asked what the people were asked, and held against them.

    Example: attune bench kumar2025 --from replication-data --judge openai:gpt-5.2
    """
    from attunement.datasets.catalogue import SETS, known
    from attunement.datasets.keeping import keep
    from attunement.errors import InputError
    from attunement.reports.terminal import line, open_console
    from attunement.study import Study

    if name is None:
        _print_sets(SETS)
        return
    chosen = known(name)
    if folder is None:
        raise InputError(f"say with --from where the data of {name} lie; they are to be had at: {chosen.where}")
    loaded = chosen.read(folder)
    readable = [part for part in loaded.parts if part.has_text]
    if judges and not readable:
        raise InputError(f"{name} has no text here, so no judge can be asked about it; leave out --judge")
    place = study or f"{name}.study.db"
    with Study(place, create=True) as opened:
        kept = keep(loaded, opened)
        said = [_loaded(loaded, kept.conversations, kept.new_ratings, opened.place), *_notes(loaded)]
    console = open_console()
    for sentence in said:
        console.print(line(sentence))
    code = _ask(readable, place, judges or [], repeats=repeats, limit=limit, base_url=base_url, max_cost=max_cost)
    _agree(place, loaded, full=full)
    _print_figures(loaded.figures(), full=full)
    raise typer.Exit(code)


def _loaded(loaded: "Loaded", conversations: int, new: int, place: str) -> str:
    from attunement.ratings import RaterKind

    counts = loaded.counts()
    people, models = counts[RaterKind.PERSON], counts[RaterKind.MODEL]
    there = "" if new == counts.total() else f" {counts.total() - new:,} of the ratings were there already."
    return (
        f"{conversations:,} conversations, {people:,} ratings by people and {models:,} by models are in {place}.{there}"
    )


def _notes(loaded: "Loaded") -> Iterator[str]:
    yield from loaded.notes
    if refused := loaded.refused():
        most = "; ".join(f"{what} ({count:,} times)" for what, count in refused.most_common(5))
        yield f"{refused.total():,} values were refused: {most}."


def _ask(
    parts: "Sequence[Part]",
    place: str,
    judges: list[str],
    *,
    repeats: int,
    limit: int | None,
    base_url: str | None,
    max_cost: float | None,
) -> int:
    """Ask the judges about each part that has text; the exit code of the run that went worst."""
    if not judges:
        return 0
    from attunement.api import Settings
    from attunement.cli.running import run_and_report
    from attunement.conversations import Conversation
    from attunement.conversations.readers import Reading, ReadOptions

    class Given(Reading):
        """Conversations that are in memory, in the form that a run takes."""

        def __init__(self, conversations: Sequence[Conversation]) -> None:
            super().__init__([], ReadOptions())
            self._conversations_given = conversations

        def __iter__(self) -> Iterator[Conversation]:
            return iter(self._conversations_given)

    worst = 0
    for part in parts:
        settings = Settings(
            judges=judges,
            instrument=part.instrument,
            repeats=repeats,
            base_url=base_url,
            max_cost=max_cost,
            limit=limit,
        )
        typer.echo(f"\n{part.instrument.title}")
        sys.stdout.flush()
        code = run_and_report(Given(part.conversations), place, settings, quiet=False, json=False)
        if code in _STOPPED:
            raise typer.Exit(code)
        worst = max(worst, code)
    return worst


def _agree(place: str, loaded: "Loaded", *, full: bool) -> None:
    """The agreement of everybody who rated, part by part, with the command that gives it again."""
    from attunement.cli.agree import agree
    from attunement.study import shown_place

    for part in loaded.parts:
        words = [shown_place(place), "--instrument", part.instrument.id]
        words += ["--people", loaded.people] if loaded.people else []
        words += ["--full"] if full else []
        typer.secho(f"\n$ attune agree {shlex.join(words)}", dim=True)
        sys.stdout.flush()
        agree(place, part.instrument.id, people=[loaded.people] if loaded.people else None, full=full)


def _print_sets(sets: "Sequence[Known]") -> None:
    from rich.table import Table

    from attunement.reports.terminal import line, open_console

    console = open_console()
    for entry in sets:
        console.print(line(entry.name, "bold"))
        drawn = Table.grid(padding=(0, 2))
        for what in ("what", "people", "shows", "licence", "where"):
            drawn.add_row(line(f"  {what}"), line(getattr(entry, what)))
        console.print(drawn)
    console.print(line("\nGet a set yourself, then: attune bench NAME --from FOLDER"))


def _print_figures(figures: "Figures", *, full: bool) -> None:
    from attunement.reports.terminal import line, open_console

    console = open_console()
    for table in [*figures.tables, *(figures.details if full else [])]:
        console.print()
        console.print(line(table.title, "bold"))
        if table.rows:
            console.print(_drawn(table))
        for remark in table.remarks:
            console.print(line(remark))
    if figures.details and not full:
        console.print(line("\nEach published figure, one by one: --full"))
    if figures.counts:
        console.print()
    for count in figures.counts:
        console.print(line(f"{count}.", "bold"))


def _drawn(table: "FigureTable") -> "Table":
    from attunement.reports.terminal import line, plain_table

    drawn = plain_table()
    drawn.padding = (0, 1, 0, 0)  # seven columns of figures beside a long name must fit into 80 columns
    for place, column in enumerate(table.columns):
        numbers = all(row[place][-1:].isdigit() or not row[place] for row in table.rows)
        drawn.add_column(line(column), justify="right" if numbers and place else "left")
    for row in table.rows:
        drawn.add_row(*(line(cell) for cell in row))
    return drawn
