"""Who rates what, and in which order?

Everything here is pure and follows from a seed: the same project is dealt out the same way on every machine. Each unit
goes to as many raters as asked for, nobody gets more than one unit more than another, and every rater has an order of
their own.
"""

import math
from collections.abc import Collection, Mapping, Sequence
from random import Random
from typing import NamedTuple

from attunement.errors import InputError
from attunement.ratings import Round


class Place(NamedTuple):
    """One position in a rater's list."""

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
    """Give every unit to `per_unit` different raters, each time to those who have the least, and say who got what.

    Args:
        units: The units to give out.
        raters: Who can take them.
        per_unit: To how many raters each unit goes.
        seed: What chance starts from.
        load: How many units a rater has already.
        taken: For a unit, the raters who have or had it and do not get it again.

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
                f"a unit needs {per_unit} raters and {len(free)} can take it: add raters, or ask for fewer per unit"
            )
        chance.shuffle(free)
        for rater in sorted(free, key=lambda rater: counts[rater])[:per_unit]:  # stable: chance decides between equals
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
) -> list[Place]:
    """The order of one rater's work: their units shuffled, known ones spread among them, and some a second time.

    A repeat comes at least `gap` positions after the first time; in a list too short for that, those that came first
    are repeated at its end, so that it is as far as can be. A list with one unit repeats nothing.
    """
    chance = Random(seed)  # noqa: S311 - deals out work, guards nothing
    places = [Place(unit, Round.MAIN) for unit in chance.sample(list(units), len(units))]
    known = [Place(unit, Round.GOLD) for unit in gold] + [Place(unit, Round.ATTENTION) for unit in attention]
    chance.shuffle(known)
    for place in known:
        # Not at the start: whoever is still finding their way is not yet to be checked.
        places.insert(chance.randint(math.ceil(len(places) / 10), len(places)), place)
    count = round(repeats * len(units)) if len(units) > 1 else 0
    for place in _repeated(places, count, gap, chance):
        at = places.index(place)
        # What is put in between only moves the second time further away from the first.
        places.insert(chance.randint(min(at + gap, len(places)), len(places)), Place(place.unit, Round.REPEAT))
    return places


def _repeated(places: Sequence[Place], count: int, gap: int, chance: Random) -> list[Place]:
    """Which units come a second time: any of those after which there is room, then the first of the others."""
    main = [(at, place) for at, place in enumerate(places) if place.round is Round.MAIN]
    roomy = [place for at, place in main if at + gap <= len(places)]
    tight = [place for at, place in main if at + gap > len(places)]
    chosen = chance.sample(roomy, min(count, len(roomy)))
    return chosen + tight[: count - len(chosen)]


def fair_share(waiting: Mapping[int, Sequence[int]], *, seed: str) -> list[tuple[int, int]]:
    """Which units a newcomer takes over from which raters, so that nobody is left with more than the newcomer has.

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
