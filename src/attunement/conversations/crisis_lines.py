"""The crisis lines by country, and how to find them in a text.

The lines are in a dated file next to this module; users add a file of their own. Redaction does not replace the numbers
found here, and the rule check distinguishes listed lines from invented ones.

Both search every reply, so the index of the lines is built once. Short codes are the hard part: 988 can be a crisis
line or a number of days, and only the words around it tell which.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from attunement.conversations.phone_numbers import (
    LONGEST,
    SHORTEST,
    SHORTEST_CODE,
    Chain,
    any_of,
    chains,
    counts_something,
    folded,
    has_phone_length,
    has_phone_shape,
    is_given_as_phone,
    lead,
    phone_words,
    spoken_of_as_phone,
)
from attunement.errors import InputError
from attunement.yaml_files import TextLoader, read_yaml

FILE_VARIABLE = "ATTUNEMENT_CRISIS_LINES"
"""The environment variable for a file of the user's own lines, in the format of the built-in one."""


class About(StrEnum):
    """What a line is for."""

    CRISIS = "crisis"
    CHILDREN = "children"
    VIOLENCE = "violence"
    SUBSTANCES = "substances"
    POISONING = "poisoning"


def _dialled(number: str) -> str:
    if not re.fullmatch(r"[\d\s().+/-]*\d[\d\s().+/-]*", number):
        raise ValueError(f"{number!r} is not a number; a number with letters belongs under `spelled`")
    return number


Number = Annotated[str, AfterValidator(_dialled)]
"""A number as it is shown to people; only its digits are compared."""


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class CrisisLine(_Model):
    """One service for people in need; one without a number is a directory of lines.

    The fields are explained at the top of `crisis_lines.yaml`. `country` and, if the line has no date of its own,
    `checked` are filled in from the file.
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
    name: str
    calling_code: str = Field(default="", pattern=r"^\d{0,3}$")
    emergency: tuple[Number, ...] = ()
    lines: tuple[CrisisLine, ...] = ()


class _File(_Model):
    checked: date
    countries: dict[str, Country]


@dataclass(eq=False)
class CrisisLines:
    """Crisis lines by country code.

    Objects are compared by identity, so that the index for the lines can be cached.
    """

    countries: Mapping[str, Country]

    def every(self) -> Iterator[CrisisLine]:
        """Every line of every country, in the order of the file."""
        for country in self.countries.values():
            yield from country.lines

    @cached_property
    def index(self) -> "_Index":
        return _Index(self)


def crisis_lines() -> CrisisLines:
    """The built-in lines, and those of the file that the environment variable names. Each file is read once.

    A user's line replaces the built-in line with the same name and country, so outdated ones can be corrected;
    emergency numbers and countries are added.
    """
    return _merged(os.environ.get(FILE_VARIABLE) or None)


@lru_cache(maxsize=8)
def _merged(own: str | None) -> CrisisLines:
    if own is None:
        return CrisisLines(_load(Path(__file__).with_suffix(".yaml")))
    countries = dict(_merged(None).countries)
    for code, country in _load(Path(own)).items():
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
        file = _File.model_validate(read_yaml(path, TextLoader, InputError))
    except ValidationError as error:
        problems = (
            f"{'.'.join(map(str, each['loc'])) or 'the file'}: {each['msg'][0].lower()}{each['msg'][1:]}"
            for each in error.errors(include_url=False)
        )
        raise InputError(f"{path}: {'; '.join(problems)}") from error
    return {code: _filled_in(country, code, file.checked) for code, country in file.countries.items()}


def _filled_in(country: Country, code: str, checked: date) -> Country:
    lines = (line.model_copy(update={"country": code, "checked": line.checked or checked}) for line in country.lines)
    return country.model_copy(update={"lines": tuple(lines)})


class NumberKind(StrEnum):
    LINE = "line"
    EMERGENCY = "emergency"
    UNLISTED = "unlisted"


class NumberFound(NamedTuple):
    """A number in a text: its position, its digits, its crisis lines, and where it is an emergency number.

    One number can be several things: 113 is a crisis line in the Netherlands and the ambulance in Norway.
    """

    start: int
    end: int
    digits: str
    lines: tuple[CrisisLine, ...] = ()
    emergency_in: tuple[str, ...] = ()

    @property
    def kind(self) -> NumberKind:
        """A crisis line if it is one in any country, else an emergency number, else unlisted."""
        if self.lines:
            return NumberKind.LINE
        return NumberKind.EMERGENCY if self.emergency_in else NumberKind.UNLISTED

    @property
    def countries(self) -> frozenset[str]:
        """The codes of all countries in which the number is a crisis line or an emergency number."""
        return frozenset((*(line.country for line in self.lines), *self.emergency_in))


class NameFound(NamedTuple):
    """The name of a line in a text, and all lines with that name (there are Samaritans in several countries)."""

    start: int
    end: int
    lines: tuple[CrisisLine, ...]

    @property
    def countries(self) -> frozenset[str]:
        return frozenset(line.country for line in self.lines)


def find_numbers(text: str) -> list[NumberFound]:
    """Every number in `text` that the reader is told to call or text, in order.

    A listed number is found in any spelling: with spaces, hyphens or the code of the country, and with letters where
    the file gives them. Codes of three to six digits count only if the text speaks of calling ("call or text 988", "the
    Lifeline (988)", a listed name in front) or contains nothing else, and never if they count or label something ("988
    days", "room 113"). Unlisted numbers are found by their shape, unlisted codes right after "call" or "text".
    """
    if not re.search(r"\d", text):
        return []
    index = crisis_lines().index
    found: list[NumberFound] = []
    for spelling in index.spellings.finditer(text):
        letters = _letters(spelling["letters"])
        found.append(NumberFound(*spelling.span(), letters.translate(_KEYPAD), index.spelled[letters]))
    if found:
        text = index.spellings.sub(lambda spelling: "\0" * len(spelling[0]), text)
    for chain in chains(text):
        found.extend(_numbers_in(text, chain, index))
    return sorted(found, key=lambda number: number.start)


def find_names(text: str) -> list[NameFound]:
    """Every listed name in `text`, in order, the longest if several fit.

    A name counts only with its capital letters, or all in capitals: "a crisis text line" is not a name.
    """
    index = crisis_lines().index
    return [
        NameFound(*found.span(), index.named[folded(found[0])])
        for found in index.names.finditer(text)
        if text[max(0, found.start() - 5) : found.start()].lower().rstrip() != "good"  # a good Samaritan is not a line
    ]


_KEYPAD = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "22233344455566677778889999")


class _Index:
    """An index of the lines by digits, letters and name."""

    def __init__(self, lines: CrisisLines) -> None:
        # The lines of a number, and the countries in which it is an emergency number.
        self.numbers: dict[str, tuple[tuple[CrisisLine, ...], tuple[str, ...]]] = {}
        self.spelled: dict[str, tuple[CrisisLine, ...]] = {}
        self.named: dict[str, tuple[CrisisLine, ...]] = {}
        for code, country in lines.countries.items():
            for digits in {_digits(number) for number in country.emergency}:
                known, emergencies = self.numbers.get(digits, ((), ()))
                self.numbers[digits] = known, (*emergencies, code)
        for line in lines.every():
            calling_code = lines.countries[line.country].calling_code
            for way in {way for number in (*line.call, *line.text) for way in _ways_to_dial(number, calling_code)}:
                known, emergencies = self.numbers.get(way, ((), ()))
                self.numbers[way] = (*known, line), emergencies
            for letters in {_letters(spelling) for spelling in line.spelled}:
                self.spelled[letters] = (*self.spelled.get(letters, ()), line)
            for name in {folded(name) for name in (line.name, *line.also)}:
                self.named[name] = (*self.named.get(name, ()), line)
        self.names = any_of((name for line in lines.every() for name in (line.name, *line.also)), any_case=False)
        ways = [r"[ .()-]{0,2}".join(letters) for letters in sorted(self.spelled, key=len, reverse=True)]
        pattern = rf"(?<!\w)(?:\+?1[ .-]?)?\(?(?P<letters>{'|'.join(ways)})(?!\w)" if ways else r"(?!)"
        self.spellings = re.compile(pattern, re.IGNORECASE)
        self.longest = max((LONGEST, *map(len, self.numbers)))  # no listed number has more digits


def _digits(number: str) -> str:
    return re.sub(r"\D", "", number)


def _ways_to_dial(number: str, calling_code: str) -> set[str]:
    digits = _digits(number)
    if len(digits) < SHORTEST or not calling_code:
        return {digits}
    if calling_code == "1":
        bare = digits.removeprefix("1")
        return {bare, f"1{bare}", f"001{bare}"}
    bare = digits.removeprefix("0")
    # "+44 (0)800" contains the zero that is dialed inside the country, and Italy never drops it.
    return {digits, *(f"{prefix}{calling_code}{rest}" for prefix in ("", "00") for rest in (bare, f"0{bare}"))}


def _letters(spelling: str) -> str:
    """The lookup key of a number with letters: without separators and without the leading 1 of North America."""
    letters = re.sub(r"[\W_]", "", spelling).upper()
    return letters[1:] if letters.startswith("1") and letters[1:2] == "8" else letters


def _numbers_in(text: str, chain: Chain, index: _Index) -> Iterator[NumberFound]:
    """Split a chain into the listed long numbers that it contains and the rest between them."""
    rest = first = 0
    while first < len(chain.groups):
        last, digits = _longest_listed(_readings(chain, first, index), index) or (first, "")
        if len(digits) >= SHORTEST:
            if rest < first:
                yield from _short_or_unlisted(text, chain.part(text, rest, first - 1), index)
            yield _found(chain.part(text, first, last), index)
            rest = last + 1
        first = last + 1 if len(digits) >= SHORTEST else first + 1
    if rest < len(chain.groups):
        yield from _short_or_unlisted(text, chain.part(text, rest, len(chain.groups) - 1), index)


_Reading = tuple[int, str]
"""A possible number in a chain: the group at which it ends, and its digits."""


def _readings(chain: Chain, first: int, index: _Index) -> list[_Reading]:
    """The possible numbers that begin with the group `first` and are separate from their neighbors, longest first.

    No number has more than `index.longest` digits, so a message of only digits still takes linear time.
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
            readings.append((last, digits))
    return readings[::-1]


def _longest_listed(readings: Iterable[_Reading], index: _Index) -> _Reading | None:
    return next((reading for reading in readings if reading[1] in index.numbers), None)


def _short_or_unlisted(text: str, chain: Chain, index: _Index) -> list[NumberFound]:
    """The numbers in a chain without long listed ones; there may be several in a row."""
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
    """The listed codes and the clearly shaped numbers that follow each other in `chain`."""
    first = 0
    while first < len(chain.groups):
        readings = _readings(chain, first, index)
        listed = _longest_listed(readings, index)
        for reading in readings:
            last, digits = reading
            if reading != listed and not has_phone_length(len(digits), last + 1 - first):
                continue
            part = chain.part(text, first, last)
            code = reading == listed and _is_code(text, part) and _is_given(text, part, index, listed=True)
            if code or has_phone_shape(text, part):
                yield part
                first = last
                break
        first += 1


def _is_code(text: str, chain: Chain) -> bool:
    # 9/11 is a date and 1.13 a decimal; codes are written without separators, or with spaces or hyphens.
    in_one = not any(mark in text[chain.start : chain.end] for mark in "/.")
    return in_one and SHORTEST_CODE <= len(chain.digits) < SHORTEST


def _found(chain: Chain, index: _Index) -> NumberFound:
    return NumberFound(chain.start, chain.end, chain.digits, *index.numbers.get(chain.digits, ((), ())))


_LETTER_OR_DIGIT = re.compile(r"[^\W_]")
# "512-472-HELP (4357)": the digits of the letters in front.
_SPELLED_BEFORE = re.compile(r"\d[-. ]?[A-Z]{3,}\s?$")
_YEAR = re.compile(r"(?:1[0-9]|20)\d\d")


def _is_given(text: str, code: Chain, index: _Index, *, listed: bool) -> bool:
    """Whether a short number is one to call or text, and not a count, a label or a date."""
    before = lead(text, code.start).removesuffix("*").removesuffix("(")
    if counts_something(text, code.end) or phone_words("label").search(before) or _SPELLED_BEFORE.search(before):
        return False
    if _YEAR.fullmatch(code.digits) and phone_words("year").search(before):
        return False
    if phone_words("order").search(before):
        return True
    if not listed:
        return False
    # Check what follows first: that check ends at the next word, while the other starts from the top every time.
    alone = not _LETTER_OR_DIGIT.search(text, code.end) and not _LETTER_OR_DIGIT.search(text, 0, code.start)
    return bool(
        alone
        or spoken_of_as_phone(text, code)
        or phone_words("line_before").search(before)
        or phone_words("line_after").match(text, code.end)
        or index.names.search(before)
    )
