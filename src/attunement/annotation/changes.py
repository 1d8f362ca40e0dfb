"""Change a running project: more raters, more units, somebody who leaves.

Work that was begun is never taken away. What is given to somebody else stays in the first list as withdrawn, so that
the trail is whole.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, func, select

from attunement.annotation.projects import (
    COORDINATOR,
    Place,
    Wanted,
    add_member,
    add_places,
    deal,
    fair_share,
    fitting_name,
    member_of,
    record,
    schedule,
)
from attunement.annotation.projects import add_units as add_units_of_projects
from attunement.annotation.records import Member, MemberState, Project, Role, Work
from attunement.conversations import Responses, UnitKind
from attunement.errors import InputError
from attunement.instruments import Instrument
from attunement.ratings import Round
from attunement.store import Study
from attunement.store.samples import latest_sample
from attunement.store.schema import assignments, members, project_units


def add_rater(study: Study, project: Project, name: str, *, by: Member | None = None) -> Member:
    """Add a rater, who takes over a fair share of what the others have not begun.

    Raises:
        InputError: The name is taken.
    """
    with study.writing() as connection:
        names = set(connection.scalars(select(members.c.name).where(members.c.project == project.key)))
        if not name.strip() or name in names | {COORDINATOR}:
            raise InputError(f"a rater needs a name of their own, and {name!r} is none: give another one")
        waiting = _waiting(connection, project)
        key = add_member(connection, project, Role.RATER, name, by=by)
        taken = fair_share(
            {member: [row.unit for row in rows] for member, rows in waiting.items()}, seed=_seed(project, "add", key)
        )
        for member, unit in taken:
            _withdraw(connection, project, [row for row in waiting[member] if row.unit == unit], by)
            _withdraw(connection, project, _repeats(connection, member, [unit]), by)
        _line_up(connection, project, key, [unit for _, unit in taken], by, known=True)
        row = connection.execute(select(members).where(members.c.key == key)).mappings().one()
    return member_of(row)


def extend(study: Study, project: Project, units: Sequence[Wanted], *, by: Member | None = None) -> int:
    """Add units at the end of the raters' lists; those that are in the project already are left out.

    Returns how many were added.
    """
    with study.writing() as connection:
        table = project_units.c
        there = connection.execute(select(table.conversation, table.turn).where(table.project == project.key))
        known = {(conversation, turn) for conversation, turn in there}
        new = [unit for unit in dict.fromkeys(units) if (unit.conversation, unit.turn or 0) not in known]
        raters = _active(connection, project)
        if new:
            keys = add_units_of_projects(connection, project, new)
            load = {member: len(rows) for member, rows in _waiting(connection, project).items()}
            dealt = deal(keys, raters, project.settings.per_unit, seed=_seed(project, "extend", keys[0]), load=load)
            for member, own in dealt.items():
                _line_up(connection, project, member, own, by)
            record(connection, project, "extended", member=by, content={"units": len(new)})
    return len(new)


def reassign(study: Study, project: Project, member: Member, *, leaving: bool = False, by: Member | None = None) -> int:
    """Give what a rater has not handed in to others, each unit to somebody who does not have it.

    With `leaving` the rater's door is closed as well. Returns how many units changed hands.

    Raises:
        InputError: Nobody else can take one of them; then nothing changes.
    """
    with study.writing() as connection:
        own = (assignments.c.member == member.key) & (assignments.c.state == Work.OPEN)
        rows = connection.execute(select(assignments).where(own)).all()
        moved = _hand_over(connection, project, rows, by)
        if leaving:
            connection.execute(members.update().where(members.c.key == member.key).values(state=MemberState.LEFT))
            record(connection, project, "left", member=by, content={"rater": member.name})
    return moved


def give_skipped(study: Study, project: Project, *, by: Member | None = None) -> int:
    """Give each unit that was skipped and now has too few raters to one more; returns how many there were."""
    table = assignments.c
    skipped = (table.project == project.key) & (table.state == Work.SKIPPED) & (table.round == Round.MAIN)
    rated = table.state.in_([Work.OPEN, Work.SUBMITTED]) & (table.round == Round.MAIN)
    with study.writing() as connection:
        rows = connection.execute(select(assignments).where(skipped)).all()
        units = [row.unit for row in rows]
        count = select(table.unit, func.count()).where(rated, table.unit.in_(units)).group_by(table.unit)
        counts = {row[0]: row[1] for row in connection.execute(count)}
        short = [row for row in rows if counts.get(row.unit, 0) < project.settings.per_unit]
        return _hand_over(connection, project, short, by, withdraw=False)


def _hand_over(
    connection: Connection, project: Project, rows: Sequence[Row[Any]], by: Member | None, *, withdraw: bool = True
) -> int:
    main = sorted({row.unit for row in rows if row.round == Round.MAIN})
    if withdraw:
        _withdraw(connection, project, rows, by)
    raters = _active(connection, project)
    load = {member: len(waiting) for member, waiting in _waiting(connection, project).items()}
    if main:
        holders = _holders(connection, main)
        if stuck := [unit for unit in main if not set(raters) - holders.get(unit, set())]:
            raise InputError(
                f"nobody can take over {len(stuck)} of {len(main)} units, because every other rater has or had them "
                "already: invite another rater first"
            )
        seed = _seed(project, "reassign", main[0])
        dealt = deal(main, raters, 1, seed=seed, load=load, taken=holders)
        for member, own in dealt.items():
            _line_up(connection, project, member, own, by, repeats=False)
    return len(main)


def _line_up(
    connection: Connection,
    project: Project,
    member: int,
    units: Sequence[int],
    by: Member | None,
    *,
    known: bool = False,
    repeats: bool = True,
) -> None:
    """Put units at the end of a member's list; with `known` the practice and the units with known answers as well."""
    rounds: dict[str, list[int]] = {}
    if known:
        query = select(project_units.c.round, project_units.c.key).where(project_units.c.project == project.key)
        for round, key in connection.execute(query.order_by(project_units.c.key)):
            rounds.setdefault(round, []).append(key)
    last = connection.scalar(select(func.max(assignments.c.position)).where(assignments.c.member == member))
    order = schedule(
        units,
        seed=_seed(project, "order", member),
        repeats=project.settings.repeats if repeats else 0,
        gap=project.settings.gap,
        gold=rounds.get(Round.GOLD, ()),
        attention=rounds.get(Round.ATTENTION, ()),
    )
    practice = [Place(unit, Round.CALIBRATION) for unit in rounds.get(Round.CALIBRATION, ())]
    places = practice + order
    add_places(connection, project, member, places, start=0 if last is None else last + 1)
    name = connection.scalar(select(members.c.name).where(members.c.key == member))
    if places:
        record(connection, project, "given out", member=by, content={"to": name, "units": len(places)})


def _withdraw(connection: Connection, project: Project, rows: Sequence[Row[Any]], by: Member | None) -> None:
    for row in rows:
        query = assignments.update().where(assignments.c.key == row.key)
        connection.execute(query.values(state=Work.WITHDRAWN))
        record(connection, project, "withdrawn", member=by, assignment=row.key)


def _active(connection: Connection, project: Project) -> list[int]:
    table = members.c
    query = select(table.key).where(table.project == project.key, table.role == Role.RATER)
    return list(connection.scalars(query.where(table.state == MemberState.ACTIVE).order_by(table.key)))


def _waiting(connection: Connection, project: Project) -> dict[int, list[Row[Any]]]:
    """What each active rater has to do for the first time and has not begun."""
    table = assignments.c
    found: dict[int, list[Row[Any]]] = {member: [] for member in _active(connection, project)}
    query = select(assignments).where(
        table.project == project.key, table.state == Work.OPEN, table.round == Round.MAIN, table.opened.is_(None)
    )
    for row in connection.execute(query.order_by(table.key)):
        if row.member in found:
            found[row.member].append(row)
    return found


def _repeats(connection: Connection, member: int, units: Sequence[int]) -> Sequence[Row[Any]]:
    table = assignments.c
    own = (table.member == member) & (table.round == Round.REPEAT) & (table.state == Work.OPEN)
    return connection.execute(select(assignments).where(own, table.unit.in_(units))).all()


def _holders(connection: Connection, units: Sequence[int]) -> dict[int, set[int]]:
    """Who has or had each of these units, and does not get it again."""
    table = assignments.c
    found: dict[int, set[int]] = {}
    for unit, member in connection.execute(select(table.unit, table.member).where(table.unit.in_(units))):
        found.setdefault(unit, set()).add(member)
    return found


def _seed(project: Project, what: str, number: int) -> str:
    return f"{project.settings.seed}/{project.name}/{project.number}/{what}/{number}"


DEFAULT = 100
"""Units that are drawn where nobody says how many."""
_BATCH = 500


class Chosen(NamedTuple):
    """Units and where they come from, in words."""

    units: list[Wanted]
    source: str


def choose(study: Study, instrument: Instrument, count: int | None, *, seed: int) -> Chosen:
    """The units of the newest sample for this instrument, or `count` at random from the whole study.

    Of a sample all units are taken; where `count` is smaller, so many of them at random.

    Raises:
        InputError: There are none, or fewer than asked for.
    """
    sample = latest_sample(study, instrument.id)
    units = _possible(study, instrument, None if sample is None else set(sample.units))
    if not units:
        raise InputError(f"{study.place} holds nothing to rate: add conversations with --conversations")
    number = count or (min(DEFAULT, len(units)) if sample is None else len(units))
    if number > len(units):
        raise InputError(f"there are {len(units)} units to choose from, and {number} were asked for")
    chance = Random(f"{seed}/units")  # noqa: S311 - a sample that can be drawn again
    drawn = chance.sample(units, number)
    if sample is None:
        return Chosen(drawn, f"{number} drawn at random from {len(units)}")
    return Chosen(drawn, f"{number} of the {len(units)} units of {sample.name}")


def listed(study: Study, instrument: Instrument, names: Iterable[str]) -> Chosen:
    """The units with these names: the id of a conversation, or `system/id`, and for one reply `#` with its turn.

    Raises:
        InputError: A name leads to no unit, or to several.
    """
    units = [unit for name in names for unit in named(study, instrument, name)]
    return Chosen(list(dict.fromkeys(units)), "from the list")


def named(study: Study, instrument: Instrument, name: str) -> list[Wanted]:
    """The units that a name means: one reply, or all that the instrument asks about in a conversation."""
    id, mark, turn = name.rpartition("#")
    found = study.find(id) if mark and turn.isdecimal() else []
    number = int(turn) if found else None
    found = found or study.find(name)
    if len(found) != 1:
        what = "several conversations: say which, as system/id" if found else "no conversation of the study"
        raise InputError(f"{name!r} means {what}")
    turns = len(found[0].conversation.turns)
    if number is None:
        return list(_units(instrument, study.responses(instrument.id), found[0].key, turns))
    if UnitKind(instrument.unit) is UnitKind.CONVERSATION or not 1 <= number <= turns:
        raise InputError(f"{name!r} is no unit of {instrument.id}: leave the number of the turn out, or correct it")
    return [Wanted(found[0].key, number)]


def choose_more(
    study: Study, instrument: Instrument, there: Collection[Wanted], count: int, *, seed: str
) -> list[Wanted]:
    """So many units at random that are not `there` yet: of the newest sample as long as it has some, then of the study.

    Raises:
        InputError: The study holds fewer.
    """
    sample = latest_sample(study, instrument.id)
    known = set(there)
    left = [unit for unit in _possible(study, instrument, None) if unit not in known]
    if count > len(left):
        raise InputError(f"the study holds {len(left)} more units, and {count} were asked for: ask for fewer")
    Random(seed).shuffle(left)  # noqa: S311 - a sample that can be drawn again
    return sorted(left, key=lambda unit: sample is None or unit.conversation not in sample.units)[:count]


def _possible(study: Study, instrument: Instrument, conversations: Collection[int] | None) -> list[Wanted]:
    """Every unit that the instrument asks about, in all conversations or in these."""
    responses = study.responses(instrument.id)
    return [
        unit
        for key, turns in _lengths(study)
        if conversations is None or key in conversations
        for unit in _units(instrument, responses, key, turns)
    ]


def _lengths(study: Study) -> Iterator[tuple[int, int]]:
    for batch in study.summaries(_BATCH):
        for summary in batch:
            yield summary.key, summary.turns


def _units(instrument: Instrument, responses: Responses, key: int, turns: int) -> Iterator[Wanted]:
    if UnitKind(instrument.unit) is UnitKind.CONVERSATION:
        yield Wanted(key)
        return
    first = turns if responses is Responses.LAST else 1
    for turn in range(first, turns + 1):
        yield Wanted(key, turn)


def invite(study: Study, project: Project, role: Role, name: str, *, by: Member | None = None) -> Member:
    """Add somebody to the project. A rater takes over a fair share of what the others have not begun.

    Raises:
        InputError: The name does not fit, or is taken.
    """
    name = fitting_name(name)
    if role is Role.RATER:
        return add_rater(study, project, name, by=by)
    with study.writing() as connection:
        if name in set(connection.scalars(select(members.c.name).where(members.c.project == project.key))):
            raise InputError(f"somebody in this project is called {name!r} already: give another name")
        key = add_member(connection, project, role, name, by=by)
        row = connection.execute(select(members).where(members.c.key == key)).mappings().one()
    return member_of(row)


def add_units(study: Study, project: Project, count: int, *, by: Member | None = None) -> int:
    """Add so many units that are not in the project yet, drawn at random; returns how many were added.

    Raises:
        InputError: The study holds fewer, or there are too few raters for them.
    """
    unit = project_units.c
    with study.reading() as connection:
        rows = connection.execute(select(unit.conversation, unit.turn).where(unit.project == project.key))
        there = [Wanted(conversation, turn or None) for conversation, turn in rows if conversation is not None]
    seed = f"{project.settings.seed}/more/{len(there)}"
    return extend(study, project, choose_more(study, project.instrument, there, count, seed=seed), by=by)
