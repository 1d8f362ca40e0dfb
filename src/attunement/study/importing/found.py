"""What was met in files of answers, counted in little memory however many there are."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from attunement.conversations import Identity
from attunement.conversations.readers.record import Place
from attunement.instruments import Instrument
from attunement.ratings import RaterKind
from attunement.scoring import Slot

SHOWN = 5
"""How many of many like things are named; the rest are counted."""


@dataclass
class Few:
    """Things of one kind: the first few by name, and how many there are."""

    count: int = 0
    named: list[str] = field(default_factory=list[str])

    def add(self, name: object) -> None:
        """One more."""
        self.count += 1
        if len(self.named) < SHOWN:
            self.named.append(str(name))

    def __str__(self) -> str:
        more = self.count - len(self.named)
        return "; ".join(self.named) + (f"; and {more:,} more" if more else "")


class Problems:
    """Lines that do not fit, told by reason: the first line of each, and how many more have it."""

    def __init__(self) -> None:
        """None yet."""
        self._first: dict[str, Place] = {}
        self._more: Counter[str] = Counter()
        self._others = 0

    def add(self, place: Place, reason: str) -> None:
        """One more line."""
        if reason in self._first:
            self._more[reason] += 1
        elif len(self._first) < SHOWN:
            self._first[reason] = place
        else:
            self._others += 1

    def __bool__(self) -> bool:
        return bool(self._first)

    def __str__(self) -> str:
        told = [
            f"{place}: {reason}" + (f" (and {more:,} more such)" if (more := self._more[reason]) else "")
            for reason, place in self._first.items()
        ]
        return "; ".join(told) + (f"; and {self._others:,} other lines" if self._others else "")


class Voice(NamedTuple):
    """Who gave an answer; `settings` as JSON, so that voices can be told apart."""

    name: str
    kind: RaterKind
    settings: str


class Card(NamedTuple):
    """What one rater answered about one conversation, in one go."""

    identity: Identity
    voice: Voice
    repeat: int


class Answered:
    """Which slots of which card have an answer: one bit for each, in one whole number a card."""

    def __init__(self, instrument: Instrument) -> None:
        """For the items of `instrument`."""
        self._positions = {item.id: position for position, item in enumerate(instrument.items)}
        self._bits: dict[Card, int] = {}

    def add(self, card: Card, slot: Slot | None) -> bool:
        """Note the card and the answered slot, if any; False where the slot had an answer already."""
        before = self._bits.setdefault(card, 0)
        bit = 0 if slot is None else self._bit(slot)
        self._bits[card] = before | bit
        return not before & bit

    def absent(self, card: Card, due: list[Slot]) -> list[Slot]:
        """Those of the `due` slots that have no answer."""
        return [slot for slot in due if not self._bits[card] & self._bit(slot)]

    def __iter__(self) -> Iterator[Card]:
        return iter(self._bits)

    def _bit(self, slot: Slot) -> int:
        return 1 << ((slot.turn or 0) * len(self._positions) + self._positions[slot.item])
