"""What does a file say that sets up a project?

It holds what the command line takes, and all that is too long for it: names of raters, known answers, the site's own
steps for danger.
"""

from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from attunement.conversations.crisis_lines import crisis_lines
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
