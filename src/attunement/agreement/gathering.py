"""The ratings of a study that agreement rests on, straight from the database into columns of numbers.

Only answers of the main round enter, beside those that a rater gave when asked again. Simulated raters, other wordings
of an item, worked examples and values off the scale are left out, and counted.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from sqlalchemy import ColumnElement, Connection, func, select

from attunement.agreement.gathered import LATER, Answered, AskedItem, Gathered, Long, Scale, Talk, Who, long, numbered
from attunement.agreement.tables import Bools, Floats, Ints
from attunement.conversations import Turn
from attunement.conversations.model import fingerprint
from attunement.instruments import Instrument, Item, Scores
from attunement.ratings import ErrorKind, RaterKind, Round, State
from attunement.scoring import is_signals
from attunement.study import Study
from attunement.study.tables import conversations, ratings

YES_NO = Scale((0.0, 1.0), ("not met", "met"))
"""The scale of criteria."""
OFF_SCALE = "off the scale, and refused"

_ROWS_AT_ONCE = 50_000
_STATES: dict[str, Answered] = {
    State.VALUE: Answered.VALUE,
    State.NA: Answered.NA,
    State.ABSTAINED: Answered.ABSTAINED,
    State.ERROR: Answered.ERROR,
    State.NOT_DUE: Answered.NOTHING,
}


def gather(study: Study, instrument: Instrument) -> Gathered:
    """All ratings of a study with the items of `instrument`, as they are worded there.

    Left out, and counted: other rounds than the main one and repeats, simulated raters, other wordings of an item,
    values off the scale, and conversations that are worked examples of the instrument.
    """
    items = tuple(_asked(instrument, item) for item in instrument.items)
    left_out: Counter[str] = Counter()
    known = [rater for rater in study.raters() if not is_signals(rater.name)]
    who = tuple(Who(rater.name, rater.kind, rater.settings) for rater in known)
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


def _asked(instrument: Instrument, item: Item) -> AskedItem:
    fails = next((entry for entry in instrument.gate if entry.item == item.id), None)
    if isinstance(instrument.scale, Scores):
        values = tuple(float(score) for score in range(instrument.scale.lowest, instrument.scale.highest + 1))
        words = tuple(f"{value:g}" for value in values)
        fails_at = None if fails is None or fails.fails_at is None else float(fails.fails_at)
        return AskedItem(item.id, item.title, Scale(values, words), fails_at)
    return AskedItem(item.id, item.title, YES_NO, None if fails is None else 0.0)


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
                    np.where(codes == Answered.VALUE, _values(value), np.nan),
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


def _on_scale(columns: Long, items: Sequence[AskedItem], left_out: Counter[str]) -> Long:
    off = np.zeros(len(columns.value), dtype=np.bool_)
    for number, item in enumerate(items):
        here = (columns.item == number) & (columns.state == Answered.VALUE)
        off |= here & ~np.isin(columns.value, item.scale.values)
    return _without(columns, off, OFF_SCALE, left_out)


def _talks(study: Study, keys: Ints) -> list[Talk]:
    wanted = set(keys.tolist())
    return [
        Talk(summary.key, summary.identity, summary.metadata)
        for page in study.summaries(5000)
        for summary in page
        if summary.key in wanted
    ]
