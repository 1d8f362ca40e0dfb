"""How is a project set up: how many raters a unit, what is repeated, what is checked, what raters are told?

Every setting has a default that a small study can live with. They are kept with the project, and a change is an event.
"""

from pydantic import BaseModel, ConfigDict, Field


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
