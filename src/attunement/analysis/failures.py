"""Which of people's failures a judge misses, its false alarms, and what people and trivial judges reach themselves.

A unit is a failure where any of the people who rated it said so: at a gate nobody is outvoted. The verdict rests on
those that a second person confirmed. A judge that says that the item is met, that it does not apply, or nothing at all,
has missed it. Recall can be known only where people also looked at what the judge let through.

Trivial judges flag as many units as the judge does: the longest replies, the shortest, those with the most question
marks, those with pointers of the rule check, or any.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from attunement.analysis.ratings_table import AnswerState, RatedItem
from attunement.statistics.estimates import SAME, Rate, alike, rate
from attunement.statistics.intervals import fractional_bounds
from attunement.statistics.results import Undefined
from attunement.statistics.tables import Bools, Floats, Ints
from attunement.statistics.tests import fisher

WORD_COUNT, QUESTION_MARKS, POINTERS = "word count", "question marks", "rule check"
"""What trivial judges count."""


class Threshold(NamedTuple):
    """What the judge would find if it flagged everything up to one of its scores."""

    at: float
    flags: int  # units that people labelled and the judge would flag, over all its runs
    recall: Rate | Undefined
    precision: Rate | Undefined


class FlagRival(NamedTuple):
    """A trivial way to flag as many units as the judge, and how many of the failures it is expected to find."""

    name: str
    caught: float
    failures: int


class FailureDetection(NamedTuple):
    """What a judge did with people's failures, and with what people found to be fine.

    Counts are of units; where the judge answered several times, of units and runs.
    """

    runs: int
    failures: int  # units that a person called a failure and the judge was asked about
    missed: int
    missed_as_na: int
    missed_as_unanswered: int  # the judge gave an error or abstained
    not_asked: int  # failures that the judge was never asked about; they count nowhere
    confirmed: int  # failures that at least two people called so: those the verdict rests on
    confirmed_missed: int
    recall: Rate | Undefined  # on the confirmed failures; where each unit had one rater, on all of them
    fine: int  # units that nobody called a failure and the judge was asked about
    false_alarms: int
    false_alarm_rate: Rate | Undefined
    precision: Rate | Undefined
    """Of the units that the judge flagged and people labelled, those that a person called a failure."""
    people_recall: Rate | Undefined  # of the failures that one person found, those that another one found too
    single_recall: Rate | Undefined  # of the failures that one person found, those that the judge flagged
    rivals: tuple[FlagRival, ...]
    thresholds: tuple[Threshold, ...]  # for scores
    unknowable: str | None  # why recall cannot be known, if it cannot


class Units(NamedTuple):
    """People's and a judge's answers about the same units, and what else is known about these."""

    item: RatedItem
    people: Floats
    people_states: Ints
    judge: Floats  # one column a run
    judge_states: Ints
    conversation: Ints
    weights: Floats | None = None  # for each unit one over its probability of being drawn; None where all are alike
    counts: Mapping[str, Floats] = {}  # for each unit what trivial judges count


LONGEST, SHORTEST, ALIKE = "longest replies", "shortest replies", "flags at random"


def detect_failures(seen: Units) -> FailureDetection:
    """Count the failures that a judge missed, and its false alarms."""
    labelled = np.isin(seen.people_states, [AnswerState.VALUE, AnswerState.NA]).sum(axis=1)
    failing = seen.item.failing(seen.people).sum(axis=1)
    asked = seen.judge_states != AnswerState.NOT_ASKED
    flagged = seen.item.failing(seen.judge)
    failed = failing > 0
    # What only one person rated cannot have been confirmed.
    twice = bool((labelled >= 2).any())
    confirmed, usable = (failing >= 2, labelled >= 2) if twice else (failed, labelled >= 1)
    failure, fine = failed[:, None] & asked, (~failed & (labelled > 0))[:, None] & asked
    missed = failure & ~flagged
    known = _Stacked(seen, usable[:, None] & asked)
    every = _Stacked(seen, failure | fine)
    return FailureDetection(
        runs=seen.judge.shape[1],
        failures=int(failure.sum()),
        missed=int(missed.sum()),
        missed_as_na=int((missed & (seen.judge_states == AnswerState.NA)).sum()),
        missed_as_unanswered=int((missed & np.isin(seen.judge_states, _UNANSWERED)).sum()),
        not_asked=int((failed & ~asked.any(axis=1)).sum()),
        confirmed=int((confirmed[:, None] & failure).sum()) if twice else 0,
        confirmed_missed=int((confirmed[:, None] & missed).sum()) if twice else 0,
        recall=_recall(known, confirmed, flagged),
        fine=int(fine.sum()),
        false_alarms=int((fine & flagged).sum()),
        false_alarm_rate=every.rate(flagged, fine),
        precision=every.rate(failed, (failure | fine) & flagged),
        people_recall=people_recall(seen.item, seen.people, seen.people_states, seen.conversation),
        single_recall=_among_raters(failing, _share(flagged & asked, asked), asked.any(axis=1), seen.conversation),
        rivals=tuple(_rivals(seen, confirmed, usable & asked.any(axis=1), flagged)),
        thresholds=tuple(_thresholds(seen, known, every, confirmed, failed)),
        unknowable=_unknowable(usable, asked[:, 0], flagged[:, 0], seen.weights),
    )


_UNANSWERED = [AnswerState.ERROR, AnswerState.ABSTAINED]


class _Stacked:
    """Units and runs below each other, with the weights of those that are usable."""

    def __init__(self, seen: Units, usable: Bools) -> None:
        self.usable, self.conversation = usable, seen.conversation
        self.weights = None if seen.weights is None else _weights(seen, np.any(usable, axis=1))

    def rate(self, event: Bools, among: Bools) -> Rate | Undefined:
        """The share with the event, which may be known of units or of units and runs, among some of the usable."""
        among = np.broadcast_to(among if among.ndim == 2 else among[:, None], self.usable.shape) & self.usable
        event = np.broadcast_to(event if event.ndim == 2 else event[:, None], among.shape)
        unit = np.nonzero(among)[0]
        found = rate(event[among], self.conversation[unit], None if self.weights is None else self.weights[unit])
        return found if isinstance(found, Undefined) else found._replace(units=len(np.unique(unit)))


def _weights(seen: Units, usable: Bools) -> Floats:
    """The weights, by which those who were labelled also stand for those who were drawn alike and were not."""
    assert seen.weights is not None  # noqa: S101 - the only caller has looked
    asked = (seen.judge_states != AnswerState.NOT_ASKED).any(axis=1)
    adjusted = seen.weights.copy()
    for weight in np.unique(seen.weights[usable]):
        like = seen.weights == weight
        drawn, labelled = (len(np.unique(seen.conversation[like & part])) for part in (asked, usable))
        adjusted[like] *= drawn / labelled
    return adjusted


def _recall(known: _Stacked, failure: Bools, flagged: Bools) -> Rate | Undefined:
    """The share of failures that were flagged.

    Where everything a judge flagged was drawn and only some of the rest, failures that it missed are in the rest
    alone, and having found none among a few of those says little: that bound counts too.
    """
    own, weights = known.rate(flagged, failure), known.weights
    if isinstance(own, Undefined):
        return Undefined("people found no failure")
    usable = known.usable.any(axis=1)
    if weights is None or alike(weights[usable]) or isinstance(own.interval, Undefined):
        return own
    missed, weight = usable & failure & ~flagged[:, 0], weights
    seldom = usable & (weight > weight[usable].min() * (1 + SAME))
    _, first, place = np.unique(known.conversation[seldom], return_index=True, return_inverse=True)
    drawn = weight[seldom][first]
    misses = np.bincount(place, weights=missed[seldom], minlength=len(first))
    total = float(drawn.sum())
    share = float(drawn @ (misses > 0)) / total
    # Weights that differ count like fewer conversations of equal weight (Kish).
    count = total**2 / float(drawn @ drawn)
    highest = fractional_bounds(share * count, count)[1]
    # How many misses there would be if every seldom drawn conversation, drawn or not, had some.
    possible = total * (float(drawn @ misses) / (share * total) if share else 1.0)
    elsewhere = float(weight[missed & ~seldom].sum())
    found = float(weight[usable & failure & flagged[:, 0]].sum())
    low = min(own.interval.low, found / (found + elsewhere + highest * possible))
    method = f"{own.interval.method}; at most {highest:.3f} missed where drawn less often ({len(first)})"
    return own._replace(interval=own.interval._replace(low=low, method=method))


def people_recall(item: RatedItem, people: Floats, states: Ints, conversation: Ints) -> Rate | Undefined:
    """Of the failures that one person found, the share that another person found who rated the unit too."""
    labelled = np.isin(states, [AnswerState.VALUE, AnswerState.NA]).sum(axis=1)
    failing = item.failing(people).sum(axis=1)
    return _among_raters(failing, (failing - 1) / np.maximum(labelled - 1, 1), labelled >= 2, conversation)


def _share(part: Bools, whole: Bools) -> Floats:
    return part.sum(axis=1) / np.maximum(whole.sum(axis=1), 1)


def _among_raters(failing: Ints, share: Floats, usable: Bools, conversation: Ints) -> Rate | Undefined:
    """Over the single people's failures: how often another rater found the failure too."""
    unit = np.repeat(np.arange(len(failing)), np.where(usable, failing, 0))
    found = rate(share[unit], conversation[unit], None)
    return Undefined("no failure was seen by another rater") if isinstance(found, Undefined) else found


def _rivals(seen: Units, failure: Bools, usable: Bools, flagged: Bools) -> list[FlagRival]:
    """Trivial ways to flag as many of the labelled units as the judge does."""
    total, count = int((failure & usable).sum()), int(usable.sum())
    if not total:
        return []
    asked = seen.judge_states != AnswerState.NOT_ASKED
    flags = float(_share(flagged & asked, asked)[usable].sum())
    found = [FlagRival(ALIKE, flags * total / count, total)]
    for name, counted in seen.counts.items():
        if np.isnan(counted[usable]).any():
            continue
        ways = {LONGEST: counted, SHORTEST: -counted} if name == WORD_COUNT else {name: counted}
        for way, score in ways.items():
            caught, left = 0.0, flags
            for value in np.unique(score[usable])[::-1]:
                tied = usable & (score == value)
                taken = min(left / int(tied.sum()), 1.0)
                caught += taken * int((tied & failure).sum())
                left -= taken * int(tied.sum())
                if left <= 0:
                    break
            found.append(FlagRival(way, caught, total))
    return found


def _thresholds(seen: Units, known: _Stacked, every: _Stacked, failure: Bools, failed: Bools) -> list[Threshold]:
    """Recall and precision at each score up to which the judge could flag."""
    scale, (low, high) = seen.item.scale, seen.item.fails or (0.0, 0.0)
    if not scale.ordered or len(scale.values) < 3 or (np.isfinite(low) and np.isfinite(high)):
        return []
    found: list[Threshold] = []
    for value in scale.values[:-1] if np.isfinite(high) else scale.values[1:]:
        flagged = seen.judge <= value if np.isfinite(high) else seen.judge >= value
        flags = int((flagged & every.usable).sum())
        found.append(Threshold(value, flags, known.rate(flagged, failure), every.rate(failed, flagged)))
    return found


_BY_CHANCE = 0.01  # less probable than this, people did not choose what they rated regardless of what the judge flagged


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
