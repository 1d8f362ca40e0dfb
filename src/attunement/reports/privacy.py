"""What a report leaves out, and how text by others is made safe for a page.

Transcripts, reasons and names are untrusted. The templates escape them; here their control characters become signs.
Every character stays one character, so that a place in the text stays the same place. Where text is redacted, places
move, and `Moved` knows where they went.
"""

import re
from bisect import bisect_right
from collections.abc import Callable
from itertools import zip_longest
from typing import NamedTuple

from attunement.conversations import Identity
from attunement.conversations.redaction import PLACEHOLDER
from attunement.reports.sanitize import REPLACED, WINDOWS_BREAK, visible

_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")  # all that is replaced


def for_page(text: str) -> str:
    """`text` as a page can hold it, as long as it was."""
    if not _STEERING.search(text):  # nearly every text; looking is ten times as fast as replacing
        return text
    return visible(WINDOWS_BREAK.sub(" ", text)).translate(REPLACED)


class Privacy(NamedTuple):
    """What a report leaves out."""

    redact: Callable[[str], str] | None = None  # replaces what points to a person, in every text by others
    texts: bool = True  # whether transcripts and reasons are shown at all
    rename: Callable[[str], str] | None = None  # like `redact`, for names that must stay different from each other

    def text(self, text: str) -> str:
        return for_page(self.redact(text) if self.redact else text)

    def name(self, name: str) -> str:
        """The id of a conversation or the name of a system as it may be shown."""
        rename = self.rename or self.redact
        return for_page(rename(name) if rename else name)

    def identity(self, identity: Identity) -> Identity:
        return Identity(*map(self.name, identity))


SHOW_ALL = Privacy()


class Moved:
    """A text as it may be shown, and where the places of the original are in it."""

    def __init__(self, text: str, privacy: Privacy = SHOW_ALL) -> None:
        redacted = privacy.redact(text) if privacy.redact else text
        self.text = for_page(redacted)
        self._from: list[int] = []
        self._to: list[int] = []
        if redacted != text:
            self._map(text, redacted)

    def _map(self, text: str, redacted: str) -> None:
        """Find what is between the placeholders in the original, one piece after the other.

        A short piece may also occur within something that was replaced; then a mark is a few letters off. What is
        shown is the redacted text in any case.
        """
        placeholders = list(PLACEHOLDER.finditer(redacted))
        end = placeholders[0].start()
        for placeholder, following in zip_longest(placeholders, placeholders[1:]):
            piece = redacted[placeholder.end() : following.start() if following else len(redacted)]
            start = text.find(piece, end + 1) if following else len(text) - len(piece)
            start = max(start, end)
            self._from += (end, start)
            self._to += (placeholder.start(), placeholder.end())
            end = start + len(piece)

    def place(self, original: int) -> int:
        """Where a place of the original is; within what was replaced it is the beginning or end of the placeholder."""
        at = bisect_right(self._from, original)
        if at == 0:
            return min(original, len(self.text))
        if at % 2:  # within something that was replaced
            return self._to[at - 1] if original == self._from[at - 1] else self._to[at]
        return min(self._to[at - 1] + original - self._from[at - 1], len(self.text))
