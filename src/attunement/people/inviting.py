"""How do others join a project: more raters, an adjudicator, a reviewer; and more units?"""

from sqlalchemy import select

from attunement.errors import InputError
from attunement.people.choosing import choose_more
from attunement.people.projects import Wanted, add_member, fitting_name, member_of
from attunement.people.records import Member, Project, Role
from attunement.people.running import add_rater, extend
from attunement.study import Study
from attunement.study.tables_people import members, project_units


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
