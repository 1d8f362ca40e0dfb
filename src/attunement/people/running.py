"""How does a project change while people work: more raters, more units, somebody who leaves?

Work that was begun is never taken away. What is given to somebody else stays in the first list as withdrawn, so that
the trail is whole.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Row, func, select

from attunement.errors import InputError
from attunement.people.assignment import Place, deal, fair_share, schedule
from attunement.people.projects import COORDINATOR, Wanted, add_member, add_places, add_units, member_of, record
from attunement.people.records import Member, MemberState, Project, Role, Work
from attunement.ratings import Round
from attunement.study import Study
from attunement.study.tables_people import assignments, members, project_units


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
            keys = add_units(connection, project, new)
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
