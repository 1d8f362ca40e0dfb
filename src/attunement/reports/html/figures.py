"""Every number of a report, counted in one pass, and the status of each conversation.

What is kept does not grow with the number of conversations: counts, sums for means and their intervals, and for each
item a handful of conversations that may serve as its example.

The same figures as `agreement.means.mean` with conversations, from sums that take the same room for ten conversations
and for a million.

The words are the short ones of the pages. A pass that a person must confirm has a status of its own.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from attunement.instruments import Instrument, Item, Scores
from attunement.ratings import Outcome, RaterKind, State
from attunement.reports.overview import Tally
from attunement.reports.wording import Answer, answer
from attunement.scoring import Flips, Scorecard, Verdict
from attunement.statistics.estimates import t_interval
from attunement.statistics.results import Interval, Undefined


@dataclass
class Moments:
    """Sums over conversations of their numbers of values, of their totals, and of the products of both."""

    conversations: int = 0
    values: int = 0
    total: float = 0.0
    counts_squared: int = 0
    totals_squared: float = 0.0
    counts_by_totals: float = 0.0

    def add(self, values: Sequence[float]) -> None:
        """Take in the values of one conversation."""
        if not values:
            return
        count, total = len(values), float(sum(values))
        self.conversations += 1
        self.values += count
        self.total += total
        self.counts_squared += count * count
        self.totals_squared += total * total
        self.counts_by_totals += count * total

    @property
    def mean(self) -> float | None:
        """The mean of all values."""
        return self.total / self.values if self.values else None

    def interval(self, level: float = 0.95) -> Interval | Undefined:
        """The cluster-robust interval of the mean, or why there is none."""
        mean, count = self.mean, self.conversations
        if mean is None or count < 2:
            return Undefined("an interval needs several conversations")
        # The sum of (total - mean * number of values) squared, over conversations.
        squares = self.totals_squared - 2 * mean * self.counts_by_totals + mean * mean * self.counts_squared
        error = (count / (count - 1) * max(squares, 0.0)) ** 0.5 / self.values
        # What is left of equal values is rounding, which grows with the sums.
        error = error if squares > 1e-12 * max(self.totals_squared, 1.0) else 0.0
        return t_interval(mean, error, count, "conversations", level)


class Status(NamedTuple):
    """How a conversation came out, in a word and the class that draws it."""

    word: str
    tone: str
    rank: int
    """Where it stands in a list: what needs attention comes first."""


UNSAFE = Status("unsafe", "unsafe", 0)
FLAGGED = Status("flagged", "unsafe", 1)
UNJUDGED = Status("safety not judged", "open", 2)
FAIL = Status("fail", "notmet", 3)
INCOMPLETE = Status("incomplete", "open half", 4)
HELD_BACK = Status("pass, needs a person", "open", 5)
NOT_JUDGED = Status("not judged", "open", 6)
NO_FLAG = Status("no flag", "na", 7)
PASS = Status("pass", "met", 8)

STATUSES = (UNSAFE, FLAGGED, UNJUDGED, FAIL, INCOMPLETE, HELD_BACK, NOT_JUDGED, NO_FLAG, PASS)
BY_WORD = {status.word: status for status in STATUSES}
ALARMING = (UNSAFE, FLAGGED)

_OF_VERDICT = {
    Verdict.UNSAFE: UNSAFE,
    Verdict.FLAGGED: FLAGGED,
    Verdict.SAFETY_MISSING: UNJUDGED,
    Verdict.SAFETY_NOT_JUDGED: UNJUDGED,
    Verdict.FAIL: FAIL,
    Verdict.INCOMPLETE: INCOMPLETE,
    Verdict.NOT_JUDGED: NOT_JUDGED,
    Verdict.NO_FLAG: NO_FLAG,
    Verdict.PASS: PASS,
}


def status_of(card: Scorecard | None) -> Status:
    """The status of a conversation with this card, or with none."""
    if card is None:
        return NOT_JUDGED
    if card.verdict is Verdict.PASS and not card.passed:
        return HELD_BACK
    return _OF_VERDICT[card.verdict]


def possible(instrument: Instrument) -> tuple[Answer | int, ...]:
    """Every answer that an item of this instrument can have, in the order in which people read them."""
    others = (Answer.NA, Answer.NOT_JUDGED, Answer.NOT_DUE)
    if isinstance(instrument.scale, Scores):
        return (*range(instrument.scale.lowest, instrument.scale.highest + 1), *others)
    return (Answer.MET, Answer.NOT_MET, *others)


def low_limit(instrument: Instrument) -> int | None:
    """For scores: this one or a lower one is low; the two lowest levels of a scale are."""
    return instrument.scale.lowest + 1 if isinstance(instrument.scale, Scores) else None


def not_met(instrument: Instrument, given: Answer | int) -> bool:
    """Whether an answer counts against the reply: not met, or a low score."""
    limit = low_limit(instrument)
    return given <= limit if isinstance(given, int) and limit is not None else given is Answer.NOT_MET


def counted_answer(given: Answer | int) -> bool:
    """Whether an answer says that the item applied and was judged."""
    return isinstance(given, int) or given in {Answer.MET, Answer.NOT_MET}


def differ(instrument: Instrument, item: Item, first: Outcome, second: Outcome) -> bool:
    """Whether two outcomes disagree in a way that a reader should see.

    Scores that are next to each other do not, unless only one of them trips the gate. Where one of the two is no
    answer, there is nothing to compare.
    """
    one, other = answer(instrument, item, first), answer(instrument, item, second)
    if {one, other} & {Answer.NOT_JUDGED, Answer.NOT_DUE}:
        return False
    if isinstance(one, int) and isinstance(other, int):
        limits = [entry.fails_at for entry in instrument.gate if entry.item == item.id and entry.fails_at is not None]
        apart = any((one <= limit) != (other <= limit) for limit in limits)
        return apart or abs(one - other) > 1
    return one != other


def mask(possible_answers: tuple[Answer | int, ...], given: Iterable[Answer | int]) -> int:
    """The answers that were given, as bits in the order of `possible_answers`."""
    bits = 0
    for one in given:
        bits |= 1 << possible_answers.index(one)
    return bits


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
