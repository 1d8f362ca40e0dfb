"""The state of a project for its coordinator: progress, agreement, severity, and who needs attention.

Figures rest on what was handed in in this round, by its raters alone. Raters have numbers; only the coordinator knows
the names behind them.

Each answer is held against the mean of what the other raters said about the same item of the same unit. Scores are
compared in levels of the scale; for criteria "met" is 1 and "not met" 0. The intervals rest on whole conversations.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import func, select

from attunement.analysis.ratings_table import RatingsTable, collect_ratings
from attunement.analysis.summary import ItemAgreement, analyse_agreement
from attunement.annotation.adjudication import disagree, spread
from attunement.annotation.projects import members, record
from attunement.annotation.records import Member, Project, Role, Work
from attunement.annotation.tasks import Handed, handed_in
from attunement.annotation.training import Checked, Result, agrees, checked, results, right_of
from attunement.annotation.unit_detail import unit_names
from attunement.ratings import Round
from attunement.statistics.estimates import Mean, mean
from attunement.statistics.results import Undefined
from attunement.statistics.tables import Floats, Ints
from attunement.statistics.tests import Difference, independent_difference
from attunement.store import Study, now, schema


class Standing(NamedTuple):
    """How far a rater is."""

    member: Member
    submitted: int
    skipped: int
    open: int
    flagged: int
    practice: Result | None
    """The last attempt at the practice; None: not finished."""


class Notice(NamedTuple):
    """That a rater thinks a person may be in danger."""

    public: str
    at: str
    member: str
    text: str
    unit: int
    """The key of the unit that the rater was reading."""
    conversation: str
    turn: int | None
    seen: str | None


def standings(study: Study, project: Project) -> list[Standing]:
    """Every rater of the project, in the order in which they joined. Practice is not counted as work."""
    table = schema.assignments.c
    query = (
        select(table.member, table.state, table.flagged, func.count())
        .where(table.project == project.key, table.round != Round.CALIBRATION)
        .group_by(table.member, table.state, table.flagged)
    )
    counts: dict[int, dict[str, int]] = {}
    with study.reading() as connection:
        for member, state, flagged, count in connection.execute(query):
            own = counts.setdefault(member, dict.fromkeys([*Work, "flagged"], 0))
            own[state] += count
            own["flagged"] += count if flagged else 0
    practised = results(study, project)
    nothing = dict.fromkeys([*Work, "flagged"], 0)
    return [
        Standing(
            member,
            own[Work.SUBMITTED],
            own[Work.SKIPPED],
            own[Work.OPEN],
            own["flagged"],
            practised[member.key][-1] if member.key in practised else None,
        )
        for member in members(study, project, Role.RATER)
        for own in [counts.get(member.key, nothing)]
    ]


def notices(study: Study, project: Project) -> list[Notice]:
    """All urgent notices, those that nobody has seen first, then the newest."""
    notice, unit, talk = schema.notices.c, schema.project_units.c, schema.conversations.c
    query = (
        select(
            schema.notices, schema.members.c.name, talk.system, talk.id, unit.turn, unit.example, unit.key.label("unit")
        )
        .select_from(
            schema.notices.join(schema.members, notice.member == schema.members.c.key)
            .join(schema.assignments, notice.assignment == schema.assignments.c.key)
            .join(schema.project_units, schema.assignments.c.unit == unit.key)
            .outerjoin(schema.conversations, unit.conversation == talk.key)
        )
        .where(notice.project == project.key)
        .order_by(notice.seen.is_not(None), notice.key.desc())
    )
    with study.reading() as connection:
        return [
            Notice(
                row["public"],
                row["at"],
                row["name"],
                row["text"],
                row["unit"],
                f"example {row['example']}" if row["id"] is None else f"{row['system']}/{row['id']}",
                row["turn"] or None,
                row["seen"],
            )
            for row in connection.execute(query).mappings()
        ]


def mark_seen(study: Study, project: Project, public: str, by: Member) -> None:
    """Keep that the coordinator has seen a notice."""
    own = (schema.notices.c.project == project.key) & (schema.notices.c.public == public)
    with study.writing() as connection:
        first = schema.notices.update().where(own, schema.notices.c.seen.is_(None))
        if connection.execute(first.values(seen=now())).rowcount:
            record(connection, project, "notice seen", member=by, content={"notice": public})


When = Mapping[tuple[int, int], str]
"""By the key of a conversation and the turn: when a rater handed the unit in."""


class Severity(NamedTuple):
    """How a rater stands to the others. Below zero is more severe, above it more lenient."""

    mean: Mean | Undefined
    drift: Difference | Undefined
    """The later half of their units minus the earlier half."""


def severity(gathered: RatingsTable, people: Sequence[str], when: Mapping[str, When]) -> dict[str, Severity]:
    """How each of these people stands to the others among them.

    Args:
        gathered: The ratings.
        people: The names of the raters.
        when: By rater, when each unit was handed in; what has no time does not enter the drift.
    """
    apart: dict[str, list[Floats]] = {name: [] for name in people}
    units: dict[str, list[Ints]] = {name: [] for name in people}
    for number in range(len(gathered.items)):
        sheet = gathered.item_matrix(number).columns(people)
        for column, who in enumerate(sheet.raters):
            apart[who.name].append(_apart(sheet.values, column))
            units[who.name].append(sheet.units)
    return {name: _severity(gathered, apart[name], units[name], when.get(name, {})) for name in people}


def _apart(values: Floats, column: int) -> Floats:
    """One rater's answers minus the mean of the others', NaN where there is none to compare."""
    others = np.delete(values, column, axis=1)
    there = ~np.isnan(others)
    count = there.sum(axis=1)
    total = np.where(there, others, 0.0).sum(axis=1)
    return values[:, column] - np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _severity(gathered: RatingsTable, apart: Sequence[Floats], units: Sequence[Ints], when: When) -> Severity:
    nothing = Undefined("nobody else rated the same units")
    if not apart:
        return Severity(nothing, nothing)
    values, unit = np.concatenate(apart), np.concatenate(units)
    conversation = gathered.unit_conversation[unit]
    found = mean(values, conversation)
    if isinstance(found, Undefined):
        return Severity(nothing, nothing)
    times = {
        number: when[place]
        for number in set(unit.tolist())
        if (place := (gathered.conversations[gathered.unit_conversation[number]].key, int(gathered.unit_turn[number])))
        in when
    }
    ordered = sorted(times, key=lambda number: (times[number], number))
    early, late = (np.isin(unit, part) for part in (ordered[: len(ordered) // 2], ordered[len(ordered) // 2 :]))
    drift = independent_difference(values[late], values[early], (conversation[late], conversation[early]))
    return Severity(found, drift)


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
    assignment = schema.assignments.c
    query = select(assignment.state, func.count(), func.max(assignment.done)).where(assignment.project == project.key)
    with study.reading() as connection:
        rows = connection.execute(query.group_by(assignment.state).order_by(assignment.state)).all()
        flags = connection.scalar(
            select(func.count()).where(assignment.project == project.key, assignment.flagged.is_(True))
        )
        people = connection.execute(
            select(schema.members.c.key, schema.members.c.state, schema.members.c.rater).where(
                schema.members.c.project == project.key
            )
        ).all()
    # The pace looks back from today, so figures are made anew each hour even where nothing happens.
    hour = datetime.now(UTC).isoformat()[:13]
    return (hour, flags, *map(tuple, rows), *map(tuple, people))


def figures(study: Study, project: Project) -> Figures:
    """Everything that is known about the work so far."""
    handed = handed_in(study, project, [Round.MAIN, Round.GOLD, Round.ATTENTION])
    main = [entry for entry in handed if entry.round is Round.MAIN]
    gathered = collect_ratings(study, project.instrument)
    names = _rater_names(study, project)
    present = [name for name in names.values() if name in gathered.people]
    return Figures(
        _raters(study, project, handed, gathered, names),
        _units(study, project, main),
        _known(study, project, handed),
        analyse_agreement(gathered, present, ()).items if present else (),
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
    study: Study, project: Project, handed: Sequence[Handed], gathered: RatingsTable, names: dict[int, str]
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


def _again(gathered: RatingsTable, name: str | None) -> Right:
    if name is None or name not in gathered.people:
        return Right()
    right = total = 0
    for item in range(len(gathered.items)):
        answers, _ = gathered.repeated_answers(item, name)
        several = answers[(~np.isnan(answers)).sum(axis=1) >= 2]
        if len(several):
            total += len(several)
            right += int((np.nanmax(several, axis=1) == np.nanmin(several, axis=1)).sum())
    return Right(right, total)


def _attention(study: Study, project: Project) -> dict[int, Right]:
    """By member: how many of the worked examples among their units were answered as the instrument does."""
    assignment = schema.assignments.c
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
    unit, assignment = schema.project_units.c, schema.assignments.c
    of_project = (unit.project == project.key) & (unit.round == Round.MAIN)
    query = (
        select(unit.key, assignment.state, assignment.flagged, func.count())
        .select_from(schema.project_units.join(schema.assignments, assignment.unit == unit.key))
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
    assignment = schema.assignments.c
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
