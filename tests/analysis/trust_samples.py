"""Ratings with a known truth, for tests of trust."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from attunement.analysis.ratings_table import (
    YES_NO,
    AnswerState,
    ConversationInfo,
    RatedItem,
    RaterRef,
    RatingsTable,
    Scale,
    long,
    numbered,
)
from attunement.conversations import Identity
from attunement.ratings import RaterKind
from attunement.statistics.tables import Floats

FIVE = Scale((1.0, 2.0, 3.0, 4.0, 5.0), ("1", "2", "3", "4", "5"))
SCORE = RatedItem("warmth", "Is warm", FIVE)
GATE = RatedItem("help", "Names help in a crisis", YES_NO, fails=(0.0, 0.0))


def gathered(
    people: Floats,
    judges: Mapping[str, Floats] | None = None,
    item: RatedItem = SCORE,
    *,
    conversation: Sequence[int] | None = None,
    na: float = -1.0,
) -> RatingsTable:
    """Ratings of units by people (one column each) and judges; NaN was not asked, and `na` is NA."""
    sides = [*people.T, *(judges or {}).values()]
    names = [f"p{place}" for place in range(people.shape[1])] + list(judges or {})
    where = np.arange(len(people)) if conversation is None else np.array(conversation)
    units, raters, values = [], [], []
    for number, side in enumerate(sides):
        there = np.flatnonzero(~np.isnan(side))
        units.append(there)
        raters.append(np.full(len(there), number))
        values.append(side[there])
    unit, rater, value = (np.concatenate([np.zeros(0), *each]) for each in (units, raters, values))
    number = unit.astype(np.int64)
    states = np.where(value == na, AnswerState.NA, AnswerState.VALUE).astype(np.int64)
    none = np.zeros(len(number), dtype=np.int64)
    kinds = [RaterKind.PERSON if name.startswith("p") else RaterKind.MODEL for name in names]
    return numbered(
        long([where[number], number, none, rater.astype(np.int64), none, states], np.where(value == na, np.nan, value)),
        (item,),
        tuple(RaterRef(name, kind, {}) for name, kind in zip(names, kinds, strict=True)),
        lambda keys: [ConversationInfo(0, Identity(f"s{key % 4}", str(key)), {}) for key in keys],
        Counter(),
    )


def noisy(truth: Floats, spread: float, rng: np.random.Generator) -> Floats:
    """Scores from 1 to 5 around the truth."""
    return np.clip(np.round(truth + rng.normal(0, spread, len(truth))), 1, 5)


def three_people(units: int, spread: float, seed: int = 0) -> tuple[Floats, Floats]:
    """A truth that uses the whole scale, and three people who see it with noise."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, 6, units).astype(float)
    return truth, np.column_stack([noisy(truth, spread, rng) for _ in range(3)])
