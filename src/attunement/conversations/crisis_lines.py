"""The list of crisis lines by country, and how to find them in a text.

The lines stand in a dated file beside this module; users add a file of their own. `crisis_mentions` finds them in a
text: redaction leaves their numbers alone, and detectors tell a listed line from an invented one.

Detectors and redaction ask this of every reply, so what a file of lines amounts to is prepared once. Short codes are
the hard part: 988 is a crisis line and a number of days, and only the words around it tell which.
"""

import os
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple, cast

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from attunement.conversations.phone_numbers import (
    LONGEST,
    SHORTEST,
    SHORTEST_CODE,
    WORD,
    Chain,
    any_of,
    chains,
    counts_something,
    folded,
    has_phone_length,
    has_phone_shape,
    is_given_as_phone,
    lead,
    spoken_of_as_phone,
)
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


_DIGIT = re.compile(r"\d")
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")
_GOOD = re.compile(r"good\s$", re.IGNORECASE)
_KEYPAD = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "22233344455566677778889999")


class NumberKind(StrEnum):
    """What a number in a text is, as far as the file of lines knows."""

    LINE = "line"
    EMERGENCY = "emergency"
    UNLISTED = "unlisted"


class NumberFound(NamedTuple):
    """A number that a text gives: its place, its digits, the lines it belongs to, and where it calls an emergency.

    One number can be several things: 113 is a crisis line in the Netherlands and the ambulance in Norway.
    """

    start: int
    end: int
    digits: str
    lines: tuple[CrisisLine, ...] = ()
    emergency_in: tuple[str, ...] = ()

    @property
    def kind(self) -> NumberKind:
        """A crisis line where it is one anywhere, else an emergency number, else unlisted."""
        if self.lines:
            return NumberKind.LINE
        return NumberKind.EMERGENCY if self.emergency_in else NumberKind.UNLISTED

    @property
    def countries(self) -> frozenset[str]:
        """The codes of all countries in which the number is a line or calls the emergency services."""
        return frozenset((*(line.country for line in self.lines), *self.emergency_in))


class NameFound(NamedTuple):
    """The name of a line in a text, and the lines that bear it: there are Samaritans in several countries."""

    start: int
    end: int
    lines: tuple[CrisisLine, ...]

    @property
    def countries(self) -> frozenset[str]:
        """The codes of the countries that have a line of this name."""
        return frozenset(line.country for line in self.lines)


def find_numbers(text: str, lines: CrisisLines | None = None) -> list[NumberFound]:
    """Every number that `text` gives somebody to call or to text, in order.

    A listed number is found in any spelling: with spaces, hyphens or the code of the country, and with letters where
    the file gives them. Codes of three to six digits count only where the text speaks of calling ("call or text 988",
    "the Lifeline (988)", a listed name in front) or holds nothing else, and never where they count or label something
    ("988 days", "room 113"). Unlisted numbers are found by their shape, unlisted codes right behind "call" or "text".
    """
    if not _DIGIT.search(text):
        return []
    index = _index(lines or crisis_lines())
    found: list[NumberFound] = []
    for spelling in index.spellings.finditer(text):
        letters = _letters(spelling["letters"])
        found.append(NumberFound(*spelling.span(), letters.translate(_KEYPAD), index.spelled[letters]))
    if found:
        text = index.spellings.sub(lambda spelling: "\0" * len(spelling[0]), text)
    for chain in chains(text):
        found.extend(_numbers_in(text, chain, index))
    return sorted(found, key=lambda number: number.start)


def find_names(text: str, lines: CrisisLines | None = None) -> list[NameFound]:
    """Every listed name in `text`, in order, the longest where several fit.

    A name counts with its capital letters only, or all in capitals: "a crisis text line" names no line.
    """
    index = _index(lines or crisis_lines())
    return [
        NameFound(*found.span(), index.named[folded(found[0])])
        for found in index.names.finditer(text)
        if not _GOOD.search(text, max(0, found.start() - 5), found.start())  # a good Samaritan is no Samaritan
    ]


class _Known(NamedTuple):
    lines: tuple[CrisisLine, ...] = ()
    emergency_in: tuple[str, ...] = ()


class _Index(NamedTuple):
    numbers: Mapping[str, _Known]
    spelled: Mapping[str, tuple[CrisisLine, ...]]
    spellings: re.Pattern[str]
    named: Mapping[str, tuple[CrisisLine, ...]]
    names: re.Pattern[str]
    longest: int  # digits of the longest number that is listed or has the length of one


@lru_cache(maxsize=8)
def _index(lines: CrisisLines) -> _Index:
    numbers: dict[str, _Known] = {}
    spelled: dict[str, tuple[CrisisLine, ...]] = {}
    named: dict[str, tuple[CrisisLine, ...]] = {}
    for code, country in lines.countries.items():
        for digits in {_digits(number) for number in country.emergency}:
            known = numbers.get(digits, _Known())
            numbers[digits] = known._replace(emergency_in=(*known.emergency_in, code))
    for line in lines.every():
        calling_code = lines.countries[line.country].calling_code
        for way in {way for number in (*line.call, *line.text) for way in _ways_to_dial(number, calling_code)}:
            known = numbers.get(way, _Known())
            numbers[way] = known._replace(lines=(*known.lines, line))
        for letters in {_letters(spelling) for spelling in line.spelled}:
            spelled[letters] = (*spelled.get(letters, ()), line)
        for name in {folded(name) for name in (line.name, *line.also)}:
            named[name] = (*named.get(name, ()), line)
    names = any_of((name for line in lines.every() for name in (line.name, *line.also)), any_case=False)
    longest = max((LONGEST, *map(len, numbers)))
    return _Index(numbers, spelled, _any_spelling(spelled), named, names, longest)


def _digits(number: str) -> str:
    return "".join(_DIGIT.findall(number))


def _ways_to_dial(number: str, calling_code: str) -> set[str]:
    digits = _digits(number)
    if len(digits) < SHORTEST or not calling_code:
        return {digits}
    if calling_code == "1":
        bare = digits.removeprefix("1")
        return {bare, f"1{bare}", f"001{bare}"}
    bare = digits.removeprefix("0")
    # "+44 (0)800" keeps the zero that is dialled inside the country, and Italy never drops it.
    return {digits, *(f"{prefix}{calling_code}{rest}" for prefix in ("", "00") for rest in (bare, f"0{bare}"))}


def _letters(spelling: str) -> str:
    """A number with letters as it is looked up: without separators and without the leading 1 of North America."""
    letters = re.sub(r"[\W_]", "", spelling).upper()
    return letters[1:] if letters.startswith("1") and letters[1:2] == "8" else letters


def _any_spelling(spelled: Iterable[str]) -> re.Pattern[str]:
    ways = [r"[ .()-]{0,2}".join(letters) for letters in sorted(spelled, key=len, reverse=True)]
    pattern = rf"(?<!\w)(?:\+?1[ .-]?)?\(?(?P<letters>{'|'.join(ways)})(?!\w)" if ways else r"(?!)"
    return re.compile(pattern, re.IGNORECASE)


def _numbers_in(text: str, chain: Chain, index: _Index) -> Iterator[NumberFound]:
    """Split a chain into the listed long numbers that it holds and what is left between them."""
    rest = first = 0
    while first < len(chain.groups):
        listed = _longest_listed(_readings(chain, first, index), index)
        if listed and len(listed.digits) >= SHORTEST:
            if rest < first:
                yield from _short_or_unlisted(text, chain.part(text, rest, first - 1), index)
            yield _found(chain.part(text, first, listed.last), index)
            rest = first = listed.last + 1
        else:
            first += 1
    if rest < len(chain.groups):
        yield from _short_or_unlisted(text, chain.part(text, rest, len(chain.groups) - 1), index)


class _Reading(NamedTuple):
    """A number that a chain may hold: the group with which it ends, and its digits."""

    last: int
    digits: str


def _readings(chain: Chain, first: int, index: _Index) -> list[_Reading]:
    """What may be one number that begins with the group `first` and stands apart from its neighbours, longest first.

    No number has more than `index.longest` digits, so that a message of nothing but digits is still read in one go.
    """
    groups, digits = chain.groups, ""
    readings: list[_Reading] = []
    if not groups[first].apart:
        return readings
    for last in range(first, min(len(groups), first + LONGEST)):
        digits += groups[last].digits
        if len(digits) > index.longest:
            break
        if last + 1 == len(groups) or groups[last + 1].apart:
            readings.append(_Reading(last, digits))
    readings.reverse()
    return readings


def _longest_listed(readings: Iterable[_Reading], index: _Index) -> _Reading | None:
    return next((reading for reading in readings if reading.digits in index.numbers), None)


def _short_or_unlisted(text: str, chain: Chain, index: _Index) -> list[NumberFound]:
    """The numbers in a chain that holds no long listed one; it may hold several, side by side."""
    if has_phone_shape(text, chain):
        return [_found(chain, index)]
    parts = list(_parts(text, chain, index))
    if not parts and is_given_as_phone(text, chain):
        parts = [chain]
    if not parts and all(group.apart for group in chain.groups[:2]):
        code = chain.part(text, 0, 0)
        parts = [code] if _is_code(text, code) and _is_given(text, code, index, listed=False) else []
    return [_found(part, index) for part in parts]


def _parts(text: str, chain: Chain, index: _Index) -> Iterator[Chain]:
    """The listed codes and the numbers of clear shape that stand side by side in `chain`."""
    first = 0
    while first < len(chain.groups):
        readings = _readings(chain, first, index)
        listed = _longest_listed(readings, index)
        for reading in readings:
            last = reading.last
            if reading != listed and not has_phone_length(len(reading.digits), last + 1 - first):
                continue
            part = chain.part(text, first, last)
            code = reading == listed and _is_code(text, part) and _is_given(text, part, index, listed=True)
            if code or has_phone_shape(text, part):
                yield part
                first = last
                break
        first += 1


def _is_code(text: str, chain: Chain) -> bool:
    # 9/11 is a day and 1.13 a decimal; codes are written in one, or with spaces or hyphens.
    in_one = not any(mark in text[chain.start : chain.end] for mark in "/.")
    return in_one and SHORTEST_CODE <= len(chain.digits) < SHORTEST


def _found(chain: Chain, index: _Index) -> NumberFound:
    return NumberFound(chain.start, chain.end, chain.digits, *index.numbers.get(chain.digits, _Known()))


_ORDER_TO_CALL = re.compile(
    r"\b(?:(?:call|dial|ring|phone)(?:l?ing)?(?: or (?:text|message)(?:ing)?)?"
    r"|text(?:ing)?(?: or call(?:ing)?)?(?:(?: [“\"'‘]?\w+[”\"'’]?){0,3} (?:to|at))?):?\s$",
    re.IGNORECASE,
)
_LINE_BEFORE = re.compile(
    rf"{WORD}(?:emergency|emergencies|ambulance|notruf|urgences|emergencias?|numéro|número|numero|nummer|línea|linha)\b"
    rf"|{WORD}(?:crisis|support|suicide|help|prevention|text)[ -](?:line|number|service|cent(?:er|re))s?\b",
    re.IGNORECASE,
)
_LINE_AFTER = re.compile(
    r"\)?[\s:–—-]{1,3}(?:suicide|crisis|(?:life|help|hot|text) ?line|(?:is|are) (?:there|available|free|open)|available"
    r"|any ?time|24/7)\b",
    re.IGNORECASE,
)
# What a number labels, dates or estimates instead of being one to call: "room 113", "since 1813", "over 988".
_LABEL_BEFORE = re.compile(
    rf"{WORD}(?:room|page|chapter|apartment|apt|unit|suite|flat|floor|gate|bus|tram|train|route|highway|interstate"
    r"|section|psalm|verse|no|nr|version|level|weigh(?:s|ed|ing)?|aged?|about|around|over|under|nearly|almost|only|than"
    r"|porsche|boeing|flight|scored?)\.?[\s#]{1,2}$",
    re.IGNORECASE,
)
# "512-472-HELP (4357)": the digits of the letters in front.
_SPELLED_BEFORE = re.compile(r"\d[-. ]?[A-Z]{3,}\s?$")
_YEAR = re.compile(r"(?:1[0-9]|20)\d\d")
_YEAR_BEFORE = re.compile(r"\b(?:in|since|until|till|from|of|by|year|before|after|circa|born)\s$", re.IGNORECASE)


def _is_given(text: str, code: Chain, index: _Index, *, listed: bool) -> bool:
    """Whether a short number is given to be called or texted, and does not count, label or date something."""
    before = lead(text, code.start).removesuffix("*").removesuffix("(")
    if counts_something(text, code.end) or _LABEL_BEFORE.search(before) or _SPELLED_BEFORE.search(before):
        return False
    if _YEAR.fullmatch(code.digits) and _YEAR_BEFORE.search(before):
        return False
    if _ORDER_TO_CALL.search(before):
        return True
    if not listed:
        return False
    # What follows is looked at first: that ends at the next word, where the other would start from the top every time.
    alone = not _LETTER_OR_DIGIT.search(text, code.end) and not _LETTER_OR_DIGIT.search(text, 0, code.start)
    return bool(
        alone
        or spoken_of_as_phone(text, code)
        or _LINE_BEFORE.search(before)
        or _LINE_AFTER.match(text, code.end)
        or index.names.search(before)
    )
