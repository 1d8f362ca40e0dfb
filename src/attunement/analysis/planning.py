"""How many conversations and ratings a study needs, from what it has so far, and from stated assumptions.

The numbers for a mean are those of an interval's width. Those for a verdict are found by simulating studies under the
verdict's own rule: with so many conversations, four of five studies come to a verdict. Where even 10,000 would not,
that is what the plan says.
"""

from collections import Counter
from collections.abc import Sequence
from functools import cache
from math import ceil
from typing import Literal, NamedTuple

import numpy as np

from attunement.analysis.reliability import PeopleStatus, people_status
from attunement.analysis.verdicts import RECALL_NEEDED
from attunement.instruments import Instrument
from attunement.instruments.model import Scores
from attunement.ratings import State
from attunement.scoring import Case, Scorecard, due
from attunement.statistics.alpha import Level, alpha_statistic
from attunement.statistics.estimates import Proportion, proportion, upper_bound
from attunement.statistics.intervals import agreement_interval
from attunement.statistics.power import (
    LIKENESS,
    design_effect,
    sample_size_for_width,
    simulated_ratings,
    smallest_sample,
)
from attunement.statistics.ppi import ANY, SHARE, Estimate, difference, plain_mean
from attunement.statistics.results import FEWEST_CLUSTERS, Interval, Undefined
from attunement.store import ScoredConversation, Study, scored_conversations
from attunement.store.samples import latest_sample

PASS_RATE = "pass rate"  # noqa: S105 - a number that is reported, not a password
SCORE_WIDTH, SHARE_WIDTH = 0.2, 0.05
"""The default half-width of an interval: points of a scale, and a share."""
SCORE_SPREAD, SHARE_SPREAD = 1.0, 0.5
"""The assumed standard deviation without data: one point of the scale; for a share the largest possible."""
_RUNS = 120  # simulated studies for one number: enough to know a chance of 80 % within 7 percentage points

Source = Literal["people", "judges", "assumed"]
_SOURCES: tuple[Source, ...] = ("people", "judges")


class Need(NamedTuple):
    """How many conversations of each system an interval for an item or for the pass rate takes."""

    figure: str  # the id of an item, or `pass rate`
    width: float  # half of the interval
    conversations: int
    source: Source
    rated: int  # conversations used to measure the spread
    mean: float | None
    spread: float  # the standard deviation of conversations of one system
    applies: float  # the share of conversations with an answer other than NA; the others are not part of the mean


class Assured(NamedTuple):
    """How many conversations give a verdict with a chance of 80 %, if the truth is `true`; None: not with 10,000."""

    true: float
    conversations: int | None
    rare: int | None = None  # the same where one answer in ten is the rarer one


class Recall(NamedTuple):
    """How many failures, and how many conversations drawn at random, give a verdict on a judge's recall."""

    true: float
    failures: int | None
    conversations: int | None


class Failures(NamedTuple):
    """How many failures were found so far."""

    source: Source  # who found them; `assumed` if safety was not judged
    rated: int
    found: int
    rate: float | None  # the share of all conversations, weighted if there is a sample; None if safety was not judged
    highest: float | None  # if none was found: the 95 % upper bound of the share
    flagged: int  # conversations in the study that a judge flags


class Plan(NamedTuple):
    conversations: int
    systems: dict[str, int]
    units: float  # per conversation, on average
    raters: int
    by_people: int  # conversations that a person has rated
    by_judges: int
    needs: list[Need]
    agreement: list[Assured]
    comparison: list[Assured]  # of each system; the true difference is in points, or a share
    comparison_of: Need  # whose spread the differences are compared with
    recall: list[Recall]
    failures: Failures | None  # None for an instrument without safety items


def plan(study: Study, instrument: Instrument, *, width: float | None = None, raters: int = 2) -> Plan:
    """Plan a study for this instrument; `width` is the half-width of an interval, `raters` the number of people."""
    seen = _Seen(instrument)
    sample = latest_sample(study, instrument.id)
    weights = None if sample is None else {key: 1 / drawn.probability for key, drawn in sample.units.items()}
    responses = study.responses(instrument.id)
    for entry in scored_conversations(study, instrument):
        case = Case(entry.conversation.identity, entry.conversation.turns, responses)
        seen.units += len({slot.turn for slot in due(instrument, case)})
        seen.add(entry, 1.0 if weights is None else weights.get(entry.conversation.key, 0.0))
    conversations = seen.systems.total()
    units = seen.units / conversations if conversations else 1.0
    needs = seen.needs(width, units)
    failures = seen.failures() if instrument.gate else None
    rate = (failures.rate or failures.highest or 0.05) if failures else 0.05
    is_score = isinstance(instrument.scale, Scores)
    points = is_score and needs[0].figure != PASS_RATE
    return Plan(
        conversations=conversations,
        systems=dict(seen.systems),
        units=units,
        raters=raters,
        by_people=seen.rated["people"],
        by_judges=seen.rated["judges"],
        needs=needs,
        agreement=[agreement_needed(true, max(round(units), 1), raters, is_score=is_score) for true in _AGREEMENTS],
        comparison=[
            comparison_needed(size, needs[0], points=points)
            for size in ((0.5, 0.3, 0.2) if points else (0.2, 0.1, 0.05))
        ],
        comparison_of=needs[0],
        recall=[recall_needed(true, rate) for true in _RECALLS] if failures else [],
        failures=failures,
    )


# Verdicts

_AGREEMENTS = (0.2, 0.5, 0.6, 0.8)
_RECALLS = (0.95, 0.9, 0.7, 0.6)
_EVEN = {False: (0.5, 0.5), True: (0.1, 0.2, 0.4, 0.2, 0.1)}
_RARE = {False: (0.1, 0.9), True: (0.02, 0.03, 0.05, 0.2, 0.7)}
"""How common the answers are taken to be: of yes and no, and of five scores."""


@cache
def agreement_needed(true: float, units: int, raters: int, *, is_score: bool) -> Assured:
    """How many conversations tell whether people agree, if their true alpha is `true`."""

    def needed(shares: Sequence[float]) -> int | None:
        return smallest_sample(lambda count: agreement_chance(count, true, units, raters, shares))

    return Assured(true, needed(_EVEN[is_score]), needed(_RARE[is_score]))


def agreement_chance(
    conversations: int,
    true: float,
    units: int,
    raters: int,
    shares: Sequence[float],
    *,
    runs: int = _RUNS,
    seed: int = 0,
) -> float:
    """The chance of a verdict on people's agreement."""
    rng = np.random.default_rng([seed, conversations, raters, round(100 * true)])
    level: Level = "ordinal" if len(shares) > 2 else "nominal"
    settled = 0
    for _ in range(runs):
        ratings, where = simulated_ratings(rng, conversations, units, raters, true, shares)
        interval = agreement_interval(alpha_statistic(ratings, level), where)
        settled += people_status(interval) is not PeopleStatus.OPEN
    return settled / runs


def comparison_needed(size: float, need: Need, *, points: bool) -> Assured:
    """How many conversations of each of two systems show that they differ, if they do by `size`."""
    return Assured(size, smallest_sample(lambda count: comparison_chance(count, size, need, points=points)))


def comparison_chance(
    conversations: int, size: float, need: Need, *, points: bool, runs: int = _RUNS, seed: int = 0
) -> float:
    """The chance that the interval of the difference between two systems on other scenarios excludes zero."""
    rng = np.random.default_rng([seed, conversations, round(1000 * size)])
    number = np.arange(conversations)
    share = min(max(need.mean or 0.5, size / 2 + 0.005), 1 - size / 2 - 0.005)
    shown = 0
    for _ in range(runs):
        sides: list[Estimate | Undefined] = []
        for side in (-size / 2, size / 2):
            if points:
                sides.append(plain_mean(rng.normal(side, need.spread, conversations), number, ANY))
            else:
                sides.append(plain_mean(rng.random(conversations) < share + side, number, SHARE))
        first, second = sides
        if isinstance(first, Estimate) and isinstance(second, Estimate):
            interval = difference(first, second).interval
            shown += isinstance(interval, Interval) and (interval.low > 0 or interval.high < 0)
    return shown / runs


def recall_needed(true: float, rate: float) -> Recall:
    """How many failures, and conversations of which the share `rate` fails, give a verdict on a judge's recall."""
    return Recall(
        true,
        smallest_sample(lambda failures: recall_chance(failures, true)),
        smallest_sample(lambda count: recall_chance_among(count, true, rate), start=1000),
    )


@cache
def recall_chance(failures: int, true: float) -> float:
    """The chance that the interval of the share that a judge found lies wholly on one side of the least share."""
    if not failures:
        return 0.0
    found = np.random.default_rng([failures, round(100 * true)]).binomial(failures, true, _RUNS * 4)
    counts, times = np.unique(found, return_counts=True)
    settled = 0
    for count, number in zip(counts.tolist(), times.tolist(), strict=True):
        made = proportion(count, failures)
        if isinstance(made, Proportion):
            settled += number * (made.interval.low >= RECALL_NEEDED or made.interval.high < RECALL_NEEDED)
    return settled / (_RUNS * 4)


def recall_chance_among(conversations: int, true: float, rate: float) -> float:
    """The same for conversations drawn at random."""
    failures = np.random.default_rng([conversations, round(1000 * rate)]).binomial(conversations, rate, _RUNS)
    return float(np.mean([recall_chance(number, true) for number in failures.tolist()]))


# What the study has so far


class _Spread:
    """Sums of one number per conversation, by system."""

    def __init__(self) -> None:
        self._sums: dict[str, tuple[int, float, float]] = {}
        self._blank = 0  # conversations with NA for the item

    def add(self, system: str, value: float | None) -> None:
        if value is None:
            self._blank += 1
        else:
            count, total, squares = self._sums.get(system, (0, 0.0, 0.0))
            self._sums[system] = (count + 1, total + value, squares + value**2)

    def need(self, figure: str, width: float, source: Source) -> Need | None:
        """None if the data do not show how much conversations vary.

        Equal values do not show it either.
        """
        count = sum(count for count, _, _ in self._sums.values())
        if count - len(self._sums) < FEWEST_CLUSTERS - 1:
            return None
        # Around the mean of each system: differences between systems do not count as spread.
        within = sum(squares - total**2 / count for count, total, squares in self._sums.values())
        variance = max(0.0, within) / (count - len(self._sums))
        if variance <= 1e-9:
            return None
        applies = count / (count + self._blank)
        mean = sum(total for _, total, _ in self._sums.values()) / count
        needed = _for_width(variance, width, applies)
        return Need(figure, width, needed, source, count, mean, variance**0.5, applies)


class _Seen:
    """Running totals of a study, in constant memory."""

    def __init__(self, instrument: Instrument) -> None:
        self._instrument = instrument
        self.units = 0
        self.systems: Counter[str] = Counter()
        self.rated: Counter[Source] = Counter()
        self._spreads: dict[tuple[Source, str], _Spread] = {}
        self._found: Counter[Source] = Counter()
        self._looked: Counter[Source] = Counter()
        self._weight = self._failing = 0.0

    def add(self, entry: ScoredConversation, weight: float) -> None:
        """Count a conversation; `weight` is how many conversations it represents in people's sample."""
        system = entry.conversation.identity.system
        self.systems[system] += 1
        people, judges = entry.cards.people, entry.cards.judges
        together = entry.deciding if judges else None
        self._add_answers("people", people, system)
        self._add_answers("judges", judges, system)
        if self._instrument.scoring.threshold is not None:
            if people:
                self._spread("people", PASS_RATE).add(system, sum(card.passed for card in people) / len(people))
            if together:
                self._spread("judges", PASS_RATE).add(system, float(together.passed))
        if weight and any(self._knows_safety(card) for card in people):
            failed = any(card.unsafe for card in people)
            self._looked["people"] += 1
            self._found["people"] += failed
            self._weight += weight
            self._failing += weight * failed
        self._looked["judges"] += together is not None and self._knows_safety(together)
        self._found["judges"] += is_flagged(together)

    def _knows_safety(self, card: Scorecard) -> bool:
        """Whether a card shows a failure, or shows that there is none; with a missing answer it shows neither."""
        gate = [outcome for slot, outcome in card.outcomes.items() if slot.item in self._instrument.gate_ids]
        return is_flagged(card) or all(outcome.state in {State.VALUE, State.NA} for outcome in gate)

    def _add_answers(self, source: Source, cards: Sequence[Scorecard], system: str) -> None:
        self.rated[source] += bool(cards)
        answers: dict[str, list[float]] = {}
        for card in cards:
            for slot, outcome in card.outcomes.items():
                if outcome.state is State.NA:
                    answers.setdefault(slot.item, [])
                elif outcome.state is State.VALUE:
                    value = outcome.value if isinstance(outcome.value, int) else outcome.value == "YES"
                    answers.setdefault(slot.item, []).append(float(value))
        for item, values in answers.items():
            self._spread(source, item).add(system, sum(values) / len(values) if values else None)

    def _spread(self, source: Source, figure: str) -> _Spread:
        return self._spreads.setdefault((source, figure), _Spread())

    def needs(self, width: float | None, units: float) -> list[Need]:
        is_score = isinstance(self._instrument.scale, Scores)
        needs = [self._need(item.id, width, units, is_score=is_score) for item in self._instrument.items]
        if self._instrument.scoring.threshold is None:
            return needs
        return [self._need(PASS_RATE, None if is_score else width, units, is_score=False), *needs]

    def _need(self, figure: str, width: float | None, units: float, *, is_score: bool) -> Need:
        width = width or (SCORE_WIDTH if is_score else SHARE_WIDTH)
        for source in _SOURCES:
            if need := self._spread(source, figure).need(figure, width, source):
                return need
        alike = 1.0 if figure == PASS_RATE else design_effect(units, LIKENESS) / units
        variance = (SCORE_SPREAD if is_score else SHARE_SPREAD) ** 2 * alike
        return Need(figure, width, _for_width(variance, width, 1.0), "assumed", 0, None, variance**0.5, 1.0)

    def failures(self) -> Failures:
        source: Source = "people" if self._looked["people"] else "judges" if self._looked["judges"] else "assumed"
        if source == "assumed":
            return Failures("assumed", 0, 0, None, None, 0)
        looked, found = self._looked[source], self._found[source]
        rate = self._failing / self._weight if source == "people" else found / looked
        return Failures(source, looked, found, rate, None if found else upper_bound(0, looked), self._found["judges"])


def _for_width(variance: float, width: float, applies: float) -> int:
    # Below ten conversations there is no interval.
    return ceil(max(FEWEST_CLUSTERS, sample_size_for_width(variance, width)) / applies)


def is_flagged(card: Scorecard | None) -> bool:
    return card is not None and bool(card.unsafe or card.needs_person)
