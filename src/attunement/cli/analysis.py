"""`attune agree`, `compare`, `correct` and `bench`."""

import os
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from attunement.cli.options import (
    ForceOption,
    JsonOption,
    MarkdownOption,
    ScoringOption,
    StudyArgument,
    print_document,
    refuse_to_overwrite,
    shared,
)
from attunement.cli.options import StudyInstrumentOption as InstrumentOption
from attunement.errors import InputError

if TYPE_CHECKING:
    from attunement.analysis.ratings_file import FileColumns
    from attunement.analysis.summary import Agreement, AgreementOptions
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
    """Measure how well people and judges agree.

    For each item: how far your raters agree with each other, how far each judge agrees with them, how many failures it
    missed, and a verdict. Only ratings of the main round count, and simulated raters are never people.

    Example: attune agree chats.study.db
    """
    if (study is None) == (ratings is None):
        raise InputError("name a study, or a table of ratings with --ratings")
    if markdown and as_json:
        raise InputError("--markdown and --json exclude each other")
    from attunement.analysis.ratings_file import FileColumns
    from attunement.analysis.summary import AgreementOptions

    wish = AgreementOptions(
        tuple(judge or ()), tuple(people or ()), tuple(only or ()), by, full or as_json or bool(picture)
    )
    reading = FileColumns(
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
        from attunement.reports.agreement_wording import picture_format

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
        from attunement.reports.agreement_wording import write_picture

        write_picture(found, picture, title)
        typer.echo(f"The picture is in {picture}.", err=True)


def _of_study(
    place: str, instrument: str | None, wish: "AgreementOptions", reading: "FileColumns"
) -> "tuple[Agreement, Instrument]":
    from attunement.analysis.summary import study_agreement
    from attunement.reports.overview import instrument_of
    from attunement.store import Study

    if any(reading):
        raise InputError("--unit, --rater, --item, --value, --system, --scale and the like go with --ratings")
    with Study(place) as study:
        chosen = instrument_of(study, instrument)
        return study_agreement(study, chosen, wish), chosen


def _of_table(path: Path, wish: "AgreementOptions", reading: "FileColumns", instrument: str | None) -> "Agreement":
    from attunement.analysis.summary import file_agreement

    if instrument:
        raise InputError("--instrument goes with a study")
    if not reading.rater:
        raise InputError("--rater: name the column that says who rated, or one column for each person")
    if reading.value and (not reading.unit or len(reading.rater) != 1):
        raise InputError("a long table needs --unit and one --rater beside --value")
    by = None if wish.by == "system" else wish.by
    return file_agreement(path, reading._replace(judges=wish.judges, by=by), wish)


def _print(
    found: "Agreement", title: str, instrument: "Instrument | None", *, full: bool, markdown: bool, as_json: bool
) -> None:
    if as_json:
        import json

        from attunement.reports.agreement import agreement_record
        from attunement.reports.records import instrument_record

        record = agreement_record(found, instrument=instrument_record(instrument) if instrument else None)
        typer.echo(json.dumps(record, indent=2, allow_nan=False))
    elif markdown:
        from attunement.reports.agreement import agreement_markdown

        typer.echo(agreement_markdown(found, title, full=full), nl=False)
    else:
        from attunement.reports.agreement import draw_agreement
        from attunement.reports.terminal import open_console

        draw_agreement(found, title, open_console(), full=full)


if TYPE_CHECKING:
    from attunement.reports.baseline import Decision
    from attunement.reports.comparison_groups import GroupComparison


def compare(
    study: StudyArgument,
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="A B",
            help="The two to compare, the one that was there before first. May be left out where there are only two.",
            show_default=False,
        ),
    ] = None,
    by: Annotated[
        str, typer.Option(metavar="COLUMN", help="What tells the two apart: system, or any field of the metadata.")
    ] = "system",
    pair: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Compare within the same value of this column, such as scenario or id. By default scenario, where "
            "the two have scenarios in common.",
            show_default=False,
        ),
    ] = None,
    baseline: Annotated[
        str | None,
        typer.Option(
            metavar="OTHER",
            help="Compare with another study, such as that of the last release, and decide by exit code.",
            show_default=False,
        ),
    ] = None,
    margin: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="With --baseline: by how many points of the score it may be worse. By default a twentieth of the "
            "scale: 0.05 of a score from 0 to 1.",
            show_default=False,
        ),
    ] = None,
    instrument: ScoringOption = None,
    rater: Annotated[
        str, typer.Option(metavar="NAME|panel", help="Whose scorecards are compared, where there are several raters.")
    ] = "panel",
    as_markdown: MarkdownOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compare two systems, or a study with an earlier one.

    Says for each item, category and the whole how far B is above or below A, how sure that is, what this sample could
    have shown, and which conversations fail the gate. Where both met the same scenarios they are compared scenario by
    scenario. Below ten scenarios (or ten conversations of each) there is no interval.

    With --baseline the exit code decides: 0: no worse. 1: a conversation is unsafe that was not, or the score may be
    worse by more than the margin (the end of the interval counts, not the point). 3: it cannot be decided, because
    there are too few conversations or something was not judged. 2: the command cannot run, or the two studies were
    judged with different instruments, prompts or judges.

    Example: attune compare chats.study.db --by system Harbor Lumen
    """
    from attunement.reports.comparison_groups import compare_groups, judged_study
    from attunement.store import Study

    if as_json and as_markdown:
        raise InputError("choose one of --json and --markdown")
    if baseline is not None:
        if names or by != "system":
            raise InputError("--baseline compares all of one study with all of another; leave A, B and --by out")
        _finish(*_against(study, baseline, instrument, rater, pair, margin), as_markdown=as_markdown, as_json=as_json)
    if margin is not None:
        raise InputError("--margin decides against a --baseline; name the other study with it")
    with Study(study) as opened:
        found = compare_groups(judged_study(opened, instrument, rater), by, names or (), pair=pair)
    _print_comparison(found, None, as_markdown=as_markdown, as_json=as_json)


def _against(
    study: str, baseline: str, instrument: str | None, rater: str, pair: str | None, margin: float | None
) -> "tuple[GroupComparison | None, Decision]":
    from attunement.reports.baseline import decide, nothing_judged
    from attunement.reports.comparison_groups import check_versions, compare_studies, judged_study, versions_of
    from attunement.store import Study

    with Study(study) as opened, Study(baseline) as earlier:
        for each in (opened, earlier):
            if not each.instruments():
                return None, nothing_judged(each.place)
        now, before = judged_study(opened, instrument, rater), judged_study(earlier, instrument, rater)
        check_versions(versions_of(opened, now), versions_of(earlier, before), earlier.place)
        found = compare_studies(before, now, pair=pair)
    return found, decide(found.comparison, margin)


def _finish(found: "GroupComparison | None", decision: "Decision", *, as_markdown: bool, as_json: bool) -> NoReturn:
    """Print the decision and end with its exit code, even where nobody reads the output to its end."""
    try:
        _print_comparison(found, decision, as_markdown=as_markdown, as_json=as_json)
    except BrokenPipeError:
        # What is still buffered goes nowhere, or Python would end with an exit code of its own.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise typer.Exit(decision.exit_code)


def _print_comparison(
    found: "GroupComparison | None", decision: "Decision | None", *, as_markdown: bool, as_json: bool
) -> None:
    from attunement.reports.baseline import decided_document, decision_record
    from attunement.reports.comparison import comparison_document, comparison_record

    if as_json:
        import json

        record = comparison_record(found) if found else {}
        # Escapes for all but ASCII: names may hold what no terminal and no encoding takes.
        typer.echo(json.dumps(record | ({"decision": decision_record(decision)} if decision else {}), indent=2))
    elif decision:
        print_document(decided_document(found, decision), as_markdown=as_markdown, level=2)
    elif found:
        print_document(comparison_document(found), as_markdown=as_markdown, level=2)


def correct(
    study: StudyArgument,
    instrument: ScoringOption = None,
    rater: Annotated[
        str, typer.Option(metavar="NAME|panel", help="Which judge is corrected, where there are several.")
    ] = "panel",
    save_calibrator: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Keep in the study what the judge's scores mean on people's scale.", show_default=False
        ),
    ] = None,
    calibrator: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Put the judge's scores on people's scale with a calibrator that was kept before; NAME@2 is its "
            "second version. For conversations that people did not rate.",
            show_default=False,
        ),
    ] = None,
    calibrator_from: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="OTHER", help="The study that holds the calibrator, if another.", show_default=False
        ),
    ] = None,
    as_markdown: MarkdownOption = False,
    as_json: JsonOption = False,
) -> None:
    """Correct a judge's scores with a sample that people rated.

    The mean score or the pass rate by the judge alone, by people alone, and corrected: the judge's, with its error
    taken out as far as the people's sample shows it. It needs a sample drawn with attune plan; what people chose to
    rate themselves corrects nothing.

    Example: attune correct chats.study.db --save-calibrator spring
    """
    from attunement.reports import correction
    from attunement.store import Study
    from attunement.store.samples import find_calibrator

    if as_json and as_markdown:
        raise InputError("choose one of --json and --markdown")
    if calibrator and save_calibrator:
        raise InputError("--save-calibrator makes a calibrator and --calibrator uses one; choose one of them")
    if calibrator_from and not calibrator:
        raise InputError("--from says where a --calibrator is; name the calibrator too")
    with Study(study) as opened:
        if calibrator:
            with Study(calibrator_from or study) as holder:
                fitted = find_calibrator(holder, calibrator)
            applied = correction.apply_calibrator(opened, fitted, instrument, rater)
            document, record = correction.calibration_document(applied), correction.calibration_record(applied)
        else:
            found = correction.correct_study(opened, instrument, rater)
            saved = correction.save_calibrator(opened, found, save_calibrator) if save_calibrator else None
            document, record = correction.correction_document(found, saved), correction.correction_record(found, saved)
    if as_json:
        import json

        typer.echo(json.dumps(record, indent=2))
    else:
        print_document(document, as_markdown=as_markdown, level=2)


if TYPE_CHECKING:
    from rich.table import Table

    from attunement.datasets.base import Dataset, FigureTable, LoadedDataset, Part, PublishedFigures

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
    repeats: Annotated[int, shared("repeats")] = 1,
    limit: Annotated[int | None, shared("limit")] = None,
    base_url: Annotated[str | None, shared("base_url")] = None,
    max_cost: Annotated[float | None, shared("max_cost")] = None,
) -> None:
    """Test judges on public data that people have rated.

    Without a name it lists the data sets, their licences and where to get them. The data are not part of Attunement,
    and nothing is downloaded. With --judge, a judge answers what the people were asked, and is compared with them and
    with the published figures.

    Example: attune bench kumar2025 --from replication-data --judge openai:gpt-5.2
    """
    from attunement.datasets.catalogue import DATASETS, find_dataset, save_dataset
    from attunement.errors import InputError
    from attunement.reports.terminal import line, open_console
    from attunement.store import Study

    if name is None:
        _print_sets(DATASETS)
        return
    chosen = find_dataset(name)
    if folder is None:
        raise InputError(f"say with --from where the data of {name} lie; they are to be had at: {chosen.where}")
    loaded = chosen.read(folder)
    readable = [part for part in loaded.parts if part.has_text]
    if judges and not readable:
        raise InputError(f"{name} has no text here, so no judge can be asked about it; leave out --judge")
    place = study or f"{name}.study.db"
    with Study(place, create=True) as opened:
        kept = save_dataset(loaded, opened)
        said = [_loaded(loaded, kept.conversations, kept.new_ratings, opened.place), *_notes(loaded)]
    console = open_console()
    for sentence in said:
        console.print(line(sentence))
    code = _ask(readable, place, judges or [], repeats=repeats, limit=limit, base_url=base_url, max_cost=max_cost)
    _agree(place, loaded, full=full)
    _print_figures(loaded.figures(), full=full)
    raise typer.Exit(code)


def _loaded(loaded: "LoadedDataset", conversations: int, new: int, place: str) -> str:
    from attunement.ratings import RaterKind

    counts = loaded.counts()
    people, models = counts[RaterKind.PERSON], counts[RaterKind.MODEL]
    there = "" if new == counts.total() else f" {counts.total() - new:,} of the ratings were there already."
    return (
        f"{conversations:,} conversations, {people:,} ratings by people and {models:,} by models are in {place}.{there}"
    )


def _notes(loaded: "LoadedDataset") -> Iterator[str]:
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
    from attunement.cli.run import run_and_report
    from attunement.conversations import Conversation
    from attunement.conversations.reader import Reading, ReadOptions

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


def _agree(place: str, loaded: "LoadedDataset", *, full: bool) -> None:
    """The agreement of everybody who rated, part by part, with the command that gives it again."""
    from attunement.store import shown_place

    for part in loaded.parts:
        words = [shown_place(place), "--instrument", part.instrument.id]
        words += ["--people", loaded.people] if loaded.people else []
        words += ["--full"] if full else []
        typer.secho(f"\n$ attune agree {shlex.join(words)}", dim=True)
        sys.stdout.flush()
        agree(place, part.instrument.id, people=[loaded.people] if loaded.people else None, full=full)


def _print_sets(sets: "Sequence[Dataset]") -> None:
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


def _print_figures(figures: "PublishedFigures", *, full: bool) -> None:
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
    from attunement.reports.render_terminal import line, plain_table

    drawn = plain_table()
    drawn.padding = (0, 1, 0, 0)  # seven columns of figures beside a long name must fit into 80 columns
    for place, column in enumerate(table.columns):
        numbers = all(row[place][-1:].isdigit() or not row[place] for row in table.rows)
        drawn.add_column(line(column), justify="right" if numbers and place else "left")
    for row in table.rows:
        drawn.add_row(*(line(cell) for cell in row))
    return drawn
