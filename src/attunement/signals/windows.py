"""Which stretches of a text does the trained reader read at once?

A few sentences at a time, because danger and harm often stand in one of many and would be lost among the others.
Training and use share this module, so that both read the same.
"""

import re
from collections.abc import Iterator

from attunement.signals.scorer_text import Limits

LONGEST = 400
"""Characters of a stretch at most: a message as people type it, and below the tokens of a stretch."""
LIMITS = Limits(context=32, reply=128)
"""Tokens that are read of what was said before a reply, and of a stretch. The message is read again with every stretch
of the reply, so more of it would cost time."""

# So that time is bounded whatever the text: of a longer one the beginning and the end are read, some 13,000 characters.
_MOST = 32
_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?]+|\n|$)")
_PIECE = re.compile(rf".{{1,{LONGEST}}}(?=\s|$)|.{{1,{LONGEST}}}", re.DOTALL)

Stretch = tuple[int, int]
"""From where to where in the text, in characters."""


def windows(text: str) -> list[Stretch]:
    """Neighbouring sentences together, as many as are read at once, in their order; they do not overlap."""
    found: list[Stretch] = []
    for start, end in sentences(text, 0, len(text)):
        if found and end - found[-1][0] <= LONGEST:
            found[-1] = (found[-1][0], end)
        else:
            found.append((start, end))
    half = _MOST // 2
    return found if len(found) <= _MOST else [*found[:half], *found[-half:]]


def sentences(text: str, start: int, end: int) -> list[Stretch]:
    """The sentences of `text[start:end]` that hold a word; one without an end is cut between words."""
    return [
        place
        for sentence in _SENTENCE.finditer(text, start, end)
        for place in _pieces(text, sentence.start(), sentence.end())
    ]


def _pieces(text: str, start: int, end: int) -> Iterator[Stretch]:
    for match in _PIECE.finditer(text, start, end):
        piece = match.group()
        if any(map(str.isalnum, piece)):
            yield match.start() + len(piece) - len(piece.lstrip()), match.start() + len(piece.rstrip())
