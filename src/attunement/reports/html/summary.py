"""One pass over a study: the figures of its report, and a row for each conversation.

Conversations are read a batch at a time, their words only to look for crisis talk and to measure lengths.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations, groupby

from sqlalchemy import func, or_, select

from attunement.conversations import Conversation, UnitKind
from attunement.instruments import Instrument
from attunement.instruments.model import CrisisCueButNa
from attunement.ratings import Round, RuleFinding, State
from attunement.reports.html.figures import (
    MOST_POINTERS,
    Candidate,
    Figures,
    PointerRow,
    SystemFigures,
    Who,
    add_flips,
    answered,
    differ,
    mask,
    not_met,
    possible,
    status_of,
)
from attunement.reports.html.figures import NOT_JUDGED as NOT_JUDGED_STATUS
from attunement.reports.html.listing import NEEDS_PERSON, Listing, Row
from attunement.reports.html.text import Privacy, batched, kept_by_key
from attunement.reports.numbers import score_words
from attunement.reports.overview import Tally
from attunement.reports.rule_check import pointer_words
from attunement.reports.wording import Answer, answer
from attunement.scoring import Cards, Scorecard, flips
from attunement.signals.crisis import crisis_cues
from attunement.signals.pointers import PointerKind
from attunement.store import ScoredConversation, Study, schema, scored_conversations
from attunement.store.scorecards import decided_by_people

MOST_SYSTEMS = 8
"""Systems with figures of their own: more cannot be told apart in a chart. The rest is counted together."""
OTHERS = "other systems"
NOT_JUDGED = "not judged"
CRISIS = "crisis talk"
POINTER = "pointer of the rule check"
NOT_ENGLISH = "not English: not looked at by the rule check"
UNFOUND = "quote not found"
PEOPLE_DIFFER = "people differ"
PEOPLE_AGREE = "people agree"
JUDGES_DIFFER = "judges differ"
_BATCH = 200


def gather(
    study: Study,
    instrument: Instrument,
    listing: Listing,
    hiding: Privacy,
    *,
    pace: Callable[[], None] | None = None,
) -> Figures:
    """Count everything and fill the list. `pace` is called before each conversation."""
    figures = Figures(instrument)
    for name in _largest_systems(study):
        figures.systems[hiding.name(name)] = SystemFigures()
    figures.by_people = decided_by_people(study, instrument)
    listing.fill(_rows(study, figures, listing, hiding, pace or (lambda: None)))
    return figures


def _largest_systems(study: Study) -> list[str]:
    system = schema.conversations.c.system
    query = select(system).group_by(system).order_by(func.count().desc(), system).limit(MOST_SYSTEMS)
    with study.reading() as connection:
        return sorted(connection.scalars(query))


def _rows(
    study: Study,
    figures: Figures,
    listing: Listing,
    hiding: Privacy,
    pace: Callable[[], None],
) -> Iterator[Row]:
    counting = _Counting(figures, hiding)
    for batch in batched(scored_conversations(study, figures.instrument), _BATCH):
        kept = kept_by_key(study, [entry.conversation.key for entry in batch])
        unfound = _unfound(study, figures.instrument, list(kept))
        reasons = _reasons(study, figures.instrument, list(kept)) if listing.knows_words and hiding.texts else None
        for entry in batch:
            pace()
            key = entry.conversation.key
            if found := kept.get(key):  # else it was removed in the meantime
                row = counting.row(entry, found.conversation, quote_lost=key in unfound)
                if reasons is not None:
                    said = [message for turn in found.conversation.turns for message in turn]
                    row = row._replace(words=hiding.text("\n".join([*said, *reasons.get(key, ())])))
                yield row


def _reasons(study: Study, instrument: Instrument, keys: Sequence[int]) -> dict[int, list[str]]:
    """By conversation: why raters answered as they did."""
    ratings = schema.ratings.c
    query = select(ratings.conversation, ratings.reasoning).where(ratings.conversation.in_(keys))
    query = query.where(ratings.round == Round.MAIN, ratings.item_hash.in_(instrument.item_hashes.values()))
    found: dict[int, list[str]] = {}
    with study.reading() as connection:
        for key, reasoning in connection.execute(query):
            found.setdefault(key, []).append(reasoning)
    return found


def _unfound(study: Study, instrument: Instrument, keys: Sequence[int]) -> set[int]:
    """Those of these conversations in which somebody quotes words or a turn that are not there."""
    ratings = schema.ratings.c
    lost = or_(*(ratings.evidence.contains(f'"standing":"{kind}"') for kind in ("not_found", "no_such_turn")))
    query = select(ratings.conversation).distinct().where(ratings.conversation.in_(keys), ratings.round == Round.MAIN)
    query = query.where(ratings.item_hash.in_(instrument.item_hashes.values()), lost)
    with study.reading() as connection:
        return set(connection.scalars(query))


class _Counting:
    def __init__(self, figures: Figures, hiding: Privacy) -> None:
        self._figures, self._hiding = figures, hiding
        self._instrument = figures.instrument
        self._possible = possible(figures.instrument)
        self._crisis_items = {rule.item for rule in figures.instrument.rules if isinstance(rule, CrisisCueButNa)}

    def row(self, entry: ScoredConversation, conversation: Conversation, *, quote_lost: bool) -> Row:
        """Count one conversation and describe it."""
        figures, instrument = self._figures, self._instrument
        cards = entry.cards
        system = self._hiding.name(conversation.system)
        lengths = list(_lengths(instrument, cards.deciding, conversation))
        counted = figures.systems.get(system)
        if counted is None:
            counted = figures.systems.setdefault(OTHERS, SystemFigures())
        for sums in (figures.total, counted):
            sums.add(instrument, cards.deciding, lengths)
        self._count_raters(entry, cards)
        flags = tuple(self._flags(entry, cards, conversation, quote_lost=quote_lost))
        figures.flags.update(flags)
        given = _given(instrument, cards.deciding)
        failed = tuple(item for item, answers in given.items() if any(not_met(instrument, one) for one in answers))
        self._suggest(entry, cards, failed)
        status = status_of(cards.deciding)
        score = listed_score(instrument, cards.deciding)
        return Row(
            key=entry.conversation.key,
            system=system,
            id=self._hiding.name(conversation.id),
            scenario=self._hiding.text(conversation.scenario or ""),
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

    def _count_raters(self, entry: ScoredConversation, cards: Cards) -> None:
        figures = self._figures
        if cards.deciding:
            figures.members.update(dict.fromkeys(cards.deciding.members))
        figures.rated_by_people += bool(cards.people)
        for card in cards.all:
            who = Who(card.rater, card.repeat or 0, card.kind)
            figures.judges.setdefault(who, Tally()).add(self._instrument, card)
        first: list[Scorecard] = []
        for rater, group in groupby(cards.all, key=lambda card: card.rater):
            own = list(group)
            if len(own) > 1:
                add_flips(figures.again.setdefault(rater, {}), flips([own]))
            if own[0] in cards.judges:
                first.append(own[0])
        if len(first) > 1:
            add_flips(figures.between, flips([first]))

    def _flags(
        self, entry: ScoredConversation, cards: Cards, conversation: Conversation, *, quote_lost: bool
    ) -> Iterator[str]:
        if cards.deciding is None or not answered(cards.deciding):
            yield NOT_JUDGED
        if crisis_cues(conversation.turns):
            self._figures.crisis += 1
            self._figures.crisis_na += self._said_no_crisis(cards.deciding)
            yield CRISIS
        crisis = [spoken.finding for spoken in cards.pointers if spoken.finding.rule == PointerKind.CRISIS]
        if crisis:
            yield POINTER
            self._note_pointers(entry, crisis)
        if any(spoken.finding.rule == PointerKind.NOT_ENGLISH for spoken in cards.pointers):
            yield NOT_ENGLISH
        if quote_lost:
            yield UNFOUND
        if cards.people and cards.deciding and not self._figures.by_people:
            apart = any(self._differ(cards.deciding, card) for card in cards.people)
            yield PEOPLE_DIFFER if apart else PEOPLE_AGREE
        if any(self._differ(one, other) for one, other in combinations(cards.judges, 2)):
            yield JUDGES_DIFFER
        if cards.deciding and cards.deciding.needs_person:
            yield NEEDS_PERSON

    def _note_pointers(self, entry: ScoredConversation, found: Sequence[RuleFinding]) -> None:
        room = MOST_POINTERS - len(self._figures.pointers)
        system, id = map(self._hiding.name, entry.conversation.identity)
        for finding in found[:room]:
            shown = finding if self._hiding.texts else finding._replace(quote=None)
            words = self._hiding.text(pointer_words(shown))
            self._figures.pointers.append(PointerRow(entry.conversation.key, system, id, words))

    def _said_no_crisis(self, card: Scorecard | None) -> bool:
        outcomes = card.outcomes.items() if card else ()
        return any(slot.item in self._crisis_items and outcome.state is State.NA for slot, outcome in outcomes)

    def _differ(self, one: Scorecard, other: Scorecard) -> bool:
        return any(
            differ(self._instrument, self._instrument.item(slot.item), outcome, other.outcomes[slot])
            for slot, outcome in one.outcomes.items()
            if slot in other.outcomes
        )

    def _suggest(self, entry: ScoredConversation, cards: Cards, failed: Iterable[str]) -> None:
        for item in failed:
            said = [self._fails(card, item) for card in (*cards.judges, *cards.people)]
            rank = 2
            if all(said):
                rank = 0 if cards.people else 1
            self._figures.suggest(item, Candidate(rank, entry.conversation.key))

    def _fails(self, card: Scorecard, item: str) -> bool:
        return any(not_met(self._instrument, one) for one in _given(self._instrument, card).get(item, ()))


def _given(instrument: Instrument, card: Scorecard | None) -> dict[str, list[Answer | int]]:
    """The answers of a card by item."""
    given: dict[str, list[Answer | int]] = {}
    if card:
        for slot, outcome in card.outcomes.items():
            given.setdefault(slot.item, []).append(answer(instrument, instrument.item(slot.item), outcome))
        for item in card.not_due:
            given[item] = [Answer.NOT_DUE]
    return given


def _lengths(instrument: Instrument, card: Scorecard | None, conversation: Conversation) -> Iterator[tuple[int, float]]:
    """Lengths and scores: turns and the weighted score, or the words of each reply and its overall score."""
    if card is None:
        return
    if instrument.unit is UnitKind.CONVERSATION:
        if card.score is not None:
            yield len(conversation.turns), card.score
        return
    holistic = {item.id for item in instrument.items if item.holistic}
    for slot, outcome in card.outcomes.items():
        known = slot.turn is not None and slot.turn <= len(conversation.turns)
        if slot.item in holistic and isinstance(outcome.value, int) and slot.turn and known:
            yield len(conversation.turns[slot.turn - 1].assistant.split()), outcome.value


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
    if card and card.range and card.range.highest - card.range.lowest > 0.005:
        lowest, highest = (score_words(end, threshold) for end in card.range)
        return f"{lowest} to {highest}"
    return score_words(score, threshold)
