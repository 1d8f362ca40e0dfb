"""What in a conversation points to a person, and how does the text read without it?

E-mail addresses, telephone numbers, links and names from a list are replaced by [email], [phone], [link] and [name]
before anything is judged or rated. The numbers, names and sites of crisis lines and the emergency numbers stay: whether
a reply gave them is one of the things that are judged.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from attunement.conversations.crisis_lines import CrisisLines, crisis_lines
from attunement.conversations.crisis_mentions import NumberKind, find_names, find_numbers
from attunement.conversations.model import Conversation, Turn
from attunement.conversations.names import any_of
from attunement.conversations.phone_numbers import SHORTEST
from attunement.errors import InputError

_PLACEHOLDER = re.compile(r"\[(?:email|phone|link|name)\]")
_LONGEST_HOST = 253  # by the rules of the domain name system
_PATH = r"[^\s<>\[\]\"“”「」。、，]"
# Endings that are hardly ever a word after a full stop without a space; "tired.to" and "fine.so" must stay as they are.
_ENDING = r"(?:(?:com?|org|net|ac|edu|gov?|nhs)\.[a-z]{2}|com|org|net|edu|gov|info|biz|app|dev|io)"
_ADDRESS = re.compile(
    rf"(?P<url>(?<![\w.+-])(?:[A-Za-z][A-Za-z0-9+.-]*://|[Ww]{{3}}\.){_PATH}+)"
    r"|(?P<email>(?<![\w.+%-])[\w.+%-]+@[\w-]+(?:\.[\w-]+)+)"
    rf"|(?P<domain>(?<![\w@.-])(?:[\w-]+\.)+(?:{_ENDING}(?![\w-])(?:/{_PATH}*)?|[a-z]{{2}}/{_PATH}+))"
)


class Redactor:
    """Replaces what points to a person, and counts in `counts` what it replaced: email, phone, link, name.

    Names are found as whole words, in any case, the longest first; "Anna's" becomes "[name]'s". Redacting a text a
    second time changes nothing.
    """

    def __init__(self, names: Iterable[str] = ()) -> None:
        self.counts: Counter[str] = Counter()
        self._names = any_of(names, any_case=True)
        self._lines = crisis_lines()
        self._sites = _sites(self._lines)

    def redact(self, conversation: Conversation) -> Conversation:
        """The conversation with its turns, instructions and metadata redacted; id and system stay as they are."""
        return replace(
            conversation,
            turns=tuple(Turn(*map(self.redact_text, turn)) for turn in conversation.turns),
            instructions=None if conversation.instructions is None else self.redact_text(conversation.instructions),
            metadata=self._redact_value(conversation.metadata),
        )

    def redact_text(self, text: str) -> str:
        """Redact one text."""
        while True:
            # What is replaced gets shorter, and a number may move up to the word "call": again, until nothing changes.
            redacted = self._without_names(self._without_numbers(self._without_addresses(text)))
            if redacted == text:
                return text
            text = redacted

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

    def _without_numbers(self, text: str) -> str:
        pieces: list[str] = []
        end = 0
        for number in find_numbers(text, self._lines):
            if number.kind is NumberKind.UNLISTED and len(number.digits) >= SHORTEST:
                pieces += (text[end : number.start], self._mark("phone"))
                end = number.end
        return "".join((*pieces, text[end:]))

    def _without_names(self, text: str) -> str:
        if not self._names.search(text):
            return text
        kept = [found.span() for found in _PLACEHOLDER.finditer(text)]
        kept += [(line.start, line.end) for line in find_names(text, self._lines)]
        kept.sort()

        def marked(found: re.Match[str]) -> str:
            # They do not overlap, so that the last one that begins before this name's end is the only one that can.
            before = bisect_left(kept, (found.end(), 0))
            if before and kept[before - 1][1] > found.start():
                return found[0]
            return self._mark("name")

        return self._names.sub(marked, text)


def read_names(path: Path) -> list[str]:
    """The names in a file, one a line; what follows a # is a comment."""
    try:
        lines = path.read_text("utf-8-sig").splitlines()
    except OSError as error:
        raise InputError(f"the names in {path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 text: {error.reason} at byte {error.start}") from error
    return [name for line in lines if (name := line.split("#")[0].strip())]


def _trimmed(address: str) -> str:
    """An address without the punctuation of the sentence around it; a parenthesis that it opened itself stays."""
    while address[-1] in ".,;:!?…'’}*" or (address[-1] == ")" and address.count(")") > address.count("(")):
        address = address[:-1]
    return address


def _sites(lines: CrisisLines) -> frozenset[str]:
    return frozenset(line.website for line in lines.every())


def _is_listed(address: str, sites: frozenset[str]) -> bool:
    """Whether an address is the site of a crisis line or lies within it."""
    rest = re.sub(r"^[a-z][a-z0-9+.-]*://", "", address.lower()).removeprefix("www.")
    host = re.split(r"[/?#:]", rest, maxsplit=1)[0]
    if len(host) > _LONGEST_HOST:
        return False
    parents = {host[place:] for place in (0, *(dot.end() for dot in re.finditer(r"\.", host)))}
    return not parents.isdisjoint(sites) or any(rest == site or rest.startswith(f"{site}/") for site in sites)
