"""Put groups of conversations in order, say which places each may have, and whether another judge may see it otherwise.

The places follow from the differences of all pairs, after Holm's correction: groups that are shown to be better come
before a group, and those shown to be worse after it. All of these places hold together in 95 of 100 studies.

Source: M. Mogstad et al., Review of Economic Studies 91 (2024).
"""

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from attunement.analysis.compare import SHOWN, Group, MeasuredGroup, Pairing, measure_groups, scenario_numbers
from attunement.analysis.measures import Basis, Measure, RatedConversation, main_measures, values
from attunement.instruments import Instrument
from attunement.statistics.ppi import Estimate, difference
from attunement.statistics.results import Undefined
from attunement.statistics.tables import Floats
from attunement.statistics.tests import holm

_DRAWS = 20_000


class RankedGroup(NamedTuple):
    name: str
    conversations: int
    found: Estimate
    best: int  # the first and the last place that it may have
    last: int


class OtherJudge(NamedTuple):
    """What another judge may say, as far as the judges differ on these conversations."""

    judges: int
    other_order: float  # the chance that it puts the groups in another order
    other_first: float  # the chance that it puts another group first


class Ranking(NamedTuple):
    """Groups by one measure, the best first."""

    measure: Measure
    basis: Basis
    groups: tuple[RankedGroup, ...]
    without: tuple[str, ...]  # groups without a value
    other_judge: OtherJudge | None  # None where fewer than two judges rated all groups


class RankedStudy(NamedTuple):
    instrument: Instrument
    rankings: tuple[Ranking, ...]
    pairing: Pairing
    groups: tuple[Group, ...]
    raters: tuple[str, ...]
    notes: tuple[str, ...]


def rank(
    instrument: Instrument, groups: Sequence[Group], *, paired: bool = False, basis: Basis = Basis.JUDGE
) -> list[Ranking]:
    """Put groups in order by each main measure."""
    return [_ranking(instrument, measure, groups, basis, paired=paired) for measure in main_measures(instrument)]


def _ranking(
    instrument: Instrument, measure: Measure, groups: Sequence[Group], basis: Basis, *, paired: bool
) -> Ranking:
    basis, measured = measure_groups(instrument, measure, groups, basis, paired=paired)
    known = [
        (group.name, side, side.found)
        for group, side in zip(groups, measured, strict=True)
        if isinstance(side.found, Estimate)
    ]
    known.sort(key=lambda entry: -entry[2].value)
    pairs: dict[tuple[int, int], float] = {}
    for one, other in combinations(range(len(known)), 2):
        scenarios = scenario_numbers(known[other][1], known[one][1]) if paired else None
        found = difference(known[other][2], known[one][2], scenarios)
        if not isinstance(found.p, Undefined):
            pairs[one, other] = found.p
    shown = {pair for pair, p in zip(pairs, holm(list(pairs.values())), strict=True) if p < SHOWN}
    ranked = tuple(
        RankedGroup(
            name,
            side.summary.conversations,
            found,
            best=1 + sum((other, place) in shown for other in range(place)),
            last=len(known) - sum((place, other) in shown for other in range(place + 1, len(known))),
        )
        for place, (name, side, found) in enumerate(known)
    )
    without = tuple(group.name for group in groups if group.name not in {each.name for each in ranked})
    return Ranking(measure, basis, ranked, without, _other_judge(instrument, measure, [side for _, side, _ in known]))


def _other_judge(instrument: Instrument, measure: Measure, sides: Sequence[MeasuredGroup]) -> OtherJudge | None:
    """How likely another judge is to put these groups, the best first, in another order.

    The judges are taken for a sample of those that might have been asked: a new one differs from their mean as they
    differ from it (the predictive distribution of a normal sample, all groups together).
    """
    names = sorted({card.rater for side in sides for each in side.used for card in each.judges})
    means = [[_own_mean(instrument, measure, side.used, name) for side in sides] for name in names]
    by_judge = np.array([row for row in means if None not in row], dtype=np.float64)
    if len(by_judge) < 2 or len(sides) < 2:
        return None
    off = by_judge - by_judge.mean(axis=0)
    rng, free = np.random.default_rng(0), len(by_judge) - 1
    scale = np.sqrt((1 + 1 / len(by_judge)) / free / (rng.chisquare(free, _DRAWS) / free))
    drawn: Floats = by_judge.mean(axis=0) + scale[:, None] * (rng.normal(size=(_DRAWS, len(by_judge))) @ off)
    order = np.diff(drawn, axis=1) > 0
    first = drawn[:, :1] < drawn[:, 1:]
    return OtherJudge(len(by_judge), float(order.any(axis=1).mean()), float(first.any(axis=1).mean()))


def _own_mean(
    instrument: Instrument, measure: Measure, conversations: Sequence[RatedConversation], judge: str
) -> float | None:
    given = [
        value
        for each in conversations
        for card in each.judges
        if card.rater == judge
        for value in values(instrument, measure, card).by_turn.values()
    ]
    return float(np.mean(given)) if given else None
