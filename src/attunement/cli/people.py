"""`attune annotate`, `review`, `plan`, `hand-out` and `take-in`: the work of people."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from attunement.cli.options import (
    THIS_COMPUTER,
    AddressOption,
    AskedOption,
    BlindOption,
    ForceOption,
    HostOption,
    PortOption,
    ProxyOption,
    StudyArgument,
    SystemOption,
    pluralize,
    refuse_to_overwrite,
)
from attunement.cli.options import StudyInstrumentOption as InstrumentOption
from attunement.errors import InputError

if TYPE_CHECKING:
    from attunement.annotation.records import Project, Settings, Setup
    from attunement.store import Study

_RATERS = 3


def annotate(
    study: StudyArgument,
    instrument: Annotated[
        str | None, typer.Option("--instrument", "-i", metavar="ID|FILE", help="What is asked.", show_default=False)
    ] = None,
    raters: Annotated[
        int | None, typer.Option(min=1, max=500, help="How many people rate (3).", show_default=False)
    ] = None,
    per_unit: Annotated[
        int | None, typer.Option(min=1, help="How many of them rate each unit (3, or all).", show_default=False)
    ] = None,
    units: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="How many replies or conversations are rated: of the sample that `attune plan` drew, else at random.",
            show_default=False,
        ),
    ] = None,
    ids: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A list of units instead, one a line: ID, SYSTEM/ID or ID#TURN."),
    ] = None,
    setup: Annotated[
        Path | None, typer.Option("--setup", "-s", metavar="FILE", help="A YAML file that sets the project up.")
    ] = None,
    conversations: Annotated[
        list[str] | None,
        typer.Option(
            "--conversations", "-c", metavar="FILE", help="Conversations to add to the study first; may be repeated."
        ),
    ] = None,
    system: SystemOption = None,
    escalation: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help="What to do when a person in a transcript may be in danger.", show_default=False
        ),
    ] = None,
    new_round: Annotated[
        bool, typer.Option("--new-round", help="Begin again, with the same people and the instrument as it is now.")
    ] = False,
    new_links: Annotated[
        bool, typer.Option("--new-links", help="Give everybody a new link; the old ones are closed.")
    ] = False,
    host: HostOption = THIS_COMPUTER,
    port: PortOption = 8765,
    address: AddressOption = None,
    proxy: ProxyOption = None,
) -> None:
    """Open the web pages where people rate conversations.

    People rate blind and with the same instrument as the judges. The first time it draws the units, gives them out to
    the raters and prints one link for each of them and one for the coordinator. After that it goes on where people left
    off; links that were given out still work. What is handed in are ordinary ratings of the study.

    Example: attune annotate chats.study.db --instrument empathy-v2 --raters 3 --units 100
    """
    from attunement.annotation.records import Setup, load_setup
    from attunement.cli.options import address_of, check_port
    from attunement.store import Study

    wishes = load_setup(setup) if setup else Setup()
    where = address_of(address, host, port)
    check_port(host, port)
    given = {"per_unit": per_unit, "escalation": escalation}
    with Study(study, create=bool(conversations)) as opened:
        if conversations:
            _add(opened, conversations, system)
        project, is_new = _project(
            opened,
            wishes,
            instrument or wishes.instrument,
            raters=raters,
            units=units,
            ids=ids,
            given={name: value for name, value in given.items() if value is not None},
            new_round=new_round,
        )
        _print_links(opened, project, where, everybody=is_new or new_links, close_old=new_links)
        from attunement.web.app import serve

        serve(opened, host=host, port=port, address=where, proxies=proxy)


def _project(
    study: "Study",
    wishes: "Setup",
    name: str | None,
    *,
    raters: int | None,
    units: int | None,
    ids: Path | None,
    given: dict[str, Any],
    new_round: bool,
) -> tuple["Project", bool]:
    """The project to go on with, or a new one; and whether it is new."""
    from attunement.annotation import projects
    from attunement.annotation.changes import choose, listed, named
    from attunement.annotation.records import Role, settings_of
    from attunement.instruments.lint import checked
    from attunement.reports.numbers import pluralize

    if name is None:
        raise InputError("say what people are asked: --instrument empathy-v2, or a file of your own")
    asked = checked(name)
    before = projects.latest(study, asked.id)
    if before is not None and not new_round:
        projects.same_instrument(before, asked)
        if raters or units or ids or wishes.raters or wishes.units or wishes.ids or "per_unit" in given:
            raise InputError(
                f"people already rate with {before} in {study.place}: leave --raters, --units and the like out to go "
                "on with it, or begin again with --new-round"
            )
        return _with_settings(study, before, {**wishes.settings, **given}), False
    people = raters or wishes.raters
    earlier = [member.name for member in projects.members(study, before, Role.RATER)] if before else []
    names = people if isinstance(people, list) else [f"rater {number}" for number in range(1, (people or _RATERS) + 1)]
    names = names if people or not earlier else earlier
    settings = _spoken(settings_of({"per_unit": min(3, len(names)), **wishes.settings, **given}))
    lines = wishes.ids if ids is None else _lines(ids)
    chosen = listed(study, asked, lines) if lines else choose(study, asked, units or wishes.units, seed=settings.seed)
    gold = [projects.Known(unit, known.answers) for known in wishes.gold for unit in named(study, asked, known.unit)]
    project = projects.create(study, asked, chosen.units, names, settings, gold=gold, members_of=before)
    typer.echo(
        f"Set up {project}: {pluralize(len(chosen.units), 'unit')} ({chosen.source}), "
        f"{pluralize(len(names), 'rater')}, "
        f"{settings.per_unit} for each unit."
    )
    return project, True


def _with_settings(study: "Study", project: "Project", given: dict[str, Any]) -> "Project":
    """The project with what can be changed while people rate; the rest was used up when the work was given out."""
    from attunement.annotation.projects import change
    from attunement.annotation.records import settings_of

    now = project.settings.model_dump()
    settings = _spoken(settings_of({**now, **given}))
    new = {name: value for name, value in settings.model_dump().items() if value != now[name]}
    fixed = sorted(new.keys() & {"per_unit", "repeats", "gap", "calibration", "attention", "seed"})
    if fixed:
        raise InputError(
            f"people already rate with {project} in {study.place}, and {', '.join(fixed)} cannot be changed any more: "
            "leave it as it was, or begin again with --new-round"
        )
    return change(study, project, None, **new) if new else project


def _spoken(settings: "Settings") -> "Settings":
    """The settings, once it is known that there are pages in their language; a file is named from anywhere."""
    from attunement.web.site import load_catalogue

    language = settings.language
    load_catalogue(language)
    is_file = language.endswith((".yaml", ".yml"))
    return settings.model_copy(update={"language": str(Path(language).resolve())}) if is_file else settings


def _print_links(study: "Study", project: "Project", address: str, *, everybody: bool, close_old: bool) -> None:
    from attunement.annotation import access, projects
    from attunement.annotation.records import MemberState, Role

    for member in projects.members(study, project):
        if member.state is MemberState.LEFT or not (everybody or member.role is Role.COORDINATOR):
            continue
        if close_old:
            access.revoke(study, project, member)
        typer.echo(f"{member.name}: {address}/enter/{access.issue(study, project, member)}")
    if not everybody:
        typer.echo("The raters' links that were given out still work; --new-links makes new ones.")
    if projects.lacks_escalation(study, project):
        typer.echo(
            "Raters cannot begin yet: real people may be in the transcripts, so the coordinator first has to say what "
            "to do when one of them may be in danger (on the coordinator's page, or with --escalation)."
        )
    typer.echo("A link lets in whoever has it: send each to its rater only. Press Ctrl+C to stop.")
    sys.stdout.flush()  # whoever started us through a pipe needs the links now


def _add(study: "Study", files: list[str], system: str | None) -> None:
    from attunement.cli.options import keep, open_conversations, what_was_read

    reading = open_conversations(files, system=system)
    keep(reading, study)
    typer.echo("\n".join(what_was_read(reading)))


def _lines(path: Path) -> list[str]:
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}") from error
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        raise InputError(f"{path} lists no unit: write one a line, as ID, SYSTEM/ID or ID#TURN")
    return lines


def review(
    study: StudyArgument,
    reviewer: Annotated[
        list[str] | None,
        typer.Option("--reviewer", "-r", metavar="NAME", help="Who reviews; may be repeated.", show_default=False),
    ] = None,
    instrument: InstrumentOption = None,
    new_links: Annotated[bool, typer.Option("--new-links", help="Close the links that were given out before.")] = False,
    host: HostOption = THIS_COMPUTER,
    port: PortOption = 8767,
    address: AddressOption = None,
    proxy: ProxyOption = None,
) -> None:
    """Open the web pages where reviewers check a judge.

    Reviewers read what a judge found, confirm or overrule it, and sign off. The command prints one link for each
    reviewer and serves the pages until it is stopped. Nobody has to rate for it. Reviewers see judges' answers, so
    somebody who is to rate blind should not be one. What they say is shown next to the judge's verdict, and counts with
    attune gate --with-reviews.

    Example: attune review chats.study.db --reviewer "Ada Berg"
    """
    from attunement.annotation import access
    from attunement.annotation.review import review_desk, reviewers
    from attunement.cli.options import address_of, check_port
    from attunement.store import Study, chosen_instrument

    where = address_of(address, host, port)
    check_port(host, port)
    with Study(study) as opened:
        project = review_desk(opened, chosen_instrument(opened, instrument))
        for member in reviewers(opened, project, reviewer or []):
            if new_links:
                access.revoke(opened, project, member)
            typer.echo(f"{member.name}: {where}/enter/{access.issue(opened, project, member)}")
        typer.echo("A link lets in whoever has it: send each to its reviewer only. Press Ctrl+C to stop.")
        sys.stdout.flush()  # whoever started us through a pipe needs the links now
        from attunement.web.app import serve

        serve(opened, host=host, port=port, address=where, proxies=proxy)


if TYPE_CHECKING:
    from attunement.annotation.exchange import ImportResult, RaterInfo
    from attunement.instruments import Instrument
    from attunement.store import Study

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
    """Write files for rating in a spreadsheet or another tool.

    The tools are Label Studio and Argilla. The files hold what was said and what is asked, in random order. They name
    no system and show no rating, and the id of a unit is a random word that only this study can trace back. `attune
    take-in` reads the answers.

    Example: attune hand-out chats.study.db --format label-studio -o to-rate
    """
    from attunement.annotation import exchange_formats
    from attunement.annotation.exchange import export_units, new_folder
    from attunement.store import Study

    with Study(study) as opened:
        asked, keys = _wanted(opened, instrument, sample, everything=everything)
        folder = new_folder(output)
        outgoing = export_units(opened, asked, format, keys)
        match format:
            case "csv":
                files = exchange_formats.write_sheet(folder, asked, outgoing)
            case "label-studio":
                files = exchange_formats.write_label_studio(folder, asked, outgoing)
            case "argilla":
                files = exchange_formats.write_argilla(folder, asked, outgoing, raters=raters)
        place = opened.place
    typer.echo(f"Handed out {pluralize(len(outgoing), 'unit')} to be rated with {asked.id}:")
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
    """Read ratings from a spreadsheet or another tool.

    Everything is checked first: an answer that is not on the scale, one that is missing, or an unknown unit is named
    with its line, and then nothing is taken in. Units without any answer are left for later. The answers become
    ordinary ratings of people, which attune agree sees at once.

    Example: attune take-in chats.study.db to-rate/to-fill.csv --rater Ada --about profession=psychologist
    """
    from itertools import chain

    from attunement.annotation import exchange_formats
    from attunement.annotation.exchange import import_answers
    from attunement.store import Study

    who = _raters(rater or [], about or [])._replace(blind=blind)
    with Study(study) as opened:
        match format:
            case "csv":
                taken = import_answers(opened, chain.from_iterable(map(exchange_formats.read_sheet, files)), who)
            case "label-studio":
                taken = import_answers(opened, chain.from_iterable(map(exchange_formats.read_label_studio, files)), who)
            case "argilla":
                entries = chain.from_iterable(map(exchange_formats.read_argilla, files))
                taken = import_answers(opened, entries, who, exchange_formats.argilla_question_names)
        place = opened.place
    typer.echo("\n".join(_sentences(taken, place)))


def _wanted(
    study: "Study", instrument: str | None, sample: str | None, *, everything: bool
) -> tuple["Instrument", set[int] | None]:
    """What is asked, and the keys of the conversations; None for all."""
    from attunement.annotation.sampling import find_sample
    from attunement.errors import InputError
    from attunement.store.samples import latest_sample

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


def _raters(named: list[str], about: list[str]) -> "RaterInfo":
    from attunement.annotation.exchange import RaterInfo
    from attunement.errors import InputError

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
    return RaterInfo(plain[0].strip() if plain else None, names=pairs[0], info=pairs[1])


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


def _sentences(taken: "ImportResult", place: str) -> Iterator[str]:
    names = ", ".join(rater.name for rater in taken.raters.values())
    if not taken.units:
        yield "Nothing was imported: nobody has answered yet."
        return
    new = pluralize(taken.new, "rating")
    yield f"Imported {pluralize(taken.units, 'unit')} rated by {names}: {new} saved in {place}."
    if taken.known:
        yield f"Already in the study: {taken.known:,}."
    if taken.differing.count:
        yield f"Different there: {taken.differing.count:,}; what the study holds stands: {taken.differing}."
    if taken.unrated:
        yield f"Not rated yet: {pluralize(taken.unrated, 'unit')}."
    if taken.not_asked:
        yield f"Left out, because the conversation is too short for them: {pluralize(taken.not_asked, 'answer')}."
    if taken.unread:
        yield f"Not read, because no item is called so: {', '.join(map(repr, list(taken.unread)[:_SHOWN]))}."


if TYPE_CHECKING:
    from attunement.instruments import Instrument
    from attunement.store import Study
    from attunement.store.samples import Sample


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
    """Plan how many ratings you need, or draw a sample to rate.

    Without --draw it only prints the numbers. With --draw it keeps a sample in the study: at random by conversation,
    each with its probability, split into `develop` (to tune a judge on) and `certify` (for the figures you report).
    A sample is never overwritten. --extend makes a larger one that holds it; probabilities stay right because it
    draws within the strata of the first draw, and conversations that came in since form strata of their own.

    Example: attune plan chats.study.db --all-flagged --draw 100 --by system -o ids.csv
    """
    from attunement.errors import InputError
    from attunement.store import Study

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
        from attunement.annotation.sampling import draw_sample, extend_sample

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
    from attunement.store import chosen_instrument

    known = study.instruments()
    if name is None and not known:
        raise InputError(f"nothing is rated in {study.place} yet: say with --instrument what is to be asked")
    if name is None or any(name in {entry.id, entry.hash} for entry in known):
        return chosen_instrument(study, name)
    return checked(name)


def _numbers(study: "Study", instrument: "Instrument", precision: float | None, raters: int) -> Iterator[str]:
    from attunement.annotation.planning import paragraphs, plan
    from attunement.errors import StudyError

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
    from attunement.conversations.writer import replacing
    from attunement.store.export import Column, Export, write

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
