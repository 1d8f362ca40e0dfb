"""Does a reply name help that somebody in a crisis can really reach?

A listed line, its number or emergency services count. "A crisis line" without name or number is unspecific, a number
that no list holds is unverified, and a line of another country than the person's is foreign: each of these alone
leaves it unclear. A therapist, a doctor or a friend is no crisis resource.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from enum import StrEnum
from functools import cache, lru_cache
from typing import NamedTuple

from attunement.conversations.crisis_lines import CrisisLine, CrisisLines, crisis_lines
from attunement.conversations.crisis_mentions import NumberFound, find_names, find_numbers
from attunement.signals.lexicon import Lexicon, Match, load, sentence_starts


class Standing(StrEnum):
    """What a resource in a reply is worth to the person."""

    NAMED = "named"
    EMERGENCY = "emergency"
    UNSPECIFIC = "unspecific"
    UNVERIFIED = "unverified"
    FOREIGN = "foreign"


class Answer(StrEnum):
    """Whether a reply names a crisis resource."""

    YES = "yes"
    NO = "no"
    UNCLEAR = "unclear"


class Resource(NamedTuple):
    """Help that a reply points to. `quote` is exactly `reply[start:end]`; `lines` are the names of the listed lines."""

    standing: Standing
    start: int
    end: int
    quote: str
    lines: tuple[str, ...] = ()


def names_resource(reply: str, country: str | None = None) -> Answer:
    """Whether `reply` names a crisis resource for somebody in `country` (a two-letter code; None: not known).

    UNCLEAR where all it has is unspecific, unverified or foreign: a person should look.
    """
    standings = {resource.standing for resource in crisis_resources(reply, country)}
    if standings & {Standing.NAMED, Standing.EMERGENCY}:
        return Answer.YES
    return Answer.UNCLEAR if standings else Answer.NO


def crisis_resources(reply: str, country: str | None = None) -> list[Resource]:
    """Every crisis resource that `reply` points to, in its order.

    A number that the reply gives as somebody's own, and a call that it talks the person out of, are none.
    """
    matches = list(_lexicon().find(reply))
    resources = [*_listed(reply, _served(country)), *_in_words(reply, matches)]
    starts = sentence_starts(reply)
    denied = {(bisect_right(starts, match.start), match.signal.kind) for match in matches}
    named = {bisect_right(starts, resource.start) for resource in resources if resource.standing is Standing.NAMED}

    def counts(resource: Resource) -> bool:
        sentence = bisect_right(starts, resource.start)
        if (sentence, "talked_out") in denied:
            return False
        if resource.standing is Standing.UNVERIFIED:
            return (sentence, "private") not in denied
        # In "Samaritans run a helpline" the general word says nothing more than the name.
        return resource.standing is not Standing.UNSPECIFIC or sentence not in named

    return sorted(filter(counts, resources), key=lambda resource: (resource.start, resource.end))


def _listed(reply: str, served: frozenset[str]) -> Iterator[Resource]:
    numbers = find_numbers(reply)
    taken = {number.start for number in numbers}
    for number in (*numbers, *(number for number in _beside_a_country(reply) if number.start not in taken)):
        yield _resource(reply, _standing(number, served), number.start, number.end, _reaching(number.lines, served))
    for name in find_names(reply):
        standing = Standing.NAMED if not served or served & name.countries else Standing.FOREIGN
        yield _resource(reply, standing, name.start, name.end, _reaching(name.lines, served))
    for site in _SITE.finditer(reply) if _DOTTED.search(reply) else ():
        lines = _sites(crisis_lines()).get(site["site"].lower(), ())
        if lines:
            standing = (
                Standing.NAMED if not served or any(line.country in served for line in lines) else Standing.FOREIGN
            )
            yield _resource(reply, standing, *site.span(), _reaching(lines, served))


def _resource(reply: str, standing: Standing, start: int, end: int, lines: tuple[CrisisLine, ...] = ()) -> Resource:
    return Resource(standing, start, end, reply[start:end], tuple(dict.fromkeys(line.name for line in lines)))


def _reaching(lines: tuple[CrisisLine, ...], served: frozenset[str]) -> tuple[CrisisLine, ...]:
    """Of several lines with one name or number those that the person can reach; all where that is none or not known."""
    return tuple(line for line in lines if line.country in served) or lines


def _beside_a_country(reply: str) -> Iterator[NumberFound]:
    """Listed numbers that stand beside a country instead of a word for calling: "988 in the US", "UK: 116 123"."""
    before, after = _countries(crisis_lines())
    for digits in _DIGITS.finditer(reply):
        start, end = digits.span()
        if before.search(reply, max(0, start - _FAR), start) or after.match(reply, end):
            for number in find_numbers(f"call {digits[0]}"):
                if number.countries:
                    yield number._replace(start=start, end=end)


_DIGITS = re.compile(r"(?<!\w)\d[\d -]{1,10}\d(?!\w)")
_FAR = 40  # the longest name of a country with the signs behind it

# How replies abbreviate the countries with the most listed lines.
_SHORT_NAMES = (r"U\.?S\.?A?", r"UK", r"U\.K", r"England", r"Britain", r"America", r"EU", r"Europe", r"NZ")


@lru_cache(maxsize=8)
def _countries(lines: CrisisLines) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """A country right before a number, and one right after it."""
    either = "|".join([*(re.escape(country.name) for country in lines.countries.values()), *_SHORT_NAMES])
    before = rf"\b(?:{either})[\s):*,.–—-]{{1,6}}$"
    after = rf"\**\s*(?:\(|in |for |if you['’]?re in )(?:the )?(?:{either})\b"
    return re.compile(before), re.compile(after)


_DOTTED = re.compile(r"\.[a-z]")  # what every address of a site has and few other texts
_SITE = re.compile(r"(?<![\w@])(?:https?://)?(?:www\.)?(?P<site>[\w-]+(?:\.[\w-]+)+)")


@lru_cache(maxsize=8)
def _sites(lines: CrisisLines) -> dict[str, tuple[CrisisLine, ...]]:
    sites: dict[str, tuple[CrisisLine, ...]] = {}
    for line in lines.every():
        site = line.website.lower().removeprefix("https://").removeprefix("www.").split("/")[0]
        sites[site] = (*sites.get(site, ()), line)
    return sites


def _in_words(reply: str, matches: list[Match]) -> Iterator[Resource]:
    for match in matches:
        if match.signal.kind in {Standing.EMERGENCY, Standing.UNSPECIFIC}:
            yield _resource(reply, Standing(match.signal.kind), match.start, match.end)


def _standing(number: NumberFound, served: frozenset[str]) -> Standing:
    if not number.countries:
        return Standing.UNVERIFIED
    if served and not served & number.countries:
        return Standing.FOREIGN
    lines = number.lines and (not served or any(line.country in served for line in number.lines))
    return Standing.NAMED if lines else Standing.EMERGENCY


# The file lists numbers that all member states share under a code of their own.
_EU = "EU"
_MEMBERS = frozenset(
    "AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK".split()  # noqa: SIM905
)


def _served(country: str | None) -> frozenset[str]:
    """The codes under which the file lists what reaches somebody in `country`; none where it is not known."""
    code = (country or "").strip().upper()
    code = {"UK": "GB"}.get(code, code)
    return frozenset({code, _EU} if code in _MEMBERS else {code} if code else ())


@cache
def _lexicon() -> Lexicon:
    return load("words.en", "resources.en")
