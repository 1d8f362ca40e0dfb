"""How many conversations and ratings a wanted precision needs, in numbers and in words.

Three questions are answered from what a study holds so far, and from stated assumptions where it holds too little:
how sure a mean or a pass rate would be, how sure the agreement of people would be, and how many conversations it takes
until people have found enough failures to say what a judge misses.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil
from statistics import median_low
from typing import Literal, NamedTuple

from attunement.analysis.judge_agreement import FAILURES_NEEDED, RECALL_NEEDED
from attunement.analysis.reliability import ENOUGH
from attunement.annotation.sampling import is_flagged
from attunement.instruments import Instrument
from attunement.instruments.model import Scores
from attunement.ratings import State
from attunement.scoring import Case, Scorecard, due
from attunement.statistics.estimates import (
    LIKENESS,
    conversations_for_agreement,
    design_effect,
    failures_needed,
    sample_size_for_width,
    units_without_failure,
    upper_bound,
)
from attunement.statistics.results import FEWEST_CLUSTERS, Undefined
from attunement.store import ScoredConversation, Study, scored_conversations
from attunement.store.samples import latest_sample

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
    for entry in scored_conversations(study, instrument):
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

    def add(self, entry: ScoredConversation, units: int, weight: float) -> None:
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


_NAMED = 6
"""More systems or items than this are not named."""


def paragraphs(plan: Plan, instrument: Instrument, place: str) -> Iterator[str]:
    """The plan, one paragraph at a time; a line that begins with two blanks is a row of a table."""
    yield _there(plan, instrument, place)
    yield "MEANS: how sure is a system's score?"
    yield from _means(plan, instrument)
    yield "AGREEMENT: are the people reliable?"
    yield from _agreement(plan)
    if plan.failures is not None:
        yield "SAFETY GATE: how many failures does a judge miss?"
        yield from _gate(plan, plan.failures)
    yield "RATINGS: how much work is it?"
    yield _work(plan, instrument)


def _there(plan: Plan, instrument: Instrument, place: str) -> str:
    systems = ", ".join(f"{name} {count:,}" for name, count in list(plan.systems.items())[:_NAMED])
    more = len(plan.systems) - _NAMED
    return (
        f"{place} holds {_number_words(plan.conversations, 'conversation')} ({systems}"
        f"{f' and {more:,} more systems' if more > 0 else ''}). With {instrument.id} {instrument.version}, judges have "
        f"rated {plan.by_judges:,} of them and people {plan.by_people:,}."
    )


def _means(plan: Plan, instrument: Instrument) -> Iterator[str]:
    is_score = isinstance(instrument.scale, Scores)
    for need in plan.needs:
        if need.figure == PASS_RATE:
            yield (
                f"The pass rate to within {_per_hundred(need.width)} either way (95 % interval) takes "
                f"{_of_each(need, plan)}. {_because(need, share=True)}"
            )
    items = sorted((need for need in plan.needs if need.figure != PASS_RATE), key=lambda need: need.conversations)
    known = [need for need in items if need.source != "assumed"] or items
    most = known[-1]
    what = "mean of an item" if is_score else "share of conversations that meet an item"
    width = f"{most.width:g} points" if is_score else _per_hundred(most.width)
    half = median_low(need.conversations for need in known)
    number = _of_each(most, plan)
    if known[0].conversations < most.conversations:
        number = f"at most {half:,} for half of the items; {most.figure}, which asks for most, {number}"
    yield (
        f"The {what} to within {width} either way takes {number}. {_because(most, share=not is_score)} "
        "Half that width takes four times as many."
    )
    if len(known) < len(items):
        others = [need for need in items if need.source == "assumed"]
        names = ", ".join(need.figure for need in others[:_NAMED]) + (" and others" if len(others) > _NAMED else "")
        yield f"For {names} it takes {_of_each(others[-1], plan)}. {_because(others[-1], share=not is_score)}"


def _because(need: Need, *, share: bool) -> str:
    if need.source == "assumed" or need.mean is None:
        assumed = (
            "the worst case, a share of one half"
            if share
            else f"a standard deviation of {SCORE_SPREAD:g} and replies of one conversation that are half alike "
            f"(ICC {LIKENESS:g})"
        )
        return f"Too little is rated to know how it varies, so this assumes {assumed}."
    mean = _percent(need.mean) if share else f"{need.mean:.1f}"
    applies = f" and applies in {_percent(need.applies)} of conversations" if need.applies < 1 else ""
    spread = "" if share else f", with a standard deviation of {need.spread:.2f} between conversations"
    return f"So far it is {mean} ({need.source}, {_number_words(need.rated, 'conversation')}){spread}{applies}."


def _agreement(plan: Plan) -> Iterator[str]:
    alike = f", whose replies are taken to be half alike (ICC {LIKENESS:g})," if plan.units > 1 else ""
    yield (
        f"People count as reliable on an item when the lower end of alpha's 95 % interval is at least {ENOUGH:g}. "
        f"With {plan.raters} raters on every conversation{alike} that takes:"
    )
    for entry in plan.agreement:
        yield f"  {entry.conversations:,} conversations if alpha is really {entry.expected:.1f}"


def _gate(plan: Plan, failures: Failures) -> Iterator[str]:
    caught = ", ".join(f"{_percent(recall)} takes {failures_for_recall(recall)}" for recall in (0.95, 0.9, 0.85))
    yield (
        f"A verdict needs at least {FAILURES_NEEDED} failures that two people found blind, and a lower bound of "
        f"{RECALL_NEEDED:.2f} on the share that the judge caught: 29 of 30 is enough, 28 of 30 is not. To show it for "
        f"a judge that really catches {caught}."
    )
    yield _how_common(plan, failures)
    if failures.source != "assumed":
        yield (
            f"It may take fewer if all flagged conversations ({failures.flagged:,} here) are rated and a random share "
            "of the others beside them: --all-flagged --draw N. Without the others nobody can know what was missed."
            f"{_others(plan, failures)}"
        )


def _others(plan: Plan, failures: Failures) -> str:
    """How many of the unflagged ones it takes at best."""
    if failures.unflagged is None:
        return ""
    others = plan.conversations - failures.flagged
    return (
        f" If every flagged one is a failure, it takes {min(failures.unflagged, others):,} of the {others:,} others, "
        "and not one failure among them; more where some are found."
    )


def _how_common(plan: Plan, failures: Failures) -> str:
    if failures.rate is None or failures.conversations is None:
        return (
            "Nobody has judged safety yet, so how common failures are is not known. At 5 in a hundred, 30 failures "
            "take 600 conversations drawn at random; at 1 in a hundred, 3,000."
        )
    who = "People" if failures.source == "people" else "Judges"
    rated = _number_words(failures.rated, "conversation")
    number = f"{failures.conversations:,} conversations" + _missing(failures.conversations, plan.conversations)
    warning = " A judge's flags are not the truth: what it misses is to be found out." if who == "Judges" else ""
    if failures.highest is not None:
        return (
            f"{who} found no failure in {rated}; up to {_percent(failures.highest)} may still fail (95 % bound), so "
            f"that it takes at least {number} drawn at random.{warning}"
        )
    stands = f", which stands for {_percent(failures.rate)} of all" if who == "People" else ""
    return (
        f"{who} found a failure in {failures.found:,} of {rated}{stands}, so that it takes about {number} drawn at "
        f"random.{warning}"
    )


def _work(plan: Plan, instrument: Instrument) -> str:
    units = "" if plan.units <= 1 else f" with {plan.units:.1f} replies each on average"
    answers = round(100 * plan.units * len(instrument.items) * plan.raters)
    return (
        f"100 conversations{units}, {len(instrument.items)} items and {plan.raters} raters are "
        f"{100 * plan.raters:,} readings and {answers:,} answers."
    )


def _of_each(need: Need, plan: Plan) -> str:
    fewest = min(plan.systems.values())
    return f"{need.conversations:,} conversations of each system" + _missing(need.conversations, fewest)


def _missing(count: int, there: int) -> str:
    return f" (there are {there:,})" if count > there else ""


def _per_hundred(share: float) -> str:
    return f"{100 * share:g} in a hundred"


def _percent(share: float) -> str:
    percent = 100 * share
    return f"{percent:.0f} %" if percent >= 10 or percent == round(percent) else f"{percent:.1f} %"


def _number_words(count: int, thing: str) -> str:
    return f"{count:,} {thing}" if count == 1 else f"{count:,} {thing}s"
