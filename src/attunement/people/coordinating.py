"""How does the work of people go: how far is it, do they agree, and with whom should the coordinator talk?

Figures rest on what was handed in in this round, by its raters alone. Raters have numbers; only the coordinator knows
the names behind them.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import func, select

from attunement.agreement.gathered import Gathered
from attunement.agreement.gathering import gather
from attunement.agreement.results import Undefined
from attunement.agreement.summary import ItemAgreement, summarise
from attunement.people.calibration import agrees, right_of
from attunement.people.disagreement import disagree, spread
from attunement.people.handed import Handed, handed_in
from attunement.people.practice import Checked, checked
from attunement.people.projects import members
from attunement.people.records import Member, Project, Role, Work
from attunement.people.remarks import unit_names
from attunement.people.severity import Severity, severity
from attunement.people.standing import Standing, standings
from attunement.ratings import Round
from attunement.study import Study
from attunement.study import tables_people as tables

_UNKNOWN = Undefined("nothing was handed in yet")


class Right(NamedTuple):
    """How many of how many were as they should be."""

    right: int = 0
    total: int = 0


class RaterFigures(NamedTuple):
    """How one rater does."""

    number: int
    standing: Standing
    last_day: int
    last_week: int
    again: Right
    """Answers that were the same when the unit came a second time."""
    gold: Right
    attention: Right
    severity: Severity

    @property
    def member(self) -> Member:
        """Who it is."""
        return self.standing.member


class UnitFigures(NamedTuple):
    """How far one unit is, and how far its ratings lie apart."""

    key: int
    name: str
    """System, id and turn, as the coordinator may read it."""
    handed_in: int
    wanted: int
    open: int
    """How many raters still have it before them."""
    skipped: int
    flagged: int
    spread: float | None
    """None below two ratings."""
    apart: tuple[str, ...]
    """The items on which raters disagree, by title."""


class KnownFigures(NamedTuple):
    """A unit whose answer is known, and how many raters found it."""

    key: int
    name: str
    found: Right


class Figures(NamedTuple):
    """All figures of a project."""

    raters: tuple[RaterFigures, ...]
    units: tuple[UnitFigures, ...]
    """Those whose ratings lie furthest apart first, then those that lack the most."""
    known: tuple[KnownFigures, ...]
    """Those that the fewest found first."""
    agreement: tuple[ItemAgreement, ...]


def stamp(study: Study, project: Project) -> tuple[Any, ...]:
    """Changes whenever the figures could: what they rest on is counted, not read."""
    assignment = tables.assignments.c
    query = select(assignment.state, func.count(), func.max(assignment.done)).where(assignment.project == project.key)
    with study.reading() as connection:
        rows = connection.execute(query.group_by(assignment.state).order_by(assignment.state)).all()
        flags = connection.scalar(
            select(func.count()).where(assignment.project == project.key, assignment.flagged.is_(True))
        )
        people = connection.execute(
            select(tables.members.c.key, tables.members.c.state, tables.members.c.rater).where(
                tables.members.c.project == project.key
            )
        ).all()
    # The pace looks back from today, so figures are made anew each hour even where nothing happens.
    hour = datetime.now(UTC).isoformat()[:13]
    return (hour, flags, *map(tuple, rows), *map(tuple, people))


def figures(study: Study, project: Project) -> Figures:
    """Everything that is known about the work so far."""
    handed = handed_in(study, project, [Round.MAIN, Round.GOLD, Round.ATTENTION])
    main = [entry for entry in handed if entry.round is Round.MAIN]
    gathered = gather(study, project.instrument)
    names = _rater_names(study, project)
    present = [name for name in names.values() if name in gathered.people]
    return Figures(
        _raters(study, project, handed, gathered, names),
        _units(study, project, main),
        _known(study, project, handed),
        summarise(gathered, present, ()).items if present else (),
    )


def _rater_names(study: Study, project: Project) -> dict[int, str]:
    """By key of the member: the name of the rater in the study, for those who have handed something in."""
    known = {rater.key: rater.name for rater in study.raters()}
    return {
        member.key: known[member.rater]
        for member in members(study, project, Role.RATER)
        if member.rater is not None and member.rater in known
    }


def _raters(
    study: Study, project: Project, handed: Sequence[Handed], gathered: Gathered, names: dict[int, str]
) -> tuple[RaterFigures, ...]:
    by_member: dict[int, list[Handed]] = {}
    for entry in handed:
        by_member.setdefault(entry.member, []).append(entry)
    people = [name for name in names.values() if name in gathered.people]
    when = {
        names[member]: {
            (entry.unit.conversation or 0, entry.unit.turn or 0): entry.done
            for entry in entries
            if entry.round is Round.MAIN
        }
        for member, entries in by_member.items()
        if member in names
    }
    severe = severity(gathered, people, when)
    day, week = (_ago(days) for days in (1, 7))
    done, attention = _done(study, project), _attention(study, project)
    unknown = Severity(_UNKNOWN, _UNKNOWN)
    return tuple(
        RaterFigures(
            number,
            standing,
            sum(at >= day for at in done.get(standing.member.key, ())),
            sum(at >= week for at in done.get(standing.member.key, ())),
            _again(gathered, names.get(standing.member.key)),
            _right([entry for entry in by_member.get(standing.member.key, ()) if entry.round is Round.GOLD]),
            attention.get(standing.member.key, Right()),
            severe.get(names.get(standing.member.key, ""), unknown),
        )
        for number, standing in enumerate(standings(study, project), 1)
    )


def _again(gathered: Gathered, name: str | None) -> Right:
    if name is None or name not in gathered.people:
        return Right()
    right = total = 0
    for item in range(len(gathered.items)):
        answers, _ = gathered.again(item, name)
        several = answers[(~np.isnan(answers)).sum(axis=1) >= 2]
        if len(several):
            total += len(several)
            right += int((np.nanmax(several, axis=1) == np.nanmin(several, axis=1)).sum())
    return Right(right, total)


def _attention(study: Study, project: Project) -> dict[int, Right]:
    """By member: how many of the worked examples among their units were answered as the instrument does."""
    assignment = tables.assignments.c
    wanted = (assignment.project == project.key) & (assignment.round == Round.ATTENTION)
    by_member: dict[int, list[Checked]] = {}
    with study.reading() as connection:
        for answer in checked(connection, wanted):
            by_member.setdefault(answer.member, []).append(answer)
    return {
        member: Right(right_of(answers), len({answer.assignment for answer in answers}))
        for member, answers in by_member.items()
    }


def _known(study: Study, project: Project, handed: Iterable[Handed]) -> tuple[KnownFigures, ...]:
    names = unit_names(study, project)
    by_unit: dict[int, list[Handed]] = {}
    for entry in handed:
        if entry.round in {Round.GOLD, Round.ATTENTION}:
            by_unit.setdefault(entry.unit.key, []).append(entry)
    found = [KnownFigures(key, names[key], _right(entries)) for key, entries in by_unit.items()]
    return tuple(sorted(found, key=lambda unit: (unit.found.right / unit.found.total, unit.key)))


def _right(own: Sequence[Handed]) -> Right:
    right = sum(
        all(
            item in entry.answers and agrees(known, entry.answers[item].outcome)
            for item, known in entry.unit.answers.items()
        )
        for entry in own
    )
    return Right(right, len(own))


def _units(study: Study, project: Project, handed: Sequence[Handed]) -> tuple[UnitFigures, ...]:
    instrument = project.instrument
    names = unit_names(study, project)
    by_unit: dict[int, list[Handed]] = {}
    for entry in handed:
        by_unit.setdefault(entry.unit.key, []).append(entry)
    counts = _unit_counts(study, project)
    found: list[UnitFigures] = []
    for key, count in counts.items():
        all_of = by_unit.get(key, [])
        outcomes = {
            item.id: [entry.answers[item.id].outcome for entry in all_of if item.id in entry.answers]
            for item in instrument.items
        }
        apart = [item.title for item in instrument.items if disagree(instrument, item, outcomes[item.id])]
        widest = max(spread(instrument, each) for each in outcomes.values()) if len(all_of) > 1 else None
        found.append(
            UnitFigures(
                key,
                names[key],
                count[Work.SUBMITTED],
                project.settings.per_unit,
                count[Work.OPEN],
                count[Work.SKIPPED],
                count["flagged"],
                widest,
                tuple(apart),
            )
        )
    return tuple(sorted(found, key=lambda unit: (-(unit.spread or -1.0), -len(unit.apart), unit.handed_in)))


def _unit_counts(study: Study, project: Project) -> dict[int, Counter[str]]:
    """By unit of the main work: how many assignments are in which state, and how many are flagged."""
    unit, assignment = tables.project_units.c, tables.assignments.c
    of_project = (unit.project == project.key) & (unit.round == Round.MAIN)
    query = (
        select(unit.key, assignment.state, assignment.flagged, func.count())
        .select_from(tables.project_units.join(tables.assignments, assignment.unit == unit.key))
        .where(of_project, assignment.round == Round.MAIN)
        .group_by(unit.key, assignment.state, assignment.flagged)
        .order_by(unit.key)
    )
    found: dict[int, Counter[str]] = {}
    with study.reading() as connection:
        for key, state, flagged, count in connection.execute(query):
            own = found.setdefault(key, Counter())
            own[state] += count
            own["flagged"] += count if flagged else 0
    return found


def _done(study: Study, project: Project) -> dict[int, list[str]]:
    """By member: when they handed in a unit of their work."""
    assignment = tables.assignments.c
    query = select(assignment.member, assignment.done).where(
        assignment.project == project.key,
        assignment.state == Work.SUBMITTED,
        assignment.round != Round.CALIBRATION,
    )
    found: dict[int, list[str]] = {}
    with study.reading() as connection:
        for member, at in connection.execute(query):
            found.setdefault(member, []).append(at)
    return found


def _ago(days: float) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="milliseconds")
