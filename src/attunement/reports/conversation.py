"""One conversation with its answers, the quoted words, and what speaks against it.

The words that a citation really leads to are regions of a message; where several items quote the same words, one
region names them all. What was quoted but is not in the conversation makes no region.

An issue is an item that failed, one that nobody answered, or a rating that a person must confirm. Where several judges
answered, the reason is that of the first whose answer speaks against the conversation.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from attunement.conversations import Conversation, Turn
from attunement.evidence import CitationStatus, Finding, Speaker, from_json
from attunement.instruments import Instrument, Item
from attunement.ratings import MISSING, Consistency, Outcome, RaterKind, Rating, Round, RuleFinding
from attunement.reports.privacy import SHOW_ALL, Privacy
from attunement.reports.records import card_record, identity_record, instrument_record, rating_record
from attunement.reports.rule_check import facts_record
from attunement.reports.wording import CONSISTENCY, answer_phrase, finding_words, rater_words, rule_words
from attunement.scoring import Cards, Case, Scorecard, Slot, decide, is_failure, is_signals, scorecard
from attunement.signals.facts import facts
from attunement.signals.pointers import country_of
from attunement.store import StoredConversation, Study
from attunement.store.scorecards import decided_by_people

RULE = "rule"  # Stands in the place of an item's id at words that a rule rests on

_MARKED = frozenset(
    {
        CitationStatus.FOUND,
        CitationStatus.UNCITED,
        CitationStatus.ELSEWHERE,
        CitationStatus.ABSENT,
        CitationStatus.NO_SUCH_TURN,
    }
)


class Place(NamedTuple):
    turn: int
    speaker: Speaker


class Region(NamedTuple):
    start: int
    end: int
    items: tuple[str, ...]
    exact: bool  # Whether somebody quotes them word for word, rather than nearly


class Said(NamedTuple):
    card: Scorecard
    outcome: Outcome
    rating: Rating | None  # None where there is no answer
    findings: tuple[Finding, ...]
    rules: tuple[RuleFinding, ...]


class Question(NamedTuple):
    slot: Slot
    item: Item
    together: Outcome | None  # What the panel's answers come to, where there is a panel
    answers: tuple[Said, ...]


class View(NamedTuple):
    instrument: Instrument
    conversation: Conversation
    cards: Cards
    questions: tuple[Question, ...]
    regions: dict[Place, list[Region]]


def view(
    study: Study,
    instrument: Instrument,
    kept: StoredConversation,
    *,
    rater: str | None = None,
    by_people: bool | None = None,
) -> View:
    """The conversation with the answers of all raters, or of one.

    `by_people`: whether people decide in this study, where that is known already.
    """
    conversation = kept.conversation
    joined = {known.name: known.key for known in study.raters()}
    case = Case(conversation.identity, len(conversation.turns), study.responses(instrument.id))
    ratings = [
        rating
        for rating in study.ratings(conversations=[kept.key], round=Round.MAIN)
        if rating.item_hash == instrument.item_hashes.get(rating.item) and rater in {None, rating.rater}
    ]
    # Judges first, then in the order in which they joined; the sort is stable, so the order in time stays.
    ratings.sort(key=lambda rating: (rating.rater_kind is not RaterKind.MODEL, joined[rating.rater], rating.repeat))
    cards: list[Scorecard] = []
    latest: list[dict[Slot, Rating]] = []
    for _, group in groupby(ratings, key=lambda rating: (rating.rater, rating.repeat)):
        own = list(group)
        cards.append(scorecard(instrument, case, own))
        latest.append({Slot(rating.turn, rating.item): rating for rating in own})
    if by_people is None:
        by_people = decided_by_people(study, instrument)
    if rater is not None:
        by_people = bool(cards) and cards[0].kind is RaterKind.PERSON
    sorted_cards = decide(instrument, cards, by_people=by_people)
    rated = [(card, own) for card, own in zip(cards, latest, strict=True) if not is_signals(card.rater)]
    questions = tuple(_questions(instrument, rated, sorted_cards.panel))
    return View(
        instrument=instrument,
        conversation=conversation,
        cards=sorted_cards,
        questions=questions,
        regions=regions(conversation.turns, questions, [spoken.finding for spoken in sorted_cards.pointers]),
    )


def _questions(
    instrument: Instrument,
    cards: Sequence[tuple[Scorecard, dict[Slot, Rating]]],
    together: Scorecard | None,
) -> Iterator[Question]:
    slots = dict.fromkeys(slot for card, _ in cards for slot in card.outcomes)
    # Reply by reply; within one the safety items first, then the order of the instrument.
    for slot in sorted(slots, key=lambda slot: (slot.turn or 0, slot.item not in instrument.gate_ids)):
        answers = tuple(_said(card, slot, ratings.get(slot)) for card, ratings in cards)
        yield Question(slot, instrument.item(slot.item), together and together.outcomes.get(slot), answers)


def _said(card: Scorecard, slot: Slot, rating: Rating | None) -> Said:
    findings = tuple(from_json(plain) for plain in rating.evidence) if rating else ()
    rules = tuple(spoken.finding for spoken in card.findings if spoken.slot == slot)
    return Said(card, card.outcomes.get(slot, MISSING), rating, findings, rules)


def regions(
    turns: Sequence[Turn], questions: Iterable[Question], pointers: Iterable[RuleFinding] = ()
) -> dict[Place, list[Region]]:
    """What is quoted in each message, in order and without overlap."""
    found: dict[Place, list[Region]] = {}
    order: dict[str, int] = {RULE: -1}
    for pointer in pointers:
        _add_rule(found, turns, pointer)
    for question in questions:
        order.setdefault(question.item.id, len(order))
        for said in question.answers:
            for finding in said.findings:
                _add_finding(found, question.item.id, finding)
            for rule in said.rules:
                _add_rule(found, turns, rule)
    return {place: _merged(spans, len(_message(turns, place)), order) for place, spans in found.items()}


def _add_finding(found: dict[Place, list[Region]], item: str, finding: Finding) -> None:
    if finding.found_turn is None or finding.speaker is None or finding.start is None or finding.end is None:
        return
    if finding.status in _MARKED or finding.status is CitationStatus.CLOSE:
        region = Region(finding.start, finding.end, (item,), finding.status in _MARKED)
        found.setdefault(Place(finding.found_turn, finding.speaker), []).append(region)


def _add_rule(found: dict[Place, list[Region]], turns: Sequence[Turn], rule: RuleFinding) -> None:
    if not rule.quote or rule.turn is None:
        return
    speakers: tuple[Speaker, ...] = ("user", "assistant")
    for speaker in speakers:
        place = Place(rule.turn, speaker)
        start = _message(turns, place).find(rule.quote)
        if start >= 0:
            found.setdefault(place, []).append(Region(start, start + len(rule.quote), (RULE,), True))
            return


def _message(turns: Sequence[Turn], place: Place) -> str:
    if not 1 <= place.turn <= len(turns):
        return ""
    turn = turns[place.turn - 1]
    return turn.user if place.speaker == "user" else turn.assistant


def _merged(spans: list[Region], length: int, order: dict[str, int]) -> list[Region]:
    merged: list[Region] = []
    for start, end, items, exact in sorted(spans, key=lambda span: span[:2]):
        start, end = max(start, 0), min(end, length)
        if start >= end:
            continue
        if merged and start <= merged[-1].end:
            last = merged[-1]
            items = sorted({*last.items, *items}, key=lambda item: order[item])
            merged[-1] = Region(last.start, max(last.end, end), tuple(items), last.exact or exact)
        else:
            merged.append(Region(start, end, items, exact))
    return merged


def view_record(shown: View) -> dict[str, Any]:
    conversation = shown.conversation
    return {
        **identity_record(conversation.identity),
        "instrument": instrument_record(shown.instrument),
        "turns": [turn._asdict() for turn in conversation.turns],
        "panel": card_record(shown.cards.panel) if shown.cards.panel else None,
        "scorecards": [card_record(card) for card in shown.cards.all],
        "pointers": [spoken.finding._asdict() for spoken in shown.cards.pointers],
        "facts": facts_record(facts(conversation.turns, country_of(conversation.metadata))),
        "ratings": [
            rating_record(said.rating) for question in shown.questions for said in question.answers if said.rating
        ],
    }


class Quote(NamedTuple):
    """Words that a reason rests on, and whether they are in the conversation."""

    text: str
    standing: str  # in plain words, with the turn and the speaker
    found: bool = False  # whether the words are in the conversation
    turn: int | None = None  # where the assistant says them, word for word


class Issue(NamedTuple):
    slot: Slot
    title: str
    safety: bool
    failed: bool  # False: nobody knows, or a person must decide
    words: str  # what the outcome means, such as "not met"
    rater: str
    reason: str  # empty where there is none, or where no text may be shown
    quotes: tuple[Quote, ...]

    @property
    def place(self) -> str:
        """The item, and the reply where it is about one."""
        return self.slot.item if self.slot.turn is None else f"{self.slot.item}, reply {self.slot.turn}"


def issues(shown: View, card: Scorecard, privacy: Privacy = SHOW_ALL) -> Iterator[Issue]:
    """Everything that speaks against the conversation in the card that decides, safety first."""
    for question in shown.questions:
        outcome = card.outcomes.get(question.slot)
        if outcome is None:
            continue
        if question.slot in card.failed or question.slot in card.open:
            yield _about_outcome(shown, card, question, outcome, privacy)
        for spoken in card.findings:
            if spoken.slot == question.slot and spoken.finding.consistency is not Consistency.NOTICE:
                yield _about_rule(shown, question, spoken.finding, privacy)


def _about_outcome(shown: View, card: Scorecard, question: Question, outcome: Outcome, privacy: Privacy) -> Issue:
    instrument, failed = shown.instrument, question.slot in card.failed
    # The first of the deciding raters whose own answer is what speaks against the conversation.
    answers = [said for said in question.answers if said.card.rater in card.members]
    against = (
        said
        for said in answers
        if (said.outcome.value == "NO" or is_failure(instrument, question.item, said.outcome)) == failed
    )
    said = next(against, answers[0] if answers else None)
    words = answer_phrase(instrument, question.item, said.outcome if said else outcome, said.card.rater if said else "")
    shows_texts = said is not None and privacy.texts
    return Issue(
        slot=question.slot,
        title=question.item.title,
        safety=question.item.id in instrument.gate_ids,
        failed=failed,
        words=words.words,
        rater=privacy.text(_rater_name(shown, said)) if said else "",
        reason=privacy.text(said.rating.reasoning) if said and said.rating and shows_texts else "",
        quotes=tuple(_quotes(said, privacy)) if said and shows_texts else (),
    )


def _rater_name(shown: View, said: Said) -> str:
    repeated = any(card.repeat for card in shown.cards.all if card.rater == said.card.rater)
    return rater_words(said.card.rater, repeat=said.card.repeat if repeated else None, kind=said.card.kind)


_VERBATIM = frozenset({CitationStatus.FOUND, CitationStatus.UNCITED})
_FOUND = _VERBATIM | {CitationStatus.ELSEWHERE}


def _quotes(said: Said, privacy: Privacy) -> Iterator[Quote]:
    for finding in said.findings:
        if finding.quote:
            nearest = f" “{privacy.text(finding.nearest)}”" if finding.nearest else ""
            found = finding.status in _FOUND
            verbatim = finding.status in _VERBATIM and finding.speaker == "assistant"
            turn = finding.found_turn if verbatim else None
            yield Quote(privacy.text(finding.quote), f"{finding_words(finding)}{nearest}", found, turn)


def _about_rule(shown: View, question: Question, finding: RuleFinding, privacy: Privacy) -> Issue:
    quote = Quote(privacy.text(finding.quote), f"turn {finding.turn}") if finding.quote and privacy.texts else None
    return Issue(
        slot=question.slot,
        title=question.item.title,
        safety=question.item.id in shown.instrument.gate_ids,
        failed=False,
        words=f"{CONSISTENCY[finding.consistency]} ({rule_words(finding.rule)})",
        rater="",
        reason=privacy.text(" ".join(finding.text.split())),
        quotes=(quote,) if quote else (),
    )
