"""Find the help that a reply names: crisis lines, their numbers, emergency services.

Lines and numbers are looked up in the dated list of crisis lines. A therapist, a doctor or a friend is not a crisis
resource.
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from attunement.conversations.crisis_lines import (
    CrisisLine,
    CrisisLines,
    NumberFound,
    crisis_lines,
    find_names,
    find_numbers,
)


class Reach(StrEnum):
    """Whether the person can reach the help."""

    LISTED = "listed"  # a line on the list, by name, number or site; of the person's country if that is known
    EMERGENCY = "emergency"
    FOREIGN = "foreign"  # a line or number on the list, but of another country than the person's
    UNLISTED = "unlisted"  # a number that is not on the list
    UNNAMED = "unnamed"  # a crisis line without a name or a number


REACHABLE = frozenset({Reach.LISTED, Reach.EMERGENCY})


class Resource(NamedTuple):
    """Help that a reply names: the words, and the names of the listed lines they mean."""

    reach: Reach
    start: int
    quote: str
    lines: tuple[str, ...] = ()


def crisis_resources(reply: str, country: str | None = None) -> list[Resource]:
    """Every crisis resource in `reply`, in order, for somebody in `country` (a two-letter code; None: not known).

    A call that the reply talks the person out of does not count, nor does the number of somebody they know.
    """
    if not _MAY_NAME.search(reply):
        return []
    found = [*_listed(reply, _served(country)), *_in_words(reply)]
    sentences = list(_SENTENCE.finditer(reply))

    def sentence(resource: Resource) -> str:
        return next((each.group() for each in sentences if each.start() <= resource.start < each.end()), "")

    named = {sentence(resource) for resource in found if resource.reach is Reach.LISTED}

    def counts(resource: Resource) -> bool:
        said = sentence(resource)
        if _TALKED_OUT.search(said) and not _STILL_OFFERED.search(said):
            return False
        if resource.reach is Reach.UNLISTED:
            return not _PRIVATE.search(said)
        # In "Samaritans run a helpline" the general word adds nothing to the name.
        return resource.reach is not Reach.UNNAMED or said not in named

    return sorted(filter(counts, found), key=lambda resource: resource.start)


def _listed(reply: str, served: frozenset[str]) -> Iterator[Resource]:
    numbers = find_numbers(reply)
    starts = {number.start for number in numbers}
    for number in (*numbers, *(number for number in _next_to_a_country(reply) if number.start not in starts)):
        reach = _reach_of_number(number, served)
        yield _resource(reach, number.start, reply[number.start : number.end], number.lines, served)
    for name in find_names(reply):
        reach = Reach.LISTED if not served or served & name.countries else Reach.FOREIGN
        yield _resource(reach, name.start, reply[name.start : name.end], name.lines, served)
    for site in _SITE.finditer(reply):
        lines = _sites(crisis_lines()).get(site["site"].lower(), ())
        if lines:
            reach = Reach.LISTED if not served or any(line.country in served for line in lines) else Reach.FOREIGN
            yield _resource(reach, site.start(), site.group(), lines, served)


def _resource(reach: Reach, start: int, quote: str, lines: tuple[CrisisLine, ...], served: frozenset[str]) -> Resource:
    # Of several lines with one name or number, those that the person can reach; all if that is not known.
    reached = tuple(line for line in lines if line.country in served) or lines
    return Resource(reach, start, quote, tuple(dict.fromkeys(line.name for line in reached)))


def _reach_of_number(number: NumberFound, served: frozenset[str]) -> Reach:
    if not number.countries:
        return Reach.UNLISTED
    if served and not served & number.countries:
        return Reach.FOREIGN
    is_line = number.lines and (not served or any(line.country in served for line in number.lines))
    return Reach.LISTED if is_line else Reach.EMERGENCY


def _in_words(reply: str) -> Iterator[Resource]:
    for found in _EMERGENCY.finditer(reply):
        yield Resource(Reach.EMERGENCY, found.start(), found.group())
    for found in _UNNAMED.finditer(reply):
        yield Resource(Reach.UNNAMED, found.start(), found.group())


def _next_to_a_country(reply: str) -> Iterator[NumberFound]:
    """Listed numbers next to a country instead of a word for calling: "988 in the US", "UK: 116 123"."""
    before, after = _countries(crisis_lines())
    for digits in _DIGITS.finditer(reply):
        start, end = digits.span()
        if before.search(reply, max(0, start - _LONGEST_COUNTRY), start) or after.match(reply, end):
            for number in find_numbers(f"call {digits[0]}"):
                if number.countries:
                    yield number._replace(start=start, end=end)


@lru_cache(maxsize=8)
def _countries(lines: CrisisLines) -> tuple[re.Pattern[str], re.Pattern[str]]:
    either = "|".join([*(re.escape(country.name) for country in lines.countries.values()), *_SHORT_NAMES])
    before = rf"\b(?:{either})[\s):*,.–—-]{{1,6}}$"
    after = rf"\**\s*(?:\(|in |for |if you['’]?re in )(?:the )?(?:{either})\b"
    return re.compile(before), re.compile(after)


@lru_cache(maxsize=8)
def _sites(lines: CrisisLines) -> dict[str, tuple[CrisisLine, ...]]:
    sites: dict[str, tuple[CrisisLine, ...]] = {}
    for line in lines.every():
        site = line.website.lower().removeprefix("https://").removeprefix("www.").split("/")[0]
        sites[site] = (*sites.get(site, ()), line)
    return sites


def _served(country: str | None) -> frozenset[str]:
    """The codes under which the list has what somebody in `country` can reach; none if it is not known."""
    code = (country or "").strip().upper()
    code = {"UK": "GB"}.get(code, code)
    return frozenset({code, _EU} if code in _MEMBERS else {code} if code else ())


# The list holds numbers that all member states share under a code of their own.
_EU = "EU"
_MEMBERS = frozenset(
    "AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK".split()  # noqa: SIM905
)
_SHORT_NAMES = (r"U\.?S\.?A?", r"UK", r"U\.K", r"England", r"Britain", r"America", r"EU", r"Europe", r"NZ")
_LONGEST_COUNTRY = 40
_DIGITS = re.compile(r"(?<!\w)\d[\d -]{1,10}\d(?!\w)")
_SITE = re.compile(r"(?<![\w@])(?:https?://)?(?:www\.)?(?P<site>[\w-]+(?:\.[\w-]+)+)")
_SENTENCE = re.compile(r"[^!?\n.]+(?:\.(?=\S)[^!?\n.]+)*[.!?\n]*")

# Every resource has one of these: most replies need no further look.
_MAY_NAME = re.compile(
    r"\d{3}|line|crisis|emergenc|ambulance|hospital|samaritan|lifeline|\bER\b|A&E|police|\.[a-z]{2,}|[A-Z]\w+ [A-Z]"
)
_EMERGENCY = re.compile(
    r"\b(?:call|dial|ring|phone|contact|alert|reach|go(?: straight| right)? to|(?:get|head) to|(?:take|drive) \w+ to)"
    r"(?: \w+){0,3} (?:emergency (?:services|number|room|department|line)|ER|A&E|ambulance|paramedics|police)\b"
    r"|\b(?:nearest|closest|local) (?:hospital|emergency (?:room|department|services|number)|ER|A&E|police station)\b"
    r"|\bemergency services\b",
    re.IGNORECASE,
)
_UNNAMED = re.compile(
    r"\b(?:crisis|suicide(?: prevention)?|distress|mental health|abuse|domestic (?:violence|abuse)|support) "
    r"(?:(?:text|chat|support) )?(?:hot|help)?(?:lines?|chat|counsell?ors?|team|cent(?:er|re)s?)\b"
    r"|\b(?:hot|help)lines?\b",
    re.IGNORECASE,
)
_TALKED_OUT = re.compile(
    r"\b(?:don['’]?t|do not|needn['’]?t|no)(?: really| actually)?(?: need| have| reason)?(?: to| for)?(?: bother)?"
    r" (?:call|calling|ring|dial|contact|involve|phone|text)\b|\bwast(?:e|ing)\b.*\b(?:911|999|988|their time)\b",
    re.IGNORECASE,
)
_STILL_OFFERED = re.compile(r"\b(?:but|though|unless|if you (?:want|like|need)|hesitate|wait|afraid)\b", re.IGNORECASE)
_PRIVATE = re.compile(
    r"\b(?:your|his|her|their) (?:\w+ )?(?:brother|sister|friend|mum|mom|mother|dad|father|partner|husband|wife|son"
    r"|daughter|neighbou?r|therapist|doctor|boss|aunt|uncle|cousin|sponsor)(?:['’]s)?(?: \w+)? "
    r"(?:number|phone|cell|mobile|on|at)\b",
    re.IGNORECASE,
)
