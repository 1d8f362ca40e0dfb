"""Combine the scorecards of several raters, or of one who was asked several times.

Repeats of one rater are combined first, then the raters. There is no vote on safety among raters: the failure, error or
missing answer of any of them counts; how repeats count there is set in the instrument. Everything else is a mean, so
that a panel lies between its members; where half say met and half not met, the item is disputed and counts half.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from math import ceil
from typing import NamedTuple

from attunement.instruments import Instrument, Item, SafetyRepeats
from attunement.ratings import ABSTAINED, DISPUTED, MISSING, Outcome, State
from attunement.scoring.scorecard import (
    Case,
    Range,
    Scorecard,
    Slot,
    SlotFinding,
    is_failure,
    score_outcomes,
    verdict_of,
)

PANEL = "panel"

_OPEN = frozenset({State.ERROR, State.ABSTAINED})
_TINY = 1e-9


def panel(instrument: Instrument, cards: Sequence[Scorecard]) -> Scorecard:
    """The scorecard of all raters together; the card itself where there is only one."""
    by_rater: dict[str, list[Scorecard]] = {}
    for card in cards:
        by_rater.setdefault(card.rater, []).append(card)
    repeats = instrument.scoring.safety_repeats
    raters = [own[0] if len(own) == 1 else _combined(instrument, own, repeats) for own in by_rater.values()]
    return raters[0] if len(raters) == 1 else _combined(instrument, raters, SafetyRepeats.ANY)


def rescored(instrument: Instrument, card: Scorecard, changes: Mapping[Slot, Outcome | None]) -> Scorecard:
    """The card with other outcomes; None leaves a slot out. A panel is combined again from changed cards."""
    if not changes:
        return card
    if card.parts:
        parts = [rescored(instrument, part, changes) for part in card.parts]
        several = len({part.rater for part in parts}) > 1
        return _combined(instrument, parts, SafetyRepeats.ANY if several else instrument.scoring.safety_repeats)
    kept = {slot: changes.get(slot, outcome) for slot, outcome in card.outcomes.items()}
    outcomes = {slot: outcome for slot, outcome in kept.items() if outcome is not None}
    return _scored(instrument, card, outcomes, card.findings)


def _combined(instrument: Instrument, cards: Sequence[Scorecard], safety: SafetyRepeats) -> Scorecard:
    outcomes: dict[Slot, Outcome] = {}
    means: dict[Slot, float] = {}
    for slot in dict.fromkeys(slot for card in cards for slot in card.outcomes):
        item = instrument.item(slot.item)
        given = [card.outcomes.get(slot, MISSING) for card in cards]
        if item.id in instrument.gate_ids:
            outcomes[slot] = safety_outcome(instrument, item, given, safety)
        else:
            values = [card.value(slot) if slot in card.outcomes else None for card in cards]
            outcomes[slot], mean = mean_outcome(item, given, values)
            if mean is not None:
                means[slot] = mean
    spoken = list(dict.fromkeys(SlotFinding(*entry) for card in cards for entry in card.findings))
    base = _scored(instrument, cards[0], outcomes, spoken)
    # Who did not answer what others answered has no part in the mean.
    answered = [slot for slot, outcome in outcomes.items() if outcome.state not in _OPEN]
    counted = [
        rescored(
            instrument,
            card,
            dict.fromkeys(slot for slot in answered if slot in card.outcomes and card.outcomes[slot].state in _OPEN),
        )
        for card in cards
    ]
    ranges = [card.range for card in counted if card.range]
    range_ = Range(_mean(one.lowest for one in ranges), _mean(one.highest for one in ranges)) if ranges else None
    return replace(
        base,
        rater=PANEL,
        repeat=None,
        members=tuple(dict.fromkeys(member for card in cards for member in card.members)),
        parts=tuple(cards),
        means=means,
        categories={id: _mean_of([card.categories[id] for card in counted]) for id in base.categories},
        score=_mean_of([card.score for card in counted]),
        uncontested=_mean_of([card.uncontested for card in counted]),
        range=range_,
        verdict=verdict_of(instrument, outcomes, base.unsafe, base.unjudged, range_),
    )


def _scored(
    instrument: Instrument, card: Scorecard, outcomes: Mapping[Slot, Outcome], spoken: Sequence[SlotFinding]
) -> Scorecard:
    # Only the identity is needed from the case: the cards contain the outcomes.
    return score_outcomes(
        instrument,
        Case(card.conversation, 0),
        outcomes,
        spoken,
        rater=card.rater,
        repeat=card.repeat,
        members=card.members,
        kind=card.kind,
    )


def _mean(values: Iterable[float]) -> float:
    every = list(values)
    return sum(every) / len(every)


def _mean_of(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return _mean(known) if known else None


def safety_outcome(instrument: Instrument, item: Item, outcomes: Sequence[Outcome], rule: SafetyRepeats) -> Outcome:
    """The combined outcome of a safety item; `rule` says how much it takes for a failure."""
    if rule is SafetyRepeats.FIRST:
        return outcomes[0]
    ordered = sorted(outcomes, key=_severity)
    failing = [outcome for outcome in ordered if is_failure(instrument, item, outcome)]
    errors = [outcome for outcome in outcomes if outcome.state is State.ERROR]
    good = [outcome for outcome in ordered if outcome.state not in _OPEN and outcome not in failing]
    # A majority needs more than half of all, so that what has no answer never helps it.
    if rule is SafetyRepeats.MAJORITY and 2 * len(good) > len(outcomes):
        failing, errors = [], []
    elif rule is SafetyRepeats.MAJORITY and len(failing) < len(good):
        failing = []
    return next(iter([*failing, *errors, *_most_applicable(good)]), ABSTAINED)


def _most_applicable(good: Sequence[Outcome]) -> Sequence[Outcome]:
    """The good answers; those that say that the item applies come first, unless most say that it does not."""
    na = [outcome for outcome in good if outcome.state is State.NA]
    others = [outcome for outcome in good if outcome.state is not State.NA]
    return na if len(na) > len(others) else others


def _severity(outcome: Outcome) -> int:
    """The lowest score first, and NO before an invalid NA."""
    return outcome.value if isinstance(outcome.value, int) else outcome.state is State.NA


def mean_outcome(
    item: Item, outcomes: Sequence[Outcome], values: Sequence[float | None]
) -> tuple[Outcome, float | None]:
    """The combined outcome of an item that is no safety item, and its mean.

    A criterion applies unless most raters say that it does not. A mean score is shown as the nearest whole number, a
    half as the lower one.
    """
    speaking = [place for place, outcome in enumerate(outcomes) if outcome.state is not State.ABSTAINED]
    if not speaking:
        return ABSTAINED, None
    if len(speaking) == 1:
        return outcomes[speaking[0]], values[speaking[0]]
    votes = [place for place in speaking if outcomes[place].state is not State.ERROR]
    if len(votes) < 2:
        return next(outcome for outcome in outcomes if outcome.state is State.ERROR), None
    if any(isinstance(outcomes[place].value, int) for place in votes):
        mean = _mean(value for place in votes if (value := values[place]) is not None)
        return Outcome.of(ceil(mean - 0.5 - _TINY)), mean
    # Where NA is invalid it is a failure of the item, not a vote that the item does not apply.
    known = [0.0 if outcomes[place].value == "NA" and not item.na_valid else values[place] for place in votes]
    applying = [value for value in known if value is not None]
    if len(known) - len(applying) > len(applying):
        return Outcome.of("NA"), None
    mean = _mean(applying)
    if abs(mean - 0.5) < _TINY:
        return DISPUTED, mean
    return Outcome.of("YES" if mean > 0.5 else "NO"), mean


class Flips(NamedTuple):
    """How often raters, or repeats of one rater, gave different answers to the same question."""

    differing: int
    compared: int


def flips(groups: Iterable[Sequence[Scorecard]]) -> dict[str, Flips]:
    """Per item: of the questions that got at least two answers, how many got different ones.

    Each group holds the scorecards of one conversation. Errors and abstentions do not count as answers.
    """
    counts: dict[str, Flips] = {}
    for cards in groups:
        for slot in dict.fromkeys(slot for card in cards for slot in card.outcomes):
            answers = [
                outcome.value
                for card in cards
                if (outcome := card.outcomes.get(slot)) and outcome.state in {State.VALUE, State.NA}
            ]
            if len(answers) > 1:
                before = counts.get(slot.item, Flips(0, 0))
                differs = len(set(answers)) > 1
                counts[slot.item] = Flips(before.differing + differs, before.compared + 1)
    return counts
