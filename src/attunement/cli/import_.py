"""`attune import`: read exported ratings back, or answers that judges or people gave elsewhere."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from attunement.cli.reading import BlindOption, SystemOption, counted
from attunement.errors import InputError

if TYPE_CHECKING:
    from attunement.study.importing import Report


def import_(
    study: Annotated[str, typer.Argument(help="The study: a file, or a postgresql:// address. Made if not there.")],
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE", help="Tables of answers: .csv, .tsv, .jsonl, .json, .parquet or .xlsx."),
    ],
    conversations: Annotated[
        list[str] | None,
        typer.Option(
            "--conversations",
            "-c",
            metavar="FILE",
            help="The conversations that the answers are about, where the study does not have them; may be repeated.",
        ),
    ] = None,
    instrument: Annotated[
        list[str] | None,
        typer.Option(
            "--instrument",
            "-i",
            metavar="ID|FILE",
            help="What was asked; else the only one in the study. Repeat it for other versions that exported ratings "
            "were asked in; answers made elsewhere are read with the first.",
        ),
    ] = None,
    system: SystemOption = None,
    absent: Annotated[
        Literal["error", "not-due"],
        typer.Option("--absent", help="What an answer that is not in the file means: it is missing, or was not due."),
    ] = "error",
    kind: Annotated[
        Literal["model", "person", "simulation"], typer.Option("--kind", help="What those who answered are.")
    ] = "model",
    person: Annotated[
        list[str] | None,
        typer.Option("--person", metavar="NAME", help="This rater is a person, whatever --kind says; may be repeated."),
    ] = None,
    blind: BlindOption = None,
    rater: Annotated[
        str | None, typer.Option("--rater", metavar="NAME", help="Who answered, where the file does not say it.")
    ] = None,
    conversation_column: Annotated[
        str | None, typer.Option("--conversation-column", metavar="NAME", help="The column with the conversation's id.")
    ] = None,
    system_column: Annotated[
        str | None, typer.Option("--system-column", metavar="NAME", help="The column with the name of the system.")
    ] = None,
    turn_column: Annotated[
        str | None, typer.Option("--turn-column", metavar="NAME", help="The column with the turn that was rated.")
    ] = None,
    item_column: Annotated[
        str | None, typer.Option("--item-column", metavar="NAME", help="The column with the item's id.")
    ] = None,
    answer_column: Annotated[
        str | None, typer.Option("--answer-column", metavar="NAME", help="The column with the answer.")
    ] = None,
    rater_column: Annotated[
        str | None, typer.Option("--rater-column", metavar="NAME", help="The column with who answered.")
    ] = None,
    repeat_column: Annotated[
        str | None, typer.Option("--repeat-column", metavar="NAME", help="The column that numbers repeats.")
    ] = None,
    reasoning_column: Annotated[
        str | None, typer.Option("--reasoning-column", metavar="NAME", help="The column with the reasons.")
    ] = None,
) -> None:
    """Read exported ratings back, or answers that judges or people gave elsewhere.

    A table has one answer a row (conversation, rater, item, answer, reasoning), or one row for several (an object
    `scores`, or a column for each item). Everything is checked first: where something does not fit, nothing is
    imported and the lines are named. Evidence is looked up and the instrument's rules are applied as for any judge.

    Example: attune import old.study.db answers.csv --conversations chats.jsonl --instrument coaching-v1
    """
    from attunement.conversations.readers import ReadOptions, read
    from attunement.instruments.lint import checked
    from attunement.ratings import RaterKind
    from attunement.study import Study
    from attunement.study.importing import Absent, Columns, Wishes, check, keep

    if blind is not None and kind != "person" and not person:
        raise InputError("--blind is about people: say with --kind person or --person who is one")
    asked = [checked(name) for name in instrument or ()]
    wishes = Wishes(
        system=system,
        rater=rater,
        kind=RaterKind(kind),
        people=frozenset(person or ()),
        blind=blind,
        versions=tuple(asked[1:]),
        columns=Columns(
            conversation=conversation_column,
            system=system_column,
            turn=turn_column,
            item=item_column,
            answer=answer_column,
            rater=rater_column,
            repeat=repeat_column,
            reasoning=reasoning_column,
        ),
    )
    main = asked[0] if asked else None
    talk = read(conversations, ReadOptions(system=system)) if conversations else ()
    # A study that is not there is made only once everything is known to fit.
    if "://" in study or Path(study).exists():
        with Study(study, create=True) as opened:
            report = keep(check(files, talk, main, wishes, study=opened), opened, Absent(absent))
            place = opened.place
    else:
        fitting = check(files, talk, main, wishes)
        with Study(study, create=True) as opened:
            report = keep(fitting, opened, Absent(absent))
            place = opened.place
    typer.echo("\n".join(_sentences(report, place, excused=absent == "not-due")))


def _sentences(report: "Report", place: str, *, excused: bool) -> Iterator[str]:
    checked = report.checked
    raters = ", ".join(rater.name for rater in report.raters.values())
    yield (
        f"Read {counted(checked.answers, 'answer')} about {counted(len(checked.rated), 'conversation')} "
        f"by {raters}: {report.new:,} kept in {place}."
    )
    if report.known:
        yield f"Already in the study: {report.known:,}."
    if report.differing.count:
        yield f"Different there: {report.differing.count:,}; what the study holds stands: {report.differing}."
    if checked.errors:
        yield f"ERROR in the file: {checked.errors:,}."
    if checked.off_scale.count:
        yield f"Kept as ERROR (malformed): {checked.off_scale.count:,}. {checked.off_scale}."
    if report.absent:
        yield from _absent(report, excused=excused)
    if report.unanswered.count:
        yield f"Without any answer: {counted(report.unanswered.count, 'conversation')}. {report.unanswered}."


def _absent(report: "Report", *, excused: bool) -> Iterator[str]:
    count = report.absent.total()
    by_item = ", ".join(f"{item} {number:,}" for item, number in report.absent.most_common())
    yield f"Absent: {counted(count, 'answer')} that the instrument asks for ({by_item})."
    yield f"They are missing from {counted(report.absent_in.count, 'scorecard')}: {report.absent_in}."
    if not excused:
        yield "Missing scores as ERROR. If it was right not to ask for them, import with --absent not-due."
        return
    if count > report.absent_safety:
        yield f"Kept as not due, as --absent says: {count - report.absent_safety:,}."
    if report.absent_safety:
        yield f"About safety, which --absent not-due does not excuse: {report.absent_safety:,} stay missing."
