"""What does a file say that sets up a project?

It holds what the command line takes, and all that is too long for it: names of raters, known answers, the site's own
steps for danger.
"""

from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from attunement.errors import InputError
from attunement.instruments import Value
from attunement.people.settings import Settings


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
        return Settings.model_validate(given)
    except ValidationError as error:
        raise InputError(f"the settings do not fit: {_first(error)}") from error


def _first(error: ValidationError) -> str:
    problem = error.errors(include_url=False)[0]
    where = ".".join(str(part) for part in problem["loc"]) or "the file"
    return f"{where}: {problem['msg'][0].lower()}{problem['msg'][1:]}"
