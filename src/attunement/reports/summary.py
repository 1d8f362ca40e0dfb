"""Read a study once and count everything that its reports say.

`summarize` makes the only scoring pass: it fills a `Summary`, which every form of a report presents, and the list of
conversations, and hands each conversation to the forms that write one record for each. What is kept does not grow with
the number of conversations: counts, sums for means and their intervals, and a few conversations as examples.

Shares of conversations have exact intervals, means cluster-robust ones over conversations; with fewer than ten
conversations there is none. A safety score has no mean: what counts is the share of low ones.
"""

from bisect import insort
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, islice
from typing import NamedTuple

from attunement.conversations import Conversation, UnitKind
from attunement.instruments import Instrument, Scores
from attunement.instruments.model import CrisisCueButNa
from attunement.ratings import State
from attunement.reports.conversation import Issue, issues, view
from attunement.reports.gate import exit_code_alone
from attunement.reports.html.listing import NEEDS_PERSON, Listing, Row
from attunement.reports.numbers import score_words
from attunement.reports.overview import RaterRef, Repeats, Tally
from attunement.reports.privacy import SHOW_ALL, Privacy
from attunement.reports.wording import (
    NOT_JUDGED_STATUS,
    Answer,
    Status,
    answer,
    answered,
    combination_words,
    differ,
    low_limit,
    mask,
    not_met,
    possible_answers,
    status_of,
)
from attunement.scoring import Scorecard
from attunement.signals.crisis import crisis_cues
from attunement.signals.pointers import PointerKind
from attunement.statistics.estimates import proportion, t_interval
from attunement.statistics.results import FEWEST_CLUSTERS, Interval, Undefined
from attunement.store import ConversationSummary, ScoredConversation, StoredConversation, Study, scored_conversations
from attunement.store.queries import (
    conversations_by_key,
    largest_systems,
    reasons_by_conversation,
    with_lost_quotes,
)
from attunement.store.scorecards import decided_by_people

MOST_SYSTEMS = 8  # with numbers of their own: more cannot be told apart in a chart; the rest is counted together
OTHERS = "other systems"
NO_ANSWER = "no answer"
CRISIS = "crisis talk"
POINTER = "pointer of the rule check"
NOT_ENGLISH = "not English: not looked at by the rule check"
LOST_QUOTE = "quote not found"
PEOPLE_DIFFER = "people differ"
PEOPLE_AGREE = "people agree"
JUDGES_DIFFER = "judges differ"

STEPS = 20  # of a distribution of scores from 0 to 1
_BATCH = 200
_TINY = 1e-9
_VISIBLE = 0.005  # a score with a wider range is shown as that range
_MOST_SERIOUS = 10  # conversations that a summary describes at most; it says how many more there are


# Counts


@dataclass
class Moments:
    """Sums over conversations of their numbers of values, of their totals, and of the products of both.

    They give the same mean and interval as `statistics.estimates.mean` with conversations as clusters, and take the
    same room for ten conversations and for a million.
    """

    conversations: int = 0
    values: int = 0
    total: float = 0.0
    counts_squared: int = 0
    totals_squared: float = 0.0
    counts_by_totals: float = 0.0

    def add(self, values: Sequence[float]) -> None:
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


class Share(NamedTuple):
    part: int = 0
    whole: int = 0
    unjudged: int = 0  # where only faults were reported: how much of `whole` has no answer


PASSED, SCORE = "passed", "score"  # ids of measures; the others are ids of items, and of categories behind "category_"


@dataclass
class SystemCounts:
    """What was counted about one system, or about all of them, on the card that decides."""

    tally: Tally = field(default_factory=Tally)
    statuses: Counter[Status] = field(default_factory=Counter[Status])
    judged: int = 0  # conversations in which at least one question got an answer
    # By measure; behind "reached_" how often a category reached the threshold.
    values: dict[str, Moments] = field(default_factory=dict[str, Moments])
    # How many conversations of each status have a score in each step; the last step ends at 1 and includes it.
    steps: dict[int, Counter[Status]] = field(default_factory=dict[int, Counter[Status]])
    unscored: int = 0  # conversations that are in no step: what is open could still change their score

    @property
    def unanswered(self) -> int:
        return self.tally.conversations - self.judged

    @property
    def passed(self) -> Share:
        """Passed, of those that were judged at all."""
        return self.share(PASSED)

    def share(self, id: str) -> Share:
        """How many of how many, for values that are 0 or 1."""
        found = self.values.get(id, Moments())
        return Share(round(found.total), found.values)

    def item_share(self, instrument: Instrument, item: str) -> Share:
        """Of the answers that say that the item applied and was judged, how many count against the replies."""
        given = self.tally.given(item).items()
        judged = [(one, number) for one, number in given if isinstance(one, int) or one in {Answer.MET, Answer.NOT_MET}]
        part = sum(number for one, number in judged if not_met(instrument, one))
        return Share(part, sum(number for _, number in judged))

    def add(self, instrument: Instrument, card: Scorecard | None) -> None:
        self.tally.add(instrument, card)
        self.statuses[status_of(card)] += 1
        if card is None or not answered(card):
            return
        self.judged += 1
        self._add(PASSED, [card.passed])
        scores = {SCORE: card.score} | {f"category_{id}": mean for id, mean in card.categories.items()}
        if card.score is not None and card.range and card.range.highest - card.range.lowest > _VISIBLE:
            self.unscored += 1
        elif card.score is not None:
            self.steps.setdefault(step(card.score), Counter())[status_of(card)] += 1
        for id, score in scores.items():
            if score is None:
                continue
            self._add(id, [score])
            if id != SCORE and instrument.scoring.threshold is not None:
                self._add(f"reached_{id}", [score >= instrument.scoring.threshold - _TINY])
        for item, values in _item_values(instrument, card).items():
            self._add(item, values)

    def _add(self, id: str, values: Sequence[float]) -> None:
        self.values.setdefault(id, Moments()).add(values)


def _item_values(instrument: Instrument, card: Scorecard) -> dict[str, list[float]]:
    """The values of each item that were judged: 1 for met, the score, or for a safety score 1 where it is low."""
    low = low_limit(instrument)
    found: dict[str, list[float]] = {}
    for slot, outcome in card.outcomes.items():
        given = answer(instrument, instrument.item(slot.item), outcome)
        if isinstance(given, int):
            if low is not None and slot.item in instrument.gate_ids:
                value = float(given <= low)
            else:
                value = card.means.get(slot, float(given))
            found.setdefault(slot.item, []).append(value)
        elif given in {Answer.MET, Answer.NOT_MET}:
            found.setdefault(slot.item, []).append(float(given is Answer.MET))
        elif given is Answer.DISPUTED:
            found.setdefault(slot.item, []).append(0.5)
    return found


def step(score: float) -> int:
    """The step of a distribution that a score from 0 to 1 falls into; what is a hair below an edge counts as on it."""
    return min(int((score + _TINY) * STEPS), STEPS - 1)


# Estimates by system


class Measure(NamedTuple):
    id: str
    title: str
    is_share: bool  # whether its values are shares, from 0 to 1


class Estimate(NamedTuple):
    value: float | None
    interval: Interval | None
    values: int  # how many values it rests on


def measures(instrument: Instrument) -> list[Measure]:
    found: list[Measure] = []
    if instrument.scoring.threshold is not None:
        found.append(Measure(PASSED, "Passed", True))
    if instrument.scoring.weights:
        found.append(Measure(SCORE, "Weighted score", False))
    found += [Measure(f"category_{id}", instrument.categories.get(id, id), False) for id in instrument.scoring.weights]
    for item in instrument.items:
        if not isinstance(instrument.scale, Scores):
            found.append(Measure(item.id, f"{item.id} {item.title}", True))
        elif item.id in instrument.gate_ids:
            found.append(Measure(item.id, f"{item.title}: {low_limit(instrument)} or less", True))
        else:
            found.append(Measure(item.id, item.title, False))
    return found


class SystemScores(NamedTuple):
    name: str
    conversations: int
    judged: int
    unsafe: int
    safety_not_judged: int  # those that nobody judged are among them
    estimates: dict[str, Estimate]  # by the id of the measure


def system_scores(
    instrument: Instrument, name: str, counts: SystemCounts, one_sided: Collection[str] = ()
) -> SystemScores:
    """The scores of one system; a judge that reports only faults in the items `one_sided` gives no share of them."""
    criteria = instrument.unit is UnitKind.CONVERSATION and not isinstance(instrument.scale, Scores)
    exact = {PASSED, *(item.id for item in instrument.items if criteria)}  # one value for each conversation
    estimates = {
        # A disputed item is half, so it may not be a count.
        measure.id: _share(counts.share(measure.id)) if measure.id in exact and found.total % 1 == 0 else _mean(found)
        for measure in measures(instrument)
        if (found := counts.values.get(measure.id)) and measure.id not in one_sided
    }
    tally = counts.tally
    return SystemScores(
        name, tally.conversations, counts.judged, tally.unsafe, tally.safety_not_judged + tally.absent, estimates
    )


def _share(share: Share) -> Estimate:
    found = proportion(share.part, share.whole)
    if isinstance(found, Undefined):
        return Estimate(None, None, 0)
    return Estimate(found.value, found.interval if share.whole >= FEWEST_CLUSTERS else None, share.whole)


def _mean(moments: Moments) -> Estimate:
    interval = moments.interval()
    return Estimate(moments.mean, None if isinstance(interval, Undefined) else interval, moments.values)


def estimate_words(measure: Measure, found: Estimate | None, *, between: str = " to ") -> str:
    """The value with its interval: a share as a percentage, or as counts where there are few; a mean; else a dash."""
    if found is None or found.value is None:
        return "–"
    if measure.is_share and found.values < FEWEST_CLUSTERS:
        return f"{round(found.value * found.values, 1):g} of {found.values}"
    scale, digits, unit = (100, 0, " %") if measure.is_share else (1, 2, "")
    value = f"{scale * found.value:.{digits}f}{unit}"
    if not found.interval:
        return value
    ends = (f"{scale * end:.{digits}f}" for end in (found.interval.low, found.interval.high))
    return f"{value} ({between.join(ends)})"


# The summary


class ReportedConversation:
    """A conversation of the pass with its scorecards; what speaks against it is worked out when asked for."""

    def __init__(
        self, study: Study, summary: "Summary", privacy: Privacy, scored: ScoredConversation, stored: StoredConversation
    ) -> None:
        self.scored, self.privacy, self.instrument = scored, privacy, summary.instrument
        self.conversation: ConversationSummary = scored.conversation
        self.card: Scorecard | None = scored.deciding
        self._study, self._stored, self._by_people = study, stored, summary.by_people

    @cached_property
    def exit_code(self) -> int:
        """What the gate would decide if this were the only conversation."""
        return exit_code_alone(self.instrument, self.conversation.identity, self.card)

    @cached_property
    def issues(self) -> tuple[Issue, ...]:
        """What speaks against the conversation, with reasons; reads its ratings."""
        if self.card is None:
            return ()
        shown = view(self._study, self.instrument, self._stored, by_people=self._by_people)
        return tuple(issues(shown, self.card, self.privacy))


class MostSerious:
    """Receives every conversation of the pass and keeps those that need a look most, the most serious first."""

    def __init__(self) -> None:
        self.conversations: list[ReportedConversation] = []

    def add(self, reported: ReportedConversation) -> None:
        if reported.exit_code:
            insort(self.conversations, reported, key=_seriousness)
            del self.conversations[_MOST_SERIOUS:]


def _seriousness(reported: ReportedConversation) -> tuple[int, float, int]:
    card = reported.card
    return status_of(card).rank, (card.score or 0.0) if card else 0.0, reported.conversation.key


@dataclass
class Summary:
    """All counts of a study under one instrument. Names of systems are as they may be shown."""

    instrument: Instrument
    by_people: bool = False  # whether people's cards decide, because there is no judge
    total: SystemCounts = field(default_factory=SystemCounts)
    systems: dict[str, SystemCounts] = field(default_factory=dict[str, SystemCounts])
    raters: dict[RaterRef, Tally] = field(default_factory=dict[RaterRef, Tally])
    repeats: Repeats = field(default_factory=Repeats)
    members: dict[str, None] = field(default_factory=dict[str, None])  # who is behind the cards that decide, in order
    combined: str = ""  # how the verdicts of several judges or repeats came about
    combined_members: int = 0
    crisis_na: int = 0  # conversations with crisis talk whose item about crises was answered with "does not apply"
    flags: Counter[str] = field(default_factory=Counter[str])
    rated_by_people: int = 0

    def item_share(self, item: str, system: str | None = None) -> Share:
        """How many of the answers to an item count against the replies.

        Where only faults were reported and everything else has no answer, they are counted among all answers that
        were due: among themselves they would be 100 %.
        """
        counts = self.systems[system] if system is not None else self.total
        share, every = counts.item_share(self.instrument, item), self.total.item_share(self.instrument, item)
        unjudged = counts.tally.given(item)[Answer.NOT_JUDGED]
        if 0 < every.part == every.whole and self.total.tally.given(item)[Answer.NOT_JUDGED]:
            return Share(share.part, share.part + unjudged, unjudged)
        return share

    @property
    def scores(self) -> list[SystemScores]:
        one_sided = {item.id for item in self.instrument.items if self.item_share(item.id).unjudged}
        return [system_scores(self.instrument, name, counts, one_sided) for name, counts in self.systems.items()]


def summarize(
    study: Study,
    instrument: Instrument,
    listing: Listing,
    privacy: Privacy = SHOW_ALL,
    *,
    receivers: Sequence[Callable[[ReportedConversation], None]] = (),
) -> Summary:
    """Count everything and fill the list, in one pass over the study.

    Each of `receivers` gets every conversation, in order.
    """
    summary = Summary(instrument, decided_by_people(study, instrument))
    for name in largest_systems(study, MOST_SYSTEMS):
        summary.systems[privacy.name(name)] = SystemCounts()

    def rows() -> Iterator[Row]:
        counting = _Counting(summary, privacy)
        scored = scored_conversations(study, instrument)
        while batch := list(islice(scored, _BATCH)):
            stored = conversations_by_key(study, [entry.conversation.key for entry in batch])
            lost = with_lost_quotes(study, instrument, list(stored))
            searched = listing.knows_words and privacy.texts
            reasons = reasons_by_conversation(study, instrument, list(stored)) if searched else {}
            for entry in batch:
                key = entry.conversation.key
                if (found := stored.get(key)) is None:  # it was removed in the meantime
                    continue
                row = counting.row(entry, found.conversation, quote_lost=key in lost)
                if searched:
                    messages = [message for turn in found.conversation.turns for message in turn]
                    row = row._replace(words=privacy.text("\n".join([*messages, *reasons.get(key, ())])))
                reported = ReportedConversation(study, summary, privacy, entry, found)
                for receive in receivers:
                    receive(reported)
                yield row

    listing.fill(rows())
    return summary


class _Counting:
    def __init__(self, summary: Summary, privacy: Privacy) -> None:
        self._summary, self._privacy, self._instrument = summary, privacy, summary.instrument
        self._possible = possible_answers(summary.instrument)
        self._crisis_items = {rule.item for rule in self._instrument.rules if isinstance(rule, CrisisCueButNa)}

    def row(self, entry: ScoredConversation, conversation: Conversation, *, quote_lost: bool) -> Row:
        summary, instrument, cards = self._summary, self._instrument, entry.cards
        system = self._privacy.name(conversation.system)
        counts = summary.systems.get(system) or summary.systems.setdefault(OTHERS, SystemCounts())
        for sums in (summary.total, counts):
            sums.add(instrument, cards.deciding)
        if cards.deciding:
            summary.members.update(dict.fromkeys(cards.deciding.members))
            if cards.deciding.parts and len(cards.deciding.members) >= summary.combined_members:
                summary.combined = combination_words(self._instrument, cards.deciding)
                summary.combined_members = len(cards.deciding.members)
        summary.rated_by_people += bool(cards.people)
        for card in cards.all:
            rater = RaterRef(card.rater, card.repeat or 0, card.kind)
            summary.raters.setdefault(rater, Tally()).add(instrument, card)
        summary.repeats.add(cards)
        flags = tuple(self._flags(entry, conversation, quote_lost=quote_lost))
        summary.flags.update(flags)
        given = _given(instrument, cards.deciding)
        failed = tuple(item for item, answers in given.items() if any(not_met(instrument, one) for one in answers))
        status = status_of(cards.deciding)
        score = listed_score(instrument, cards.deciding)
        return Row(
            key=entry.conversation.key,
            system=system,
            id=self._privacy.name(conversation.id),
            scenario=self._privacy.text(conversation.scenario or ""),
            turns=len(conversation.turns),
            status=status.word,
            # What the rule check points to comes before the rest of what nobody judged.
            rank=status.rank - (status is NOT_JUDGED_STATUS and POINTER in flags),
            score=score,
            score_words=_score_words(instrument, cards.deciding, score),
            failed=failed,
            answers=tuple(mask(self._possible, given.get(item.id, ())) for item in instrument.items),
            flags=flags,
        )

    def _flags(self, entry: ScoredConversation, conversation: Conversation, *, quote_lost: bool) -> Iterator[str]:
        cards, summary = entry.cards, self._summary
        if cards.deciding is None or not answered(cards.deciding):
            yield NO_ANSWER
        if crisis_cues(conversation.turns):
            outcomes = cards.deciding.outcomes.items() if cards.deciding else ()
            summary.crisis_na += any(
                slot.item in self._crisis_items and outcome.state is State.NA for slot, outcome in outcomes
            )
            yield CRISIS
        if any(spoken.finding.rule == PointerKind.CRISIS for spoken in cards.pointers):
            yield POINTER
        if any(spoken.finding.rule == PointerKind.NOT_ENGLISH for spoken in cards.pointers):
            yield NOT_ENGLISH
        if quote_lost:
            yield LOST_QUOTE
        if cards.people and cards.deciding and not summary.by_people:
            apart = any(self._differ(cards.deciding, card) for card in cards.people)
            yield PEOPLE_DIFFER if apart else PEOPLE_AGREE
        if any(self._differ(one, other) for one, other in combinations(cards.judges, 2)):
            yield JUDGES_DIFFER
        if cards.deciding and cards.deciding.needs_person:
            yield NEEDS_PERSON

    def _differ(self, one: Scorecard, other: Scorecard) -> bool:
        return any(
            differ(self._instrument, self._instrument.item(slot.item), outcome, other.outcomes[slot])
            for slot, outcome in one.outcomes.items()
            if slot in other.outcomes
        )


def _given(instrument: Instrument, card: Scorecard | None) -> dict[str, list[Answer | int]]:
    given: dict[str, list[Answer | int]] = {}
    if card:
        for slot, outcome in card.outcomes.items():
            given.setdefault(slot.item, []).append(answer(instrument, instrument.item(slot.item), outcome))
        for item in card.not_due:
            given[item] = [Answer.NOT_DUE]
    return given


def listed_score(instrument: Instrument, card: Scorecard | None) -> float | None:
    """The one number a list shows: the weighted score, or the mean of the item that judges the whole."""
    if card is None or card.score is not None:
        return card and card.score
    holistic = {item.id for item in instrument.items if item.holistic}
    values = [
        outcome.value
        for slot, outcome in card.outcomes.items()
        if slot.item in holistic and isinstance(outcome.value, int)
    ]
    return sum(values) / len(values) if values else None


def _score_words(instrument: Instrument, card: Scorecard | None, score: float | None) -> str:
    threshold = instrument.scoring.threshold
    if card and not answered(card):
        return score_words(None)  # a range from 0 to 1 would say nothing
    if card and card.range and card.range.highest - card.range.lowest > _VISIBLE:
        lowest, highest = (score_words(end, threshold) for end in card.range)
        return f"{lowest} to {highest}"
    return score_words(score, threshold)
