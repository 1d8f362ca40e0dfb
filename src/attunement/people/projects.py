"""How does a project of people begin, and what does the study know about it?

A project belongs to one version of an instrument. Whoever changes the instrument starts a new round: the ratings of
two wordings are never mixed. Every change is an event that is never taken back.
"""

import secrets
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, RowMapping, bindparam, select

from attunement.conversations import Origin
from attunement.errors import InputError, StudyError
from attunement.instruments import Instrument, Value
from attunement.people.answers import answers_of
from attunement.people.assignment import Place, deal, schedule
from attunement.people.examples import attention_examples, calibration_examples
from attunement.people.records import (
    REVIEW_ONLY,
    Member,
    MemberState,
    Project,
    ProjectState,
    ProjectUnit,
    Role,
    Work,
)
from attunement.people.settings import Settings
from attunement.ratings import Round
from attunement.study import Study, now
from attunement.study import tables as kept
from attunement.study import tables_people as tables
from attunement.study.encoding import from_json, to_json

COORDINATOR = "coordinator"
"""The name of the first coordinator, who is made with the project."""
_LONGEST_NAME = 200
"""Characters: longer than any name, and short enough for a line of a list."""
# Asked on every request, so it is put together once: that takes longer than asking it.
_STATE = select(tables.projects.c.state, tables.projects.c.settings).where(
    tables.projects.c.key == bindparam("project")
)


class Wanted(NamedTuple):
    """A unit of the study that is to be rated."""

    conversation: int
    """The key of the conversation."""
    turn: int | None = None


class Known(NamedTuple):
    """A unit of the study with answers that are known to be right."""

    unit: Wanted
    answers: Mapping[str, Value]


def create(
    study: Study,
    instrument: Instrument,
    units: Sequence[Wanted],
    raters: Sequence[str],
    settings: Settings,
    *,
    gold: Sequence[Known] = (),
    members_of: Project | None = None,
) -> Project:
    """Start a project: keep its units and members and give out the work.

    Args:
        study: Where it is kept.
        instrument: What is asked.
        units: What is to be rated; each goes to `settings.per_unit` raters.
        raters: The names of the raters.
        settings: What the project goes by.
        gold: Units with known answers that every rater gets.
        members_of: An earlier round: raters of the same name are the same people.

    Raises:
        InputError: There is nothing to rate, too few raters, or a name does not fit or stands twice.
    """
    raters = [fitting_name(name) for name in raters]
    _check(instrument, units, raters, settings, gold)
    study.keep_instrument(instrument)
    with study.writing() as connection:
        earlier = connection.scalars(select(tables.projects.c.number).where(tables.projects.c.name == instrument.id))
        project = Project(0, instrument.id, max(earlier, default=0) + 1, instrument, ProjectState.OPEN, settings, now())
        project = insert_project(connection, project)
        plan = {"units": len(units), "raters": list(raters), "settings": settings.model_dump()}
        record(connection, project, "created", content=plan)
        known_people = {} if members_of is None else _people(connection, members_of)
        keys = [add_member(connection, project, Role.RATER, name, known_people.get(name)) for name in raters]
        add_member(connection, project, Role.COORDINATOR, COORDINATOR)
        _give_out(connection, project, units, gold, keys)
    return project


def insert_project(connection: Connection, project: Project) -> Project:
    """Keep a new project; returns it with the key that it got."""
    row = {
        "name": project.name,
        "number": project.number,
        "instrument": project.instrument.hash,
        "state": project.state,
        "settings": project.settings.model_dump_json(),
        "at": project.at,
    }
    key = connection.execute(tables.projects.insert().returning(tables.projects.c.key), row).scalar_one()
    return project._replace(key=key)


def fitting_name(name: str) -> str:
    """The name of a member without white space around it.

    Raises:
        InputError: Nothing is left of it, it is too long, or it holds signs that do not show, such as a line break.
    """
    name = name.strip()
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise InputError(
            f"a name is missing, is longer than {_LONGEST_NAME} characters, or holds signs that do not show: "
            "give another one"
        )
    return name


def add_member(
    connection: Connection,
    project: Project,
    role: Role,
    name: str,
    same_as: Row[Any] | None = None,
    *,
    by: Member | None = None,
) -> int:
    """Add a member and return their key. `same_as` is the same person in an earlier round."""
    row = {
        "project": project.key,
        "public": secrets.token_urlsafe(12),
        "role": role,
        "state": MemberState.ACTIVE,
        "rater": same_as.rater if same_as else None,
        "joined": now(),
        "name": name,
        "profile": same_as.profile if same_as else None,
    }
    key = connection.execute(tables.members.insert().returning(tables.members.c.key), row).scalar_one()
    record(connection, project, "joined", member=by, content={"name": name, "role": role})
    return key


def add_units(connection: Connection, project: Project, units: Sequence[Wanted]) -> list[int]:
    """Keep units that are to be rated, and return their keys."""
    return [_add_unit(connection, project, Round.MAIN, conversation, turn) for conversation, turn in units]


def add_places(
    connection: Connection, project: Project, member: int, places: Sequence[Place], *, start: int = 0, attempt: int = 1
) -> None:
    """Put assignments at the end of a member's list."""
    rows = [
        {
            "public": secrets.token_urlsafe(12),
            "project": project.key,
            "member": member,
            "unit": place.unit,
            "position": position,
            "round": place.round,
            "attempt": attempt,
            "state": Work.OPEN,
            "flagged": False,
        }
        for position, place in enumerate(places, start)
    ]
    if rows:
        connection.execute(tables.assignments.insert(), rows)


def record(
    connection: Connection,
    project: Project,
    kind: str,
    *,
    member: Member | None = None,
    assignment: int | None = None,
    content: Mapping[str, Any] | None = None,
) -> None:
    """Write down that something was done. Without a member it was done on the command line."""
    row = {
        "project": project.key,
        "member": member.key if member else None,
        "assignment": assignment,
        "kind": kind,
        "instrument": project.instrument.hash,
        "at": now(),
        "content": to_json(dict(content or {})),
    }
    connection.execute(tables.events.insert(), row)


def latest(study: Study, instrument_id: str) -> Project | None:
    """The newest project in which people rate with this instrument, if there is one."""
    projects = tables.projects.c
    rated = (projects.name == instrument_id) & (projects.number != REVIEW_ONLY)
    query = select(projects.key).where(rated).order_by(projects.number.desc()).limit(1)
    with study.reading() as connection:
        key = connection.scalar(query)
    return None if key is None else project_of(study, key)


def project_of(study: Study, key: int) -> Project:
    """The project with this key, as it is now."""
    projects, instruments = tables.projects.c, kept.instruments.c
    columns = select(tables.projects, instruments.content).where(instruments.hash == projects.instrument)
    with study.reading() as connection:
        row = connection.execute(columns.where(projects.key == key)).first()
    if row is None:
        raise StudyError(f"{study.place} holds no project with the number {key}")
    return Project(
        row.key,
        row.name,
        row.number,
        Instrument.model_validate(from_json(row.content)),
        ProjectState(row.state),
        Settings.model_validate_json(row.settings),
        row.at,
    )


def state_of(study: Study, project: Project) -> Project:
    """The project with its state and settings as they are now; its instrument never changes."""
    with study.reading() as connection:
        row = connection.execute(_STATE, {"project": project.key}).one()
    return project._replace(state=ProjectState(row.state), settings=Settings.model_validate_json(row.settings))


def same_instrument(project: Project, instrument: Instrument) -> None:
    """Refuse an instrument that is not the one the project began with.

    Raises:
        InputError: It was changed in the meantime.
    """
    if project.instrument.hash != instrument.hash:
        raise InputError(
            f"people rate with {project.name} as it was on {project.at[:10]}, and it has been changed since: two "
            "wordings are not mixed, so go on with the old file, or begin again with the new one: --new-round"
        )


def members(study: Study, project: Project, role: Role | None = None) -> list[Member]:
    """The members of a project in the order in which they joined."""
    query = select(tables.members).where(tables.members.c.project == project.key).order_by(tables.members.c.key)
    if role is not None:
        query = query.where(tables.members.c.role == role)
    with study.reading() as connection:
        return [member_of(row) for row in connection.execute(query).mappings()]


def member_of(row: RowMapping) -> Member:
    """The member in a row."""
    return Member(
        row["key"],
        row["project"],
        row["public"],
        Role(row["role"]),
        MemberState(row["state"]),
        row["name"],
        None if row["profile"] is None else from_json(row["profile"]),
        row["rater"],
        row["began"],
    )


def unit_of(row: RowMapping) -> ProjectUnit:
    """The unit in a row that holds the columns of `project_units`, its key as `unit`."""
    return ProjectUnit(
        row["unit"],
        row["conversation"],
        row["turn"] or None,
        row["example"],
        Round(row["unit_round"]),
        from_json(row["answers"]),
    )


def change(study: Study, project: Project, by: Member | None, **changes: Any) -> Project:
    """Change settings of a running project; what is given out already stays as it is."""
    settings = Settings.model_validate({**state_of(study, project).settings.model_dump(), **changes})
    with study.writing() as connection:
        query = tables.projects.update().where(tables.projects.c.key == project.key)
        connection.execute(query.values(settings=settings.model_dump_json()))
        record(connection, project, "settings", member=by, content=changes)
    return project._replace(settings=settings)


def set_state(study: Study, project: Project, state: ProjectState, by: Member | None) -> Project:
    """Pause a project, or let it go on. Who has a unit open may finish it."""
    with study.writing() as connection:
        query = tables.projects.update().where(tables.projects.c.key == project.key)
        connection.execute(query.values(state=state))
        record(connection, project, "state", member=by, content={"state": state})
    return project._replace(state=state)


def lacks_escalation(study: Study, project: Project) -> bool:
    """Whether real people may be in the transcripts and nobody said yet what to do when one is in danger."""
    return not state_of(study, project).settings.escalation.strip() and may_be_real(study, project)


def may_be_real(study: Study, project: Project) -> bool:
    """Whether a person in one of the transcripts may be real."""
    units, talk = tables.project_units.c, kept.conversations.c
    query = (
        select(units.key)
        .where(units.project == project.key, units.conversation == talk.key)
        .where(talk.origin.in_([Origin.REAL, Origin.UNKNOWN]))
        .limit(1)
    )
    with study.reading() as connection:
        return connection.scalar(query) is not None


def _check(
    instrument: Instrument,
    units: Sequence[Wanted],
    raters: Sequence[str],
    settings: Settings,
    gold: Sequence[Known],
) -> None:
    if not units:
        raise InputError("there is nothing to rate: the sample is empty")
    if len(set(raters)) < len(raters) or COORDINATOR in raters:
        raise InputError(f"each rater needs a name of their own, and {COORDINATOR!r} is taken")
    if len(raters) < settings.per_unit:
        raise InputError(f"each unit is to get {settings.per_unit} raters, but there are {len(raters)}")
    for known in gold:
        for item, answer in known.answers.items():
            if answer not in answers_of(instrument, instrument.item(item)):
                raise InputError(f"the known answer {answer!r} for {item} is not on the scale of {instrument.id}")


def _give_out(
    connection: Connection, project: Project, units: Sequence[Wanted], gold: Sequence[Known], raters: Sequence[int]
) -> None:
    settings, instrument = project.settings, project.instrument
    seed = f"{settings.seed}/{project.name}/{project.number}"
    practised = calibration_examples(instrument, settings.calibration, seed=f"{seed}/calibration")
    practice = [
        Place(
            _add_unit(
                connection, project, Round.CALIBRATION, example=work.name, answers={work.item.id: work.example.answer}
            ),
            Round.CALIBRATION,
        )
        for work in practised
    ]
    share = round(len(units) * settings.per_unit / len(raters))
    checks = attention_examples(instrument, settings.attention, share, practised, seed=f"{seed}/attention")
    attention = [
        _add_unit(connection, project, Round.ATTENTION, example=work.name, answers={work.item.id: work.example.answer})
        for work in checks
    ]
    known = [_add_unit(connection, project, Round.GOLD, *entry.unit, answers=dict(entry.answers)) for entry in gold]
    dealt = deal(add_units(connection, project, units), raters, settings.per_unit, seed=seed)
    for number, (member, own) in enumerate(dealt.items()):
        order = schedule(
            own,
            seed=f"{seed}/{number}",
            repeats=settings.repeats,
            gap=settings.gap,
            gold=known,
            attention=attention,
        )
        add_places(connection, project, member, practice + order)


def _add_unit(
    connection: Connection,
    project: Project,
    round: Round,
    conversation: int | None = None,
    turn: int | None = None,
    *,
    example: str | None = None,
    answers: Mapping[str, Value] | None = None,
) -> int:
    row = {
        "project": project.key,
        "conversation": conversation,
        "turn": turn or 0,
        "example": example,
        "round": round,
        "answers": to_json(dict(answers or {})),
    }
    return connection.execute(tables.project_units.insert().returning(tables.project_units.c.key), row).scalar_one()


def _people(connection: Connection, project: Project) -> dict[str, Row[Any]]:
    query = select(tables.members).where(tables.members.c.project == project.key)
    return {row.name: row for row in connection.execute(query)}
