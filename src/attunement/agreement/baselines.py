"""What do trivial judges reach that only count words or question marks, or always say the same?

A judge that does not agree with people better than these has understood nothing. A count becomes answers on the
scale by its rank, so that its answers are as common as the people's; whether more words mean a higher or a lower
answer is chosen in its favour.
"""

from collections.abc import Mapping

import numpy as np

from attunement.agreement.gathered import Gathered, Scale
from attunement.agreement.single_raters import judge_statistic
from attunement.agreement.tables import Floats, places
from attunement.conversations.lengths import words
from attunement.ratings import RaterKind
from attunement.study import Study

CONSTANT, WORD_COUNT, QUESTION_MARKS = "always the same", "word count", "question marks"

_QUESTION = "?\uff1f\u061f"
"""Question marks of the Latin, Chinese and Arabic scripts."""


def text_counts(study: Study, gathered: Gathered) -> dict[str, Floats]:
    """For each unit the words and the question marks of the replies it is about; empty where there is no text.

    Only units that people rated are counted.
    """
    units: dict[int, list[int]] = {}
    for unit in _units_of_people(gathered):
        units.setdefault(gathered.talks[int(gathered.unit_conversation[unit])].key, []).append(unit)
    counts = {name: np.full(len(gathered.unit_turn), np.nan) for name in (WORD_COUNT, QUESTION_MARKS)}
    for key, conversation in study.conversations() if units else ():
        for unit in units.get(key, ()):
            turn = int(gathered.unit_turn[unit])
            replies = [each.assistant for each in (conversation.turns[turn - 1 : turn] if turn else conversation.turns)]
            if any(replies):
                counts[WORD_COUNT][unit] = sum(words(reply) for reply in replies)
                counts[QUESTION_MARKS][unit] = sum(reply.count(mark) for reply in replies for mark in _QUESTION)
    return {} if np.isnan(counts[WORD_COUNT]).all() else counts


def baselines(counts: Mapping[str, Floats], people: Floats, scale: Scale) -> dict[str, Floats]:
    """The answers of the trivial judges to the units of `people`, by name.

    Args:
        counts: For each of these units what was counted, as in `text_counts`.
        people: One row a unit, one column a person, NaN where they gave no value.
        scale: The answers that are possible. Without an order counts say nothing about them.
    """
    rated = (~np.isnan(people)).any(axis=1)
    given = people[~np.isnan(people)]
    if not given.size:
        return {}
    shares = np.array([(given == value).sum() for value in scale.values])
    made = {CONSTANT: np.where(rated, scale.values[int(shares.argmax())], np.nan)}
    if scale.ordered:
        for name, count in counts.items():
            if answers := _answers(np.where(rated, count, np.nan), shares, scale):
                made[name] = max(answers, key=lambda each: _reached(each, people))
    return made


def _answers(count: Floats, shares: Floats, scale: Scale) -> tuple[Floats, Floats] | None:
    """The count as answers that are as common as `shares` says: rising with it, and falling."""
    known = ~np.isnan(count)
    place = places(count[known])
    if len(place) < 2 or place.max() == 0:
        return None
    often = np.bincount(place)
    middle = ((np.cumsum(often) - often / 2) / len(place))[place]
    ends = np.cumsum(shares)[:-1] / shares.sum()
    values = np.array(scale.values)
    made: list[Floats] = []
    for rank in (middle, 1 - middle):
        answers = np.full(len(count), np.nan)
        answers[known] = values[np.searchsorted(ends, rank)]
        made.append(answers)
    return made[0], made[1]


def _reached(answers: Floats, people: Floats) -> float:
    value = judge_statistic(answers, people).value()
    return -np.inf if np.isnan(value) else value


def _units_of_people(gathered: Gathered) -> list[int]:
    person = np.array([who.kind is RaterKind.PERSON for who in gathered.raters], dtype=np.bool_)
    return np.unique(gathered.unit[person[gathered.rater]]).tolist() if person.any() else []
