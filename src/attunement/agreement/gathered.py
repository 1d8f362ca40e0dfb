"""Ratings as columns of numbers: who said what of which unit.

A study or a table of ratings becomes one `Gathered`. `Gathered.sheet` turns one item into a table of units by raters,
in which each rater's first answer stands; `Gathered.again` has all answers of one rater side by side.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from attunement.agreement.tables import Bools, Floats, Ints
from attunement.conversations import Identity
from attunement.ratings import RaterKind


class Answered(IntEnum):
    """What came of asking; NOTHING where a rater was not asked, or an item was not due."""

    NOTHING = 0
    VALUE = 1
    NA = 2
    ABSTAINED = 3
    ERROR = 4


class Scale(NamedTuple):
    """The answers an item allows beside "does not apply", from the lowest to the highest."""

    values: tuple[float, ...]
    words: tuple[str, ...]
    ordered: bool = True
    """Whether higher values mean more; otherwise two answers are only the same or different."""
    observed: bool = False
    """Whether nobody named the scale, so that it is what occurs."""


class AskedItem(NamedTuple):
    """One item, and what counts as a failure where it guards a gate."""

    id: str
    title: str
    scale: Scale
    fails_at: float | None = None
    """For a gate item: this value or a lower one is a failure."""

    @property
    def is_gate(self) -> bool:
        """Whether a failure on this item rejects a conversation."""
        return self.fails_at is not None


class Who(NamedTuple):
    """A rater, and what is known about them."""

    name: str
    kind: RaterKind
    settings: Mapping[str, Any]


class Talk(NamedTuple):
    """A conversation that was rated; `key` is its key in the study, 0 where there is none."""

    key: int
    identity: Identity
    metadata: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Sheet:
    """One item: `values[i, j]` is what `raters[j]` first said of `units[i]`, NaN where that is no value."""

    item: AskedItem
    units: Ints
    """Which units of the `Gathered` these are: those that somebody was asked about."""
    raters: tuple[Who, ...]
    values: Floats
    states: Ints
    """For each cell an `Answered`."""
    conversation: Ints
    """For each unit the number of its conversation in `Gathered.talks`."""

    def of(self, rater: str) -> int:
        """The column of the rater with this name."""
        return next(column for column, who in enumerate(self.raters) if who.name == rater)

    def columns(self, chosen: Collection[str]) -> "Sheet":
        """Only these raters, in the order of the sheet; all units stay."""
        keep = [column for column, who in enumerate(self.raters) if who.name in chosen]
        names = tuple(self.raters[column] for column in keep)
        return replace(self, raters=names, values=self.values[:, keep], states=self.states[:, keep])


@dataclass(frozen=True, eq=False)
class Gathered:
    """Ratings as columns: the entry at one place of `unit`, `item`, `rater` and the others is one rating."""

    items: tuple[AskedItem, ...]
    raters: tuple[Who, ...]
    talks: tuple[Talk, ...]
    unit_conversation: Ints
    """For each unit the number of its conversation in `talks`."""
    unit_turn: Ints
    """For each unit the turn whose reply is meant; 0 for the whole conversation."""
    unit: Ints
    item: Ints
    rater: Ints
    occasion: Ints
    """0 for the first time a rater was asked about a unit, more where they were asked again."""
    state: Ints
    value: Floats
    left_out: Counter[str] = field(default_factory=Counter[str])
    """What did not enter, in words, and how many ratings that were."""
    notes: tuple[str, ...] = ()
    """What else a reader should know about how the ratings were read."""

    @property
    def people(self) -> tuple[str, ...]:
        """The names of the raters who are people."""
        return tuple(who.name for who in self.raters if who.kind is RaterKind.PERSON)

    @property
    def judges(self) -> tuple[str, ...]:
        """The names of the judges."""
        return tuple(who.name for who in self.raters if who.kind is RaterKind.MODEL)

    def sheet(self, item: int) -> Sheet:
        """The first answers to the item with this number."""
        here = np.flatnonzero((self.item == item) & (self.occasion == 0))
        units, place = np.unique(self.unit[here], return_inverse=True)
        values = np.full((len(units), len(self.raters)), np.nan)
        states = np.zeros(values.shape, dtype=np.int64)
        # Of several answers to the same question, asked in different ways, the last one stays.
        values[place, self.rater[here]] = self.value[here]
        states[place, self.rater[here]] = self.state[here]
        return Sheet(self.items[item], units, self.raters, values, states, self.unit_conversation[units])

    def again(self, item: int, rater: str) -> tuple[Floats, Ints]:
        """What one rater said of the same units each time they were asked, a column a time, and the conversations."""
        number = next(place for place, who in enumerate(self.raters) if who.name == rater)
        here = np.flatnonzero((self.item == item) & (self.rater == number))
        units, place = np.unique(self.unit[here], return_inverse=True)
        times, column = np.unique(self.occasion[here], return_inverse=True)
        values = np.full((len(units), len(times)), np.nan)
        values[place, column] = self.value[here]
        return values, self.unit_conversation[units]

    def only(self, talks: Bools) -> "Gathered":
        """Only the ratings of these conversations; the numbers of units and conversations stay."""
        keep = talks[self.unit_conversation[self.unit]]
        return replace(
            self,
            unit=self.unit[keep],
            item=self.item[keep],
            rater=self.rater[keep],
            occasion=self.occasion[keep],
            state=self.state[keep],
            value=self.value[keep],
        )


class Long(NamedTuple):
    """Ratings as they come, before units and occasions are numbered: an entry of each column is one rating."""

    conversation: Ints
    turn: Ints
    item: Ints
    rater: Ints
    repeat: Ints
    state: Ints
    value: Floats

    def keep(self, wanted: Bools) -> "Long":
        """Only these ratings."""
        return long([column[wanted] for column in self[:6]], self.value[wanted])


def long(numbers: Sequence[Ints], value: Floats) -> Long:
    """Ratings from their columns of numbers, in the order of `Long`, and their values."""
    conversation, turn, item, rater, repeat, state = numbers
    return Long(conversation, turn, item, rater, repeat, state, value)


def numbered(
    ratings: Long,
    items: tuple[AskedItem, ...],
    who: tuple[Who, ...],
    talks_of: Callable[[Ints], list[Talk]],
    left_out: Counter[str],
    notes: tuple[str, ...] = (),
) -> Gathered:
    """Number units, conversations and occasions from 0, and drop raters who said nothing."""
    spoke, rater = np.unique(ratings.rater, return_inverse=True)
    present: list[int] = spoke.tolist()
    keys, conversation = np.unique(ratings.conversation, return_inverse=True)
    span = int(ratings.turn.max(initial=0)) + 1
    pairs, unit = np.unique(conversation * span + ratings.turn, return_inverse=True)
    return Gathered(
        items=items,
        raters=tuple(who[place] for place in present),
        talks=tuple(talks_of(keys)),
        unit_conversation=pairs // span,
        unit_turn=pairs % span,
        unit=unit.astype(np.int64),
        item=ratings.item,
        rater=rater.astype(np.int64),
        occasion=_occasions(ratings.item, rater.astype(np.int64), ratings.repeat),
        state=ratings.state,
        value=ratings.value,
        left_out=left_out,
        notes=notes,
    )


LATER = 1 << 32
"""Added to the repeat of a rating that was made when a person was asked again in a round of its own."""


def _occasions(item: Ints, rater: Ints, repeat: Ints) -> Ints:
    """The place of each repeat among those of the same rater and item, because some files count from 1."""
    repeats, which = np.unique(repeat, return_inverse=True)
    group = item * (int(rater.max(initial=0)) + 1) + rater
    found, inverse = np.unique(group * len(repeats) + which, return_inverse=True)
    groups = found // max(len(repeats), 1)
    place = np.arange(len(found)) - np.searchsorted(groups, groups)
    # Somebody who was only asked again has said nothing in the main round.
    return np.where(repeat >= LATER, np.maximum(place[inverse], 1), place[inverse])
