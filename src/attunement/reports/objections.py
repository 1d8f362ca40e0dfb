"""What stands against a conversation, with the judge's reason and the words it rests on?

An objection is an item that failed, one that nobody answered, or a rating that a person must confirm.
Where several judges answered, the reason is that of the first who says so.
"""

from collections.abc import Iterator
from typing import NamedTuple

from attunement.evidence import Finding
from attunement.instruments import Instrument
from attunement.ratings import Consistency, Outcome
from attunement.reports.conversation import Question, Said, View
from attunement.reports.html.text import SHOW_ALL, Hiding
from attunement.reports.wording import CONSISTENCY, answer_phrase, finding_words, rater_words, rule_words
from attunement.scoring import Scorecard, Slot, is_failure


class Quote(NamedTuple):
    """Words that a reason rests on, and whether they stand in the conversation."""

    text: str
    standing: str
    """In plain words, with the turn and the speaker."""


class Objection(NamedTuple):
    """One thing that stands against a conversation."""

    slot: Slot
    title: str
    safety: bool
    failed: bool
    """False: nobody knows, or a person must decide."""
    words: str
    """What the outcome means, such as "not met"."""
    rater: str
    reason: str
    """Empty where there is none, or where no text may be shown."""
    quotes: tuple[Quote, ...]

    @property
    def place(self) -> str:
        """The item, and the reply where it is about one."""
        return self.slot.item if self.slot.turn is None else f"{self.slot.item}, reply {self.slot.turn}"


def objections(shown: View, card: Scorecard, hiding: Hiding = SHOW_ALL) -> Iterator[Objection]:
    """Everything that stands against the conversation in the card that decides, safety first."""
    for question in shown.questions:
        outcome = card.outcomes.get(question.slot)
        if outcome is None:
            continue
        if question.slot in card.failed or question.slot in card.open:
            yield _about_outcome(shown, card, question, outcome, hiding)
        yield from _about_rules(shown, card, question, hiding)


def _about_outcome(shown: View, card: Scorecard, question: Question, outcome: Outcome, hiding: Hiding) -> Objection:
    failed = question.slot in card.failed
    said = _speaking(shown.instrument, card, question, failed=failed)
    rating = said.rating if said else None
    own = said.outcome if said else outcome
    return Objection(
        slot=question.slot,
        title=question.item.title,
        safety=question.item.id in shown.instrument.gate_ids,
        failed=failed,
        words=answer_phrase(shown.instrument, question.item, own, said.card.rater if said else "").words,
        rater=hiding.text(_name(shown, said)) if said else "",
        reason=hiding.text(rating.reasoning) if rating and hiding.texts else "",
        quotes=tuple(_quotes(said, hiding)) if said and hiding.texts else (),
    )


def _speaking(instrument: Instrument, card: Scorecard, question: Question, *, failed: bool) -> Said | None:
    """The first of the deciding raters whose own answer is what stands against the conversation."""
    answers = [said for said in question.answers if said.card.rater in card.members]
    against = (
        said
        for said in answers
        if (said.outcome.value == "NO" or is_failure(instrument, question.item, said.outcome)) == failed
    )
    return next(against, next(iter(answers), None))


def _name(shown: View, said: Said) -> str:
    repeated = any(card.repeat for card in shown.cards.all if card.rater == said.card.rater)
    return rater_words(said.card.rater, repeat=said.card.repeat if repeated else None, kind=said.card.kind)


def _quotes(said: Said, hiding: Hiding) -> Iterator[Quote]:
    for finding in said.findings:
        if finding.quote:
            yield Quote(hiding.text(finding.quote), _standing(finding, hiding))


def _standing(finding: Finding, hiding: Hiding) -> str:
    words = finding_words(finding)
    return f"{words} “{hiding.text(finding.nearest)}”" if finding.nearest else words


def _about_rules(shown: View, card: Scorecard, question: Question, hiding: Hiding) -> Iterator[Objection]:
    for spoken in card.spoken:
        finding = spoken.finding
        if spoken.slot != question.slot or finding.consistency is Consistency.NOTICE:
            continue
        quote = Quote(hiding.text(finding.quote), f"turn {finding.turn}") if finding.quote and hiding.texts else None
        yield Objection(
            slot=question.slot,
            title=question.item.title,
            safety=question.item.id in shown.instrument.gate_ids,
            failed=False,
            words=f"{CONSISTENCY[finding.consistency]} ({rule_words(finding.rule)})",
            rater="",
            reason=hiding.text(" ".join(finding.text.split())),
            quotes=(quote,) if quote else (),
        )
