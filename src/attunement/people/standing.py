"""How far is everybody, and who needs the coordinator now?"""

from typing import NamedTuple

from sqlalchemy import func, select

from attunement.people.calibration import Result, results
from attunement.people.projects import members, record
from attunement.people.records import Member, Project, Role, Work
from attunement.ratings import Round
from attunement.study import Study, now
from attunement.study import tables as kept
from attunement.study import tables_people as tables


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
    table = tables.assignments.c
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
    notice, unit, talk = tables.notices.c, tables.project_units.c, kept.conversations.c
    query = (
        select(
            tables.notices, tables.members.c.name, talk.system, talk.id, unit.turn, unit.example, unit.key.label("unit")
        )
        .select_from(
            tables.notices.join(tables.members, notice.member == tables.members.c.key)
            .join(tables.assignments, notice.assignment == tables.assignments.c.key)
            .join(tables.project_units, tables.assignments.c.unit == unit.key)
            .outerjoin(kept.conversations, unit.conversation == talk.key)
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
    own = (tables.notices.c.project == project.key) & (tables.notices.c.public == public)
    with study.writing() as connection:
        first = tables.notices.update().where(own, tables.notices.c.seen.is_(None))
        if connection.execute(first.values(seen=now())).rowcount:
            record(connection, project, "notice seen", member=by, content={"notice": public})
