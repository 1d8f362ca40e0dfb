"""Does a rater give higher or lower answers than the others, and does that change while they work?

Each answer is held against the mean of what the other raters said about the same item of the same unit. Scores are
compared in levels of the scale; for criteria "met" is 1 and "not met" 0. The intervals rest on whole conversations.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from attunement.agreement.comparing import Difference, independent_difference
from attunement.agreement.gathered import Gathered
from attunement.agreement.means import Mean, mean
from attunement.agreement.results import Undefined
from attunement.agreement.tables import Floats, Ints

When = Mapping[tuple[int, int], str]
"""By the key of a conversation and the turn: when a rater handed the unit in."""


class Severity(NamedTuple):
    """How a rater stands to the others. Below zero is more severe, above it more lenient."""

    mean: Mean | Undefined
    drift: Difference | Undefined
    """The later half of their units minus the earlier half."""


def severity(gathered: Gathered, people: Sequence[str], when: Mapping[str, When]) -> dict[str, Severity]:
    """How each of these people stands to the others among them.

    Args:
        gathered: The ratings.
        people: The names of the raters.
        when: By rater, when each unit was handed in; what has no time does not enter the drift.
    """
    apart: dict[str, list[Floats]] = {name: [] for name in people}
    units: dict[str, list[Ints]] = {name: [] for name in people}
    for number in range(len(gathered.items)):
        sheet = gathered.sheet(number).columns(people)
        for column, who in enumerate(sheet.raters):
            apart[who.name].append(_apart(sheet.values, column))
            units[who.name].append(sheet.units)
    return {name: _severity(gathered, apart[name], units[name], when.get(name, {})) for name in people}


def _apart(values: Floats, column: int) -> Floats:
    """One rater's answers minus the mean of the others', NaN where there is none to compare."""
    others = np.delete(values, column, axis=1)
    there = ~np.isnan(others)
    count = there.sum(axis=1)
    total = np.where(there, others, 0.0).sum(axis=1)
    return values[:, column] - np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _severity(gathered: Gathered, apart: Sequence[Floats], units: Sequence[Ints], when: When) -> Severity:
    nothing = Undefined("nobody else rated the same units")
    if not apart:
        return Severity(nothing, nothing)
    values, unit = np.concatenate(apart), np.concatenate(units)
    conversation = gathered.unit_conversation[unit]
    found = mean(values, conversation)
    if isinstance(found, Undefined):
        return Severity(nothing, nothing)
    times = {
        number: when[place]
        for number in set(unit.tolist())
        if (place := (gathered.talks[gathered.unit_conversation[number]].key, int(gathered.unit_turn[number]))) in when
    }
    ordered = sorted(times, key=lambda number: (times[number], number))
    early, late = (np.isin(unit, part) for part in (ordered[: len(ordered) // 2], ordered[len(ordered) // 2 :]))
    drift = independent_difference(values[late], values[early], (conversation[late], conversation[early]))
    return Severity(found, drift)
