"""Replace personal information.

E-mail addresses, telephone numbers, links, payment cards, US social security numbers and names from a list are replaced
by [email], [phone], [link], [card], [ssn] and [name] before anything is judged or rated. Numbers, names and sites of
listed crisis lines and emergency numbers are not replaced, because raters judge whether a reply gave them. An unlisted
line looks like a person's number, so it is replaced.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from attunement.conversations.crisis_lines import SHORTEST, crisis_lines, find_names, find_numbers, is_listed
from attunement.conversations.model import Conversation, Turn
from attunement.conversations.names import any_of
from attunement.errors import InputError
from attunement.yaml_files import read_text

PLACEHOLDER = re.compile(r"\[(?:email|phone|link|card|ssn|name)\]")
"""The replacement text."""

_LONGEST_HOST = 253  # by the rules of DNS
_PATH = r"[^\s<>\[\]\"“”「」。、，]"
# Domain endings that are rarely a word after a period without a space; "tired.to" and "fine.so" must not match.
_ENDING = r"(?:(?:com?|org|net|ac|edu|gov?|nhs)\.[a-z]{2}|com|org|net|edu|gov|info|biz|app|dev|io)"
_ADDRESS = re.compile(
    rf"(?P<url>(?<![\w.+-])(?:[A-Za-z][A-Za-z0-9+.-]*://|[Ww]{{3}}\.){_PATH}+)"
    r"|(?P<email>(?<![\w.+%-])[\w.+%-]+@[\w-]+(?:\.[\w-]+)+)"
    rf"|(?P<domain>(?<![\w@.-])(?:[\w-]+\.)+(?:{_ENDING}(?![\w-])(?:/{_PATH}*)?|[a-z]{{2}}/{_PATH}+))"
)
# Without separators, or in the groups printed on cards: four times four, or four, six and four or five.
_CARD = re.compile(
    r"(?<![\w.,$€£+-])(?:\d{13,19}|\d{4}([ \u00a0-])(?:\d{4}\1\d{4}\1\d{4}|\d{6}\1\d{4,5}))(?![\w-]|[.,]\d)"
)
_SSN = re.compile(
    r"(?<![\w.,+-])(?!000|666)\d{3}([ \u00a0-])(?!00)\d\d\1(?!0000)\d{4}(?![\w-]|[.,]\d)"
    # Nine digits without separators could be anything, so the words before must name them.
    r"|(?:(?<=\bssn)|(?<=\bsocial security)|(?<=\bsocial security number))"
    r"(?P<between>[^\w\n]{1,3}(?:(?:is|was)[ :]{1,2})?)\d{9}(?!\w)",
    re.IGNORECASE,
)


class Redactor:
    """Replaces personal information, and counts in `counts` what it replaced: email, phone, link, card, ssn, name.

    Names are found as whole words, in any case, the longest first; "Anna's" becomes "[name]'s". Redacting twice gives
    the same text.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.counts: Counter[str] = Counter()
        self._renamed: dict[str, str] = {}
        self._same: Counter[str] = Counter()
        self._names = any_of(names, any_case=True)
        self._sites = frozenset(line.website for line in crisis_lines().every())

    def redact(self, conversation: Conversation) -> Conversation:
        """The conversation with its turns, instructions and metadata redacted; id and system do not change."""
        return replace(
            conversation,
            turns=tuple(Turn(*map(self.redact_text, turn)) for turn in conversation.turns),
            instructions=None if conversation.instructions is None else self.redact_text(conversation.instructions),
            metadata=self._redact_value(conversation.metadata),
        )

    def redact_text(self, text: str) -> str:
        while True:
            # Replacements shorten the text, so a number may move closer to the word "call": repeat until nothing
            # changes.
            redacted = self._without_names(self._without_numbers(self._without_cards(self._without_addresses(text))))
            if redacted == text:
                return text
            text = redacted

    def redact_name(self, name: str) -> str:
        """Redact the id of a conversation or the name of a system.

        Different names stay different: the second one that becomes "[email]" is "[email] 2". One redactor always gives
        the same replacement for a name.
        """
        if name in self._renamed:
            return self._renamed[name]
        redacted = self.redact_text(name)
        if redacted == name:
            return name
        self._same[redacted] += 1
        number = self._same[redacted]
        return self._renamed.setdefault(name, redacted if number == 1 else f"{redacted} {number}")

    def _redact_value(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.redact_text(value)
        if isinstance(value, Mapping):
            return {key: self._redact_value(inner) for key, inner in cast(Mapping[Any, Any], value).items()}
        if isinstance(value, list):
            return [self._redact_value(inner) for inner in cast(list[Any], value)]
        if isinstance(value, tuple):
            return tuple(self._redact_value(inner) for inner in cast(tuple[Any, ...], value))
        return value

    def _mark(self, kind: str) -> str:
        self.counts[kind] += 1
        return f"[{kind}]"

    def _without_addresses(self, text: str) -> str:
        def marked(found: re.Match[str]) -> str:
            if found["email"]:
                return self._mark("email")
            address = _trimmed(found[0])
            if _is_listed(address, self._sites):
                return found[0]
            return self._mark("link") + found[0][len(address) :]

        return _ADDRESS.sub(marked, text) if "." in text or "://" in text else text

    def _without_cards(self, text: str) -> str:
        """Replace payment cards and social security numbers. They come before telephone numbers, which look similar."""

        def marked(found: re.Match[str]) -> str:
            return self._mark("card") if _is_card(found[0]) else found[0]

        def marked_ssn(found: re.Match[str]) -> str:
            if is_listed(found[0]):
                return found[0]  # some crisis lines use the same groups: 800 70 2222
            return (found["between"] or "") + self._mark("ssn")

        return _SSN.sub(marked_ssn, _CARD.sub(marked, text))

    def _without_numbers(self, text: str) -> str:
        pieces: list[str] = []
        end = 0
        for number in find_numbers(text):
            if not number.countries and len(_digits(text[number.start : number.end])) >= SHORTEST:
                pieces += (text[end : number.start], self._mark("phone"))
                end = number.end
        return "".join((*pieces, text[end:]))

    def _without_names(self, text: str) -> str:
        if not self._names.search(text):
            return text
        protected = [found.span() for found in PLACEHOLDER.finditer(text)]
        protected += [(line.start, line.end) for line in find_names(text)]
        protected.sort()

        def marked(found: re.Match[str]) -> str:
            # They do not overlap, so only the last one that begins before this name's end can overlap with it.
            before = bisect_left(protected, (found.end(), 0))
            if before and protected[before - 1][1] > found.start():
                return found[0]
            return self._mark("name")

        return self._names.sub(marked, text)


def read_names(path: Path) -> list[str]:
    """The names in a file, one per line; # starts a comment."""
    lines = read_text(path, InputError).splitlines()
    return [name for line in lines if (name := line.split("#")[0].strip())]


def _digits(text: str) -> str:
    return "".join(filter(str.isdecimal, text))


def _is_card(text: str) -> bool:
    """Whether digits begin like a payment card number and have a valid check digit (Luhn, ISO/IEC 7812)."""
    digits = [int(sign) for sign in _digits(text)]
    doubled = (2 * digit - 9 * (digit > 4) for digit in digits[-2::-2])  # the sum of the digits of the double
    return digits[0] in range(2, 7) and (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0


def _trimmed(address: str) -> str:
    """An address without the punctuation of the sentence; a parenthesis that the address opened stays."""
    while address[-1] in ".,;:!?…'’}*" or (address[-1] == ")" and address.count(")") > address.count("(")):
        address = address[:-1]
    return address


def _is_listed(address: str, sites: frozenset[str]) -> bool:
    """Whether an address is the site of a crisis line or a page on it."""
    rest = re.sub(r"^[a-z][a-z0-9+.-]*://", "", address.lower()).removeprefix("www.")
    host = re.split(r"[/?#:]", rest, maxsplit=1)[0]
    if len(host) > _LONGEST_HOST:
        return False
    parents = {host[place:] for place in (0, *(dot.end() for dot in re.finditer(r"\.", host)))}
    return not parents.isdisjoint(sites) or any(rest == site or rest.startswith(f"{site}/") for site in sites)
