"""Who rates which unit, and in what order.

All functions are pure and seeded: the same project gets the same assignment on every machine. Each unit goes to the
requested number of raters, workloads differ by at most one unit, and every rater has a different order.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from random import Random
from typing import NamedTuple

from attunement.errors import InputError
from attunement.ratings import Round


class ListEntry(NamedTuple):
    unit: int
    round: Round


def deal(
    units: Sequence[int],
    raters: Sequence[int],
    per_unit: int,
    *,
    seed: str,
    load: Mapping[int, int] | None = None,
    taken: Mapping[int, Collection[int]] | None = None,
) -> dict[int, list[int]]:
    """Give every unit to `per_unit` different raters, always those with the fewest units.

    `load` is the number of units a rater already has; `taken` are the raters who have or had a unit and must not get it
    again.

    Raises:
        InputError: There are not enough raters for a unit.
    """
    chance = Random(seed)  # noqa: S311 - deals out work, guards nothing
    counts = {rater: (load or {}).get(rater, 0) for rater in raters}
    dealt: dict[int, list[int]] = {rater: [] for rater in raters}
    for unit in chance.sample(list(units), len(units)):
        free = [rater for rater in raters if rater not in (taken or {}).get(unit, ())]
        if len(free) < per_unit:
            raise InputError(
                f"each unit needs {per_unit} raters, but only {len(free)} are available: add raters, or use fewer per "
                f"unit"
            )
        chance.shuffle(free)
        for rater in sorted(free, key=lambda rater: counts[rater])[:per_unit]:  # stable: the shuffle decides ties
            counts[rater] += 1
            dealt[rater].append(unit)
    return dealt


def schedule(
    units: Sequence[int],
    *,
    seed: str,
    repeats: float = 0.0,
    gap: int = 20,
    gold: Sequence[int] = (),
    attention: Sequence[int] = (),
) -> list[ListEntry]:
    """The order of one rater's work: their units shuffled, known ones spread among them, and some a second time.

    A repeat comes at least `gap` positions after the first time. In a list too short for that, the first units are
    repeated at its end, to be as far apart as possible. A list with one unit repeats nothing.
    """
    chance = Random(seed)  # noqa: S311 - deals out work, guards nothing
    entries = [ListEntry(unit, Round.MAIN) for unit in chance.sample(list(units), len(units))]
    known = [ListEntry(unit, Round.GOLD) for unit in gold] + [ListEntry(unit, Round.ATTENTION) for unit in attention]
    chance.shuffle(known)
    for entry in known:
        # Not at the start, where raters are still learning.
        entries.insert(chance.randint(math.ceil(len(entries) / 10), len(entries)), entry)
    count = round(repeats * len(units)) if len(units) > 1 else 0
    main = [(at, entry) for at, entry in enumerate(entries) if entry.round is Round.MAIN]
    roomy = [entry for at, entry in main if at + gap <= len(entries)]
    tight = [entry for at, entry in main if at + gap > len(entries)]
    repeated = chance.sample(roomy, min(count, len(roomy)))
    for entry in repeated + tight[: count - len(repeated)]:
        at = entries.index(entry)
        # Insertions in between only increase the distance from the first time.
        entries.insert(chance.randint(min(at + gap, len(entries)), len(entries)), ListEntry(entry.unit, Round.REPEAT))
    return entries


def fair_share(waiting: Mapping[int, Sequence[int]], *, seed: str) -> list[tuple[int, int]]:
    """Which units a new rater takes over from which raters, until no rater has fewer units than the new one.

    `waiting` are the units that a rater has not begun. Each unit is taken over once, so that it keeps as many different
    raters as before. Returns pairs of rater and unit.
    """
    chance = Random(seed)  # noqa: S311 - deals out work, guards nothing
    left = {rater: chance.sample(list(units), len(units)) for rater, units in waiting.items()}
    taken: dict[int, int] = {}
    while left:
        most = max(left, key=lambda rater: len(left[rater]))
        if len(left[most]) <= len(taken) + 1:
            break
        unit = next((unit for unit in left[most] if unit not in taken), None)
        if unit is None:
            del left[most]
            continue
        left[most].remove(unit)
        taken[unit] = most
    return [(rater, unit) for unit, rater in taken.items()]
