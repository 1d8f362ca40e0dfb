"""`attune annotate`: open the pages where people rate."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from attunement.cli.listening import THIS_COMPUTER, AddressOption, HostOption, PortOption, ProxyOption
from attunement.cli.reading import SystemOption
from attunement.cli.studies import StudyArgument
from attunement.errors import InputError

if TYPE_CHECKING:
    from attunement.people.records import Project
    from attunement.people.settings import Settings
    from attunement.people.setup import Setup
    from attunement.study import Study

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
    """Open the pages where people rate, blind and on the same instrument as the judges.

    The first time it draws the units, gives them out to the raters and prints one link for each of them and one for
    the coordinator. After that it goes on where people left off; links that were given out still work. What is handed
    in are ordinary ratings of the study.

    Example: attune annotate chats.study.db --instrument empathy-v2 --raters 3 --units 100
    """
    from attunement.cli.listening import address_of, check_port
    from attunement.people.setup import Setup, load_setup
    from attunement.study import Study

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
        from attunement.web.serving import serve

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
    from attunement.instruments.lint import checked
    from attunement.people import projects
    from attunement.people.choosing import choose, listed, named
    from attunement.people.records import Role
    from attunement.people.setup import settings_of
    from attunement.reports.wording import counted

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
        f"Set up {project}: {counted(len(chosen.units), 'unit')} ({chosen.source}), {counted(len(names), 'rater')}, "
        f"{settings.per_unit} for each unit."
    )
    return project, True


def _with_settings(study: "Study", project: "Project", given: dict[str, Any]) -> "Project":
    """The project with what can be changed while people rate; the rest was used up when the work was given out."""
    from attunement.people.projects import change
    from attunement.people.setup import settings_of

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
    from attunement.web.catalogue import load_catalogue

    language = settings.language
    load_catalogue(language)
    is_file = language.endswith((".yaml", ".yml"))
    return settings.model_copy(update={"language": str(Path(language).resolve())}) if is_file else settings


def _print_links(study: "Study", project: "Project", address: str, *, everybody: bool, close_old: bool) -> None:
    from attunement.people import access, projects
    from attunement.people.records import MemberState, Role

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
    from attunement.cli.reading import keep, open_conversations, what_was_read

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
