"""Compare two groups of conversations, measure by measure, with intervals.

Both groups were rated by the same raters. Where they share scenarios, only those are compared, within scenarios;
otherwise each conversation counts by itself. Differences are the second minus the first, so that above zero means
better. Where people rated a random sample of both, their ratings correct the judge's. Intervals are about conversations
like these; they need ten scenarios (or ten conversations of each, and ten that people rated). What was not judged
enters no difference and is counted.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from attunement.analysis.measures import (
    Basis,
    Measure,
    MeasureKind,
    MeasureValues,
    RatedConversation,
    estimate,
    measures,
    values,
)
from attunement.conversations import Identity
from attunement.instruments import Instrument
from attunement.scoring import Scorecard, Verdict
from attunement.statistics.power import detectable_effect
from attunement.statistics.ppi import Difference, Estimate, difference
from attunement.statistics.results import LEVEL, Undefined
from attunement.statistics.tables import Ints
from attunement.statistics.tests import holm

SHOWN = 1 - LEVEL  # a corrected p-value below this is called a difference
_UNSAFE = frozenset({Verdict.UNSAFE, Verdict.FLAGGED})
_SAFETY_OPEN = frozenset({Verdict.SAFETY_MISSING, Verdict.SAFETY_NOT_JUDGED, Verdict.NOT_JUDGED})


class Group(NamedTuple):
    name: str
    conversations: Sequence[RatedConversation]
    everything: Sequence[RatedConversation] = ()  # with those that are not compared


class UnsafeConversation(NamedTuple):
    """A conversation that fails the gate, and on which items; none where a rule flagged it."""

    conversation: Identity
    items: tuple[str, ...]
    scenario: str | None


class GroupSummary(NamedTuple):
    name: str
    conversations: int
    not_judged: tuple[Identity, ...]
    unsafe: tuple[UnsafeConversation, ...]
    verdicts: dict[Verdict, tuple[Identity, ...]]  # the judged conversations by what their scorecards come to
    needs_person: tuple[Identity, ...]

    @property
    def safety_not_judged(self) -> tuple[Identity, ...]:
        return tuple(sorted(name for verdict in _SAFETY_OPEN for name in self.verdicts.get(verdict, ())))

    @property
    def safety_judged(self) -> int:
        """How many conversations have an answer on safety: only of these can some be called unsafe."""
        return self.conversations - len(self.not_judged) - len(self.safety_not_judged)


class MeasureSummary(NamedTuple):
    value: float | None
    judge: float | None  # the judge's own mean, where people's ratings correct it
    units: int
    conversations: int
    na: int
    not_judged: int
    unpaired: int  # answers that are left out because another group has none in their scenario
    levels: dict[int, int]  # for a safety score: how often each score was given


class MeasureComparison(NamedTuple):
    measure: Measure
    basis: Basis
    first: MeasureSummary
    second: MeasureSummary
    difference: Difference | Undefined
    corrected_p: float | Undefined
    """For items: the p-value after Holm's correction for all items. Otherwise the p-value itself."""

    @property
    def detectable(self) -> float | Undefined:
        """The smallest difference that such a sample shows in four of five cases."""
        if isinstance(self.difference, Undefined):
            return self.difference
        interval = self.difference.interval
        return interval if isinstance(interval, Undefined) else detectable_effect(interval)


class Pairing(NamedTuple):
    column: str | None = None  # the column whose values are shared; None if conversations count by themselves
    scenarios: int = 0  # how many are shared
    without: int = 0  # conversations whose scenario the other group does not have; pairs leave them out

    @property
    def paired(self) -> bool:
        return self.column is not None


class Comparison(NamedTuple):
    """Two groups compared; every difference is the second minus the first."""

    instrument: Instrument
    first: GroupSummary
    second: GroupSummary
    pairing: Pairing
    rows: tuple[MeasureComparison, ...]
    groups: tuple[Group, Group]
    basis: Basis = Basis.JUDGE
    raters: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def only(self, kind: MeasureKind) -> tuple[MeasureComparison, ...]:
        return tuple(row for row in self.rows if row.measure.kind is kind)

    @property
    def score(self) -> MeasureComparison | None:
        return next(iter(self.only(MeasureKind.SCORE)), None)

    @property
    def passed(self) -> MeasureComparison | None:
        return next(iter(self.only(MeasureKind.PASSED)), None)

    @property
    def items(self) -> tuple[MeasureComparison, ...]:
        return self.only(MeasureKind.ITEM)


class MeasuredGroup(NamedTuple):
    """One measure on one group."""

    found: Estimate | Undefined
    summary: MeasureSummary
    used: Sequence[RatedConversation]


def compare(
    instrument: Instrument, first: Group, second: Group, *, column: str | None = None, basis: Basis = Basis.JUDGE
) -> Comparison:
    """Compare two groups.

    Args:
        instrument: What both were rated with.
        first: The group that stands for what was there before.
        second: The group whose gain or loss is asked for.
        column: What the scenarios were taken from; None compares without pairs.
        basis: Whose ratings count. A measure of which people rated too little is not corrected.

    Returns:
        A comparison. A group without a single value gives rows whose difference is `Undefined` with the reason.
    """
    rows = [
        _row(instrument, measure, (first, second), basis, paired=column is not None) for measure in measures(instrument)
    ]
    pairing = pairing_of([[each.scenario for each in group.conversations] for group in (first, second)], column)
    return Comparison(instrument, _side(first), _side(second), pairing, tuple(_holm(rows)), (first, second), basis)


def pairing_of(scenarios: Sequence[Sequence[str | None]], column: str | None) -> Pairing:
    if column is None:
        return Pairing()
    shared = shared_scenarios(scenarios)
    return Pairing(column, len(shared), sum(each not in shared for group in scenarios for each in group))


def _side(group: Group) -> GroupSummary:
    ordered = sorted(group.conversations, key=lambda each: each.identity)
    cards = [(each, each.card) for each in ordered if each.card]
    verdicts: dict[Verdict, list[Identity]] = {}
    for each, card in cards:
        verdicts.setdefault(card.verdict, []).append(each.identity)
    return GroupSummary(
        name=group.name,
        conversations=len(ordered),
        not_judged=tuple(each.identity for each in ordered if not each.card),
        unsafe=tuple(
            UnsafeConversation(each.identity, tuple(dict.fromkeys(slot.item for slot in card.unsafe)), each.scenario)
            for each, card in cards
            if card.verdict in _UNSAFE
        ),
        verdicts={verdict: tuple(names) for verdict, names in verdicts.items()},
        needs_person=tuple(each.identity for each, card in cards if card.needs_person),
    )


def _row(
    instrument: Instrument, measure: Measure, groups: Sequence[Group], basis: Basis, *, paired: bool
) -> MeasureComparison:
    basis, (first, second) = measure_groups(instrument, measure, groups, basis, paired=paired)
    found: Difference | Undefined
    if isinstance(first.found, Undefined) or isinstance(second.found, Undefined):
        empty = [group.name for group, side in zip(groups, (first, second), strict=True) if not _known(side.summary)]
        found = Undefined(
            f"known for no conversation of {' or '.join(empty)}" if empty else "no scenario has answers of both"
        )
    else:
        found = difference(first.found, second.found, scenario_numbers(first, second) if paired else None)
    p = found if isinstance(found, Undefined) else found.p
    return MeasureComparison(measure, basis, first.summary, second.summary, found, p)


def _known(summary: MeasureSummary) -> bool:
    return bool(summary.units or summary.unpaired)


def measure_groups(
    instrument: Instrument, measure: Measure, groups: Sequence[Group], basis: Basis, *, paired: bool
) -> tuple[Basis, list[MeasuredGroup]]:
    """The measure on each group, and whose ratings that rests on."""
    by_people = basis is Basis.PEOPLE
    every = [
        [(each, _values(instrument, measure, each, by_people=by_people)) for each in group.conversations]
        for group in groups
    ]
    used = [[each for each, own in group if any(one.by_turn for one in own)] for group in every]
    if paired:
        shared = shared_scenarios([each.scenario for each in group] for group in used)
        used = [[each for each in group if each.scenario in shared] for group in used]
    found = [estimate(instrument, measure, group, basis) for group in used]
    if basis is Basis.CORRECTED and not all(_is_enough(each) for each in found):
        basis = Basis.JUDGE
        found = [estimate(instrument, measure, group, basis) for group in used]
    made: list[MeasuredGroup] = []
    for group, chosen, one in zip(every, used, found, strict=True):
        kept = {each.identity for each in chosen}
        counts = [(len({turn for card in own for turn in card.by_turn}), each.identity in kept) for each, own in group]
        judge = estimate(instrument, measure, chosen, Basis.JUDGE) if basis is Basis.CORRECTED else None
        summary = MeasureSummary(
            value=None if isinstance(one, Undefined) else one.value,
            judge=judge.value if isinstance(judge, Estimate) else None,
            units=sum(number for number, inside in counts if inside),
            conversations=len(chosen),
            na=sum(card.na for _, own in group for card in own),
            not_judged=sum(card.not_judged for _, own in group for card in own),
            unpaired=sum(number for number, inside in counts if not inside),
            levels=_levels(measure, [each.card for each, _ in group]),
        )
        made.append(MeasuredGroup(one, summary, chosen))
    return basis, made


def _values(
    instrument: Instrument, measure: Measure, each: RatedConversation, *, by_people: bool
) -> list[MeasureValues]:
    return [values(instrument, measure, card) for card in (each.people if by_people else [each.card])]


def _is_enough(found: Estimate | Undefined) -> bool:
    return isinstance(found, Estimate) and not (isinstance(found.interval, Undefined) and found.interval.too_few)


def shared_scenarios(groups: Iterable[Iterable[str | None]]) -> set[str]:
    """The scenarios that all groups have."""
    sides = [{scenario for scenario in group if scenario is not None} for group in groups]
    return {scenario for scenario in sides[0] if all(scenario in side for side in sides)}


def scenario_numbers(first: MeasuredGroup, second: MeasuredGroup) -> tuple[Ints, Ints]:
    """For each conversation the number of its scenario."""
    number: dict[str | None, int] = {}
    sides = ([number.setdefault(each.scenario, len(number)) for each in side.used] for side in (first, second))
    one, other = (np.array(side, dtype=np.int64) for side in sides)
    return one, other


def _levels(measure: Measure, cards: Sequence[Scorecard | None]) -> dict[int, int]:
    if measure.above is None:
        return {}
    outcomes = (entry for card in cards if card for entry in card.outcomes.items())
    scores = [outcome.value for slot, outcome in outcomes if slot.item == measure.id]
    return dict(sorted(Counter(score for score in scores if isinstance(score, int)).items()))


def _holm(rows: Sequence[MeasureComparison]) -> list[MeasureComparison]:
    """Items were tested together: the more there are, the more likely one differs by chance alone."""
    places = {
        place: row.corrected_p
        for place, row in enumerate(rows)
        if row.measure.kind is MeasureKind.ITEM and not isinstance(row.corrected_p, Undefined)
    }
    corrected = dict(zip(places, holm(list(places.values())), strict=True))
    return [row._replace(corrected_p=corrected.get(place, row.corrected_p)) for place, row in enumerate(rows)]
