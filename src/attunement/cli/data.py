"""`attune describe`, `convert`, `import`, `export` and `delete`: files of conversations, and what a study contains."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from attunement.api import Output
from attunement.cli import options
from attunement.cli.options import PrivacyOptions, option, pluralize, printed, say, spread, what_was_read
from attunement.conversations.writer import Shape
from attunement.errors import InputError, NoStudyError, StudyError
from attunement.output import STDOUT, check_output
from attunement.settings import InputOptions, Option

if TYPE_CHECKING:
    from attunement.annotation.exchange import RaterInfo
    from attunement.conversations import Conversation
    from attunement.instruments import Instrument
    from attunement.store import Study
    from attunement.store.import_ratings import ImportResult


_UNREAD_SHOWN = 12
"""Unread columns that are listed: enough to recognize the table."""


# Files of conversations


@printed
def describe(files: options.FilesArgument, reading: InputOptions) -> Output:
    """Describe files of conversations: counts, systems, lengths.

    Each reply is compared with the message it answers: a ratio of 2 means twice as many words.

    Example: attune describe chats.jsonl
    """
    from attunement.conversations.statistics import overviews
    from attunement.reports.blocks import Document, texts
    from attunement.reports.lengths import lengths_blocks, lengths_record

    source = reading.read(files)
    systems = overviews(source)
    blocks = [*texts(what_was_read(source)), *(lengths_blocks(systems) if systems else ())]
    return Output({**asdict(source.counts), **lengths_record(systems)}, Document("", blocks))


@spread
def convert(
    files: Annotated[
        list[str], typer.Argument(metavar="IN", help="Conversations: files, folders or patterns; - is standard input.")
    ],
    output: Annotated[
        str, typer.Argument(metavar="OUT", help="The file to write: .jsonl or .json, also with .gz; - prints lines.")
    ],
    reading: InputOptions,
    redaction: Annotated[PrivacyOptions, ("redact", "names")],
    to: Annotated[Shape, option("The JSON layout to write.")] = Shape.MESSAGES,
    force: options.ForceOption = False,
) -> None:
    """Convert conversations from any known format to JSON.

    The format of the input is recognized. An input file is never overwritten.

    Example: attune convert chats.csv chats.jsonl --system my-bot --redact
    """
    from attunement.conversations.writer import write

    redactor = redaction.redactor()
    source = reading.read(files, output)
    if output != STDOUT and Path(output).resolve() in [path.resolve() for path in source.paths]:
        raise InputError(f"{output} is also an input file, so it is not overwritten; give the output another name.")
    check_output(output, force=force)
    turns = 0

    def counted() -> "Iterator[Conversation]":
        nonlocal turns
        for conversation in source:
            turns += len(conversation.turns)
            yield conversation if redactor is None else redactor.redact(conversation)

    count = write(counted(), output, to)
    target = "standard output" if output == STDOUT else output
    sentences = [f"Wrote {pluralize(count, 'conversation')} ({pluralize(turns, 'turn')}) to {target}."]
    sentences += list(what_was_read(source))[1:]
    if redactor is not None:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(redactor.counts.items()))
        found_nothing = "Nothing to redact: no address, number, link or name was found."
        sentences.append(f"Replaced: {kinds}." if kinds else found_nothing)
        if source.counts.bad:
            say(f"{source.bad_lines} contains the invalid records unchanged: they are not redacted.", err=True)
    say(*sentences, err=output == STDOUT)


# Into a study


@dataclass(frozen=True, kw_only=True)
class ColumnOptions:
    conversation_column: Annotated[str | None, Option("Column with the conversation id.", metavar="NAME")] = None
    system_column: Annotated[str | None, Option("Column with the name of the system.", metavar="NAME")] = None
    turn_column: Annotated[str | None, Option("Column with the turn that was rated.", metavar="NAME")] = None
    item_column: Annotated[str | None, Option("Column with the item id.", metavar="NAME")] = None
    answer_column: Annotated[str | None, Option("Column with the answer.", metavar="NAME")] = None
    rater_column: Annotated[str | None, Option("Column with the rater.", metavar="NAME")] = None
    repeat_column: Annotated[str | None, Option("Column with the number of the repeat.", metavar="NAME")] = None
    reasoning_column: Annotated[str | None, Option("Column with the reasoning.", metavar="NAME")] = None


@spread
def import_(
    study: options.NewStudyArgument,
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE", help="Conversations, tables of ratings, or files that came back from export --for."
        ),
    ],
    reading: InputOptions,
    columns: ColumnOptions,
    content: Annotated[
        Literal["conversations", "ratings", "sheet", "label-studio", "argilla"] | None,
        option("What the files contain, if it is not recognized.", "--as"),
    ] = None,
    conversations: Annotated[
        list[str] | None,
        option(
            "The rated conversations, if they are not in the study yet; repeatable.",
            "--conversations",
            "-c",
            metavar="FILE",
        ),
    ] = None,
    instrument: Annotated[
        list[str] | None,
        option(
            "The instrument of the ratings (by default the only one in the study). Repeat it if exported ratings "
            "refer to several versions; all other ratings use the first.",
            "--instrument",
            "-i",
            metavar="ID|FILE",
        ),
    ] = None,
    absent: Annotated[
        Literal["error", "not-due"], option("How to treat answers that are not in the file: as missing, or as not due.")
    ] = "error",
    kind: Annotated[
        Literal["model", "person", "simulation"], option("What kind of raters gave the ratings.")
    ] = "model",
    person: Annotated[
        list[str] | None, option("This rater is a person, even if --kind says otherwise; repeatable.", metavar="NAME")
    ] = None,
    blind: Annotated[
        bool | None,
        option(
            "Raters were blind to the system and to other ratings (not recorded if omitted).",
            "--blind/--not-blind",
            show_default=False,
        ),
    ] = None,
    rater: Annotated[
        list[str] | None,
        option("Rater name, or ID=NAME to name a rater ID in the file (repeatable).", metavar="NAME|ID=NAME"),
    ] = None,
    rater_info: Annotated[
        list[str] | None,
        option("About the rater of returned files, such as profession=nurse; repeatable.", metavar="WHAT=TEXT"),
    ] = None,
) -> None:
    """Import conversations, or ratings made elsewhere.

    What the files contain is recognized: conversations; a table of ratings, such as attune export writes; or a filled
    sheet, or an export from Label Studio or Argilla, with units that attune export --for wrote.

    A table has one rating per row (conversation, rater, item, answer, reasoning), or one row for several (an object
    `scores`, or a column for each item). Everything is checked first: if anything is invalid, nothing is imported, and
    the errors name the lines. Evidence is verified and the instrument's rules are applied, as for a judge.

    Example: attune import old.study.db answers.csv --conversations chats.jsonl --instrument coaching-v1
    """
    from attunement.ratings import RaterKind
    from attunement.store.tables import Columns

    asked = instrument or []
    about_ratings = bool(conversations or asked or person or asdict(columns) != asdict(ColumnOptions()))
    what = content or ("ratings" if about_ratings else _recognized(files, study, reading))
    if rater_info and what in {"conversations", "ratings"}:
        raise InputError("--rater-info is for a filled sheet or an export from Label Studio or Argilla")
    if what == "conversations":
        sentences = _add_conversations(study, files, reading)
    elif what == "ratings":
        if blind is not None and kind != "person" and not person:
            raise InputError("--blind is about people: use --kind person, or --person NAME for each person")
        if rater and (len(rater) > 1 or "=" in rater[0]):
            raise InputError("--rater is one name for all ratings of a table; its column can name several")
        given: dict[str, Any] = {"system": reading.system, "rater": rater[0] if rater else None, "blind": blind}
        given |= {"kind": RaterKind(kind), "people": frozenset(person or ())}
        given["columns"] = Columns(**{name.removesuffix("_column"): to for name, to in asdict(columns).items()})
        sentences = _import_table(study, files, conversations or [], asked, given, excused=absent == "not-due")
    else:
        sentences = _import_returned(study, files, what, _raters(rater or [], rater_info or [], blind))
    say(*sentences)


def _recognized(files: list[str], study: str, reading: InputOptions) -> str:
    """What the first file contains; ratings if it is not clear."""
    from attunement.conversations.json_files import is_object
    from attunement.conversations.messages import Fields
    from attunement.conversations.shapes import Recognizer
    from attunement.store import Study
    from attunement.store.import_files import is_exported
    from attunement.store.tables import Columns, find_columns, read_rows

    path = Path(files[0])
    named = (reading.format, reading.prompt_field, reading.response_field, reading.id_field, reading.system_field)
    if any(named) or not path.is_file():
        return "conversations"
    try:
        record = next((row.fields for row in read_rows(path) if row.fields), None)
    except InputError:
        return "conversations"
    if record is None:
        return "ratings" if path.suffix.lower() in {".csv", ".tsv"} else "conversations"
    names = {name.strip() for name in record}
    for tool, fields in (("label-studio", {"data", "annotations"}), ("argilla", {"fields", "responses"})):
        if fields <= names:
            return tool
    items: set[str] = set()
    if "://" in study or Path(study).exists():
        with suppress(NoStudyError), Study(study) as opened:  # an empty database becomes a study
            items = {item.id for instrument in opened.instruments() for item in instrument.items}
    if "unit" in names and (names & items or "note" in names):
        return "sheet"
    found = find_columns(Columns(), tuple(record))
    if is_exported(record) or (found["item"] and found["answer"]) or is_object(record.get("scores")) or names & items:
        return "ratings"
    recognizer = Recognizer(None, Fields())
    seems = recognizer.is_conversation(dict(record)) or recognizer.row(dict(record))
    return "conversations" if seems else "ratings"


def _add_conversations(place: str, files: list[str], reading: InputOptions) -> Iterator[str]:
    from attunement.store import Study

    source = reading.read(files, place)
    with Study(place, create=True) as study:
        before = study.conversation_count()
        options.save_conversations(source, study)
        now = study.conversation_count()
    yield from what_was_read(source)
    yield f"Added {now - before:,} to the study, which now has {now:,}."


def _import_table(
    place: str,
    files: list[str],
    conversations: list[str],
    instruments: list[str],
    given: dict[str, Any],
    *,
    excused: bool,
) -> Iterator[str]:
    from attunement.instruments.lint import checked
    from attunement.store import Study
    from attunement.store.import_ratings import AbsentPolicy, ImportOptions, check_import, save_import

    main, *versions = [checked(name) for name in instruments] or [None]
    options = ImportOptions(versions=tuple(filter(None, versions)), **given)
    about = InputOptions(system=given["system"]).read(conversations) if conversations else ()
    paths = [Path(file) for file in files]
    # A study that does not exist is created only once everything is known to fit.
    checked_first = None if "://" in place or Path(place).exists() else check_import(paths, about, main, options)
    with Study(place, create=True) as study:
        found = checked_first or check_import(paths, about, main, options, study=study)
        result = save_import(found, study, AbsentPolicy.NOT_DUE if excused else AbsentPolicy.ERROR)
    raters = ", ".join(rater.name for rater in result.raters.values())
    about_them = f"{pluralize(found.answers, 'answer')} about {pluralize(len(found.rated), 'conversation')}"
    yield f"Read {about_them} by {raters}: {result.new:,} saved in {study.place}."
    yield from _already_there(result.known, result.differing)
    if found.errors:
        yield f"ERROR in the file: {found.errors:,}."
    if found.off_scale.count:
        yield f"Saved as ERROR (malformed): {found.off_scale.count:,}. {found.off_scale}."
    if result.absent:
        yield from _about_absent(result, excused=excused)
    if result.unanswered.count:
        yield f"Without any answer: {pluralize(result.unanswered.count, 'conversation')}. {result.unanswered}."


def _about_absent(result: "ImportResult", *, excused: bool) -> Iterator[str]:
    count, safety = result.absent.total(), result.absent_safety
    by_item = ", ".join(f"{item} {number:,}" for item, number in result.absent.most_common())
    yield f"Not in the file: {pluralize(count, 'answer')} that the instrument asks for ({by_item})."
    yield f"They are missing from {pluralize(result.absent_in.count, 'scorecard')}: {result.absent_in}."
    if not excused:
        yield "A missing answer counts as ERROR. If these were not asked on purpose, import with --absent not-due."
        return
    if count > safety:
        yield f"Saved as not due (--absent): {count - safety:,}."
    if safety:
        missing = f"{pluralize(safety, 'answer')} to safety items"
        yield f"Still missing: {missing}, to which --absent not-due does not apply."


def _already_there(known: int, differing: Any) -> Iterator[str]:
    if known:
        yield f"Already in the study: {known:,}."
    if differing.count:
        yield f"Different in the study: {differing.count:,}; they were not changed: {differing}."


def _import_returned(place: str, files: list[str], tool: str, raters: "RaterInfo") -> Iterator[str]:
    from attunement.annotation import exchange_formats as formats
    from attunement.annotation.exchange import import_answers
    from attunement.store import Study

    read = {"sheet": formats.read_sheet, "label-studio": formats.read_label_studio, "argilla": formats.read_argilla}
    with Study(place) as study:
        result = import_answers(study, chain.from_iterable(read[tool](Path(file)) for file in files), raters)
    if not result.units:
        yield "Nothing was imported: nobody has answered yet."
        return
    people = ", ".join(rater.name for rater in result.raters.values())
    saved = f"{pluralize(result.new, 'rating')} saved in {study.place}"
    yield f"Imported {pluralize(result.units, 'unit')} rated by {people}: {saved}."
    yield from _already_there(result.known, result.differing)
    if result.unrated:
        yield f"Not rated yet: {pluralize(result.unrated, 'unit')}."
    if result.not_asked:
        yield f"Ignored, because the conversation is too short for the item: {pluralize(result.not_asked, 'answer')}."
    if result.unread:
        yield f"Ignored, because no item has this name: {', '.join(map(repr, list(result.unread)[:_UNREAD_SHOWN]))}."


def _raters(named: list[str], info: list[str], blind: bool | None) -> "RaterInfo":
    from attunement.annotation.exchange import RaterInfo

    plain = [name.strip() for name in named if "=" not in name]
    if len(plain) > 1 or (plain and len(named) > 1):
        raise InputError("--rater is one name for all answers, or ID=NAME for each person in the file")
    if plain == [""]:
        raise InputError("--rater is empty: give the name of the rater")
    names = _pairs([name for name in named if "=" in name], "--rater must be ID=NAME")
    about = _pairs(info, "--rater-info must be KEY=VALUE, such as profession=nurse")
    return RaterInfo(plain[0] if plain else None, names, about, blind)


def _pairs(texts: list[str], expected: str) -> dict[str, str]:
    parted = [text.partition("=") for text in texts]
    pairs = {key.strip(): value.strip() for key, _, value in parted}
    if not all(key and value for key, value in pairs.items()):
        raise InputError(expected)
    return pairs


# Out of a study

Tool = Literal["sheet", "label-studio", "argilla"]
_ROW_NAMES = {
    "ratings": ("rating", "ratings"),
    "scorecards": ("scorecard", "scorecards"),
    "answers": ("answer", "answers"),
    "practice": ("answer to a practice example", "answers to practice examples"),
    "events": ("event", "events"),
}


def export(
    study: options.StudyArgument,
    output: Annotated[
        str,
        typer.Argument(
            metavar="OUT",
            help="The file to write: .jsonl, .csv or .parquet; - is standard output. With --for a new folder.",
        ),
    ],
    what: Annotated[
        Literal["ratings", "scorecards", "answers", "practice", "events"],
        option(
            "One row per rating, per scorecard of a conversation, per reply of a judge (for --judge replay:FILE), per "
            "answer of a person to a practice example "
            "(calibration and attention), or the full audit log of people's work."
        ),
    ] = "ratings",
    format: Annotated[
        Literal["jsonl", "csv", "parquet"] | None, option("Output format, if the file name does not show it.")
    ] = None,
    tool: Annotated[
        Tool | None, option("Write files for people to rate in a spreadsheet or in another tool.", "--for")
    ] = None,
    instrument: Annotated[
        str | None,
        option("With --for or scorecards: which instrument, or a YAML file.", "--instrument", "-i", metavar="ID|FILE"),
    ] = None,
    sample: Annotated[
        str | None, option("With --for: which sample of attune plan (by default the newest).", metavar="NAME")
    ] = None,
    everything: Annotated[bool, option("With --for: every conversation instead of a sample.", "--all")] = False,
    raters: Annotated[int, option("With --for argilla: how many people rate each unit.", min=1)] = 1,
    dictionary: Annotated[
        Path | None,
        option("Also describe the columns and their values in this .csv, .json or .md file.", metavar="FILE"),
    ] = None,
    force: options.ForceOption = False,
) -> None:
    """Export ratings or other tables, or files for people to rate.

    Each rating comes with its conversation, item, outcome, reasoning, evidence and rater, and with the cost of the
    judge's answer. In CSV files an answer that does not apply is `not_applicable`, because pandas and R read NA as a
    missing value. attune import reads ratings back.

    With --for sheet, label-studio or argilla, it writes the transcripts and questions of a sample, in random order. The
    files do not name the system or show any rating, and unit ids are random tokens that only this study can resolve.
    attune import reads the answers.

    Example: attune export chats.study.db ratings.csv
    """
    if tool:
        if what != "ratings" or format or dictionary:
            raise InputError("--for writes files for people to rate: leave out --what, --format and --dictionary")
        say(*_export_units(study, Path(output), tool, instrument, sample, everything, raters))
        return
    if sample or everything:
        raise InputError("--sample and --all need --for")
    from attunement.store import Study, audit_log, chosen_instrument, export, samples

    chosen = format or export.format_of(output)
    if instrument and what != "scorecards":
        raise InputError(f"--instrument is for scorecards; {what} are always exported for all instruments")
    check_output(output, force=force)
    if dictionary:
        check_output(dictionary, force=force)
    with Study(study) as opened:
        scored = chosen_instrument(opened, instrument) if what == "scorecards" else None
        if scored:
            rows = export.scorecards(opened, scored)
        elif what in {"ratings", "answers"}:
            rows = export.ratings(opened) if what == "ratings" else export.answers(opened)
        else:
            rows = samples.practice_answers(opened) if what == "practice" else audit_log.audit_events(opened)
        if dictionary:
            from attunement.reports.dictionary import dictionary as describe
            from attunement.reports.dictionary import write_dictionary

            write_dictionary(describe(what, rows.columns, scored), dictionary)
        count = export.write(rows, output, chosen)
    target = "standard output" if output == "-" else output
    say(f"Wrote {count:,} {_ROW_NAMES[what][count != 1]} to {target}.", err=True)


def _export_units(
    place: str, output: Path, tool: Tool, name: str | None, sample: str | None, everything: bool, raters: int
) -> Iterator[str]:
    from attunement.annotation import exchange_formats
    from attunement.annotation.exchange import export_units, new_folder
    from attunement.store import Study

    with Study(place) as study:
        instrument, keys = _units_to_export(study, name, sample, everything=everything)
        folder = new_folder(output)
        units = export_units(study, instrument, "csv" if tool == "sheet" else tool, keys)
        match tool:
            case "sheet":
                files = exchange_formats.write_sheet(folder, instrument, units)
            case "label-studio":
                files = exchange_formats.write_label_studio(folder, instrument, units)
            case "argilla":
                files = exchange_formats.write_argilla(folder, instrument, units, raters=raters)
        place = study.place
    yield f"Exported {pluralize(len(units), 'unit')} to be rated with {instrument.id}:"
    yield from (f"  {file}" for file in files)
    yield {
        "sheet": f"Give each rater a copy. When it is filled: attune import {place} {folder / 'to-fill.csv'} "
        "--rater NAME",
        "label-studio": "Paste the configuration into the labeling interface of a new project and import the tasks; "
        f"export as JSON, then: attune import {place} EXPORT.json --rater ID=NAME",
        "argilla": f'Load it with argilla.Dataset.from_disk("{folder}"); write the submitted records with '
        f"records.to_json, then: attune import {place} FILE --rater ID=NAME",
    }[tool]


def _units_to_export(
    study: "Study", name: str | None, sample: str | None, *, everything: bool
) -> "tuple[Instrument, set[int] | None]":
    from attunement.annotation.sampling import find_sample
    from attunement.cli.people import asked_instrument
    from attunement.store.samples import latest_sample

    if everything and sample:
        raise InputError("--all exports every conversation: leave out --sample")
    if sample:
        found = find_sample(study, sample)
        asked = asked_instrument(study, name or found.instrument)
        if asked.id != found.instrument:
            raise InputError(f"the sample {sample!r} is for {found.instrument}, not for {asked.id}")
        return asked, set(found.units)
    asked = asked_instrument(study, name)
    if everything:
        return asked, None
    newest = latest_sample(study, asked.id)
    if newest is None:
        raise InputError(
            f"{study.place} has no sample for {asked.id}: draw one with attune plan --draw N, or export --all"
        )
    return asked, set(newest.units)


def delete(
    study: options.StudyArgument,
    conversation: Annotated[str, typer.Argument(help="The conversation: its id, or system/id.")],
) -> None:
    """Delete a conversation from a study.

    Its text, its ratings and the answers behind them are deleted at once, without asking for confirmation. Files that
    were exported before are not changed.

    Example: attune delete chats.study.db session-17
    """
    from attunement.store import Study

    with Study(study) as opened:
        found = opened.find(conversation)
        if not found:
            raise StudyError(f"{opened.place} has no conversation {conversation!r}; nothing was deleted")
        if len(found) > 1:
            names = ", ".join(str(stored.conversation.identity) for stored in found)
            raise StudyError(f"{conversation!r} is ambiguous ({names}): give system/id; nothing was deleted")
        gone = opened.delete(found[0].key)
    said = f"Deleted {found[0].conversation.identity} with {pluralize(gone.ratings, 'rating')}"
    if gone.complete:
        say(f"{said}.")
        return
    say(
        f"{said}, but copies of its text remain in {opened.place} or {Path(opened.place).name}-wal, because another "
        "process is reading the study. They go when the last process that uses it ends.",
        err=True,
    )
    raise typer.Exit(3)
