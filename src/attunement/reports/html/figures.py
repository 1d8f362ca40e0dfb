"""Every number of a report, counted in one pass over the study.

What is kept does not grow with the number of conversations: counts, sums for means and their intervals, and for each
item a handful of conversations that may serve as its example.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from attunement.instruments import Instrument
from attunement.ratings import RaterKind, State
from attunement.reports.html.moments import Moments
from attunement.reports.html.statuses import Status, status_of
from attunement.reports.tally import Tally
from attunement.reports.wording import answer
from attunement.scoring import Flips, Scorecard

STEPS = 20
"""Steps of a distribution of scores from 0 to 1."""
_TINY = 1e-9
_CANDIDATES = 12


class Who(NamedTuple):
    """Whose scorecards are counted."""

    rater: str
    repeat: int
    kind: RaterKind


@dataclass
class Share:
    """How many of how many."""

    part: int = 0
    whole: int = 0

    def add(self, holds: bool) -> None:
        """Count one."""
        self.part += holds
        self.whole += 1


@dataclass
class SystemFigures:
    """What was counted about one system, or about all of them, on the card that decides."""

    tally: Tally = field(default_factory=Tally)
    statuses: Counter[Status] = field(default_factory=Counter[Status])
    unanswered: int = 0
    """Conversations in which not a single question got an answer."""
    passed: Share = field(default_factory=Share)
    """Passed, of those that were judged at all."""
    scores: Counter[int] = field(default_factory=Counter[int])
    """Weighted scores by step; the last step ends at 1 and holds it."""
    category_passed: dict[str, Share] = field(default_factory=dict[str, Share])
    category_scores: dict[str, Counter[int]] = field(default_factory=dict[str, Counter[int]])
    item_means: dict[str, Moments] = field(default_factory=dict[str, Moments])
    """For an instrument of scores."""
    lengths: dict[int, Moments] = field(default_factory=dict[int, Moments])
    """Scores by length: in bin k are lengths from 2**k up to, but not including, 2**(k + 1)."""

    def add(self, instrument: Instrument, card: Scorecard | None, lengths: Iterable[tuple[int, float]]) -> None:
        """Count one conversation with the card that decides; `lengths` are (length, score) of its parts."""
        self.tally.add(instrument, card)
        self.statuses[status_of(card)] += 1
        if card is None or not answered(card):
            self.unanswered += 1
            return
        self.passed.add(card.passed)
        if card.score is not None:
            self.scores[step(card.score)] += 1
        threshold = instrument.scoring.threshold
        for category, mean in card.categories.items():
            if mean is not None:
                self.category_scores.setdefault(category, Counter())[step(mean)] += 1
                if threshold is not None:
                    self.category_passed.setdefault(category, Share()).add(mean >= threshold - _TINY)
        values: dict[str, list[float]] = {}
        for slot, outcome in card.outcomes.items():
            given = answer(instrument, instrument.item(slot.item), outcome)
            if isinstance(given, int):
                values.setdefault(slot.item, []).append(given)
        for item, scores in values.items():
            self.item_means.setdefault(item, Moments()).add(scores)
        binned: dict[int, list[float]] = {}
        for length, score in lengths:
            binned.setdefault(max(length, 1).bit_length() - 1, []).append(score)
        for number, scores in binned.items():
            self.lengths.setdefault(number, Moments()).add(scores)


def answered(card: Scorecard) -> bool:
    """Whether at least one question got an answer."""
    return any(outcome.state in {State.VALUE, State.NA} for outcome in card.outcomes.values())


def step(score: float) -> int:
    """The step of a distribution that a score from 0 to 1 falls into; what is a hair below an edge counts as on it."""
    return min(int((score + _TINY) * STEPS), STEPS - 1)


class Candidate(NamedTuple):
    """A conversation that may serve as the example of an item that is not met."""

    rank: int
    """0: people say so as well; 1: all judges do; 2: the verdict does."""
    key: int


class PointerRow(NamedTuple):
    """A pointer of the rule check and the conversation it is about."""

    key: int
    system: str
    id: str
    words: str


MOST_POINTERS = 10
"""Pointers that the top of a report lists."""


@dataclass
class Figures:
    """All numbers of a study under one instrument."""

    instrument: Instrument
    total: SystemFigures = field(default_factory=SystemFigures)
    systems: dict[str, SystemFigures] = field(default_factory=dict[str, SystemFigures])
    judges: dict[Who, Tally] = field(default_factory=dict[Who, Tally])
    """By rater and repeat, people too."""
    again: dict[str, dict[str, Flips]] = field(default_factory=dict[str, dict[str, Flips]])
    """By rater and item: how often a repeat gave another answer."""
    between: dict[str, Flips] = field(default_factory=dict[str, Flips])
    """By item: how often judges gave different answers."""
    members: dict[str, None] = field(default_factory=dict[str, None])
    """Who is behind the cards that decide, in order."""
    by_people: bool = False
    """Whether people's cards decide, because there is no judge."""
    crisis: int = 0
    """Conversations in which the person speaks of suicide or self-harm."""
    crisis_na: int = 0
    """Of these: where the item about crises was answered with "does not apply"."""
    flags: Counter[str] = field(default_factory=Counter[str])
    """How many conversations have which flag."""
    pointers: list[PointerRow] = field(default_factory=list[PointerRow])
    """The first pointers of the rule check."""
    rated_by_people: int = 0
    examples: dict[str, list[Candidate]] = field(default_factory=dict[str, list[Candidate]])
    """By item: conversations that may serve as its example, the best first."""

    def suggest(self, item: str, candidate: Candidate) -> None:
        """Remember a conversation as an example if it is better than those that are known."""
        known = self.examples.setdefault(item, [])
        if len(known) < _CANDIDATES or candidate < known[-1]:
            known.append(candidate)
            known.sort()
            del known[_CANDIDATES:]


def add_flips(total: dict[str, Flips], found: dict[str, Flips]) -> None:
    """Add counts of differing answers."""
    for item, flips in found.items():
        before = total.get(item, Flips(0, 0))
        total[item] = Flips(before.differing + flips.differing, before.compared + flips.compared)
