"""Which conversations are part of a run? All, the first few, a seeded sample, or those that match a filter."""

import hashlib
import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

from attunement.conversations import Conversation
from attunement.errors import InputError


class Filter(NamedTuple):
    """A condition such as `system=Harbor`: on the system, the id, the origin, or a field of the metadata."""

    field: str
    value: str

    @classmethod
    def parse(cls, text: str) -> "Filter":
        """Read `FIELD=VALUE`."""
        name, equals, value = text.partition("=")
        if not equals or not name.strip():
            raise InputError(f"a filter looks like system=NAME, not {text!r}")
        return cls(name.strip(), value.strip())

    def matches(self, conversation: Conversation) -> bool:
        """Whether the conversation has this value in this field."""
        match self.field:
            case "system" | "id" | "origin":
                found = getattr(conversation, self.field)
            case _:
                found = conversation.metadata.get(self.field)
        return found is not None and str(found) == self.value


@dataclass(frozen=True)
class Selection:
    """What the user wants of the input. Filters come first, then the sample, then the limit."""

    filters: tuple[Filter, ...] = ()
    sample: int | None = None
    limit: int | None = None
    seed: int = 0

    def of(self, conversations: Iterable[Conversation]) -> Iterator[Conversation]:
        """The chosen ones, in their order."""
        chosen = (entry for entry in conversations if all(wanted.matches(entry) for wanted in self.filters))
        if self.sample is not None:
            chosen = iter(self._sampled(chosen, self.sample))
        return islice(chosen, self.limit)

    def _sampled(self, conversations: Iterable[Conversation], size: int) -> list[Conversation]:
        """Those with the smallest hashes: the same ones whatever the order or growth of the file around them."""
        numbered = ((self._draw(entry), position, entry) for position, entry in enumerate(conversations))
        drawn = heapq.nsmallest(size, numbered, key=lambda entry: entry[:2])
        return [entry for _, _, entry in sorted(drawn, key=lambda entry: entry[1])]

    def _draw(self, conversation: Conversation) -> bytes:
        words = f"{self.seed}\n{conversation.system}\n{conversation.id}".encode("utf-8", "surrogatepass")
        return hashlib.sha256(words).digest()
