"""Start a project of raters: members, units, practice examples, and who rates what in which order.

A project belongs to one version of an instrument. Whoever changes the instrument starts a new round: the ratings of
two wordings are never mixed. Every change is an event that is never taken back.

Everything here is pure and follows from a seed: the same project is dealt out the same way on every machine. Each unit
goes to as many raters as asked for, nobody gets more than one unit more than another, and every rater has an order of
their own.

An example has a known answer for one item. Those on a boundary teach the most, so they come first into the
calibration; clear ones that are left over stand unmarked among a rater's units later.
"""

import math
import secrets
from collections.abc import Collection, Mapping, Sequence
from itertools import zip_longest
from random import Random
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, RowMapping, bindparam, select

from attunement.annotation.answers import answers_of
from attunement.annotation.records import (
    REVIEW_ONLY,
    Member,
    MemberState,
    Project,
    ProjectState,
    ProjectUnit,
    Role,
    Settings,
    Work,
)
from attunement.conversations import Conversation, Origin, Turn, Unit, UnitKind
from attunement.errors import InputError, StudyError
from attunement.instruments import Instrument, Item, Value
from attunement.instruments.model import Example
from attunement.ratings import Round
from attunement.store import Study, now, schema
from attunement.store.rows import from_json, to_json


class Place(NamedTuple):
    """One position in a rater's list."""

    unit: int
    round: Round


def deal(
    units: Sequence[int],
    raters: Sequence[int],
    per_unit: int,
    *,
    seed: str,
    load: Mapping[int, int] | None = None,
    taken: Mapping[int, Collection[int]] | None = None,
) -> dict[int, list[int]]:
    """Give every unit to `per_unit` different raters, each time to those who have the least, and say who got what.

    Args:
        units: The units to give out.
        raters: Who can take them.
        per_unit: To how many raters each unit goes.
        seed: What chance starts from.
        load: How many units a rater has already.
        taken: For a unit, the raters who have or had it and do not get it again.

    Raises:
        InputError: There are not enough raters for a unit.
    """
    chance = Random(seed)  # noqa: S311 - deals out work, guards nothing
    counts = {rater: (load or {}).get(rater, 0) for rater in raters}
    dealt: dict[int, list[int]] = {rater: [] for rater in raters}
    for unit in chance.sample(list(units), len(units)):
        free = [rater for rater in raters if rater not in (taken or {}).get(unit, ())]
        if len(free) < per_unit:
            raise InputError(
                f"a unit needs {per_unit} raters and {len(free)} can take it: add raters, or ask for fewer per unit"
            )
        chance.shuffle(free)
        for rater in sorted(free, key=lambda rater: counts[rater])[:per_unit]:  # stable: chance decides between equals
            counts[rater] += 1
            dealt[rater].append(unit)
    return dealt


def schedule(
    units: Sequence[int],
    *,
    seed: str,
    repeats: float = 0.0,
    gap: int = 20,
    gold: Sequence[int] = (),
    attention: Sequence[int] = (),
) -> list[Place]:
    """The order of one rater's work: their units shuffled, known ones spread among them, and some a second time.

    A repeat comes at least `gap` positions after the first time; in a list too short for that, those that came first
    are repeated at its end, so that it is as far as can be. A list with one unit repeats nothing.
    """
    chance = Random(seed)  # noqa: S311 - deals out work, guards nothing
    places = [Place(unit, Round.MAIN) for unit in chance.sample(list(units), len(units))]
    known = [Place(unit, Round.GOLD) for unit in gold] + [Place(unit, Round.ATTENTION) for unit in attention]
    chance.shuffle(known)
    for place in known:
        # Not at the start: whoever is still finding their way is not yet to be checked.
        places.insert(chance.randint(math.ceil(len(places) / 10), len(places)), place)
    count = round(repeats * len(units)) if len(units) > 1 else 0
    for place in _repeated(places, count, gap, chance):
        at = places.index(place)
        # What is put in between only moves the second time further away from the first.
        places.insert(chance.randint(min(at + gap, len(places)), len(places)), Place(place.unit, Round.REPEAT))
    return places


def _repeated(places: Sequence[Place], count: int, gap: int, chance: Random) -> list[Place]:
    """Which units come a second time: any of those after which there is room, then the first of the others."""
    main = [(at, place) for at, place in enumerate(places) if place.round is Round.MAIN]
    roomy = [place for at, place in main if at + gap <= len(places)]
    tight = [place for at, place in main if at + gap > len(places)]
    chosen = chance.sample(roomy, min(count, len(roomy)))
    return chosen + tight[: count - len(chosen)]


def fair_share(waiting: Mapping[int, Sequence[int]], *, seed: str) -> list[tuple[int, int]]:
    """Which units a newcomer takes over from which raters, so that nobody is left with more than the newcomer has.

    `waiting` are the units that a rater has not begun. Each unit is taken over once, so that it keeps as many different
    raters as before. Returns pairs of rater and unit.
    """
    chance = Random(seed)  # noqa: S311 - deals out work, guards nothing
    left = {rater: chance.sample(list(units), len(units)) for rater, units in waiting.items()}
    taken: dict[int, int] = {}
    while left:
        most = max(left, key=lambda rater: len(left[rater]))
        if len(left[most]) <= len(taken) + 1:
            break
        unit = next((unit for unit in left[most] if unit not in taken), None)
        if unit is None:
            del left[most]
            continue
        left[most].remove(unit)
        taken[unit] = most
    return [(rater, unit) for unit, rater in taken.items()]


_PER_ITEM, _AT_MOST = 2, 20
"""By default two examples an item are enough to learn its scale, and twenty are an hour's work at most."""
_UNITS_PER_CHECK = 25


class Worked(NamedTuple):
    """A worked example and where it stands in the instrument."""

    item: Item
    place: int
    example: Example

    @property
    def name(self) -> str:
        """The name under which a project keeps it."""
        return f"{self.item.id}/{self.place}"


def calibration_examples(instrument: Instrument, wanted: int | None, *, seed: str) -> list[Worked]:
    """The examples of the calibration round, in the order in which everybody gets them.

    The items take turns, and each gives its boundary cases first.
    """
    taught = [item for item in instrument.items if item.examples]
    count = min(_PER_ITEM * len(taught), _AT_MOST) if wanted is None else wanted
    by_item = [sorted(_examples(item), key=lambda worked: worked.example.kind == "clear") for item in taught]
    in_turn = [worked for row in zip_longest(*by_item) for worked in row if worked is not None]
    chosen = in_turn[:count]
    Random(seed).shuffle(chosen)  # noqa: S311 - guards nothing
    return chosen


def attention_examples(
    instrument: Instrument, wanted: int | None, units: int, practised: list[Worked], *, seed: str
) -> list[Worked]:
    """Clear examples that nobody practised on, for a list of `units`."""
    seen = {words_of(worked.example) for worked in practised}
    free = [
        worked
        for item in instrument.items
        for worked in _examples(item)
        if worked.example.kind == "clear" and words_of(worked.example) not in seen
    ]
    count = round(units / _UNITS_PER_CHECK) if wanted is None else wanted
    return Random(seed).sample(free, min(count, len(free)))  # noqa: S311 - guards nothing


def example_named(instrument: Instrument, name: str) -> Worked:
    """The example with this name."""
    item_id, _, place = name.rpartition("/")
    examples = instrument.item(item_id).examples
    if not place.isdigit() or int(place) >= len(examples):
        raise StudyError(f"{instrument.id} has no worked example {name}: the study was changed from outside")
    return Worked(instrument.item(item_id), int(place), examples[int(place)])


def example_unit(instrument: Instrument, worked: Worked) -> Unit:
    """The example as a rater reads it."""
    turns = tuple(Turn(message.user, message.assistant) for message in worked.example.turns)
    # The words of the example were written for the instrument: nobody in them is real.
    talk = Conversation(id=worked.name, system="", turns=turns, origin=Origin.WRITTEN)
    return Unit(talk, len(turns) if UnitKind(instrument.unit) is UnitKind.RESPONSE else None)


def words_of(example: Example) -> tuple[tuple[str, str], ...]:
    """What is said in an example, turn by turn."""
    return tuple((message.user, message.assistant) for message in example.turns)


def _examples(item: Item) -> list[Worked]:
    return [Worked(item, place, example) for place, example in enumerate(item.examples)]


COORDINATOR = "coordinator"
"""The name of the first coordinator, who is made with the project."""
_LONGEST_NAME = 200
"""Characters: longer than any name, and short enough for a line of a list."""
# Asked on every request, so it is put together once: that takes longer than asking it.
_STATE = select(schema.projects.c.state, schema.projects.c.settings).where(
    schema.projects.c.key == bindparam("project")
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
    study.save_instrument(instrument)
    with study.writing() as connection:
        earlier = connection.scalars(select(schema.projects.c.number).where(schema.projects.c.name == instrument.id))
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
    key = connection.execute(schema.projects.insert().returning(schema.projects.c.key), row).scalar_one()
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
    key = connection.execute(schema.members.insert().returning(schema.members.c.key), row).scalar_one()
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
        connection.execute(schema.assignments.insert(), rows)


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
    connection.execute(schema.events.insert(), row)


def latest(study: Study, instrument_id: str) -> Project | None:
    """The newest project in which people rate with this instrument, if there is one."""
    projects = schema.projects.c
    rated = (projects.name == instrument_id) & (projects.number != REVIEW_ONLY)
    query = select(projects.key).where(rated).order_by(projects.number.desc()).limit(1)
    with study.reading() as connection:
        key = connection.scalar(query)
    return None if key is None else project_of(study, key)


def project_of(study: Study, key: int) -> Project:
    """The project with this key, as it is now."""
    projects, instruments = schema.projects.c, schema.instruments.c
    columns = select(schema.projects, instruments.content).where(instruments.hash == projects.instrument)
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
    query = select(schema.members).where(schema.members.c.project == project.key).order_by(schema.members.c.key)
    if role is not None:
        query = query.where(schema.members.c.role == role)
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
        query = schema.projects.update().where(schema.projects.c.key == project.key)
        connection.execute(query.values(settings=settings.model_dump_json()))
        record(connection, project, "settings", member=by, content=changes)
    return project._replace(settings=settings)


def set_state(study: Study, project: Project, state: ProjectState, by: Member | None) -> Project:
    """Pause a project, or let it go on. Who has a unit open may finish it."""
    with study.writing() as connection:
        query = schema.projects.update().where(schema.projects.c.key == project.key)
        connection.execute(query.values(state=state))
        record(connection, project, "state", member=by, content={"state": state})
    return project._replace(state=state)


def lacks_escalation(study: Study, project: Project) -> bool:
    """Whether real people may be in the transcripts and nobody said yet what to do when one is in danger."""
    return not state_of(study, project).settings.escalation.strip() and may_be_real(study, project)


def may_be_real(study: Study, project: Project) -> bool:
    """Whether a person in one of the transcripts may be real."""
    units, talk = schema.project_units.c, schema.conversations.c
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
    return connection.execute(schema.project_units.insert().returning(schema.project_units.c.key), row).scalar_one()


def _people(connection: Connection, project: Project) -> dict[str, Row[Any]]:
    query = select(schema.members).where(schema.members.c.project == project.key)
    return {row.name: row for row in connection.execute(query)}
