"""One conversation as a page shows it: what was said, and beside it everybody's answers and reasons."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from attunement.conversations import Origin
from attunement.instruments import Item
from attunement.ratings import Mark, RaterKind, RuleFinding
from attunement.reports import wording
from attunement.reports.conversation import Question, Said, View
from attunement.reports.gate_reviews import review_words
from attunement.reports.html.citing import Citations, Piece, TurnShown
from attunement.reports.html.figures import answered
from attunement.reports.html.gathering import PEOPLE_DIFFER
from attunement.reports.html.statuses import Status, differ, status_of
from attunement.reports.html.text import Hiding
from attunement.reports.rule_check import fact_lines, pointer_words
from attunement.reports.wording import Answer, Phrase, Tone, counted
from attunement.scoring import Scorecard, Slot
from attunement.signals.facts import facts
from attunement.signals.measured import in_a_line as measured
from attunement.signals.pointers import country_of
from attunement.study.reviews import Review, held

_USUAL = frozenset({Mark.FENCED, Mark.LONG_REASONING})
"""Marks that say nothing about an answer; how often they occur stands with the judge."""
_ORIGINS = {
    Origin.REAL: "talk with a real person",
    Origin.SIMULATED: "written by a simulated person",
    Origin.WRITTEN: "written for a test",
}


class AnswerShown(NamedTuple):
    """What one rater answered."""

    who: str
    words: str
    tone: str
    pieces: list[Piece]
    notes: list[str]


class PeopleShown(NamedTuple):
    """What people answered, together, and how that stands to the judge's answer."""

    words: str
    differs: str
    """Empty where they agree with the judge; else what this means."""
    answers: list[AnswerShown]


class ItemShown(NamedTuple):
    """One item with everybody's answers."""

    id: str
    title: str
    words: str
    tone: str
    reason: str
    """Why there is no answer, in words."""
    votes: str
    """How several judges voted."""
    gate: str
    """For a safety item that trips the gate: `bad` where it failed, `open` where it was not judged; else empty."""
    contested: str
    judges: list[AnswerShown]
    people: PeopleShown | None
    tags: str
    """What the item can be filtered by: not, open, differ, lost."""


class Group(NamedTuple):
    """Items of one category, or of one reply."""

    title: str
    note: str
    items: list[ItemShown]


class CardShown(NamedTuple):
    """The verdict of one rater."""

    who: str
    person: bool
    status: Status
    score: str


class ConversationPage(NamedTuple):
    """A conversation as it is shown."""

    key: int
    system: str
    id: str
    about: str
    status: Status
    score: str
    person: list[str]
    """Why a person should look."""
    pointers: list[str]
    """What the rule check points to."""
    measured: str
    """How often pointers were right when that was measured; empty where there are none."""
    facts: list[str]
    """What was counted."""
    reviewed: str
    """What reviewers said beside the verdict; empty where nobody did."""
    cards: list[CardShown]
    """Each rater's verdict, where there are several."""
    turns: list[TurnShown]
    groups: list[Group]
    shows: list[tuple[str, str, int]]
    """Choices among the answers: tag, words, and how many there are."""
    texts: bool


def conversation_page(
    key: int, shown: View, hiding: Hiding, *, by_people: bool = False, reviews: Sequence[Review] = ()
) -> ConversationPage:
    """The page of one conversation; `reviews` is what reviewers said about it, the oldest first."""
    return _Page(key, shown, hiding, by_people=by_people).page(reviews)


class _Page:
    def __init__(self, key: int, shown: View, hiding: Hiding, *, by_people: bool) -> None:
        self._key, self._shown, self._hiding = key, shown, hiding
        self._instrument = shown.instrument
        self._deciding, self._judges, self._people = shown.cards.deciding, shown.cards.judges, shown.cards.people
        self._by_people = by_people
        self._citations = Citations(hiding)
        self._reasons: dict[tuple[str, int, int | None, str], str] = {}
        """By rater, repeat, turn and reasoning: the item that it was first given for."""

    def page(self, reviews: Sequence[Review]) -> ConversationPage:
        conversation, card = self._shown.conversation, self._deciding
        groups = list(self._groups())
        found = facts(conversation.turns, country_of(conversation.metadata))
        threshold = self._instrument.scoring.threshold
        person = (
            dict.fromkeys(self._hidden(wording.reason_words(one.finding)) for one in card.needs_person) if card else ()
        )
        return ConversationPage(
            key=self._key,
            system=self._hiding.name(conversation.system),
            id=self._hiding.name(conversation.id),
            about=self._about(),
            status=status_of(card),
            score=_score(card, threshold),
            person=list(person),
            pointers=[self._pointer(one.finding) for one in self._shown.cards.pointers],
            measured=measured() if self._shown.cards.pointers else "",
            facts=[self._hiding.text(fact) for fact in fact_lines(found)] if self._hiding.texts else [],
            reviewed=self._reviewed(reviews),
            cards=list(self._cards()),
            turns=list(self._citations.turns(conversation)) if self._hiding.texts else [],
            groups=groups,
            shows=_shows(groups),
            texts=self._hiding.texts,
        )

    def _pointer(self, finding: RuleFinding) -> str:
        shown = finding if self._hiding.texts else finding._replace(quote=None)
        return self._hiding.text(pointer_words(shown))

    def _hidden(self, words: str) -> str:
        """Our words with a quotation in them."""
        if self._hiding.texts:
            return self._hiding.text(words)
        return words.partition(" “")[0].rstrip(",")

    def _reviewed(self, reviews: Sequence[Review]) -> str:
        if not reviews:
            return ""
        said = reviews if self._hiding.texts else [review._replace(reason="") for review in reviews]
        card = self._deciding
        words = review_words(card, held(self._instrument, card, said))
        if not words:
            last = said[-1]
            words = f"{last.name} reviewed it on {last.at[:10]}, before the judges said what they say now."
        return self._hiding.text(words)

    def _about(self) -> str:
        conversation = self._shown.conversation
        scenario = self._hiding.text(conversation.scenario or "")
        parts = [
            f"scenario {scenario}" if scenario else "",
            counted(len(conversation.turns), "turn"),
            _ORIGINS.get(conversation.origin, ""),
        ]
        return ", ".join(part for part in parts if part)

    def _cards(self) -> Iterator[CardShown]:
        if len(self._shown.cards.all) < 2:
            return
        threshold = self._instrument.scoring.threshold
        for card in self._shown.cards.all:
            yield CardShown(self._who(card), card in self._people, status_of(card), _score(card, threshold))

    def _who(self, card: Scorecard) -> str:
        kind = (
            RaterKind.MODEL if card.kind is RaterKind.PERSON else card.kind
        )  # that somebody is a person is drawn, not said
        repeated = sum(other.rater == card.rater for other in self._shown.cards.all) > 1
        return self._hiding.text(wording.rater_words(card.rater, repeat=card.repeat if repeated else None, kind=kind))

    # What was answered

    def _groups(self) -> Iterator[Group]:
        instrument = self._instrument
        asked: dict[int | None, list[Question]] = {}
        for question in self._shown.questions:
            asked.setdefault(question.slot.turn, []).append(question)
        for turn, questions in asked.items():
            if turn is not None:
                yield Group(f"Reply in turn {turn}", "", [self._item(question) for question in questions])
                continue
            by_category: dict[str | None, list[Question]] = {}
            for question in questions:
                gate = question.item.id in instrument.gate_ids
                by_category.setdefault(None if gate else question.item.category or "", []).append(question)
            for category, own in by_category.items():
                yield Group(*self._category(category), [self._item(question) for question in own])
        if not_due := list(self._not_due()):
            yield Group("Not due", "", not_due)

    def _category(self, category: str | None) -> tuple[str, str]:
        card = self._deciding
        if category is None:
            open_ = "not judged" if card and card.unjudged else ""
            return "Safety (gate)", "gate tripped" if card and card.unsafe else open_
        mean = card.categories.get(category) if card else None
        title = self._instrument.categories.get(category, category)
        return title, "" if mean is None else wording.score_words(mean)

    def _not_due(self) -> Iterator[ItemShown]:
        due = {question.item.id for question in self._shown.questions}
        turns = len(self._shown.conversation.turns)
        for item in self._instrument.items if self._shown.questions else ():
            if item.id not in due:
                reason = f"asked from {item.minimum_turns} turns on; this conversation has {turns}"
                yield ItemShown(
                    item.id, item.title, Answer.NOT_DUE, "none", reason if item.minimum_turns > turns else "",
                    "", "", "", [], None, "",
                )  # fmt: skip

    def _item(self, question: Question) -> ItemShown:
        instrument, item = self._instrument, question.item
        card = self._deciding
        outcome = card.outcomes.get(question.slot) if card else None
        phrase = (
            wording.answer_phrase(instrument, item, outcome, card.rater if card else "")
            if outcome
            else Phrase("not judged", Tone.OPEN)
        )
        words, _, reason = phrase.words.partition(": ")
        judges = [said for said in question.answers if said.card in self._judges]
        people = [said for said in question.answers if said.card in self._people and said.rating]
        others = [said for said in question.answers if said.card not in [*self._judges, *self._people]]
        together = self._together(question, people) if people and not self._by_people else None
        shown = people if self._by_people else [*judges, *others]
        answers = [self._answer(item, said, alone=len(shown) == 1) for said in shown]
        lost = any(piece.kind == "lost" for one in answers for piece in one.pieces)
        tags = [
            *(["not"] if phrase.tone in {Tone.NOT_MET, Tone.UNSAFE} else []),
            *(["open"] if phrase.tone is Tone.OPEN else []),
            *(["differ"] if together and together.differs else []),
            *(["lost"] if lost else []),
        ]
        return ItemShown(
            id=item.id,
            title=item.title,
            words=words,
            tone=phrase.tone.value,
            reason=reason,
            votes=self._votes(question, judges),
            gate=_gate(card, question.slot),
            contested=item.validity.contested or "",
            judges=answers,
            people=together,
            tags=" ".join(tags),
        )

    def _votes(self, question: Question, judges: Sequence[Said]) -> str:
        if len(judges) < 2:
            return ""
        count = Counter(
            wording.answer_phrase(self._instrument, question.item, said.outcome).words.partition(": ")[0]
            for said in judges
        )
        return "Votes: " + ", ".join(f"{number} × {words}" for words, number in count.most_common())

    def _together(self, question: Question, people: Sequence[Said]) -> PeopleShown:
        instrument, item = self._instrument, question.item
        given = Counter(
            wording.answer_phrase(instrument, item, said.outcome).words.partition(": ")[0] for said in people
        )
        words, number = given.most_common(1)[0]
        outcome = self._deciding.outcomes.get(question.slot) if self._deciding else None
        apart = [said for said in people if outcome and differ(instrument, item, outcome, said.outcome)]
        return PeopleShown(
            words=f"People: {words}, {'said by ' if words[:1].isdigit() else ''}{number} of {len(people)}",
            differs=self._differs(question, apart, people) if 2 * len(apart) >= len(people) and apart else "",
            answers=[self._answer(item, said, alone=False) for said in people],
        )

    def _differs(self, question: Question, apart: Sequence[Said], people: Sequence[Said]) -> str:
        instrument, item = self._instrument, question.item
        if self._deciding is None:
            return ""
        own = self._deciding.outcomes[question.slot]
        judge_fails = wording.answer(instrument, item, own) is Answer.NOT_MET
        people_fail = any(wording.answer(instrument, item, said.outcome) is Answer.NOT_MET for said in apart)
        said = wording.answer_phrase(instrument, item, own).words.partition(": ")[0]
        if people_fail and not judge_fails:
            return f"Missed failure: the judge said “{said}”."
        return f"False alarm: the judge said “{said}”." if judge_fails else "Differs from the judge."

    def _answer(self, item: Item, said: Said, *, alone: bool) -> AnswerShown:
        phrase = wording.answer_phrase(self._instrument, item, said.outcome, said.card.rater)
        words, _, reason = phrase.words.partition(": ")
        rating = said.rating
        notes = [reason] if reason and not alone else []
        if rating and rating.detail and rating.outcome.error and self._hiding.texts:
            notes.append(self._hiding.text(rating.detail[:300]))
        notes += [self._hidden(wording.rule_finding_words(rule)) for rule in said.rules]
        notes += [wording.MARKS[mark] for mark in sorted(rating.marks if rating else ()) if mark not in _USUAL]
        return AnswerShown(
            who="" if alone else self._who(said.card),
            words=words,
            tone=phrase.tone.value,
            pieces=self._reason(item, said),
            notes=notes,
        )

    def _reason(self, item: Item, said: Said) -> list[Piece]:
        rating = said.rating
        if rating is None or not rating.reasoning or not self._hiding.texts:
            return []
        # A judge that is asked about all items together gives one reasoning for them; once a reply is enough.
        first = self._reasons.setdefault((rating.rater, rating.repeat, rating.turn, rating.reasoning), item.id)
        if first != item.id and rating.rater_kind is RaterKind.MODEL:
            return [Piece(f"The same reasons as for {first}.")]
        return self._citations.pieces(rating.reasoning, said.findings)


def _score(card: Scorecard | None, threshold: float | None) -> str:
    """The score in words; nothing where there is no answer that it could rest on."""
    known = card is not None and card.score is not None and answered(card)
    return wording.score_with_range(card, threshold) if card and known else ""


def _gate(card: Scorecard | None, slot: Slot) -> str:
    if card and slot in card.unsafe:
        return "bad"
    return "open" if card and slot in card.unjudged else ""


def _shows(groups: Sequence[Group]) -> list[tuple[str, str, int]]:
    items = [item for group in groups for item in group.items]
    choices = (
        ("not", "Not met"),
        ("open", "Not judged"),
        ("differ", PEOPLE_DIFFER.capitalize()),
        ("lost", "Quote not found"),
    )
    counts = [(tag, words, sum(tag in item.tags.split() for item in items)) for tag, words in choices]
    return [("", "All", len(items)), *(choice for choice in counts if choice[2])]
