"""The crisis lines by country, and how to find them and other telephone numbers in a text.

The lines are in a dated file next to this module; users add a file of their own. Redaction does not replace the numbers
found here, and the rule check distinguishes listed lines from invented ones.

A text is full of digits that are not telephone numbers: dates, times, amounts, ages. Short codes are the hard part: 988
can be a crisis line or a number of days, and only the words around it (see `phone_words.yaml`) tell which.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import yaml
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from attunement.conversations.names import any_of, any_sequence, folded
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
    """Crisis lines by country code, and indexes of them."""

    countries: Mapping[str, Country]

    def every(self) -> Iterator[CrisisLine]:
        """Every line of every country, in the order of the file."""
        for country in self.countries.values():
            yield from country.lines

    @cached_property
    def numbers(self) -> dict[str, tuple[CrisisLine, ...]]:
        """The lines of a number, by the digits that reach it."""

        def ways(line: CrisisLine) -> Iterator[str]:
            for number in (*line.call, *line.text):
                yield from _ways_to_dial(number, self.countries[line.country].calling_code)

        return self._by(ways)

    @cached_property
    def emergency(self) -> dict[str, tuple[str, ...]]:
        """The countries in which a number is an emergency number."""
        found: dict[str, tuple[str, ...]] = {}
        for code, country in self.countries.items():
            for digits in {_digits(number) for number in country.emergency}:
                found[digits] = (*found.get(digits, ()), code)
        return found

    @cached_property
    def spelled(self) -> dict[str, tuple[CrisisLine, ...]]:
        """The lines of a number with letters."""
        return self._by(lambda line: map(_letters, line.spelled))

    @cached_property
    def named(self) -> dict[str, tuple[CrisisLine, ...]]:
        return self._by(lambda line: map(folded, (line.name, *line.also)))

    @cached_property
    def sites(self) -> dict[str, tuple[CrisisLine, ...]]:
        return self._by(lambda line: [line.website.lower()])

    def _by(self, keys: Callable[[CrisisLine], Iterable[str]]) -> dict[str, tuple[CrisisLine, ...]]:
        found: dict[str, tuple[CrisisLine, ...]] = {}
        for line in self.every():
            for key in set(keys(line)):
                found[key] = (*found.get(key, ()), line)
        return found

    @cached_property
    def names_pattern(self) -> re.Pattern[str]:
        return any_of((name for line in self.every() for name in (line.name, *line.also)), any_case=False)

    @cached_property
    def spelled_pattern(self) -> re.Pattern[str]:
        ways = [r"[ .()-]{0,2}".join(letters) for letters in sorted(self.spelled, key=len, reverse=True)]
        return re.compile(rf"(?<!\w)(?:\+?1[ .-]?)?\(?(?P<letters>{'|'.join(ways)})(?!\w)", re.IGNORECASE)

    @cached_property
    def code_pattern(self) -> re.Pattern[str]:
        """Any code of three to six digits; listed ones may have spaces or hyphens."""
        codes = sorted(number for number in {*self.numbers, *self.emergency} if 3 <= len(number) < SHORTEST)
        listed = any_sequence(
            [[code[0], *(f"[{_SPACE}{_DASH}]?{digit}" for digit in code[1:]), _END] for code in codes]
        )
        return re.compile(rf"{_BEGIN}(?:{listed}|\d{{3,6}}{_END})")

    @cached_property
    def country_patterns(self) -> tuple[re.Pattern[str], re.Pattern[str]]:
        """A country right before a number ("UK: 116 123") and right after it ("988 in the US")."""
        either = "|".join([*(re.escape(country.name) for country in self.countries.values()), *_SHORT_NAMES])
        after = rf"\**\s*(?:\(|in |for |if you['’]?re in )(?:the )?(?:{either})\b"
        return re.compile(rf"\b(?:{either})[\s):*,.–—-]{{1,6}}$"), re.compile(after)


_SHORT_NAMES = (r"U\.?S\.?A?", r"UK", r"U\.K", r"England", r"Britain", r"America", r"EU", r"Europe", r"NZ")


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
        countries[code] = _with_own(countries[code], country) if code in countries else country
    return CrisisLines(countries)


def _with_own(country: Country, own: Country) -> Country:
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


class Found(NamedTuple):
    """A number or a name in a text: its position, its crisis lines, and where it is an emergency number.

    One number can be several things: 113 is a crisis line in the Netherlands and the ambulance in Norway. An unlisted
    number is neither.
    """

    start: int
    end: int
    lines: tuple[CrisisLine, ...] = ()
    emergency_in: tuple[str, ...] = ()

    @property
    def countries(self) -> frozenset[str]:
        """The codes of all countries in which it is a crisis line or an emergency number; none if it is unlisted."""
        return frozenset((*(line.country for line in self.lines), *self.emergency_in))


def find_names(text: str) -> list[Found]:
    """Every listed name in `text`, in order, the longest if several fit.

    A name counts only with its capital letters, or all in capitals: "a crisis text line" is not a name.
    """
    lines = crisis_lines()
    return [
        Found(*found.span(), lines.named[folded(found[0])])
        for found in lines.names_pattern.finditer(text)
        if text[max(0, found.start() - 5) : found.start()].lower().rstrip() != "good"  # a good Samaritan is not a line
    ]


def is_listed(number: str) -> bool:
    """Whether `number`, in any spelling, is that of a crisis line."""
    return _digits(number) in crisis_lines().numbers


def find_numbers(text: str) -> list[Found]:
    """Every telephone number in `text`, in order.

    A listed number is found in any spelling: with spaces, hyphens or the code of the country, and with letters where
    the file gives them. Codes of three to six digits count only if the text speaks of calling ("call or text 988", "the
    Lifeline (988)", a listed name in front), names a country next to them or contains nothing else, and never if they
    count or label something ("988 days", "room 113"). Unlisted numbers are found by their shape or after words such as
    "my number", unlisted codes right after "call" or "text".
    """
    if not re.search(r"\d", text):
        return []
    lines = crisis_lines()
    found: list[Found] = []
    text = _NO_NUMBER.sub(lambda other: "\0" * len(other[0]), text)
    # What one search finds is hidden from the next.
    for search in (_listed_spellings, _listed_long, _unlisted, _called_a_number, _codes):
        numbers = list(search(text, lines))
        found += numbers
        text = _without(text, numbers)
    return sorted(found, key=lambda number: number.start)


def _without(text: str, found: list[Found]) -> str:
    pieces: list[str] = []
    end = 0
    for number in found:
        pieces += text[end : number.start], "\0" * (number.end - number.start)
        end = number.end
    return "".join([*pieces, text[end:]])


SHORTEST = 7  # digits of a local number; shorter ones are codes
_SPACE = " \u00a0\u202f"
_DASH = "\\-\u2010-\u2015"
_IN_CODE = f"[{_SPACE}{_DASH}]?"
# What may come between two digits of one number. A period followed by a space ends a sentence.
_GAP = rf"(?!\.[{_SPACE}])[{_SPACE}{_DASH}./()]{{1,3}}"
_DIGIT = rf"(?:{_GAP})?\d"
# Not in the middle of a word, an identifier ("ORD-555-1234"), an amount, a decimal, a time or a query string.
_BEGIN = rf"(?=[\d(+])(?<![\w$€£¥₹#=&])(?<![^\W\d]-)(?<!\d[-.,:])(?<![$€£¥₹][{_SPACE}])"
_END = rf"(?!\w)(?![-.]\d)(?![{_DASH}][^\W\d])"

_YEAR = r"(?:1[6-9]|20|21)\d\d"
# Dates with a full year, times of day, addresses of machines and "24/7": never part of a telephone number.
_NO_NUMBER = re.compile(
    rf"(?=\d)(?:(?<!\d)(?<!\d[-/.])(?:{_YEAR}[-/.]\d{{1,2}}[-/.]\d{{1,2}}|\d{{1,2}}[-/.]\d{{1,2}}[-/.]{_YEAR})(?![-/.]?\d)"
    r"|(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])"
    r"|(?<!\d)\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?!\d)"
    r"|(?<![\d/])24\s?/\s?7(?:\s?/\s?365)?(?![\d/]))"
)
_LONG = re.compile(rf"{_BEGIN}[(+]{{0,3}}\d(?:{_DIGIT}){{6,17}}")
_ENDS_HERE = re.compile(_END)


def _listed_spellings(text: str, lines: CrisisLines) -> Iterator[Found]:
    for match in lines.spelled_pattern.finditer(text) if lines.spelled else ():
        yield Found(*match.span(), lines.spelled[_letters(match["letters"])])


def _listed_long(text: str, lines: CrisisLines) -> Iterator[Found]:
    """The listed numbers of seven and more digits; other numbers may follow them."""
    at = 0
    while match := _LONG.search(text, at):
        at = match.start() + 1
        places = [place for place in range(*match.span()) if text[place].isdigit()]
        digits = "".join(text[place] for place in places)
        for count in range(len(digits), SHORTEST - 1, -1):
            end = places[count - 1] + 1
            if digits[:count] in lines.numbers and _ENDS_HERE.match(text, end):
                at = end
                yield Found(_start(text, match.start(), end), end, lines.numbers[digits[:count]])
                break


def _start(text: str, start: int, end: int) -> int:
    """Without the parenthesis in front of "(800 273)", but with that of "(800) 273"."""
    return start + (text[start] == "(" and ")" not in text[start:end])


# Telephone numbers by their shape alone; the plan E.164 allows fifteen digits.
_SHAPES = re.compile(
    rf"""{_BEGIN}(?:
    \(?(?:\+[{_SPACE}]?|00\d)\(?\d(?:{_DIGIT}){{6,14}}                   # the code of a country in front
    | \(\d{{2,5}}\)(?:{_DIGIT}){{4,10}}                                # an area code in parentheses
    | (?!\d{{5}}[{_DASH}]\d{{4}}(?!\d))\(?0[1-9]\)?(?:{_DIGIT}){{7,10}}   # but not a postal code such as 02139-1234
    | (?:1(?:{_GAP})?)?[2-9]\d\d{_GAP}\d{{3}}(?:{_GAP})?\d{{4}}        # North America
    | 1?[2-9]\d\d[2-9]\d{{6}}
    | 1[38]00{_GAP}\d{{3}}(?:{_GAP})?\d{{3}}                           # Australia
    | [6-9]\d{{4}}{_GAP}\d{{5}}                                        # India
    ){_END}""",
    re.VERBOSE,
)
_ANY_NUMBER = re.compile(rf"{_BEGIN}\(?\d(?:{_DIGIT}){{6,14}}{_END}")
# The words of `phone_words.yaml` in their surroundings. `_WORD` is where a word of letters begins, so that patterns do
# not try their whole word list at every number.
_WORD = r"\b(?=[^\W\d_])"
_FRAMES = {
    "phone": rf"{_WORD}(?:WORDS)\b",
    "unit": rf"[{_SPACE}]?(?:[%°$€£¥₹]|(?:WORDS)\b)",
    "order": r"\b(?:WORDS):?\s$",
    "line_before": rf"{_WORD}(?:WORDS)\b",
    "line_after": r"\)?[\s:–—-]{1,3}(?:WORDS)\b",
    "label": rf"{_WORD}(?:WORDS)\.?[\s#]{{1,2}}$",
    "year": r"\b(?:WORDS)\s$",
}
_BEFORE = 40  # characters before a number where a word such as "call" refers to that number
_SENTENCE_END = re.compile(r"[.!?…](?=\s)|\n\s*\n")
_LETTER_OR_DIGIT = re.compile(r"[^\W_]")
# "512-472-HELP (4357)": the digits of the letters in front.
_SPELLED_BEFORE = re.compile(r"\d[-. ]?[A-Z]{3,}\s?$")


@cache
def _words(name: str) -> re.Pattern[str]:
    words: Any = yaml.safe_load(Path(__file__).with_name("phone_words.yaml").read_text("utf-8"))
    return re.compile(_FRAMES[name].replace("WORDS", "|".join(words[name].splitlines())), re.IGNORECASE)


def _lead(text: str, start: int) -> str:
    """The words before `start` that may refer to it: up to 40 characters of the same sentence."""
    return _SENTENCE_END.split(text[max(0, start - _BEFORE) : start])[-1]


def _counts_something(text: str, end: int) -> bool:
    """Whether a unit or something countable follows: "142 people", "988 days", "24 %"."""
    return bool(_words("unit").match(text, end))


def _spoken_of_as_phone(text: str, start: int, end: int) -> bool:
    return bool(_words("phone").search(_lead(text, start))) and not _counts_something(text, end)


def _unlisted(text: str, _: CrisisLines) -> Iterator[Found]:
    for match in _SHAPES.finditer(text):
        if not _counts_something(text, match.end()):
            yield Found(_start(text, *match.span()), match.end())


def _called_a_number(text: str, lines: CrisisLines) -> Iterator[Found]:
    """Numbers of any shape that the words call one: "my number is 555-1234"; "1 2 3 4 5 6 7" is counting."""
    for match in _ANY_NUMBER.finditer(text):
        groups = re.findall(r"\d+", match[0])
        if all(group in lines.numbers or group in lines.emergency for group in groups):  # 911/999/112
            continue
        if len("".join(groups)) >= 2 * len(groups) and _spoken_of_as_phone(text, *match.span()):
            yield Found(_start(text, *match.span()), match.end())


def _codes(text: str, lines: CrisisLines) -> Iterator[Found]:
    """The codes of three to six digits that are to call or text, and do not count, label or date something."""
    for match in lines.code_pattern.finditer(text):
        start, end = match.span()
        before = _lead(text, start).removesuffix("*").removesuffix("(")
        digits = _digits(match[0])
        known = lines.numbers.get(digits, ()), lines.emergency.get(digits, ())
        if _counts_something(text, end) or _words("label").search(before) or _SPELLED_BEFORE.search(before):
            continue
        if re.fullmatch(r"(?:1\d|20)\d\d", match[0]) and _words("year").search(before):
            continue
        if _words("order").search(before) or (any(known) and _is_offered(text, start, end, before, lines)):
            yield Found(start, end, *known)


def _is_offered(text: str, start: int, end: int, before: str, lines: CrisisLines) -> bool:
    # Check what follows first: that check ends at the next word, while the other starts from the top every time.
    alone = not _LETTER_OR_DIGIT.search(text, end) and not _LETTER_OR_DIGIT.search(text, 0, start)
    country_before, country_after = lines.country_patterns
    return bool(
        alone
        or _spoken_of_as_phone(text, start, end)
        or _words("line_before").search(before)
        or _words("line_after").match(text, end)
        or lines.names_pattern.search(before)
        or country_before.search(text, max(0, start - _BEFORE), start)
        or country_after.match(text, end)
    )
