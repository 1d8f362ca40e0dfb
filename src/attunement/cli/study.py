"""`attune show`, `add`, `delete`, `export` and `import`: look into a study, and get data in and out."""

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from attunement.cli import options
from attunement.cli.options import (
    BlindOption,
    ForceOption,
    JsonOption,
    ScoringOption,
    StudyArgument,
    SystemOption,
    pluralize,
    refuse_to_overwrite,
)
from attunement.errors import InputError

if TYPE_CHECKING:
    from attunement.instruments import Instrument
    from attunement.scoring import Verdict
    from attunement.store import Study

_ROWS = 50
"""Rows of a table on a terminal, unless --limit asks for more."""


class VerdictName(StrEnum):
    """The verdicts as they are typed."""

    UNSAFE = "unsafe"
    SAFETY_NOT_JUDGED = "safety-not-judged"
    FAIL = "fail"
    INCOMPLETE = "incomplete"
    NOT_JUDGED = "not-judged"
    PASS = "pass"  # noqa: S105 - a verdict, no password
    FLAGGED = "flagged"
    NO_FLAG = "no-flag"


def show(
    study: StudyArgument,
    conversation: Annotated[
        str | None, typer.Argument(help="One conversation, by its id or as system/id.", show_default=False)
    ] = None,
    instrument: ScoringOption = None,
    rater: Annotated[
        str | None,
        typer.Option(metavar="NAME|panel", help="Only this rater, or only all judges together.", show_default=False),
    ] = None,
    verdict: Annotated[
        list[VerdictName] | None,
        typer.Option(
            metavar="VERDICT",
            help=f"List only conversations with this verdict ({', '.join(VerdictName)}); may be given several times.",
            show_default=False,
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=0, help=f"List at most so many conversations (here {_ROWS}, in JSON all).")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show the scorecards of a study, or one conversation.

    Without a conversation: how many came to which verdict, and each with its score and what was not met, the most
    serious first. With one: its turns with the quoted words marked, and for each item the answer, the reasons and
    whether each quotation really stands in the conversation.

    Example: attune show chats.study.db
    """
    from attunement.reports.overview import instrument_of
    from attunement.store import Study

    if conversation is not None and (verdict or limit is not None):
        raise InputError("--verdict and --limit choose from the list; leave them out with a conversation")
    with Study(study) as opened:
        chosen = instrument_of(opened, instrument)
        if conversation is None:
            _show_all(opened, chosen, rater, verdict or [], limit, as_json=as_json)
        else:
            _show_one(opened, chosen, conversation, rater, as_json=as_json)


def _show_all(
    study: "Study",
    instrument: "Instrument",
    rater: str | None,
    names: list[VerdictName],
    limit: int | None,
    *,
    as_json: bool,
) -> None:
    from attunement.reports.overview import overview, rater_of, reworded
    from attunement.scoring import PANEL

    rows = limit if limit is not None or as_json else _ROWS
    shown = overview(
        study,
        instrument,
        rater=rater_of(study, rater),
        only_panel=rater == PANEL,
        verdicts=[verdict for name in names for verdict in _verdicts(name)],
        limit=rows,
    )
    if as_json:
        from attunement.reports.records import overview_record

        _print_json(overview_record(shown))
        return
    from attunement.reports.gate import version_note
    from attunement.reports.terminal import draw_overview, open_console

    notes = version_note(study, instrument)
    draw_overview(shown, open_console(), reworded=reworded(study, instrument), notes=notes)


def _show_one(study: "Study", instrument: "Instrument", name: str, rater: str | None, *, as_json: bool) -> None:
    from attunement.reports.conversation import view, view_record
    from attunement.reports.overview import conversation_of, rater_of

    shown = view(study, instrument, conversation_of(study, name), rater=rater_of(study, rater))
    if as_json:
        _print_json(view_record(shown))
        return
    from attunement.reports.terminal import draw_view, open_console

    draw_view(shown, open_console())


def _verdicts(name: VerdictName) -> "tuple[Verdict, ...]":
    from attunement.scoring import Verdict

    if name is VerdictName.SAFETY_NOT_JUDGED:
        return Verdict.SAFETY_MISSING, Verdict.SAFETY_NOT_JUDGED
    return (Verdict[name.name],)


def _print_json(record: object) -> None:
    import json

    # Escapes for all but ASCII: texts may hold what no terminal and no encoding takes.
    typer.echo(json.dumps(record, indent=2))


def add(
    study: Annotated[str, typer.Argument(help="The study: a file, or a postgresql:// address; made if not there.")],
    files: options.FilesArgument,
    format: options.FormatOption = None,
    system: options.SystemOption = None,
    skip_invalid: options.SkipInvalidOption = False,
    prompt_field: options.PromptFieldOption = None,
    response_field: options.ResponseFieldOption = None,
    id_field: options.IdFieldOption = None,
    system_field: options.SystemFieldOption = None,
) -> None:
    """Add conversations to a study without asking a judge.

    One that is there already is left as it is. After that, `attune plan` draws a sample and `attune annotate` opens the
    pages where people rate. `attune judge` needs no `add`: it keeps what it reads.

    Example: attune add chats.study.db chats.jsonl
    """
    from attunement.store import Study

    reading = options.open_conversations(
        files,
        format=format,
        system=system,
        skip_invalid=skip_invalid,
        output=None if "://" in study else study,
        prompt_field=prompt_field,
        response_field=response_field,
        id_field=id_field,
        system_field=system_field,
    )
    with Study(study, create=True) as opened:
        before = opened.conversation_count()
        options.keep(reading, opened)
        now = opened.conversation_count()
    for sentence in options.what_was_read(reading):
        typer.echo(sentence)
    typer.echo(f"New in the study: {now - before:,}. It holds {now:,} now.")


def delete(
    study: StudyArgument,
    conversation: Annotated[str, typer.Argument(help="The conversation: its id, or system/id.")],
) -> None:
    """Delete a conversation from a study.

    Its text, its ratings and the answers behind them are deleted at once, without asking you again. What was exported
    before is not touched.

    Example: attune delete chats.study.db session-17
    """
    from attunement.errors import StudyError
    from attunement.store import Study

    with Study(study) as opened:
        found = opened.find(conversation)
        if not found:
            raise StudyError(f"{opened.place} holds no conversation {conversation!r}; nothing was deleted")
        if len(found) > 1:
            names = ", ".join(str(kept.conversation.identity) for kept in found)
            raise StudyError(f"{conversation!r} may mean {names}: say which, as system/id; nothing was deleted")
        gone = opened.delete(found[0].key)
    ratings = "1 rating" if gone == 1 else f"{gone:,} ratings"
    typer.echo(f"Deleted {found[0].conversation.identity} with {ratings}.")


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
    """Export ratings, scorecards, practice answers or events.

    Ratings come with everything that is known about them: the conversation, the item, the outcome with its reasons
    and evidence, who gave it, and what the answer behind it cost. `attune import` reads them back.

    Example: attune export chats.study.db ratings.csv
    """
    from attunement.errors import AttunementError
    from attunement.store import Study, audit_log, chosen_instrument, export, samples

    chosen = format or export.format_of(output)
    if "://" not in study and output != "-" and Path(output).resolve() == Path(study).resolve():
        raise AttunementError(f"{output} is the study itself, so it is not written over; give the output another name")
    if instrument and what != "scorecards":
        raise AttunementError(f"--instrument chooses what scorecards are made with; of {what} everything is written")
    refuse_to_overwrite(output, force=force)
    if dictionary:
        refuse_to_overwrite(dictionary, force=force)
    with Study(study) as opened:
        if what == "ratings":
            scored, rows = None, export.ratings(opened)
        elif what == "practice":
            scored, rows = None, samples.practice_answers(opened)
        elif what == "events":
            scored, rows = None, audit_log.audit_events(opened)
        else:
            scored = chosen_instrument(opened, instrument)
            rows = export.scorecards(opened, scored)
        if dictionary:
            from attunement.reports.dictionary import dictionary as describe
            from attunement.reports.dictionary import write_dictionary

            write_dictionary(describe(what, rows.columns, scored), dictionary)
        count = export.write(rows, output, chosen)
    target = "standard output" if output == "-" else output
    one, more = _ROWS_AT_ONCE[what]
    typer.echo(f"Wrote {count:,} {one if count == 1 else more} to {target}.", err=True)


_ROWS_AT_ONCE = {
    "ratings": ("rating", "ratings"),
    "scorecards": ("scorecard", "scorecards"),
    "practice": ("answer to a worked example", "answers to worked examples"),
    "events": ("event", "events"),
}


if TYPE_CHECKING:
    from attunement.store.import_ratings import ImportResult


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
    """Import exported ratings, or answers given elsewhere.

    A table has one answer a row (conversation, rater, item, answer, reasoning), or one row for several (an object
    `scores`, or a column for each item). Everything is checked first: where something does not fit, nothing is
    imported and the lines are named. Evidence is looked up and the instrument's rules are applied as for any judge.

    Example: attune import old.study.db answers.csv --conversations chats.jsonl --instrument coaching-v1
    """
    from attunement.conversations.reader import ReadOptions, read
    from attunement.instruments.lint import checked
    from attunement.ratings import RaterKind
    from attunement.store import Study
    from attunement.store.import_ratings import AbsentPolicy, Columns, ImportOptions, check_import, save_import

    if blind is not None and kind != "person" and not person:
        raise InputError("--blind is about people: say with --kind person or --person who is one")
    asked = [checked(name) for name in instrument or ()]
    wishes = ImportOptions(
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
            report = save_import(check_import(files, talk, main, wishes, study=opened), opened, AbsentPolicy(absent))
            place = opened.place
    else:
        fitting = check_import(files, talk, main, wishes)
        with Study(study, create=True) as opened:
            report = save_import(fitting, opened, AbsentPolicy(absent))
            place = opened.place
    typer.echo("\n".join(_sentences(report, place, excused=absent == "not-due")))


def _sentences(report: "ImportResult", place: str, *, excused: bool) -> Iterator[str]:
    checked = report.checked
    raters = ", ".join(rater.name for rater in report.raters.values())
    yield (
        f"Read {pluralize(checked.answers, 'answer')} about {pluralize(len(checked.rated), 'conversation')} "
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
        yield f"Without any answer: {pluralize(report.unanswered.count, 'conversation')}. {report.unanswered}."


def _absent(report: "ImportResult", *, excused: bool) -> Iterator[str]:
    count = report.absent.total()
    by_item = ", ".join(f"{item} {number:,}" for item, number in report.absent.most_common())
    yield f"Absent: {pluralize(count, 'answer')} that the instrument asks for ({by_item})."
    yield f"They are missing from {pluralize(report.absent_in.count, 'scorecard')}: {report.absent_in}."
    if not excused:
        yield "Missing scores as ERROR. If it was right not to ask for them, import with --absent not-due."
        return
    if count > report.absent_safety:
        yield f"Kept as not due, as --absent says: {count - report.absent_safety:,}."
    if report.absent_safety:
        yield f"About safety, which --absent not-due does not excuse: {report.absent_safety:,} stay missing."
