"""How many of the failures that people found does a judge miss? The first question about a gate item.

A unit is a failure where any of the people who rated it said so: at a gate nobody is outvoted. A verdict rests on
those that a second person confirmed. A judge that says that the item is met, that it does not apply, or nothing at all,
has missed it. Recall can be known only where people also looked at what the judge let through.
"""

from typing import NamedTuple

import numpy as np

from attunement.agreement.comparison_rates import fisher
from attunement.agreement.gathered import Answered
from attunement.agreement.rates import Caught, Rate, alike, caught, rate
from attunement.agreement.results import Undefined
from attunement.agreement.tables import Bools, Floats, Ints

FAILURES_NEEDED = 30
"""A verdict on a gate item rests on at least so many failures, each labelled as one by two people."""
RECALL_NEEDED = 0.8
"""The lower end of recall's interval must reach this."""
_BY_CHANCE = 0.01
"""Less probable than this, people did not choose what they rated regardless of what the judge flagged."""


class Missed(NamedTuple):
    """What a judge did with people's failures, and with what people found to be fine."""

    failures: int
    """Units that a person called a failure and the judge was asked about."""
    missed: int
    missed_as_na: int
    missed_as_unanswered: int
    """The judge gave an error or abstained."""
    not_asked: int
    """Failures that the judge was never asked about; they count nowhere."""
    confirmed: int
    """Failures that at least two people called so: those the verdict rests on."""
    confirmed_missed: int
    recall: Rate | Undefined
    """On the confirmed failures."""
    unflagged_needed: int | None
    """How many conversations that were drawn less often than the flagged ones would show the recall that is asked for;
    None where they are not what is lacking."""
    fine: int
    """Units that nobody called a failure and the judge was asked about."""
    false_alarms: int
    false_alarm_rate: Rate | Undefined
    precision: Rate | Undefined
    """Of the units that the judge flagged and people labelled, those that a person called a failure."""
    unknowable: str | None
    """Why recall cannot be known, if it cannot."""


class Seen(NamedTuple):
    """People's and a judge's answers to a gate item, for the same units."""

    people: Floats
    people_states: Ints
    judge: Floats
    judge_states: Ints
    conversation: Ints
    fails_at: float
    weights: Floats | None = None
    """For each unit one over its probability of being drawn; None where all are alike."""


def missed(seen: Seen) -> Missed:
    """Count the failures that a judge missed, and its false alarms."""
    labelled = np.isin(seen.people_states, [Answered.VALUE, Answered.NA]).sum(axis=1)
    said = (seen.people <= seen.fails_at).sum(axis=1)
    asked = seen.judge_states != Answered.NOTHING
    flagged = seen.judge <= seen.fails_at
    failure, fine = (said > 0) & asked, (said == 0) & (labelled > 0) & asked
    lost = failure & ~flagged
    confirmed = failure & (said >= 2)
    # Who was seen by one person only cannot have been confirmed.
    usable = labelled >= (2 if confirmed.any() else 1)
    recall = _recall(confirmed, flagged, usable & asked, seen)
    return Missed(
        failures=int(failure.sum()),
        missed=int(lost.sum()),
        missed_as_na=int((lost & (seen.judge_states == Answered.NA)).sum()),
        missed_as_unanswered=int((lost & np.isin(seen.judge_states, [Answered.ERROR, Answered.ABSTAINED])).sum()),
        not_asked=int(((said > 0) & ~asked).sum()),
        confirmed=int(confirmed.sum()),
        confirmed_missed=int((confirmed & lost).sum()),
        recall=recall if isinstance(recall, Undefined) else recall.rate,
        unflagged_needed=None if isinstance(recall, Undefined) else recall.seldom_needed,
        fine=int(fine.sum()),
        false_alarms=int((fine & flagged).sum()),
        false_alarm_rate=_rate(flagged, fine, failure | fine, seen),
        precision=_rate(said > 0, (failure | fine) & flagged, failure | fine, seen),
        unknowable=_unknowable(usable, asked, flagged, seen.weights),
    )


def _recall(confirmed: Bools, flagged: Bools, usable: Bools, seen: Seen) -> Caught | Undefined:
    if not confirmed.any():
        return Undefined("no failure was labelled by two people")
    weights = _weights(seen, usable)
    weights = None if weights is None else weights[usable]
    return caught(confirmed[usable], flagged[usable], seen.conversation[usable], weights, RECALL_NEEDED)


def _rate(event: Bools, among: Bools, usable: Bools, seen: Seen) -> Rate | Undefined:
    weights = _weights(seen, usable)
    return rate(event[among], seen.conversation[among], None if weights is None else weights[among])


def _weights(seen: Seen, usable: Bools) -> Floats | None:
    """The weights, by which those who were labelled also stand for those who were drawn alike and were not."""
    if seen.weights is None:
        return None
    asked = seen.judge_states != Answered.NOTHING
    adjusted = seen.weights.copy()
    for weight in np.unique(seen.weights[usable]):
        alike = seen.weights == weight
        drawn, labelled = (len(np.unique(seen.conversation[alike & part])) for part in (asked, usable))
        adjusted[alike] *= drawn / labelled
    return adjusted


def _unknowable(labelled: Bools, asked: Bools, flagged: Bools, weights: Floats | None) -> str | None:
    """Why recall cannot be known, if what people rated depends on what the judge flagged.

    Where they saw only that, it cannot have missed anything, and that says nothing. Where they saw some of the rest,
    that must have been drawn with known probabilities, or have had the same chance as what was flagged.
    """
    let_through, raised = asked & ~flagged, asked & flagged
    seen, seen_raised = let_through & labelled, raised & labelled
    if not let_through.any() or not seen_raised.any():
        return None
    if not seen.any():
        return "people rated only conversations that the judge had flagged, so how many it missed cannot be known"
    counts = [int(part.sum()) for part in (seen_raised, raised, seen, let_through)]
    if not alike(weights) or counts[0] * counts[3] <= counts[2] * counts[1]:
        return None
    chance = fisher(*counts)
    if isinstance(chance, Undefined) or chance >= _BY_CHANCE:
        return None
    return (
        f"people rated {counts[0]:,} of {counts[1]:,} that the judge had flagged and {counts[2]:,} of {counts[3]:,} "
        "others, and nothing says how those were chosen, so how many it missed cannot be known"
    )
