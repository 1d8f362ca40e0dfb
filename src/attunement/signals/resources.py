"""Find the help that a reply names: crisis lines, their numbers, emergency services.

Lines and numbers are looked up in the dated list of crisis lines. A therapist, a doctor or a friend is not a crisis
resource.
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from attunement.conversations.crisis_lines import Found, crisis_lines, find_names, find_numbers


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
    """Numbers, names and sites, as far as they can be looked up in the list."""
    for found in (*find_numbers(reply), *find_names(reply), *_sites(reply)):
        reached = tuple(line for line in found.lines if line.country in served)
        if not found.countries:
            reach = Reach.UNLISTED
        elif served and not served & found.countries:
            reach = Reach.FOREIGN
        else:
            reach = Reach.LISTED if reached or (found.lines and not served) else Reach.EMERGENCY
        # Of several lines with one name or number, those that the person can reach; all if that is not known.
        names = dict.fromkeys(line.name for line in reached or found.lines)
        yield Resource(reach, found.start, reply[found.start : found.end], tuple(names))


def _sites(reply: str) -> Iterator[Found]:
    listed = crisis_lines().sites
    for site in _SITE.finditer(reply):
        host = site["host"].lower()
        if lines := listed.get(host) or listed.get(f"{host}{site['page']}"):
            yield Found(*site.span("all"), lines)


def _in_words(reply: str) -> Iterator[Resource]:
    for found in _EMERGENCY.finditer(reply):
        yield Resource(Reach.EMERGENCY, found.start(), found.group())
    for found in _UNNAMED.finditer(reply):
        yield Resource(Reach.UNNAMED, found.start(), found.group())


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
_SITE = re.compile(r"(?<![\w@])(?P<all>(?:https?://)?(?:www\.)?(?P<host>[\w-]+(?:\.[\w-]+)+))(?P<page>/[\w-]+)?")
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
