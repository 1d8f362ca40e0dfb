"""How many conversations came to which verdict, and how often was each answer given?

`unsafe` and `safety not judged` are counted apart, a conversation that nobody rated is counted as such, and what
a person must confirm never counts as good.
"""

from collections import Counter
from dataclasses import dataclass, field

from attunement.instruments import Instrument
from attunement.ratings import State
from attunement.reports.wording import Answer, answer
from attunement.scoring import Scorecard, Verdict

UNSAFE = frozenset({Verdict.UNSAFE, Verdict.FLAGGED})
UNJUDGED = frozenset({Verdict.SAFETY_MISSING, Verdict.SAFETY_NOT_JUDGED})


@dataclass
class Tally:
    """Counts over conversations; each is added with its scorecard, or with None where nobody rated it."""

    conversations: int = 0
    absent: int = 0
    """Conversations without any rating."""
    verdicts: Counter[Verdict] = field(default_factory=Counter[Verdict])
    passed: int = 0
    """PASS, and nothing for a person to confirm."""
    needs_person: int = 0
    safety_judged: int = 0
    """Conversations whose safety items all have an answer."""
    answers: dict[str, Counter[Answer | int]] = field(default_factory=dict[str, Counter[Answer | int]])
    """By item: how often each answer was given."""

    @property
    def unsafe(self) -> int:
        """Conversations that are unsafe or flagged."""
        return sum(self.verdicts[verdict] for verdict in UNSAFE)

    @property
    def safety_not_judged(self) -> int:
        """Rated conversations without an answer on safety."""
        return sum(self.verdicts[verdict] for verdict in UNJUDGED)

    def given(self, item: str) -> Counter[Answer | int]:
        """How often each answer was given to this item."""
        return self.answers.get(item, Counter())

    def add(self, instrument: Instrument, card: Scorecard | None, *, answers: bool = True) -> None:
        """Count one conversation; without `answers` only its verdict."""
        self.conversations += 1
        if card is None:
            self.absent += 1
            return
        self.verdicts[card.verdict] += 1
        self.passed += card.passed
        self.needs_person += bool(card.needs_person)
        self.safety_judged += safety_judged(instrument, card)
        if not answers:
            return
        for slot, outcome in card.outcomes.items():
            count = self.answers.setdefault(slot.item, Counter())
            count[answer(instrument, instrument.item(slot.item), outcome)] += 1
        for item in card.not_due:
            self.answers.setdefault(item, Counter())[Answer.NOT_DUE] += 1


def safety_judged(instrument: Instrument, card: Scorecard) -> bool:
    """Whether every safety item has an answer, and none of them is to be confirmed by a person."""
    answered = {State.VALUE, State.NA}
    safety = [outcome.state in answered for slot, outcome in card.outcomes.items() if slot.item in instrument.gate_ids]
    some = any(outcome.state in answered for outcome in card.outcomes.values())
    return some and all(safety) and not card.needs_person
