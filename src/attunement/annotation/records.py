"""The records of people's work: projects, members, units, assignments, their settings and set-up files.

Every setting has a default that a small study can live with. They are kept with the project, and a change is an event.

It holds what the command line takes, and all that is too long for it: names of raters, known answers, the site's own
steps for danger.
"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from attunement.conversations import Unit
from attunement.conversations.crisis_lines import crisis_lines
from attunement.errors import InputError, StudyError
from attunement.instruments import Instrument, Value
from attunement.ratings import Round


class Settings(BaseModel):
    """What a project goes by. Unknown keys are refused, so that a slip of the pen in a file does not go unseen."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    per_unit: int = Field(default=3, ge=1)
    """How many raters rate each unit."""
    repeats: float = Field(default=0.1, ge=0, le=1)
    """The share of a rater's units that they get a second time: how far do they agree with themselves?"""
    gap: int = Field(default=20, ge=1)
    """How many positions later a repeat comes at least, where the list is long enough."""
    calibration: int | None = Field(default=None, ge=0)
    """How many worked examples come first; without a number two for each item, at most 20."""
    pass_mark: float = Field(default=0.8, ge=0, le=1)
    """The share of the worked examples that a rater must answer as the instrument does."""
    attention: int | None = Field(default=None, ge=0)
    """How many clear worked examples stand among a rater's units; without a number one for 25 units."""
    unit_warnings: bool = False
    """Whether a unit with a crisis cue opens with a warning. It hints at risk, so it is off, and its use is kept."""
    break_after: int = Field(default=45, ge=5)
    """After how many minutes of work a break is suggested."""
    escalation: str = ""
    """What to do when a person in a transcript may be in danger: the site's own steps."""
    country: str | None = None
    """Whose crisis lines stand first on the page with support for raters, as a code such as US."""
    language: str = "en"
    """The language of the pages: the name of a catalogue."""
    days: int = Field(default=90, ge=1, le=3650)
    """How many days a link opens the door."""
    seed: int = 0
    """What all chance in the project starts from."""


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


class Gold(BaseModel):
    """A unit whose answers are known."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    unit: str
    answers: dict[str, Value] = Field(min_length=1)


class Setup(BaseModel):
    """What a file sets up. Everything may be left out."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    instrument: str | None = None
    raters: Annotated[int, Field(ge=1, le=500)] | list[str] | None = None
    """How many, or their names."""
    units: int | None = Field(default=None, ge=1)
    ids: list[str] = []
    """The units by name, instead of a sample."""
    gold: list[Gold] = []
    settings: dict[str, Any] = {}
    """What the project goes by; see `Settings`."""


def load_setup(path: Path) -> Setup:
    """Read a file.

    Raises:
        InputError: It cannot be read, or says something that is not known.
    """
    try:
        return Setup.model_validate(yaml.safe_load(path.read_text("utf-8")) or {})
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except (UnicodeDecodeError, yaml.YAMLError) as error:
        raise InputError(f"{path} is no YAML: {' '.join(str(error).split())}") from error
    except ValidationError as error:
        raise InputError(f"{path}: {_first(error)}") from error


def settings_of(given: dict[str, Any]) -> Settings:
    """The settings that were given, and the defaults for all others.

    Raises:
        InputError: One is not known, or out of range.
    """
    try:
        settings = Settings.model_validate(given)
    except ValidationError as error:
        raise InputError(f"the settings do not fit: {_first(error)}") from error
    countries = crisis_lines().countries
    if settings.country is not None and settings.country not in countries:
        known = ", ".join(sorted(countries))
        raise InputError(f"the settings do not fit: country: there are no crisis lines for it; known are {known}")
    return settings


_WORDS = {
    "extra_forbidden": "is not known; correct it or take it out",
    "model_type": "must be keys with values",
    "dict_type": "must be keys with values",
    "list_type": "must be a list",
    "string_type": "must be text",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "bool_parsing": "must be true or false",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
}


def _first(error: ValidationError) -> str:
    """The first problem, in words for people who do not know Python."""
    problem = error.errors(include_url=False)[0]
    if problem["loc"][:1] == ("raters",):  # one of two kinds of thing, of which pydantic speaks in turn
        return "raters: must be a number from 1 to 500, or a list of names"
    where = ".".join(str(part) for part in problem["loc"]) or "the file"
    words = _WORDS.get(problem["type"], f"{problem['msg'][0].lower()}{problem['msg'][1:]}")
    return f"{where}: {words.format(**problem.get('ctx', {}))}"


class GoneError(StudyError):
    """The unit is not, or no longer, this rater's to change."""
