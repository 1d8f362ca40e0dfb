"""Where do reviewers meet in a study that nobody rates, or apart from those who rate?

They are members of a project of their own, with the number 0, that has neither units nor raters. It follows the newest
version of the instrument: what somebody said or signed keeps the version that it was said about.
"""

from collections.abc import Sequence

from sqlalchemy import select

from attunement.instruments import Instrument
from attunement.people.inviting import invite
from attunement.people.projects import insert_project, members, record
from attunement.people.records import REVIEW_ONLY, Member, Project, ProjectState, Role
from attunement.people.settings import Settings
from attunement.study import Study, now
from attunement.study.tables_people import projects

REVIEWER = "reviewer"
"""The name of a reviewer whom nobody named."""


def review_desk(study: Study, instrument: Instrument) -> Project:
    """The project in which reviewers of this instrument meet, made the first time.

    Where the instrument has changed since, the project goes on with it as it is now.
    """
    study.keep_instrument(instrument)
    with study.writing() as connection:
        here = (projects.c.name == instrument.id) & (projects.c.number == REVIEW_ONLY)
        row = connection.execute(select(projects).where(here)).first()
        if row is None:
            project = Project(0, instrument.id, REVIEW_ONLY, instrument, ProjectState.OPEN, Settings(), now())
            project = insert_project(connection, project)
            record(connection, project, "created")
            return project
        settings = Settings.model_validate_json(row.settings)
        project = Project(row.key, row.name, row.number, instrument, ProjectState(row.state), settings, row.at)
        if row.instrument != instrument.hash:
            connection.execute(projects.update().where(here).values(instrument=instrument.hash))
            record(connection, project, "instrument", content={"before": row.instrument})
    return project


def reviewers(study: Study, project: Project, names: Sequence[str]) -> list[Member]:
    """The reviewers of these names, invited where they are new; without names all there are, or the first one.

    Raises:
        InputError: A name does not fit.
    """
    known = {member.name: member for member in members(study, project, Role.REVIEWER)}
    wanted = [name.strip() for name in names] or list(known) or [REVIEWER]
    return [known.get(name) or invite(study, project, Role.REVIEWER, name) for name in dict.fromkeys(wanted)]
