"""The ratings of a study as columns of numbers: who gave which answer about which unit.

A study or a table of ratings becomes one `Gathered`. `Gathered.sheet` turns one item into a table of units by raters,
in which each rater's first answer stands; `Gathered.again` has all answers of one rater side by side.

Only answers of the main round enter, beside those that a rater gave when asked again. Simulated raters, other wordings
of an item, worked examples and values off the scale are left out, and counted.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import ColumnElement, Connection, func, select

from attunement.conversations import Identity, Turn
from attunement.conversations.model import fingerprint
from attunement.instruments import Instrument, Item, Scores
from attunement.ratings import ErrorKind, RaterKind, Round, State
from attunement.scoring import is_signals
from attunement.statistics.tables import Bools, Floats, Ints
from attunement.store import Study
from attunement.store.schema import conversations, ratings


class AnswerState(IntEnum):
    """What came of asking; NOT_ASKED where a rater was not asked, or an item was not due."""

    NOT_ASKED = 0
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


class RatedItem(NamedTuple):
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


class RaterRef(NamedTuple):
    """A rater, and what is known about them."""

    name: str
    kind: RaterKind
    settings: Mapping[str, Any]


class ConversationInfo(NamedTuple):
    """A conversation that was rated; `key` is its key in the study, 0 where there is none."""

    key: int
    identity: Identity
    metadata: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class ItemMatrix:
    """One item: `values[i, j]` is what `raters[j]` first said of `units[i]`, NaN where that is no value."""

    item: RatedItem
    units: Ints
    """Which units of the `Gathered` these are: those that somebody was asked about."""
    raters: tuple[RaterRef, ...]
    values: Floats
    states: Ints
    """For each cell an `Answered`."""
    conversation: Ints
    """For each unit the number of its conversation in `Gathered.conversations`."""

    def column_of(self, rater: str) -> int:
        """The column of the rater with this name."""
        return next(column for column, who in enumerate(self.raters) if who.name == rater)

    def columns(self, chosen: Collection[str]) -> "ItemMatrix":
        """Only these raters, in the order of the sheet; all units stay."""
        keep = [column for column, who in enumerate(self.raters) if who.name in chosen]
        names = tuple(self.raters[column] for column in keep)
        return replace(self, raters=names, values=self.values[:, keep], states=self.states[:, keep])


@dataclass(frozen=True, eq=False)
class RatingsTable:
    """Ratings as columns: the entry at one place of `unit`, `item`, `rater` and the others is one rating."""

    items: tuple[RatedItem, ...]
    raters: tuple[RaterRef, ...]
    conversations: tuple[ConversationInfo, ...]
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

    def item_matrix(self, item: int) -> ItemMatrix:
        """The first answers to the item with this number."""
        here = np.flatnonzero((self.item == item) & (self.occasion == 0))
        units, place = np.unique(self.unit[here], return_inverse=True)
        values = np.full((len(units), len(self.raters)), np.nan)
        states = np.zeros(values.shape, dtype=np.int64)
        # Of several answers to the same question, asked in different ways, the last one stays.
        values[place, self.rater[here]] = self.value[here]
        states[place, self.rater[here]] = self.state[here]
        return ItemMatrix(self.items[item], units, self.raters, values, states, self.unit_conversation[units])

    def repeated_answers(self, item: int, rater: str) -> tuple[Floats, Ints]:
        """What one rater said of the same units each time they were asked, a column a time, and the conversations."""
        number = next(place for place, who in enumerate(self.raters) if who.name == rater)
        here = np.flatnonzero((self.item == item) & (self.rater == number))
        units, place = np.unique(self.unit[here], return_inverse=True)
        times, column = np.unique(self.occasion[here], return_inverse=True)
        values = np.full((len(units), len(times)), np.nan)
        values[place, column] = self.value[here]
        return values, self.unit_conversation[units]

    def of_conversations(self, talks: Bools) -> "RatingsTable":
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
    items: tuple[RatedItem, ...],
    who: tuple[RaterRef, ...],
    talks_of: Callable[[Ints], list[ConversationInfo]],
    left_out: Counter[str],
    notes: tuple[str, ...] = (),
) -> RatingsTable:
    """Number units, conversations and occasions from 0, and drop raters who said nothing."""
    spoke, rater = np.unique(ratings.rater, return_inverse=True)
    present: list[int] = spoke.tolist()
    keys, conversation = np.unique(ratings.conversation, return_inverse=True)
    span = int(ratings.turn.max(initial=0)) + 1
    pairs, unit = np.unique(conversation * span + ratings.turn, return_inverse=True)
    return RatingsTable(
        items=items,
        raters=tuple(who[place] for place in present),
        conversations=tuple(talks_of(keys)),
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


YES_NO = Scale((0.0, 1.0), ("not met", "met"))
"""The scale of criteria."""
OFF_SCALE = "off the scale, and refused"

_ROWS_AT_ONCE = 50_000
_STATES: dict[str, AnswerState] = {
    State.VALUE: AnswerState.VALUE,
    State.NA: AnswerState.NA,
    State.ABSTAINED: AnswerState.ABSTAINED,
    State.ERROR: AnswerState.ERROR,
    State.NOT_DUE: AnswerState.NOT_ASKED,
}


def collect_ratings(study: Study, instrument: Instrument) -> RatingsTable:
    """All ratings of a study with the items of `instrument`, as they are worded there.

    Left out, and counted: other rounds than the main one and repeats, simulated raters, other wordings of an item,
    values off the scale, and conversations that are worked examples of the instrument.
    """
    items = tuple(_asked(instrument, item) for item in instrument.items)
    left_out: Counter[str] = Counter()
    known = [rater for rater in study.raters() if not is_signals(rater.name)]
    who = tuple(RaterRef(rater.name, rater.kind, rater.settings) for rater in known)
    with study.reading() as connection:
        columns = _columns(connection, instrument, {rater.key: place for place, rater in enumerate(known)})
        _count_others(connection, instrument, left_out)
        examples = _worked_examples(connection, instrument)
    columns = _without(
        columns, np.isin(columns.conversation, examples), "of worked examples of the instrument", left_out
    )
    simulated = np.array([one.kind is RaterKind.SIMULATION for one in who], dtype=np.bool_)
    columns = _without(columns, simulated[columns.rater], "by simulated raters, who are not people", left_out)
    columns = _on_scale(columns, items, left_out)
    return numbered(columns, items, who, lambda keys: _talks(study, keys), left_out)


def _asked(instrument: Instrument, item: Item) -> RatedItem:
    fails = next((entry for entry in instrument.gate if entry.item == item.id), None)
    if isinstance(instrument.scale, Scores):
        values = tuple(float(score) for score in range(instrument.scale.lowest, instrument.scale.highest + 1))
        words = tuple(f"{value:g}" for value in values)
        fails_at = None if fails is None or fails.fails_at is None else float(fails.fails_at)
        return RatedItem(item.id, item.title, Scale(values, words), fails_at)
    return RatedItem(item.id, item.title, YES_NO, None if fails is None else 0.0)


_WORDS = {"NO": 0.0, "YES": 1.0}


def _columns(connection: Connection, instrument: Instrument, rater_numbers: Mapping[int, int]) -> Long:
    table = ratings.c
    numbers = {item.id: place for place, item in enumerate(instrument.items)}
    query = (
        select(
            table.conversation, table.turn, table.item, table.rater, table.repeat, table.round, table.state, table.value
        )
        .where(table.round.in_([Round.MAIN, Round.REPEAT]), _worded(instrument), table.rater.in_(rater_numbers))
        .order_by(table.key)
    )
    parts: list[Long] = []
    with connection.execution_options(yield_per=_ROWS_AT_ONCE).execute(query) as rows:
        for part in rows.partitions():
            conversation, turn, item, rater, repeat, round, state, value = zip(*part, strict=True)
            codes = np.array([_STATES[each] for each in state], dtype=np.int64)
            # A repeat round comes after every time the main round asked.
            later = np.array([LATER if each == Round.REPEAT else 0 for each in round], dtype=np.int64)
            parts.append(
                Long(
                    np.array(conversation, dtype=np.int64),
                    np.array(turn, dtype=np.int64),
                    np.array([numbers[each] for each in item], dtype=np.int64),
                    np.array([rater_numbers[each] for each in rater], dtype=np.int64),
                    np.array(repeat, dtype=np.int64) + later,
                    codes,
                    np.where(codes == AnswerState.VALUE, _values(value), np.nan),
                )
            )
    return _joined(parts)


def _joined(parts: Sequence[Long]) -> Long:
    none = np.zeros(0, dtype=np.int64)
    numbers = [np.concatenate([none, *(part[:6][column] for part in parts)]) for column in range(6)]
    return long(numbers, np.concatenate([np.zeros(0), *(part.value for part in parts)]))


def _worded(instrument: Instrument) -> ColumnElement[bool]:
    """That a rating's item stands in the instrument, word for word."""
    return ratings.c.item_hash.in_(list(instrument.item_hashes.values())) & ratings.c.item.in_(
        [item.id for item in instrument.items]
    )


def _values(texts: Sequence[str | None]) -> Floats:
    known: dict[str | None, float] = {text: _value(text) for text in set(texts)}
    return np.array([known[text] for text in texts], dtype=np.float64)


def _value(text: str | None) -> float:
    if text is None or text in _WORDS:
        return np.nan if text is None else _WORDS[text]
    try:
        return float(text)
    except ValueError:
        return np.nan


def _count_others(connection: Connection, instrument: Instrument, left_out: Counter[str]) -> None:
    """Count what the query above does not bring: other rounds and other wordings."""
    table = ratings.c
    rounds = select(table.round, func.count()).where(_worded(instrument)).group_by(table.round)
    for name, count in connection.execute(rounds):
        if name not in {Round.MAIN, Round.REPEAT}:
            left_out[f"of the {name} round"] += count
    unread = select(func.count()).where(_worded(instrument), table.error == ErrorKind.MALFORMED)
    if count := connection.scalar(unread):
        left_out["unreadable or off the scale, and refused"] += count
    ours = table.item.in_([item.id for item in instrument.items]) & (table.round == Round.MAIN)
    reworded = select(func.count()).where(ours, table.item_hash.not_in(list(instrument.item_hashes.values())))
    if count := connection.scalar(reworded):
        left_out["of items in another wording"] += count


def _worked_examples(connection: Connection, instrument: Instrument) -> Ints:
    """The keys of conversations that are examples of the instrument: a judge may have read their answers."""
    marks = {
        fingerprint(tuple(Turn(turn.user, turn.assistant) for turn in example.turns))
        for item in instrument.items
        for example in item.examples
    }
    keys = connection.scalars(select(conversations.c.key).where(conversations.c.fingerprint.in_(marks)))
    return np.array(list(keys), dtype=np.int64)


def _without(columns: Long, gone: Bools, why: str, left_out: Counter[str]) -> Long:
    if not gone.any():
        return columns
    left_out[why] += int(gone.sum())
    return columns.keep(~gone)


def _on_scale(columns: Long, items: Sequence[RatedItem], left_out: Counter[str]) -> Long:
    off = np.zeros(len(columns.value), dtype=np.bool_)
    for number, item in enumerate(items):
        here = (columns.item == number) & (columns.state == AnswerState.VALUE)
        off |= here & ~np.isin(columns.value, item.scale.values)
    return _without(columns, off, OFF_SCALE, left_out)


def _talks(study: Study, keys: Ints) -> list[ConversationInfo]:
    wanted = set(keys.tolist())
    return [
        ConversationInfo(summary.key, summary.identity, summary.metadata)
        for page in study.summaries(5000)
        for summary in page
        if summary.key in wanted
    ]
