"""How many conversations and ratings a study needs for a given precision, in numbers and in words.

The plan covers the precision of a mean or a pass rate, the precision of people's agreement, and the number of
conversations until people have found enough failures to estimate what a judge misses. It uses the data of the study so
far, and stated assumptions where there are too few data.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from math import ceil
from typing import Literal, NamedTuple

from attunement.analysis.reliability import MODERATE
from attunement.analysis.verdicts import RECALL_NEEDED
from attunement.annotation.sampling import is_flagged
from attunement.instruments import Instrument
from attunement.instruments.model import Scores
from attunement.ratings import State
from attunement.scoring import Case, Scorecard, due
from attunement.statistics.estimates import upper_bound
from attunement.statistics.power import (
    LIKENESS,
    conversations_for_agreement,
    design_effect,
    failures_needed,
    sample_size_for_width,
    units_without_failure,
)
from attunement.statistics.results import FEWEST_CLUSTERS, Undefined
from attunement.store import ScoredConversation, Study, scored_conversations
from attunement.store.samples import latest_sample

PASS_RATE = "pass rate"  # noqa: S105 - a number that is reported, not a password
SCORE_WIDTH, SHARE_WIDTH = 0.2, 0.05
"""The default half-width of an interval: points of a scale, and a share."""
SCORE_SPREAD, SHARE_SPREAD = 1.0, 0.5
"""The assumed standard deviation without data: one point of the scale; for a share the largest possible."""
_SHOWN = 6
"""At most this many systems or items are named."""

FAILURES_NEEDED = 30
"""Failures to plan for: with 29 of 30 found, the interval of recall begins above what is asked for."""
Source = Literal["people", "judges", "assumed"]


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


class Agreement(NamedTuple):
    """How many conversations it takes to show that people are reliable, given an expected alpha."""

    expected: float
    conversations: int


class Failures(NamedTuple):
    """How many failures were found so far, and how many conversations will contain enough of them."""

    source: Source  # who found them; `assumed` if safety was not judged
    rated: int
    found: int
    rate: float | None  # the share of all conversations, weighted if there is a sample; None if safety was not judged
    highest: float | None  # if none was found: the 95 % upper bound of the share
    conversations: int | None  # size of a random sample with enough failures; if none was found, the minimum
    flagged: int  # conversations in the study that a judge flags
    unflagged: int | None = None
    """How many of the others must be rated in addition to the flagged ones, if none of them and all flagged ones are
    failures; None if too few are flagged.
    """


class Plan(NamedTuple):
    conversations: int
    systems: dict[str, int]
    units: float  # per conversation, on average
    raters: int
    by_people: int  # conversations that a person has rated
    by_judges: int
    needs: list[Need]
    agreement: list[Agreement]
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
    return Plan(
        conversations=conversations,
        systems=dict(seen.systems),
        units=units,
        raters=raters,
        by_people=seen.rated["people"],
        by_judges=seen.rated["judges"],
        needs=seen.needs(width, units),
        agreement=[
            Agreement(expected, _number(conversations_for_agreement(expected, MODERATE, raters, units)))
            for expected in (0.5, 0.6, 0.7, 0.8)
        ],
        failures=seen.failures() if instrument.gate else None,
    )


def failures_for_recall(recall: float) -> int:
    """How many failures people must find to show that a judge with this recall is good enough."""
    return max(FAILURES_NEEDED, _number(failures_needed(recall, RECALL_NEEDED)))


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
            return Failures("assumed", 0, 0, None, None, None, 0)
        looked, found = self._looked[source], self._found[source]
        rate = self._failing / self._weight if source == "people" else found / looked
        highest = None if found else upper_bound(0, looked)
        count = ceil(FAILURES_NEEDED / (rate or highest or 1))
        flagged, unflagged = self._found["judges"], None
        if flagged >= FAILURES_NEEDED and (others := self.systems.total() - flagged):
            # The share of failures among the others that would still leave the required recall.
            allowed = min(flagged * (1 - RECALL_NEEDED) / RECALL_NEEDED / others, 0.999)
            unflagged = _number(units_without_failure(allowed, level=0.975))
        return Failures(source, looked, found, rate, highest, count, flagged, unflagged)


_SOURCES: tuple[Source, ...] = ("people", "judges")


def _for_width(variance: float, width: float, applies: float) -> int:
    # Below ten conversations there is no interval.
    return ceil(max(FEWEST_CLUSTERS, _number(sample_size_for_width(variance, width))) / applies)


def _number(count: int | Undefined) -> int:
    if isinstance(count, Undefined):
        raise ValueError(count.reason)
    return count


def paragraphs(plan: Plan, instrument: Instrument, place: str) -> Iterator[str]:
    """The plan, one paragraph at a time; a line that begins with two spaces is a table row."""
    systems = ", ".join(f"{name} {count:,}" for name, count in list(plan.systems.items())[:_SHOWN])
    more = len(plan.systems) - _SHOWN
    yield (
        f"{place} has {_conversations(plan.conversations)} ({systems}"
        f"{f' and {more:,} more systems' if more > 0 else ''}). With {instrument.id} {instrument.version}, judges have "
        f"rated {plan.by_judges:,} of them and people {plan.by_people:,}."
    )
    yield "MEANS: how precise is a system's score?"
    yield from _means(plan, instrument)
    yield "AGREEMENT: are people's ratings reliable?"
    alike = f", assuming that its replies correlate with an ICC of {LIKENESS:g}," if plan.units > 1 else ""
    yield (
        f"People count as reliable on an item if the lower end of alpha's 95 % interval is at least {MODERATE:g}. "
        f"With {plan.raters} raters for every conversation{alike} this takes:"
    )
    for entry in plan.agreement:
        yield f"  {entry.conversations:,} conversations if the true alpha is {entry.expected:.1f}"
    if plan.failures is not None:
        yield "SAFETY GATE: how many failures does a judge miss?"
        yield from _gate(plan, plan.failures)
    yield "RATINGS: how much work is it?"
    units = "" if plan.units <= 1 else f" with {plan.units:.1f} replies each on average"
    answers = round(100 * plan.units * len(instrument.items) * plan.raters)
    yield (
        f"100 conversations{units}, {len(instrument.items)} items and {plan.raters} raters are "
        f"{100 * plan.raters:,} readings and {answers:,} answers."
    )


def _means(plan: Plan, instrument: Instrument) -> Iterator[str]:
    """How many conversations each interval takes: the pass rate first, then the items, those that need most first."""
    is_score = isinstance(instrument.scale, Scores)
    width = plan.needs[-1].width  # of an item; where items are scores, the pass rate has its own
    yield (
        f"Conversations of each system (the smallest has {min(plan.systems.values()):,}) for a 95 % interval of plus "
        f"or minus {f'{width:g} points' if is_score else _per_hundred(width)}; half that width takes four times as "
        f"many:"
    )
    for need in sorted(plan.needs, key=lambda need: (need.figure != PASS_RATE, -need.conversations)):
        points = is_score and need.figure != PASS_RATE
        own = "" if need.width == width else f" within plus or minus {_per_hundred(need.width)}"
        yield f"  {need.figure}{own}: {need.conversations:,}; {_basis(need, points=points)}"


def _basis(need: Need, *, points: bool) -> str:
    if need.mean is None:
        assumed = "a share of one half, the worst case"
        if points:
            assumed = f"a standard deviation of {SCORE_SPREAD:g} and an ICC of {LIKENESS:g} between replies"
        return f"there are too few ratings to measure the variation, so this assumes {assumed}"
    mean = f"mean {need.mean:.1f}, standard deviation {need.spread:.2f}" if points else _percent(need.mean)
    applies = f", applies to {_percent(need.applies)} of conversations" if need.applies < 1 else ""
    return f"so far {mean} ({need.source}, {_conversations(need.rated)}){applies}"


def _gate(plan: Plan, failures: Failures) -> Iterator[str]:
    caught = ", ".join(f"{_percent(recall)}: {failures_for_recall(recall)}" for recall in (0.95, 0.9, 0.85))
    yield (
        f"A judge is good enough if the interval of the share of failures that it finds begins at {RECALL_NEEDED:.2f}: "
        f"29 of {FAILURES_NEEDED} that two people found is enough, 28 is not. "
        f"Failures needed if the judge really catches {caught}."
    )
    if failures.rate is None or failures.conversations is None:
        yield (
            "Safety has not been judged yet, so the failure rate is unknown. At 5 %, 30 failures take 600 "
            "conversations drawn at random; at 1 %, 3,000."
        )
        return
    by_people = failures.source == "people"
    who, rated = "People" if by_people else "Judges", _conversations(failures.rated)
    number = f"{failures.conversations:,} conversations" + _of_there(failures.conversations, plan.conversations)
    if failures.highest is not None:
        finding = (
            f"{who} found no failure in {rated}. Up to {_percent(failures.highest)} may still fail (95 % bound), so "
            f"it takes at least {number} drawn at random."
        )
    else:
        estimate = f", an estimated {_percent(failures.rate)} of all" if by_people else ""
        finding = (
            f"{who} found a failure in {failures.found:,} of {rated}{estimate}, so it takes about {number} drawn at "
            f"random."
        )
    yield finding if by_people else f"{finding} A judge's flags may be wrong, and what it misses is not known yet."
    others = plan.conversations - failures.flagged
    yield (
        f"It may take fewer if people rate all flagged conversations ({failures.flagged:,} here) and a random sample "
        f"of the others: --all-flagged --draw N. The others show what the judge missed."
    ) + (
        ""
        if failures.unflagged is None
        else f" If every flagged one is a failure, it takes {min(failures.unflagged, others):,} of the {others:,} "
        f"others without a failure among them; more if some are found."
    )


def _of_there(count: int, there: int) -> str:
    return f" (there are {there:,})" if count > there else ""


def _per_hundred(share: float) -> str:
    return f"{100 * share:g} percentage points"


def _percent(share: float) -> str:
    percent = 100 * share
    return f"{percent:.0f} %" if percent >= 10 or percent == round(percent) else f"{percent:.1f} %"


def _conversations(count: int) -> str:
    return f"{count:,} conversation{'' if count == 1 else 's'}"
