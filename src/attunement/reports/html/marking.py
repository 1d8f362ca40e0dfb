"""Which parts of a message are cited, and by which citations?

Citations may overlap. The message is cut wherever one begins or ends, and each part knows all citations that it belongs
to, so that each of them can be marked on its own.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from attunement.reports.conversation import Place


class Cited(NamedTuple):
    """Words of a message that the citation with this number leads to."""

    number: int
    place: Place
    start: int
    end: int


class Segment(NamedTuple):
    """A part of a message."""

    text: str
    cited: tuple[int, ...] = ()
    begins: tuple[int, ...] = ()
    """The citations whose words begin here."""


def segments(text: str, cited: Sequence[Cited]) -> list[Segment]:
    """The message in parts; together they are the message."""
    edges = sorted({0, len(text), *(min(edge, len(text)) for one in cited for edge in (one.start, one.end))})
    parts: list[Segment] = []
    for start, end in pairwise(edges):
        own = tuple(one.number for one in cited if one.start <= start and end <= one.end)
        begins = tuple(one.number for one in cited if one.start == start and one.number in own)
        parts.append(Segment(text[start:end], own, begins))
    return parts
