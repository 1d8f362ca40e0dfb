"""Which crisis lines are there, in which country, and how are they reached?

The lines stand in a dated file beside this module; users add a file of their own. `crisis_mentions` finds them in a
text: redaction leaves their numbers alone, and detectors tell a listed line from an invented one.
"""

import os
import re
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, cast

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from attunement.errors import InputError

FILE_VARIABLE = "ATTUNEMENT_CRISIS_LINES"
"""The environment variable that names a file of the user's own lines, in the form of the built-in one."""

_BUILT_IN = Path(__file__).with_suffix(".yaml")


class About(StrEnum):
    """What a line is for."""

    CRISIS = "crisis"
    CHILDREN = "children"
    VIOLENCE = "violence"
    SUBSTANCES = "substances"
    POISONING = "poisoning"


def _dialled(number: str) -> str:
    if not re.fullmatch(r"[\d\s().+/-]*\d[\d\s().+/-]*", number):
        raise ValueError(f"{number!r} is no number; a number with letters belongs under `spelled`")
    return number


Number = Annotated[str, AfterValidator(_dialled)]
"""A number as it is written for people; only its digits are compared."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class CrisisLine(_Model):
    """One service that a person in need can turn to; one without a number is a directory of lines.

    `country` and, where the line has no date of its own, `checked` are filled in from the file. `seen_at` is the site
    of a public page in which the number was read; None means that it was not looked up.
    """

    name: str = Field(min_length=1)
    country: str = ""
    also: tuple[str, ...] = ()
    about: About
    call: tuple[Number, ...] = ()
    spelled: tuple[str, ...] = ()
    text: tuple[Number, ...] = ()
    keyword: str | None = None
    website: str
    hours: str | None = None
    languages: tuple[str, ...] = ()
    note: str | None = None
    checked: date | None = None
    seen_at: str | None = None


class Country(_Model):
    """The lines and the emergency numbers of one country."""

    name: str
    calling_code: str = Field(default="", pattern=r"^\d{0,3}$")
    emergency: tuple[Number, ...] = ()
    lines: tuple[CrisisLine, ...] = ()


class _File(_Model):
    checked: date
    countries: dict[str, Country]


@dataclass(frozen=True, eq=False)
class CrisisLines:
    """Crisis lines by country code, as one file gives them or as several do together.

    Two objects are equal only if they are the same one: it is kept and handed out again, so that what is prepared for
    it can be kept as well.
    """

    countries: Mapping[str, Country]

    def every(self) -> Iterator[CrisisLine]:
        """Every line of every country, in the order of the file."""
        for country in self.countries.values():
            yield from country.lines


def crisis_lines(extra: Path | None = None) -> CrisisLines:
    """The built-in lines together with those of the file `extra`, or else of the file that the environment names.

    A line of the user's replaces the built-in line of the same name and country, so that an outdated one can be mended;
    emergency numbers and countries are added. Each file is read once.
    """
    own = os.environ.get(FILE_VARIABLE)
    return _merged(extra or (Path(own) if own else None))


@lru_cache(maxsize=8)
def _merged(extra: Path | None) -> CrisisLines:
    if extra is None:
        return CrisisLines(_load(_BUILT_IN))
    countries = dict(_merged(None).countries)
    for code, country in _load(extra).items():
        countries[code] = _joined(countries[code], country) if code in countries else country
    return CrisisLines(countries)


def _joined(country: Country, own: Country) -> Country:
    replaced = {line.name for line in own.lines}
    return Country(
        name=own.name,
        calling_code=own.calling_code or country.calling_code,
        emergency=tuple(dict.fromkeys((*country.emergency, *own.emergency))),
        lines=(*(line for line in country.lines if line.name not in replaced), *own.lines),
    )


def _load(path: Path) -> dict[str, Country]:
    try:
        content: object = yaml.load(path.read_text("utf-8"), Loader=_Loader)  # noqa: S506 - builds strings only
    except OSError as error:
        raise InputError(f"the crisis lines in {path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}") from error
    except yaml.MarkedYAMLError as error:
        line = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise InputError(f"{path}{line}: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise InputError(f"{path} is no YAML: {' '.join(str(error).split())}") from error
    try:
        file = _File.model_validate(content)
    except ValidationError as error:
        raise InputError(f"{path}: {'; '.join(_problems(error))}") from error
    return {code: _placed(country, code, file.checked) for code, country in file.countries.items()}


def _problems(error: ValidationError) -> Iterator[str]:
    for problem in error.errors(include_url=False):
        where = ".".join(str(part) for part in problem["loc"]) or "the file"
        yield f"{where}: {problem['msg'][0].lower()}{problem['msg'][1:]}"


def _placed(country: Country, code: str, checked: date) -> Country:
    lines = (line.model_copy(update={"country": code, "checked": line.checked or checked}) for line in country.lines)
    return country.model_copy(update={"lines": tuple(lines)})


class _Loader(yaml.BaseLoader):
    """Reads every value as the text it is: 024 stays 024, NO stays Norway. A key given twice is refused."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Hashable] = set()
        for key_node, _ in node.value:
            key = cast(Hashable, self.construct_object(key_node, deep=True))  # pyright: ignore[reportUnknownMemberType]
            if key in seen:
                raise yaml.MarkedYAMLError(problem=f"the key {key!r} stands twice", problem_mark=key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep)
