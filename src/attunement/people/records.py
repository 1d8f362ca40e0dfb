"""What people's work is made of: projects, members, units and assignments, as the rest of the package reads them."""

from enum import StrEnum
from typing import Any, NamedTuple

from attunement.conversations import Unit
from attunement.instruments import Instrument, Value
from attunement.people.settings import Settings
from attunement.ratings import Round

REVIEW_ONLY = 0
"""The number of the project in which reviewers meet and nobody rates."""


class ProjectState(StrEnum):
    """Whether raters can work."""

    OPEN = "open"
    PAUSED = "paused"


class Role(StrEnum):
    """What a member may do."""

    RATER = "rater"
    COORDINATOR = "coordinator"
    ADJUDICATOR = "adjudicator"
    """Decides where raters disagree, without knowing who they are."""
    REVIEWER = "reviewer"
    """May see judges' answers, says whether they hold, and signs off."""


class MemberState(StrEnum):
    """Where a member stands."""

    ACTIVE = "active"
    HELD = "held"
    """Failed the calibration twice, and is asked to talk to the coordinator."""
    LEFT = "left"


class Work(StrEnum):
    """What became of an assignment."""

    OPEN = "open"
    SUBMITTED = "submitted"
    SKIPPED = "skipped"
    WITHDRAWN = "withdrawn"
    """Given to somebody else."""


class Project(NamedTuple):
    """People who rate units with one version of an instrument."""

    key: int
    name: str
    """The id of the instrument."""
    number: int
    """The first, second, ... project with this instrument in the study; `REVIEW_ONLY` where nobody rates."""
    instrument: Instrument
    state: ProjectState
    settings: Settings
    at: str

    def __str__(self) -> str:
        return f"{self.name}, review" if self.number == REVIEW_ONLY else f"{self.name}, round {self.number}"


class Member(NamedTuple):
    """Somebody who takes part in a project."""

    key: int
    project: int
    public: str
    """A random word that stands for the member in links."""
    role: Role
    state: MemberState
    name: str
    profile: dict[str, Any] | None
    """What the rater said about themselves; None: not asked yet."""
    rater: int | None
    """The rater of the study, from the first submission on."""
    began: str | None
    """When they read what to expect and went on."""


class ProjectUnit(NamedTuple):
    """Something to be rated in a project: a unit of the study, or a worked example of the instrument."""

    key: int
    conversation: int | None
    turn: int | None
    example: str | None
    round: Round
    answers: dict[str, Value]
    """What is known to be right, by item; empty for what the project is there to find out."""


class Assignment(NamedTuple):
    """That a member is to rate a unit."""

    key: int
    public: str
    """A random word that stands for the assignment in links."""
    project: int
    member: int
    unit: ProjectUnit
    position: int
    round: Round
    attempt: int
    state: Work
    flagged: bool
    opened: str | None
    done: str | None


class Task(NamedTuple):
    """An assignment with the words it is about."""

    assignment: Assignment
    unit: Unit
    items: tuple[str, ...]
    """The items to answer, in the order of the page: those that judge the whole come last."""
    careful: bool
    """Whether somebody in the transcript may be a real person, or is to look so."""
