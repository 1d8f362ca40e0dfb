"""How many of the failures that people found does a judge miss? The first question about a gate item.

A unit is a failure where any of the people who rated it said so: at a gate nobody is outvoted. A verdict rests on
those that a second person confirmed. A judge that says that the item is met, that it does not apply, or nothing at all,
has missed it. Recall can be known only where people also looked at what the judge let through.
"""

from typing import NamedTuple

import numpy as np

from attunement.agreement.gathered import Answered
from attunement.agreement.means import Mean, mean
from attunement.agreement.proportions import Proportion, proportion
from attunement.agreement.results import FEWEST_CLUSTERS, Interval, Undefined
from attunement.agreement.tables import Bools, Floats, Ints

FAILURES_NEEDED = 30
"""A verdict on a gate item rests on at least so many failures, each labelled as one by two people."""
RECALL_NEEDED = 0.8
"""The lower end of recall's interval must reach this."""


class Recall(NamedTuple):
    """The share of failures that the judge caught, weighted where conversations were drawn unequally."""

    value: float
    interval: Interval | Undefined


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
    recall: Recall | Undefined
    """On the confirmed failures."""
    fine: int
    """Units that nobody called a failure and the judge was asked about."""
    false_alarms: int
    false_alarm_rate: Proportion | Undefined
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
    alarms = int((fine & flagged).sum())
    return Missed(
        failures=int(failure.sum()),
        missed=int(lost.sum()),
        missed_as_na=int((lost & (seen.judge_states == Answered.NA)).sum()),
        missed_as_unanswered=int((lost & np.isin(seen.judge_states, [Answered.ERROR, Answered.ABSTAINED])).sum()),
        not_asked=int(((said > 0) & ~asked).sum()),
        confirmed=int(confirmed.sum()),
        confirmed_missed=int((confirmed & lost).sum()),
        recall=_recall(confirmed, flagged, seen),
        fine=int(fine.sum()),
        false_alarms=alarms,
        false_alarm_rate=proportion(alarms, int(fine.sum())),
        unknowable=_unknowable(labelled > 0, asked, flagged),
    )


def _recall(confirmed: Bools, flagged: Bools, seen: Seen) -> Recall | Undefined:
    if not confirmed.any():
        return Undefined("no failure was labelled by two people")
    conversation = seen.conversation[confirmed]
    count = len(np.unique(conversation))
    weights = None if seen.weights is None else seen.weights[confirmed]
    equal = weights is None or bool(np.ptp(weights) < 1e-9)
    caught = flagged[confirmed]
    if count == len(conversation) and equal:
        exact = proportion(int(caught.sum()), len(caught))
        return Recall(exact.value, exact.interval) if isinstance(exact, Proportion) else exact
    found = mean(caught.astype(np.float64), conversation, weights)
    if not isinstance(found, Mean):
        return found
    if isinstance(found.interval, Undefined) and caught.all() | ~caught.any() and count >= FEWEST_CLUSTERS:
        # All alike: no spread to compute an interval from, but whole conversations still bound it.
        exact = proportion(count if caught.all() else 0, count)
        return Recall(found.value, exact.interval if isinstance(exact, Proportion) else exact)
    interval = found.interval
    if isinstance(interval, Interval):
        interval = interval._replace(low=max(interval.low, 0.0), high=min(interval.high, 1.0))
    return Recall(found.value, interval)


def _unknowable(labelled: Bools, asked: Bools, flagged: Bools) -> str | None:
    """Where people saw only what the judge flagged, it cannot have missed anything, and that says nothing."""
    let_through = asked & ~flagged
    if not let_through.any() or (let_through & labelled).any() or not (labelled & flagged).any():
        return None
    return "people rated only conversations that the judge had flagged, so how many it missed cannot be known"
