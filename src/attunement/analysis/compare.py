"""Compare two groups of conversations, measure by measure, with intervals.

Both groups were judged by the same raters. Where they share scenarios, conversations are compared within scenarios;
otherwise each conversation stands for itself. Differences are the second minus the first, so that above zero means
better; intervals are cluster-robust and exist from ten scenarios (or ten conversations of each) on. What was not
judged enters no difference and is counted.

A measure is an item, a category, the weighted score or the pass rate; higher is better in each. What has no value is
counted by its reason and never becomes a number: an item that does not apply, or an answer that is not there. A
safety score has no mean of its own: its measure is the share of replies above the level at which it fails.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

import numpy as np

from attunement.conversations import Identity
from attunement.instruments import Instrument, Scores
from attunement.ratings import State
from attunement.scoring import Scorecard, Verdict, is_failure
from attunement.statistics.power import detectable_effect
from attunement.statistics.results import Undefined
from attunement.statistics.tests import (
    Difference,
    McNemar,
    fisher,
    holm,
    independent_difference,
    mcnemar,
    paired_difference,
)

_DECIDED = frozenset({Verdict.PASS, Verdict.FAIL, Verdict.UNSAFE})


class MeasureKind(StrEnum):
    ITEM = "item"
    CATEGORY = "category"
    SCORE = "score"
    PASSED = "passed"


class Measure(NamedTuple):
    kind: MeasureKind
    id: str
    title: str
    is_share: bool  # a share of conversations or replies; otherwise a mean on the instrument's scale
    above: int | None = None  # for a safety score: replies count as good above this one

    @property
    def name(self) -> str:
        return self.id if self.kind in {MeasureKind.SCORE, MeasureKind.PASSED} else f"{self.kind}:{self.id}"


class MeasureValues(NamedTuple):
    """What a scorecard says about a measure."""

    by_turn: Mapping[int | None, float] = {}
    """One value for each reply that has one; under None what is about the whole conversation."""
    na: int = 0  # answers that the item does not apply
    not_judged: int = 0  # no answer: an ERROR, nothing, or a rater who has no way to know


def measures(instrument: Instrument) -> Iterator[Measure]:
    """Everything the instrument's scorecards can be compared by: the whole first, then categories, then items."""
    if instrument.scoring.weights:
        yield Measure(MeasureKind.SCORE, "score", "Overall score", is_share=False)
    if instrument.scoring.threshold is not None:
        yield Measure(MeasureKind.PASSED, "passed", "Passed", is_share=True)
    for category in instrument.scoring.weights:
        yield Measure(MeasureKind.CATEGORY, category, instrument.categories.get(category, category), is_share=False)
    fails_at = {entry.item: entry.fails_at for entry in instrument.gate}
    scores = isinstance(instrument.scale, Scores)
    for item in instrument.items:
        above = fails_at.get(item.id)
        yield Measure(MeasureKind.ITEM, item.id, item.title, is_share=not scores or above is not None, above=above)


def values(instrument: Instrument, measure: Measure, card: Scorecard) -> MeasureValues:
    """What the scorecard says about the measure: one value, or one a reply where the instrument rates replies."""
    match measure.kind:
        case MeasureKind.ITEM:
            return _of_item(instrument, measure, card)
        case MeasureKind.PASSED:
            return (
                MeasureValues({None: float(card.passed)}) if card.verdict in _DECIDED else MeasureValues(not_judged=1)
            )
        case MeasureKind.CATEGORY:
            return _of_score(instrument, card, card.categories.get(measure.id), {measure.id})
        case MeasureKind.SCORE:
            return _of_score(instrument, card, card.score, set(instrument.scoring.weights))


def _of_item(instrument: Instrument, measure: Measure, card: Scorecard) -> MeasureValues:
    found: dict[int | None, float] = {}
    na = not_judged = 0
    item = instrument.item(measure.id)
    for slot, outcome in card.outcomes.items():
        if slot.item != measure.id:
            continue
        if not measure.is_share and isinstance(outcome.value, int):
            found[slot.turn] = float(outcome.value)
        elif measure.is_share and is_failure(instrument, item, outcome):
            found[slot.turn] = 0.0
        elif measure.is_share and outcome.state is State.VALUE:
            found[slot.turn] = 1.0
        elif outcome.state is State.NA:
            na += 1
        else:
            not_judged += 1
    return MeasureValues(found, na, not_judged)


def _of_score(instrument: Instrument, card: Scorecard, score: float | None, categories: set[str]) -> MeasureValues:
    """A mean over answers counts only where none of them is missing.

    The scorecard takes an ERROR for 0 and leaves out what a rater abstained on; a rater who abstains on some
    conversations and not on others would be compared on different items.
    """
    for slot, outcome in card.outcomes.items():
        if outcome.state in {State.ERROR, State.ABSTAINED} and instrument.item(slot.item).category in categories:
            return MeasureValues(not_judged=1)
    return MeasureValues(na=1) if score is None else MeasureValues({None: score})


_UNSAFE = frozenset({Verdict.UNSAFE, Verdict.FLAGGED})
_SAFETY_OPEN = frozenset({Verdict.SAFETY_MISSING, Verdict.SAFETY_NOT_JUDGED, Verdict.NOT_JUDGED})


class ComparedConversation(NamedTuple):
    conversation: Identity
    card: Scorecard | None  # None where it was not judged, or not by all judges
    scenario: str | None = None  # what it shares with conversations of the other group


class Group(NamedTuple):
    name: str
    conversations: Sequence[ComparedConversation]


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
    units: int
    conversations: int
    na: int
    not_judged: int
    unpaired: int  # answers that are left out because the other group has none in their scenario
    levels: dict[int, int]  # for a safety score: how often each score was given


class MeasureComparison(NamedTuple):
    measure: Measure
    first: MeasureSummary
    second: MeasureSummary
    difference: Difference | Undefined
    detectable: float | Undefined  # the smallest difference that such a sample shows in four of five cases
    corrected_p: float | Undefined
    """For items: the p-value after Holm's correction for all items. Otherwise the p-value itself."""


class PassTest(NamedTuple):
    test: str
    p: float | Undefined
    pairs: McNemar | None


class Pairing(NamedTuple):
    column: str | None  # the column whose values are shared; None where conversations stand for themselves
    scenarios: int  # how many are shared
    without: int  # conversations whose scenario the other group does not have; pairs leave them out

    @property
    def paired(self) -> bool:
        return self.column is not None


class Comparison(NamedTuple):
    """Two groups side by side; every difference is the second minus the first."""

    instrument: Instrument
    first: GroupSummary
    second: GroupSummary
    pairing: Pairing
    score: MeasureComparison | None  # the weighted score; None where the instrument has none
    passed: MeasureComparison | None  # the pass rate; None where the instrument has no pass mark
    pass_test: PassTest | None
    categories: tuple[MeasureComparison, ...]
    items: tuple[MeasureComparison, ...]

    @property
    def rows(self) -> tuple[MeasureComparison, ...]:
        return (*(row for row in (self.score, self.passed) if row), *self.categories, *self.items)


def compare(instrument: Instrument, first: Group, second: Group, *, column: str | None = None) -> Comparison:
    """Hold two groups of scorecards against each other.

    Args:
        instrument: What both were judged with.
        first: The group that stands for what was there before.
        second: The group whose gain or loss is asked for.
        column: What the scenarios of the entrants were taken from; None compares without pairs.

    Returns:
        A comparison. A group without a single value gives rows whose difference is `Undefined` with the reason.
    """
    rows = [_row(instrument, measure, first, second, paired=column is not None) for measure in measures(instrument)]
    items = _holm([row for row in rows if row.measure.kind is MeasureKind.ITEM])
    passed = next((row for row in rows if row.measure.kind is MeasureKind.PASSED), None)
    return Comparison(
        instrument=instrument,
        first=_side(first),
        second=_side(second),
        pairing=_pairing(first, second, column),
        score=next((row for row in rows if row.measure.kind is MeasureKind.SCORE), None),
        passed=passed,
        pass_test=_pass_test(instrument, passed, first, second, paired=column is not None) if passed else None,
        categories=tuple(row for row in rows if row.measure.kind is MeasureKind.CATEGORY),
        items=tuple(items),
    )


def _side(group: Group) -> GroupSummary:
    ordered = sorted(group.conversations, key=lambda each: each.conversation)
    cards = [(each, each.card) for each in ordered if each.card]
    verdicts: dict[Verdict, list[Identity]] = {}
    for each, card in cards:
        verdicts.setdefault(card.verdict, []).append(each.conversation)
    return GroupSummary(
        name=group.name,
        conversations=len(ordered),
        not_judged=tuple(each.conversation for each in ordered if not each.card),
        unsafe=tuple(
            UnsafeConversation(
                each.conversation, tuple(dict.fromkeys(slot.item for slot in card.unsafe)), each.scenario
            )
            for each, card in cards
            if card.verdict in _UNSAFE
        ),
        verdicts={verdict: tuple(names) for verdict, names in verdicts.items()},
        needs_person=tuple(each.conversation for each, card in cards if card.needs_person),
    )


def _pairing(first: Group, second: Group, column: str | None) -> Pairing:
    if column is None:
        return Pairing(None, 0, 0)
    here, there = ([each.scenario for each in group.conversations] for group in (first, second))
    shared = set(here) & set(there) - {None}
    return Pairing(column, len(shared), sum(scenario not in shared for scenario in (*here, *there)))


class _Value(NamedTuple):
    value: float
    conversation: int
    scenario: str | None


def _row(instrument: Instrument, measure: Measure, first: Group, second: Group, *, paired: bool) -> MeasureComparison:
    found = [
        [values(instrument, measure, each.card) if each.card else MeasureValues() for each in group.conversations]
        for group in (first, second)
    ]
    every = [
        [
            _Value(value, number, each.scenario)
            for number, (each, of_card) in enumerate(zip(group.conversations, of_group, strict=True))
            for value in of_card.by_turn.values()
        ]
        for group, of_group in zip((first, second), found, strict=True)
    ]
    scenarios = [{value.scenario for value in side} for side in every]
    shared = scenarios[0] & scenarios[1] - {None}
    used = [[value for value in side if value.scenario in shared] for side in every] if paired and shared else every
    one_summary, other_summary = (
        MeasureSummary(
            value=float(np.mean([each.value for each in side])) if side else None,
            units=len(side),
            conversations=len({each.conversation for each in side}),
            na=sum(each.na for each in of_group),
            not_judged=sum(each.not_judged for each in of_group),
            unpaired=len(all_of_side) - len(side),
            levels=_levels(measure, group.conversations),
        )
        for group, of_group, all_of_side, side in zip((first, second), found, every, used, strict=True)
    )
    one, other = used
    numbers, other_numbers = ([each.value for each in side] for side in used)
    difference: Difference | Undefined
    if not one or not other:
        empty = [group.name for group, side in ((first, one), (second, other)) if not side]
        difference = Undefined(f"known for no conversation of {' or '.join(empty)}")
    elif not paired:
        clusters = [each.conversation for each in other], [each.conversation for each in one]
        difference = independent_difference(other_numbers, numbers, clusters)
    elif not shared:
        difference = Undefined("no scenario has answers of both")
    else:
        number = {scenario: place for place, scenario in enumerate(shared)}
        labels = [number[each.scenario] for each in other], [number[each.scenario] for each in one]
        difference = paired_difference(other_numbers, numbers, labels)
    if isinstance(difference, Undefined):
        return MeasureComparison(measure, one_summary, other_summary, difference, difference, difference)
    interval = difference.interval
    detectable = interval if isinstance(interval, Undefined) else detectable_effect(interval)
    return MeasureComparison(measure, one_summary, other_summary, difference, detectable, difference.p)


def _levels(measure: Measure, conversations: Iterable[ComparedConversation]) -> dict[int, int]:
    if measure.above is None:
        return {}
    outcomes = (entry for each in conversations if each.card for entry in each.card.outcomes.items())
    scores = [outcome.value for slot, outcome in outcomes if slot.item == measure.id]
    return dict(sorted(Counter(score for score in scores if isinstance(score, int)).items()))


def _holm(rows: Sequence[MeasureComparison]) -> list[MeasureComparison]:
    """Items were tested together: the more there are, the more likely one differs by chance alone."""
    tested = [row.corrected_p for row in rows if not isinstance(row.corrected_p, Undefined)]
    corrected = iter(holm(tested))
    return [
        row if isinstance(row.corrected_p, Undefined) else row._replace(corrected_p=next(corrected)) for row in rows
    ]


def _pass_test(
    instrument: Instrument, row: MeasureComparison, first: Group, second: Group, *, paired: bool
) -> PassTest:
    if not paired:
        sides = [(round((side.value or 0) * side.units), side.units) for side in (row.first, row.second)]
        return PassTest("Fisher's exact test", fisher(*sides[0], *sides[1]), None)
    one, other = (_by_scenario(instrument, row.measure, group) for group in (first, second))
    if one is None or other is None:
        return PassTest("cluster-robust t test over scenarios", row.corrected_p, None)
    shared = [scenario for scenario in one if scenario in other]
    found = mcnemar([one[scenario] for scenario in shared], [other[scenario] for scenario in shared])
    if isinstance(found, Undefined):
        return PassTest("McNemar's exact test", found, None)
    return PassTest("McNemar's exact test", found.p, found)


def _by_scenario(instrument: Instrument, measure: Measure, group: Group) -> dict[str, bool] | None:
    """Whether the conversation of each scenario passed; None where a scenario has several, which are no pairs."""
    found: dict[str, bool] = {}
    for entrant in group.conversations:
        if entrant.scenario is None or entrant.card is None:
            continue
        for value in values(instrument, measure, entrant.card).by_turn.values():
            if entrant.scenario in found:
                return None
            found[entrant.scenario] = bool(value)
    return found
