"""How many conversations and ratings does a wanted precision need?

Three questions are answered from what a study holds so far, and from stated assumptions where it holds too little:
how sure a mean or a pass rate would be, how sure the agreement of people would be, and how many conversations it takes
until people have found enough failures to say what a judge misses.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import Literal, NamedTuple

from attunement.agreement.missed import FAILURES_NEEDED, RECALL_NEEDED
from attunement.agreement.power import (
    LIKENESS,
    conversations_for_agreement,
    design_effect,
    failures_needed,
    sample_size_for_width,
    units_without_failure,
)
from attunement.agreement.proportions import upper_bound
from attunement.agreement.reliability import ENOUGH
from attunement.agreement.results import FEWEST_CLUSTERS, Undefined
from attunement.instruments import Instrument
from attunement.instruments.model import Scores
from attunement.people.strata import is_flagged
from attunement.ratings import State
from attunement.scoring import Case, Scorecard, due
from attunement.study import Judged, Study, judged
from attunement.study.samples import latest_sample

PASS_RATE = "pass rate"  # noqa: S105 - a figure, no password
SCORE_WIDTH, SHARE_WIDTH = 0.2, 0.05
"""The half width of an interval that is wanted where nobody says otherwise: points of a scale, and a share."""
SCORE_SPREAD, SHARE_SPREAD = 1.0, 0.5
"""The standard deviation where nothing is known: one point of the scale; for a share the largest there is."""

Source = Literal["people", "judges", "assumed"]


class Need(NamedTuple):
    """How many conversations of each system the interval of one figure takes."""

    figure: str
    """The id of an item, or `pass rate`."""
    width: float
    """The half width of the interval."""
    conversations: int
    source: Source
    rated: int
    """How many conversations the spread was seen in."""
    mean: float | None
    spread: float
    """The standard deviation of conversations of one system."""
    applies: float
    """The share of conversations in which there was an answer other than NA; the others say nothing about the mean."""


class Agreement(NamedTuple):
    """How many conversations show that people are reliable, if their alpha is what is expected."""

    expected: float
    conversations: int


class Failures(NamedTuple):
    """How many failures must be found, and how often they were seen so far."""

    source: Source
    """Who saw them; `assumed` where nobody has looked."""
    rated: int
    found: int
    rate: float | None
    """The share of all conversations that fail, weighted where the sample was; None where nothing was seen."""
    highest: float | None
    """Where none was seen: the most that the share could be, at 95 %."""
    conversations: int | None
    """How many drawn at random hold enough failures; where none was seen, at least so many."""
    flagged: int
    """Conversations in the study that a judge flags."""
    unflagged: int | None = None
    """How many of the others must be rated beside all flagged ones, if no failure is among them and all flagged ones
    are failures; None where too few are flagged for that."""

    needed: int = FAILURES_NEEDED


class Plan(NamedTuple):
    """The answers for one instrument in one study."""

    conversations: int
    systems: dict[str, int]
    units: float
    """Units of a conversation, on average."""
    raters: int
    by_people: int
    """Conversations that a person has rated."""
    by_judges: int
    needs: list[Need]
    agreement: list[Agreement]
    failures: Failures | None
    """None for an instrument without safety items."""


def plan(study: Study, instrument: Instrument, *, width: float | None = None, raters: int = 2) -> Plan:
    """What this study and instrument need; `width` is the half width of an interval, `raters` how many people."""
    seen = _Seen(instrument)
    sample = latest_sample(study, instrument.id)
    weights = None if sample is None else {key: 1 / drawn.probability for key, drawn in sample.units.items()}
    responses = study.responses(instrument.id)
    for entry in judged(study, instrument):
        case = Case(entry.conversation.identity, entry.conversation.turns, responses)
        units = len({slot.turn for slot in due(instrument, case)})
        weight = 1.0 if weights is None else weights.get(entry.conversation.key, 0.0)
        seen.add(entry, units, weight)
    units = seen.units / seen.conversations if seen.conversations else 1.0
    is_score = isinstance(instrument.scale, Scores)
    share_width = SHARE_WIDTH if is_score else width or SHARE_WIDTH
    width = width or (SCORE_WIDTH if is_score else SHARE_WIDTH)
    figures = ([PASS_RATE] if instrument.scoring.threshold is not None else []) + [item.id for item in instrument.items]
    return Plan(
        conversations=seen.conversations,
        systems=seen.systems,
        units=units,
        raters=raters,
        by_people=seen.rated["people"],
        by_judges=seen.rated["judges"],
        needs=[
            seen.need(figure, share_width if figure == PASS_RATE else width, units, is_score=is_score)
            for figure in figures
        ],
        agreement=[
            Agreement(expected, _number(conversations_for_agreement(expected, ENOUGH, raters, units)))
            for expected in (0.5, 0.6, 0.7, 0.8)
        ],
        failures=seen.failures() if instrument.gate else None,
    )


def failures_for_recall(recall: float) -> int:
    """How many failures people must find so that a judge that catches this share of them can be shown to."""
    return max(FAILURES_NEEDED, _number(failures_needed(recall, RECALL_NEEDED)))


@dataclass
class _Spread:
    """Sums of one figure, a number a conversation, by system."""

    sums: dict[str, tuple[int, float, float]] = field(default_factory=dict[str, tuple[int, float, float]])
    blank: int = 0
    """Conversations in which the item did not apply."""

    def add(self, system: str, value: float | None) -> None:
        if value is None:
            self.blank += 1
            return
        count, total, squares = self.sums.get(system, (0, 0.0, 0.0))
        self.sums[system] = (count + 1, total + value, squares + value**2)

    @property
    def count(self) -> int:
        return sum(count for count, _, _ in self.sums.values())

    @property
    def mean(self) -> float:
        return sum(total for _, total, _ in self.sums.values()) / self.count

    @property
    def variance(self) -> float:
        """Of conversations around the mean of their system."""
        within = sum(squares - total**2 / count for count, total, squares in self.sums.values())
        return max(0.0, within) / (self.count - len(self.sums))

    @property
    def enough(self) -> bool:
        """Whether it shows how far conversations differ. Equal values do not: the next may be another."""
        return self.count - len(self.sums) >= FEWEST_CLUSTERS - 1 and self.variance > 1e-9


class _Seen:
    """What was met in a study, in little memory however many conversations there are."""

    def __init__(self, instrument: Instrument) -> None:
        self._instrument = instrument
        self.conversations = 0
        self.units = 0
        self.systems: dict[str, int] = {}
        self.rated = {"people": 0, "judges": 0}
        self._spreads: dict[tuple[Source, str], _Spread] = {}
        self._found = {"people": 0, "judges": 0}
        self._looked = {"people": 0, "judges": 0}
        self._weight = self._failing = 0.0

    def add(self, entry: Judged, units: int, weight: float) -> None:
        """Note a conversation that stands for `weight` others among those that people rated."""
        system = entry.conversation.identity.system
        self.conversations += 1
        self.units += units
        self.systems[system] = self.systems.get(system, 0) + 1
        people, models = entry.cards.people, entry.cards.judges
        together = entry.deciding if models else None
        self._note("people", people, system)
        self._note("judges", models, system)
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
        """Whether a card says that there is a failure, or that there is none: no answer says neither."""
        gate = [outcome for slot, outcome in card.outcomes.items() if slot.item in self._instrument.gate_ids]
        return is_flagged(card) or all(outcome.state in {State.VALUE, State.NA} for outcome in gate)

    def _note(self, source: Literal["people", "judges"], cards: Sequence[Scorecard], system: str) -> None:
        self.rated[source] += bool(cards)
        answers: dict[str, list[float]] = {}
        asked: set[str] = set()
        for card in cards:
            for slot, outcome in card.outcomes.items():
                if outcome.state is State.NA:
                    asked.add(slot.item)
                elif outcome.state is State.VALUE:
                    answers.setdefault(slot.item, []).append(
                        float(outcome.value) if isinstance(outcome.value, int) else float(outcome.value == "YES")
                    )
        for item in answers.keys() | asked:
            values = answers.get(item)
            self._spread(source, item).add(system, sum(values) / len(values) if values else None)

    def _spread(self, source: Source, figure: str) -> _Spread:
        return self._spreads.setdefault((source, figure), _Spread())

    def need(self, figure: str, width: float, units: float, *, is_score: bool) -> Need:
        """How many conversations the interval of a figure takes."""
        for source in _SOURCES:
            spread = self._spread(source, figure)
            if spread.enough:
                applies = spread.count / (spread.count + spread.blank)
                count = _for_width(spread.variance, width, applies)
                return Need(figure, width, count, source, spread.count, spread.mean, spread.variance**0.5, applies)
        one = SCORE_SPREAD if is_score and figure != PASS_RATE else SHARE_SPREAD
        alike = 1.0 if figure == PASS_RATE else design_effect(units, LIKENESS) / units
        count = _for_width(one**2 * alike, width, 1.0)
        return Need(figure, width, count, "assumed", 0, None, (one**2 * alike) ** 0.5, 1.0)

    def failures(self) -> Failures:
        """How often failures were seen, and how many conversations hold enough of them."""
        source: Source = "people" if self._looked["people"] else "judges" if self._looked["judges"] else "assumed"
        if source == "assumed":
            return Failures(source, 0, 0, None, None, None, 0)
        looked, found = self._looked[source], self._found[source]
        rate = self._failing / self._weight if source == "people" else found / looked
        highest = None if found else upper_bound(0, looked)
        count = ceil(FAILURES_NEEDED / (rate or highest or 1))
        flagged = self._found["judges"]
        return Failures(source, looked, found, rate, highest, count, flagged, self._unflagged(flagged))

    def _unflagged(self, flagged: int) -> int | None:
        others = self.conversations - flagged
        if flagged < FAILURES_NEEDED or not others:
            return None
        # So many failures among the others, as a share of them, would still leave the recall that is asked for.
        allowed = min(flagged * (1 - RECALL_NEEDED) / RECALL_NEEDED / others, 0.999)
        return _number(units_without_failure(allowed, level=0.975))


_SOURCES: tuple[Literal["people", "judges"], ...] = ("people", "judges")


def _for_width(variance: float, width: float, applies: float) -> int:
    # Below ten conversations there is no interval at all.
    return ceil(max(FEWEST_CLUSTERS, _number(sample_size_for_width(variance, width))) / applies)


def _number(count: int | Undefined) -> int:
    if isinstance(count, Undefined):
        raise ValueError(count.reason)
    return count
