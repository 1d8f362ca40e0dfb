"""One table of ratings, whether they come from a study, a file, a data frame or a public data set.

As a file or a data frame it has one row a rating and these columns; `ratings_file` reads it and `records` writes it:

- `system`, `conversation`, `turn`: the unit; an empty turn is the whole conversation
- `item`: what was asked
- `rater`, `rater_kind`: who answered: `person`, `model` or `simulation`
- `repeat`: 0 for the first time, more where the same rater was asked again
- `outcome`: `value`, `na` (does not apply), `abstained` or `error`
- `value`: a number or a word of the item's scale, such as 4 or NO

`attune export` writes these columns among others.

Inside, it is columns of numbers. `item_matrix` turns one item into a table of units by raters with each rater's first
answer; `repeated_answers` has all answers of one rater.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from attunement.conversations import Identity
from attunement.errors import InputError
from attunement.instruments import Instrument, Item, Scores
from attunement.ratings import RaterKind, Round, State
from attunement.scoring import is_signals
from attunement.statistics.tables import Bools, Floats, Ints
from attunement.store import Rater, Study
from attunement.store.queries import RatingColumns, count_other_ratings, example_conversations, rating_columns
from attunement.store.study import original_name


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
    ordered: bool = True  # whether higher values mean more; otherwise two answers are only the same or different
    observed: bool = False  # whether nobody named the scale, so that it is what occurs

    def word(self, value: float) -> str:
        """An answer as a table of ratings has it."""
        words = ("NO", "YES") if self is YES_NO else self.words
        return dict(zip(self.values, words, strict=True)).get(value, f"{value:g}")


class RatedItem(NamedTuple):
    """One item, and which of its answers are failures, where that is declared."""

    id: str
    title: str
    scale: Scale
    fails: tuple[float, float] | None = None
    """The lowest and the highest answer that is a failure; None where none is declared."""

    @property
    def is_gate(self) -> bool:
        """Whether it is declared what a failure is."""
        return self.fails is not None

    def failing(self, values: Floats) -> Bools:
        """Which of these answers are failures."""
        low, high = self.fails or (np.nan, np.nan)
        return (values >= low) & (values <= high)


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
    """One item: `values[i, j]` is the first answer of `raters[j]` about `units[i]`, NaN where that is no value."""

    item: RatedItem
    units: Ints  # which units of the `RatingsTable` these are: those that somebody was asked about
    raters: tuple[RaterRef, ...]
    values: Floats
    states: Ints  # for each cell an `Answered`
    conversation: Ints  # for each unit the number of its conversation in `RatingsTable.conversations`

    def column_of(self, rater: str) -> int:
        return next(column for column, who in enumerate(self.raters) if who.name == rater)

    def columns(self, chosen: Collection[str]) -> "ItemMatrix":
        """Only these raters, in the order of the matrix; all units stay."""
        keep = [column for column, who in enumerate(self.raters) if who.name in chosen]
        names = tuple(self.raters[column] for column in keep)
        return replace(self, raters=names, values=self.values[:, keep], states=self.states[:, keep])


@dataclass(frozen=True, eq=False)
class RatingsTable:
    """Ratings as columns: the entry at one place of `unit`, `item`, `rater` and the others is one rating."""

    items: tuple[RatedItem, ...]
    raters: tuple[RaterRef, ...]
    conversations: tuple[ConversationInfo, ...]
    unit_conversation: Ints  # for each unit the number of its conversation in `conversations`
    unit_turn: Ints  # for each unit the turn whose reply is meant; 0 for the whole conversation
    unit: Ints
    item: Ints
    rater: Ints
    occasion: Ints  # 0 for the first time a rater was asked about a unit, more where they were asked again
    state: Ints
    value: Floats
    left_out: Counter[str] = field(default_factory=Counter[str])
    """What did not enter, in words, and how many ratings that were."""
    notes: tuple[str, ...] = ()  # what else a reader should know about how the ratings were read

    @property
    def people(self) -> tuple[str, ...]:
        return tuple(who.name for who in self.raters if who.kind is RaterKind.PERSON)

    @property
    def judges(self) -> tuple[str, ...]:
        return tuple(who.name for who in self.raters if who.kind is RaterKind.MODEL)

    def item_matrix(self, item: int) -> ItemMatrix:
        """The first answers to the item with this number."""
        here = np.flatnonzero((self.item == item) & (self.occasion == 0))
        units, place = np.unique(self.unit[here], return_inverse=True)
        values = np.full((len(units), len(self.raters)), np.nan)
        states = np.zeros(values.shape, dtype=np.int64)
        # Of several answers to the same question, asked in different ways or given twice, the last one stays.
        values[place, self.rater[here]] = self.value[here]
        states[place, self.rater[here]] = self.state[here]
        return ItemMatrix(self.items[item], units, self.raters, values, states, self.unit_conversation[units])

    def runs(self, item: int, rater: str, units: Ints) -> tuple[Floats, Ints]:
        """One rater's answers about these units and their states, a column for each time they were asked."""
        number = next(place for place, who in enumerate(self.raters) if who.name == rater)
        here = np.flatnonzero((self.item == item) & (self.rater == number))
        here = here[np.isin(self.unit[here], units)]
        place = np.searchsorted(units, self.unit[here])
        values = np.full((len(units), int(self.occasion[here].max(initial=0)) + 1), np.nan)
        states = np.zeros(values.shape, dtype=np.int64)
        values[place, self.occasion[here]] = self.value[here]
        states[place, self.occasion[here]] = self.state[here]
        return values, states

    def records(self) -> Iterator[dict[str, Any]]:
        """The ratings as rows, with the columns that are described above."""
        for place in range(len(self.value)):
            unit, item, rater = int(self.unit[place]), int(self.item[place]), int(self.rater[place])
            state, value = int(self.state[place]), float(self.value[place])
            identity = self.conversations[int(self.unit_conversation[unit])].identity
            scale, who = self.items[item].scale, self.raters[rater]
            yield {
                "system": identity.system,
                "conversation": identity.id,
                "turn": int(self.unit_turn[unit]) or None,
                "item": self.items[item].id,
                "rater": who.name,
                "rater_kind": who.kind.value,
                "repeat": int(self.occasion[place]),
                "outcome": AnswerState(state).name.lower(),
                "value": scale.word(value) if state == AnswerState.VALUE else None,
            }

    def repeated_answers(self, item: int, rater: str) -> tuple[Floats, Ints]:
        """One rater's answers to the same units, a column for each time they were asked, and the conversations."""
        number = next(place for place, who in enumerate(self.raters) if who.name == rater)
        here = np.flatnonzero((self.item == item) & (self.rater == number))
        units, place = np.unique(self.unit[here], return_inverse=True)
        times, column = np.unique(self.occasion[here], return_inverse=True)
        values = np.full((len(units), len(times)), np.nan)
        values[place, column] = self.value[here]
        return values, self.unit_conversation[units]

    def of_conversations(self, wanted: Bools) -> "RatingsTable":
        """Only the ratings of these conversations; the numbers of units and conversations stay."""
        keep = wanted[self.unit_conversation[self.unit]]
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

    def only(self, wanted: Bools) -> "Long":
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
    conversations_of: Callable[[Ints], list[ConversationInfo]],
    left_out: Counter[str],
    notes: tuple[str, ...] = (),
) -> RatingsTable:
    """Number units, conversations and occasions from 0, and drop raters without an answer."""
    answered, rater = np.unique(ratings.rater, return_inverse=True)
    present: list[int] = answered.tolist()
    keys, conversation = np.unique(ratings.conversation, return_inverse=True)
    span = int(ratings.turn.max(initial=0)) + 1
    pairs, unit = np.unique(conversation * span + ratings.turn, return_inverse=True)
    return RatingsTable(
        items=items,
        raters=tuple(who[place] for place in present),
        conversations=tuple(conversations_of(keys)),
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
    # Somebody who was only asked again has no answer in the main round.
    return np.where(repeat >= LATER, np.maximum(place[inverse], 1), place[inverse])


YES_NO = Scale((0.0, 1.0), ("not met", "met"))
"""The scale of criteria."""
OFF_SCALE = "off the scale, and refused"

_WORDS = {"NO": 0.0, "YES": 1.0}
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
    items = tuple(_rated_item(instrument, item) for item in instrument.items)
    who, rater_numbers, notes = _raters([rater for rater in study.raters() if not is_signals(rater.name)])
    item_numbers = {item.id: place for place, item in enumerate(items)}
    ratings = _joined(
        [_numbers(part, item_numbers, rater_numbers) for part in rating_columns(study, instrument, rater_numbers)]
    )
    left_out = Counter(count_other_ratings(study, instrument))
    examples = np.isin(ratings.conversation, example_conversations(study, instrument))
    ratings = _without(ratings, examples, "of worked examples of the instrument", left_out)
    simulated = np.array([one.kind is RaterKind.SIMULATION for one in who], dtype=np.bool_)
    ratings = _without(ratings, simulated[ratings.rater], "by simulated raters, who are not people", left_out)
    ratings = _without(ratings, _off_scale(ratings, items), OFF_SCALE, left_out)
    return numbered(ratings, items, who, lambda keys: _conversations(study, keys), left_out, notes)


def rater_name(rater: Rater) -> str:
    """The name under which a rater of a study is in the table."""
    if rater.kind is not RaterKind.PERSON:
        return rater.name
    return original_name(rater.name, rater.kind, dict(rater.settings))


def _raters(known: Sequence[Rater]) -> tuple[tuple[RaterRef, ...], dict[int, int], tuple[str, ...]]:
    """The raters, which of them each key of the study means, and a note on each person who has several keys.

    A person is who they say they are, whatever file their ratings came from. A judge with other settings is another.
    """
    found: dict[tuple[str, RaterKind], RaterRef] = {}
    numbers: dict[int, int] = {}
    notes: list[str] = []
    for rater in known:
        name = rater_name(rater)
        who = found.setdefault((name, rater.kind), RaterRef(name, rater.kind, rater.settings))
        if who.settings is not rater.settings:
            stated = {key: value for key, value in rater.settings.items() if value is not None}
            found[name, rater.kind] = who._replace(settings={**who.settings, **stated})
            notes.append(f"{name} occurs in several imports or projects and counts as one person.")
        numbers[rater.key] = list(found).index((name, rater.kind))
    return tuple(found.values()), numbers, tuple(dict.fromkeys(notes))


def _rated_item(instrument: Instrument, item: Item) -> RatedItem:
    fails = next((entry for entry in instrument.gate if entry.item == item.id), None)
    if isinstance(instrument.scale, Scores):
        values = tuple(float(score) for score in range(instrument.scale.lowest, instrument.scale.highest + 1))
        words = tuple(f"{value:g}" for value in values)
        failing = None if fails is None or fails.fails_at is None else (-np.inf, float(fails.fails_at))
        return RatedItem(item.id, item.title, Scale(values, words), failing)
    return RatedItem(item.id, item.title, YES_NO, None if fails is None else (0.0, 0.0))


def declare_failures(ratings: RatingsTable, declared: Sequence[str]) -> RatingsTable:
    """The ratings with what counts as a failure: `<=2`, `no` or `2` for all items, or `ITEM=<=2` for one.

    Raises:
        InputError: It names no item, or no answer of an item.
    """
    chosen: dict[str, str] = {}
    ids = [item.id for item in ratings.items]
    for entry in declared:
        name, sign, answers = entry.partition("=")
        if sign and name in ids:
            chosen[name] = answers
        elif sign and name.strip() not in {"", "<", ">"}:
            raise InputError(f"--fails {entry}: there is no item {name!r}; there are {', '.join(ids[:12])}")
        else:
            chosen = dict.fromkeys(ids, entry) | chosen
    items = [item._replace(fails=_failing(item, chosen[item.id])) if item.id in chosen else item
             for item in ratings.items]  # fmt: skip
    return replace(ratings, items=tuple(items))


def _failing(item: RatedItem, answers: str) -> tuple[float, float]:
    sign = answers.strip()[:2] if answers.strip()[:2] in {"<=", ">="} else ""
    word = " ".join(answers.strip().removeprefix(sign).split()).casefold()
    scale = item.scale
    known = {text.casefold(): value for text, value in zip(scale.words, scale.values, strict=True)}
    if scale is YES_NO:
        known |= {text.casefold(): value for text, value in _WORDS.items()}
    value = known.get(word)
    if value is None and sign and word.replace(".", "", 1).removeprefix("-").isdigit():
        value = float(word)  # a threshold between two answers
    if value is None or (sign and not scale.ordered):
        raise InputError(f"--fails {answers}: {item.id} has the answers {', '.join(scale.words[:12])}")
    return (-np.inf if sign == "<=" else value, np.inf if sign == ">=" else value)


def _numbers(part: RatingColumns, items: Mapping[str, int], raters: Mapping[int, int]) -> Long:
    states = np.array([_STATES[each] for each in part.state], dtype=np.int64)
    # A repeat round comes after every time the main round asked.
    later = np.array([LATER if each == Round.REPEAT else 0 for each in part.round], dtype=np.int64)
    value_of = {text: _value(text) for text in set(part.value)}
    values = np.array([value_of[text] for text in part.value], dtype=np.float64)
    return Long(
        np.array(part.conversation, dtype=np.int64),
        np.array(part.turn, dtype=np.int64),
        np.array([items[each] for each in part.item], dtype=np.int64),
        np.array([raters[each] for each in part.rater], dtype=np.int64),
        np.array(part.repeat, dtype=np.int64) + later,
        states,
        np.where(states == AnswerState.VALUE, values, np.nan),
    )


def _joined(parts: Sequence[Long]) -> Long:
    none = np.zeros(0, dtype=np.int64)
    numbers = [np.concatenate([none, *(part[:6][column] for part in parts)]) for column in range(6)]
    return long(numbers, np.concatenate([np.zeros(0), *(part.value for part in parts)]))


def _without(ratings: Long, gone: Bools, reason: str, left_out: Counter[str]) -> Long:
    if not gone.any():
        return ratings
    left_out[reason] += int(gone.sum())
    return ratings.only(~gone)


def _value(text: str | None) -> float:
    if text is None or text in _WORDS:
        return np.nan if text is None else _WORDS[text]
    try:
        return float(text)
    except ValueError:
        return np.nan


def _off_scale(ratings: Long, items: Sequence[RatedItem]) -> Bools:
    off = np.zeros(len(ratings.value), dtype=np.bool_)
    for number, item in enumerate(items):
        here = (ratings.item == number) & (ratings.state == AnswerState.VALUE)
        off |= here & ~np.isin(ratings.value, item.scale.values)
    return off


def _conversations(study: Study, keys: Ints) -> list[ConversationInfo]:
    wanted = set(keys.tolist())
    return [
        ConversationInfo(summary.key, summary.identity, summary.metadata)
        for page in study.summaries(5000)
        for summary in page
        if summary.key in wanted
    ]
