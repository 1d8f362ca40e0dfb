"""What do scorecards come to as numbers that can be compared or corrected?

A measure is an item, a category, the weighted score or the pass rate; higher is better in each. What has no value is
counted by its reason and never becomes a number: an item that does not apply, or an answer that is not there. A
safety score has no mean of its own: its measure is the share of replies above the level at which it fails.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import NamedTuple

from attunement.instruments import Instrument, Scores
from attunement.ratings import Outcome, State
from attunement.scoring import Scorecard, Slot, Verdict, is_failure

_DECIDED = frozenset({Verdict.PASS, Verdict.FAIL, Verdict.UNSAFE})


class Kind(StrEnum):
    """What a measure is taken from."""

    ITEM = "item"
    CATEGORY = "category"
    SCORE = "score"
    PASSED = "passed"


class Measure(NamedTuple):
    """One thing that scorecards are compared by."""

    kind: Kind
    id: str
    title: str
    is_share: bool
    """A share of conversations or replies; otherwise a mean on the instrument's scale."""
    above: int | None = None
    """For a safety score: replies count as good above this one."""

    @property
    def name(self) -> str:
        """A name that no other measure of the instrument has."""
        return self.id if self.kind in {Kind.SCORE, Kind.PASSED} else f"{self.kind}:{self.id}"


class Values(NamedTuple):
    """What a scorecard says about a measure."""

    by_turn: Mapping[int | None, float] = {}
    """One value for each reply that has one; under None what is about the whole conversation."""
    na: int = 0
    """Answers that the item does not apply."""
    not_judged: int = 0
    """No answer: an ERROR, nothing, or a rater who has no way to know."""


def measures(instrument: Instrument) -> Iterator[Measure]:
    """Everything the instrument's scorecards can be compared by: the whole first, then categories, then items."""
    if instrument.scoring.weights:
        yield Measure(Kind.SCORE, "score", "Overall score", is_share=False)
    if instrument.scoring.threshold is not None:
        yield Measure(Kind.PASSED, "passed", "Passed", is_share=True)
    for category in instrument.scoring.weights:
        yield Measure(Kind.CATEGORY, category, instrument.categories.get(category, category), is_share=False)
    fails_at = {entry.item: entry.fails_at for entry in instrument.gate}
    scores = isinstance(instrument.scale, Scores)
    for item in instrument.items:
        above = fails_at.get(item.id)
        yield Measure(Kind.ITEM, item.id, item.title, is_share=not scores or above is not None, above=above)


def values(instrument: Instrument, measure: Measure, card: Scorecard) -> Values:
    """What the scorecard says about the measure: one value, or one a reply where the instrument rates replies."""
    match measure.kind:
        case Kind.ITEM:
            return _of_item(instrument, measure, card)
        case Kind.PASSED:
            return Values({None: float(card.passed)}) if card.verdict in _DECIDED else Values(not_judged=1)
        case Kind.CATEGORY:
            return _of_score(instrument, card, card.categories.get(measure.id), {measure.id})
        case Kind.SCORE:
            return _of_score(instrument, card, card.score, set(instrument.scoring.weights))


def _of_item(instrument: Instrument, measure: Measure, card: Scorecard) -> Values:
    found: dict[int | None, float] = {}
    na = not_judged = 0
    for slot, outcome in card.outcomes.items():
        if slot.item != measure.id:
            continue
        value = _number(instrument, measure, outcome)
        if value is not None:
            found[slot.turn] = value
        elif outcome.state is State.NA:
            na += 1
        else:
            not_judged += 1
    return Values(found, na, not_judged)


def _number(instrument: Instrument, measure: Measure, outcome: Outcome) -> float | None:
    if not measure.is_share:
        return float(outcome.value) if isinstance(outcome.value, int) else None
    if is_failure(instrument, instrument.item(measure.id), outcome):
        return 0.0
    return 1.0 if outcome.state is State.VALUE else None


def _of_score(instrument: Instrument, card: Scorecard, score: float | None, categories: set[str]) -> Values:
    """A mean over answers counts only where none of them is missing.

    The scorecard takes an ERROR for 0 and leaves out what a rater abstained on; a rater who abstains on some
    conversations and not on others would be compared on different items.
    """

    def enters(slot: Slot) -> bool:
        return instrument.item(slot.item).category in categories

    states = {outcome.state for slot, outcome in card.outcomes.items() if enters(slot)}
    if states & {State.ERROR, State.ABSTAINED}:
        return Values(not_judged=1)
    return Values(na=1) if score is None else Values({None: score})
