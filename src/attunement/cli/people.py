"""`attune annotate`, `review` and `plan`: the work of people."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attunement.cli.options import (
    THIS_COMPUTER,
    AddressOption,
    AskedOption,
    ForceOption,
    HostOption,
    PortOption,
    ProxyOption,
    StudyArgument,
    SystemOption,
    refuse_to_overwrite,
)
from attunement.cli.options import StudyInstrumentOption as InstrumentOption
from attunement.errors import InputError
from attunement.settings import InputOptions

if TYPE_CHECKING:
    from attunement.annotation.projects import Setup
    from attunement.store import Study
    from attunement.store.projects import Project, Settings

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
    from attunement.annotation.projects import Setup, load_setup
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
    from attunement.annotation.projects import settings_of
    from attunement.annotation.sampling import choose_units, listed_units, units_named
    from attunement.instruments.lint import checked
    from attunement.reports.numbers import pluralize
    from attunement.store.projects import Role, latest_project, members

    if name is None:
        raise InputError("say what people are asked: --instrument empathy-v2, or a file of your own")
    asked = checked(name)
    before = latest_project(study, asked.id)
    if before is not None and not new_round:
        projects.same_instrument(before, asked)
        if raters or units or ids or wishes.raters or wishes.units or wishes.ids or "per_unit" in given:
            raise InputError(
                f"people already rate with {before} in {study.place}: leave --raters, --units and the like out to go "
                "on with it, or begin again with --new-round"
            )
        return _with_settings(study, before, {**wishes.settings, **given}), False
    people = raters or wishes.raters
    earlier = [member.name for member in members(study, before, Role.RATER)] if before else []
    names = people if isinstance(people, list) else [f"rater {number}" for number in range(1, (people or _RATERS) + 1)]
    names = names if people or not earlier else earlier
    settings = _spoken(settings_of({"per_unit": min(3, len(names)), **wishes.settings, **given}))
    lines = wishes.ids if ids is None else _lines(ids)
    if lines:
        chosen = listed_units(study, asked, lines)
    else:
        chosen = choose_units(study, asked, units or wishes.units, seed=settings.seed)
    gold = [
        projects.GoldUnit(unit, entry.answers)
        for entry in wishes.gold
        for unit in units_named(study, asked, entry.unit)
    ]
    project = projects.create(study, asked, chosen.units, names, settings, gold=gold, members_of=before)
    typer.echo(
        f"Set up {project}: {pluralize(len(chosen.units), 'unit')} ({chosen.source}), "
        f"{pluralize(len(names), 'rater')}, "
        f"{settings.per_unit} for each unit."
    )
    return project, True


def _with_settings(study: "Study", project: "Project", given: dict[str, Any]) -> "Project":
    """The project with what can be changed while people rate; the rest was used up when the work was given out."""
    from attunement.annotation.projects import change, settings_of

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
    from attunement.annotation import access
    from attunement.annotation.tasks import lacks_escalation
    from attunement.store.projects import MemberState, Role, members

    for member in members(study, project):
        if member.state is MemberState.LEFT or not (everybody or member.role is Role.COORDINATOR):
            continue
        if close_old:
            access.revoke(study, project, member)
        typer.echo(f"{member.name}: {address}/enter/{access.issue(study, project, member)}")
    if not everybody:
        typer.echo("The raters' links that were given out still work; --new-links makes new ones.")
    if lacks_escalation(study, project):
        typer.echo(
            "Raters cannot begin yet: real people may be in the transcripts, so the coordinator first has to say what "
            "to do when one of them may be in danger (on the coordinator's page, or with --escalation)."
        )
    typer.echo("A link lets in whoever has it: send each to its rater only. Press Ctrl+C to stop.")
    sys.stdout.flush()  # whoever started us through a pipe needs the links now


def _add(study: "Study", files: list[str], system: str | None) -> None:
    from attunement.cli.options import save_conversations, what_was_read

    reading = InputOptions(system=system).read(files)
    save_conversations(reading, study)
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
