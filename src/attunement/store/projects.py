"""Annotation projects: their settings, members, units, assignments and log.

A function that takes a `connection` is one step of a transaction, which the caller opens with `Study.writing`.
"""

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple, cast

from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import ColumnElement, Connection, RowMapping, Select, bindparam, case, func, select

from attunement.conversations import Conversation, Origin
from attunement.errors import StudyError
from attunement.instruments import Instrument, Value
from attunement.ratings import Round
from attunement.store import schema
from attunement.store.rows import column_values, conversation_of, from_json, insert_row, record_of
from attunement.store.study import Study, now

Transaction = Connection
"""What `Study.writing` gives; only the store looks inside."""


class Settings(BaseModel):
    """The settings of a project. Unknown keys are refused, so that a typo in a file is noticed."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    per_unit: int = Field(default=3, ge=1)  # raters for each unit
    repeats: float = Field(default=0.1, ge=0, le=1)  # share of units that a rater gets twice, for self-agreement
    gap: int = Field(default=20, ge=1)  # positions before a repeat, where the list is long enough
    calibration: int | None = Field(default=None, ge=0)  # practice examples; None: two for each item, at most 20
    pass_mark: float = Field(default=0.8, ge=0, le=1)  # share of practice examples that must be right
    attention: int | None = Field(default=None, ge=0)  # clear examples among a rater's units; None: one for 25 units
    unit_warnings: bool = False  # warn of a crisis cue in a unit; it hints at risk, so it is off and its use is logged
    break_after: int = Field(default=45, ge=5)  # minutes of work before a break is suggested
    content_note: str = ""  # what raters are told about the content, instead of the general note
    escalation: str = ""  # the site's own steps when a person in a transcript may be in danger
    country: str | None = None  # a code such as US: its crisis lines come first on the support page
    language: str = "en"  # of the pages: the name of a catalogue
    days: int = Field(default=90, ge=1, le=3650)  # how long a link is valid
    seed: int = 0


REVIEW_ONLY = 0
"""The number of the project that reviewers belong to, in which nobody rates."""


class ProjectState(StrEnum):
    OPEN = "open"
    PAUSED = "paused"


class Role(StrEnum):
    RATER = "rater"
    COORDINATOR = "coordinator"
    ADJUDICATOR = "adjudicator"  # decides where raters disagree, without knowing who they are
    REVIEWER = "reviewer"  # may see judges' answers, reviews verdicts, and signs off


class MemberState(StrEnum):
    ACTIVE = "active"
    HELD = "held"  # failed the practice twice and is asked to talk to the coordinator
    LEFT = "left"


class AssignmentState(StrEnum):
    OPEN = "open"
    SUBMITTED = "submitted"
    SKIPPED = "skipped"
    WITHDRAWN = "withdrawn"  # given to somebody else


class Project(NamedTuple):
    """People who rate units with one version of an instrument."""

    key: int
    name: str  # the id of the instrument
    number: int  # the first, second, ... project with this instrument in the study, or REVIEW_ONLY
    instrument: Instrument
    state: ProjectState
    settings: Settings
    at: str

    def __str__(self) -> str:
        return f"{self.name}, review" if self.number == REVIEW_ONLY else f"{self.name}, round {self.number}"


class Member(NamedTuple):
    key: int
    project: int
    public: str  # random: identifies the member in links
    role: Role
    state: MemberState
    name: str
    profile: dict[str, Any] | None  # what raters report about themselves; None: not asked yet
    rater: int | None  # the study's rater, from the first submission on
    began: str | None  # when they finished reading the introduction


class UnitKey(NamedTuple):
    """A unit of the study: the key of its conversation, and the turn of the reply if it is one."""

    conversation: int
    turn: int | None = None


class ProjectUnit(NamedTuple):
    """What is rated in a project: a unit of the study, or a worked example of the instrument."""

    key: int
    conversation: int | None
    turn: int | None
    example: str | None
    round: Round
    answers: dict[str, Value]  # known answers by item; empty for units that the project is there to rate


class Assignment(NamedTuple):
    key: int
    public: str  # random: identifies the assignment in links
    project: int
    member: int
    unit: ProjectUnit
    position: int
    round: Round
    attempt: int
    state: AssignmentState
    flagged: bool
    opened: str | None
    done: str | None


_TABLES = {Project: schema.projects, Member: schema.members, Assignment: schema.assignments}
# Statements of every request are built once: that takes longer than to run them.
_PROJECTS = select(schema.projects, schema.instruments.c.content).join(
    schema.instruments, schema.instruments.c.hash == schema.projects.c.instrument
)
_STATE = select(schema.projects.c.state, schema.projects.c.settings).where(
    schema.projects.c.key == bindparam("project")
)
_BY_TOKEN = select(schema.members).where(
    schema.access_tokens.c.hash == bindparam("hash"),
    schema.access_tokens.c.revoked.is_(None),
    schema.access_tokens.c.expires > bindparam("now"),
    schema.members.c.key == schema.access_tokens.c.member,
    schema.members.c.state != MemberState.LEFT,
)
_UNIT = schema.project_units.c
_ASSIGNMENTS = select(
    schema.assignments, _UNIT.conversation, _UNIT.turn, _UNIT.example, _UNIT.round.label("unit_round"), _UNIT.answers
).join(schema.project_units, schema.assignments.c.unit == _UNIT.key)
_OWN_ASSIGNMENT = _ASSIGNMENTS.where(
    schema.assignments.c.member == bindparam("own"), schema.assignments.c.public == bindparam("name")
)
_CONVERSATION = select(schema.conversations).where(schema.conversations.c.key == bindparam("conversation"))


# Projects


def insert_project(
    connection: Connection, instrument: Instrument, settings: Settings, *, number: int | None = None
) -> Project:
    """Add a project with this number, or the next one for the instrument."""
    if number is None:
        table = schema.projects.c
        known: Iterable[int] = connection.scalars(select(table.number).where(table.name == instrument.id))
        number = max(known, default=0) + 1
    project = Project(0, instrument.id, number, instrument, ProjectState.OPEN, settings, now())
    stored = {"instrument": instrument.hash, "settings": settings.model_dump_json()}
    row = {name: value for name, value in project._asdict().items() if name != "key"} | stored
    return project._replace(key=insert_row(connection, schema.projects, **row))


def latest_project(study: Study, instrument_id: str) -> Project | None:
    """The newest project in which people rate with this instrument."""
    table = schema.projects.c
    query = _PROJECTS.where(table.name == instrument_id, table.number != REVIEW_ONLY)
    with study.reading() as connection:
        return _project(connection, query.order_by(table.number.desc()).limit(1))


def review_project(connection: Connection, instrument_id: str) -> Project | None:
    table = schema.projects.c
    return _project(connection, _PROJECTS.where(table.name == instrument_id, table.number == REVIEW_ONLY))


def project_of(study: Study, key: int) -> Project:
    """The project with this key, as it is now."""
    with study.reading() as connection:
        project = _project(connection, _PROJECTS.where(schema.projects.c.key == key))
    if project is None:
        raise StudyError(f"{study.place} has no project with the number {key}")
    return project


def _project(connection: Connection, query: Select[Any]) -> Project | None:
    row = connection.execute(query).mappings().first()
    if row is None:
        return None
    instrument = Instrument.model_validate(from_json(row["content"]))
    return record_of(Project, row, instrument=instrument, settings=Settings.model_validate_json(row["settings"]))


def state_of(study: Study, project: Project) -> Project:
    """The project with its state and settings as they are now; its instrument never changes."""
    with study.reading() as connection:
        row = connection.execute(_STATE, {"project": project.key}).one()
    return project._replace(state=ProjectState(row.state), settings=Settings.model_validate_json(row.settings))


def may_be_real(study: Study, project: Project) -> bool:
    """Whether a person in one of the transcripts may be real."""
    conversation = schema.conversations.c
    query = (
        select(_UNIT.key)
        .where(_UNIT.project == project.key, _UNIT.conversation == conversation.key)
        .where(conversation.origin.in_([Origin.REAL, Origin.UNKNOWN]))
        .limit(1)
    )
    with study.reading() as connection:
        return connection.scalar(query) is not None


def conversation_with_key(study: Study, key: int | None) -> Conversation:
    with study.reading() as connection:
        return conversation_of(connection.execute(_CONVERSATION, {"conversation": key}).one())


def update(
    connection: Connection, record: Project | Member | Assignment, *, only_if_null: str | None = None, **values: Any
) -> bool:
    """Set columns; with `only_if_null` only while that column is empty. Returns whether it was done."""
    table = _TABLES[type(record)]
    query = table.update().where(table.c.key == record.key)
    if only_if_null:
        query = query.where(table.c[only_if_null].is_(None))
    return bool(connection.execute(query.values(**values)).rowcount)


def log_event(
    connection: Connection,
    project: Project,
    kind: str,
    *,
    member: Member | None = None,
    assignment: int | None = None,
    content: Mapping[str, Any] | None = None,
) -> None:
    """Add to the log, which never loses an entry. Without a member the command line did it."""
    connection.execute(
        schema.events.insert(),
        column_values(
            {
                "project": project.key,
                "member": member and member.key,
                "assignment": assignment,
                "kind": kind,
                "instrument": project.instrument.hash,
                "at": now(),
                "content": dict(content or {}),
            }
        ),
    )


# Members and their links


def insert_member(
    connection: Connection,
    project: Project,
    role: Role,
    name: str,
    *,
    same_as: Member | None = None,
    by: Member | None = None,
) -> Member:
    """Add a member. `same_as` is the same person in an earlier round."""
    key = insert_row(
        connection,
        schema.members,
        project=project.key,
        public=secrets.token_urlsafe(12),
        role=role,
        state=MemberState.ACTIVE,
        rater=same_as and same_as.rater,
        joined=now(),
        name=name,
        profile=same_as and same_as.profile,
    )
    log_event(connection, project, "joined", member=by, content={"name": name, "role": role})
    return next(member for member in members_in(connection, project) if member.key == key)


def members(study: Study, project: Project, role: Role | None = None) -> list[Member]:
    """The members of a project in the order in which they joined."""
    with study.reading() as connection:
        return [member for member in members_in(connection, project) if role is None or member.role is role]


def members_in(connection: Connection, project: Project) -> list[Member]:
    query = select(schema.members).where(schema.members.c.project == project.key).order_by(schema.members.c.key)
    return [record_of(Member, row) for row in connection.execute(query).mappings()]


def member_by_token(study: Study, hash: str) -> Member | None:
    """The member whose valid token has this hash, unless they have left."""
    with study.reading() as connection:
        row = connection.execute(_BY_TOKEN, {"hash": hash, "now": now()}).mappings().first()
    return None if row is None else record_of(Member, row)


def insert_token(connection: Connection, member: Member, hash: str, expires: str) -> None:
    row = {"member": member.key, "hash": hash, "made": now(), "expires": expires}
    connection.execute(schema.access_tokens.insert(), row)


def revoke_tokens(connection: Connection, member: Member) -> None:
    table = schema.access_tokens
    valid = (table.c.member == member.key) & table.c.revoked.is_(None)
    connection.execute(table.update().where(valid).values(revoked=now()))


# Units and assignments


def insert_unit(
    connection: Connection,
    project: Project,
    round: Round,
    unit: UnitKey | None = None,
    *,
    example: str | None = None,
    answers: Mapping[str, Value] | None = None,
) -> int:
    """Add a unit of the study or a worked example, with the known answers, and return its key."""
    return insert_row(
        connection,
        schema.project_units,
        project=project.key,
        conversation=unit and unit.conversation,
        turn=(unit and unit.turn) or 0,
        example=example,
        round=round,
        answers=dict(answers or {}),
    )


def units_in(connection: Connection, project: Project) -> list[ProjectUnit]:
    """The units of a project in the order in which they were added."""
    query = select(schema.project_units, _UNIT.key.label("unit"), _UNIT.round.label("unit_round"))
    rows = connection.execute(query.where(_UNIT.project == project.key).order_by(_UNIT.key)).mappings()
    return [unit_of(row) for row in rows]


def unit_of(row: RowMapping) -> ProjectUnit:
    return record_of(ProjectUnit, row, key=row["unit"], round=Round(row["unit_round"]))


def insert_assignments(
    connection: Connection,
    project: Project,
    member: int,
    entries: Iterable[tuple[int, Round]],
    *,
    start: int | None = None,
    attempt: int = 1,
) -> None:
    """Add assignments to a member's list, at its end or from position `start`; an entry is a unit and its round."""
    if start is None:
        table = schema.assignments.c
        last: int | None = connection.scalar(select(func.max(table.position)).where(table.member == member))
        start = 0 if last is None else last + 1
    rows = [
        {
            "public": secrets.token_urlsafe(12),
            "project": project.key,
            "member": member,
            "unit": unit,
            "position": position,
            "round": round,
            "attempt": attempt,
            "state": AssignmentState.OPEN,
            "flagged": False,
        }
        for position, (unit, round) in enumerate(entries, start)
    ]
    if rows:
        connection.execute(schema.assignments.insert(), rows)


def assignments_where(connection: Connection, **values: Any) -> list[Assignment]:
    """The assignments whose columns have these values, in the order in which they were given.

    A list means any of its values.
    """
    return _assignments(connection, _ASSIGNMENTS.where(*_conditions(values)).order_by(schema.assignments.c.key))


def _assignments(connection: Connection, query: Select[Any], **values: Any) -> list[Assignment]:
    rows = connection.execute(query, values).mappings()
    return [record_of(Assignment, row, unit=unit_of(row)) for row in rows]


def count_assignments(
    connection: Connection, by: Sequence[str], *, latest: str | None = None, **values: Any
) -> dict[tuple[Any, ...], int]:
    """How many assignments whose columns have these values there are for each combination of the columns `by`.

    With `latest` the combination also has the largest value of this column.
    """
    columns = [schema.assignments.c[name] for name in by]
    last = [func.max(schema.assignments.c[latest])] if latest else []
    query = select(*columns, *last, func.count()).where(*_conditions(values))
    rows = connection.execute(query.group_by(*columns).order_by(*columns))
    return {tuple(group): count for *group, count in rows}


def _conditions(values: Mapping[str, Any]) -> Iterator[ColumnElement[bool]]:
    for name, value in values.items():
        column = schema.assignments.c[name]
        yield column.in_(cast(list[Any], value)) if isinstance(value, list) else column == value


def own_assignment(connection: Connection, member: Member, public: str) -> Assignment | None:
    """The member's own assignment with this name; somebody else's is not found."""
    return next(iter(_assignments(connection, _OWN_ASSIGNMENT, own=member.key, name=public)), None)


def next_assignment(study: Study, member: Member) -> Assignment | None:
    """The member's next open assignment: practice first, then in the order of their list."""
    table = schema.assignments.c
    practice_first = case((table.round == Round.CALIBRATION, 0), else_=1)
    query = _ASSIGNMENTS.where(table.member == member.key, table.state == AssignmentState.OPEN)
    ordered = query.order_by(practice_first, table.position, table.key).limit(1)
    with study.reading() as connection:
        return next(iter(_assignments(connection, ordered)), None)


def last_done(connection: Connection, member: Member) -> Assignment | None:
    """The member's assignment that was finished last, practice aside."""
    table = schema.assignments.c
    query = _ASSIGNMENTS.where(table.member == member.key, table.round != Round.CALIBRATION, table.done.is_not(None))
    return next(iter(_assignments(connection, query.order_by(table.done.desc(), table.key.desc()).limit(1))), None)
