"""Which scorecard decides about a conversation. Every command, page and API asks this module.

Judges decide: one alone, several (or several repeats of one) together as a panel. Where no judge has rated with the
instrument anywhere in the study, people decide in the same way. Simulated ratings never decide, and neither does the
rule check, which only points.
"""

from collections.abc import Iterable
from typing import NamedTuple

from attunement.instruments import Instrument
from attunement.ratings import RaterKind
from attunement.scoring.panel import panel
from attunement.scoring.scorecard import Case, Scorecard, SlotFinding, is_signals
from attunement.signals.pointers import PointerKind


class Cards(NamedTuple):
    """The scorecards of a conversation, and the one that decides."""

    all: tuple[Scorecard, ...]
    """One per rater and repeat; the rule check has none."""
    deciders: tuple[Scorecard, ...]
    """The cards that decide together."""
    deciding: Scorecard | None
    """What they come to; None where nobody who decides has rated the conversation."""
    rule_check: Scorecard | None
    """What the rule check left, where it has read the conversation: pointers, and no answer."""

    @property
    def panel(self) -> Scorecard | None:
        """The deciding card, where several form it."""
        return self.deciding if len(self.deciders) > 1 else None

    @property
    def judges(self) -> tuple[Scorecard, ...]:
        """The judges' cards."""
        return tuple(card for card in self.all if card.kind is RaterKind.MODEL)

    @property
    def people(self) -> tuple[Scorecard, ...]:
        """People's cards."""
        return tuple(card for card in self.all if card.kind is RaterKind.PERSON)

    @property
    def pointers(self) -> tuple[SlotFinding, ...]:
        """What the rule check points to."""
        # Earlier versions left other findings; how often those are right was never measured.
        found = self.rule_check.findings if self.rule_check else ()
        return tuple(spoken for spoken in found if spoken.finding.rule in frozenset(PointerKind))


def decide(instrument: Instrument, cards: Iterable[Scorecard], *, by_people: bool) -> Cards:
    """Sort the cards of one conversation and find the one that decides.

    Args:
        instrument: What was asked.
        cards: One per rater and repeat.
        by_people: Whether people decide in this study, because no judge has rated with the instrument.
    """
    every = tuple(cards)
    rated = tuple(card for card in every if not is_signals(card.rater))
    wanted = RaterKind.PERSON if by_people else RaterKind.MODEL
    deciders = tuple(card for card in rated if card.kind is wanted)
    deciding = next(iter(deciders), None)
    if len(deciders) > 1:
        # A panel takes only the identity from the case: the outcomes are there.
        deciding = panel(instrument, Case(deciders[0].conversation, 0), deciders)
    # Of several versions of the rule check, the one that read last.
    rule_check = next((card for card in reversed(every) if is_signals(card.rater)), None)
    return Cards(rated, deciders, deciding, rule_check)
