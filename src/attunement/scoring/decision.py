"""Which scorecard decides about a conversation. Every command, page and API asks this module.

Judges decide: one alone, several (or several repeats of one) together as a panel. If no judge has rated anything in the
study with the instrument, people decide in the same way. Simulated ratings and the rule check never decide.
"""

from collections.abc import Iterable
from typing import NamedTuple

from attunement.instruments import Instrument
from attunement.ratings import RaterKind
from attunement.scoring.panel import panel
from attunement.scoring.scorecard import Scorecard, SlotFinding, is_signals
from attunement.signals.pointers import PointerKind


class Cards(NamedTuple):
    """The scorecards of a conversation, and the one that decides."""

    all: tuple[Scorecard, ...]
    """One per rater and repeat; the rule check has none."""
    deciders: tuple[Scorecard, ...]
    """The cards that decide."""
    deciding: Scorecard | None
    """Their combined card; None if no deciding rater has rated the conversation."""
    rule_check: Scorecard | None
    """The rule check's card, if it has read the conversation: pointers, no answers."""

    @property
    def panel(self) -> Scorecard | None:
        """The deciding card if it is a panel's."""
        return self.deciding if len(self.deciders) > 1 else None

    @property
    def judges(self) -> tuple[Scorecard, ...]:
        return tuple(card for card in self.all if card.kind is RaterKind.MODEL)

    @property
    def people(self) -> tuple[Scorecard, ...]:
        return tuple(card for card in self.all if card.kind is RaterKind.PERSON)

    @property
    def pointers(self) -> tuple[SlotFinding, ...]:
        # Earlier versions saved other findings, whose precision was never measured.
        found = self.rule_check.findings if self.rule_check else ()
        return tuple(spoken for spoken in found if spoken.finding.rule in frozenset(PointerKind))


def decide(instrument: Instrument, cards: Iterable[Scorecard], *, by_people: bool) -> Cards:
    """Sort the cards of one conversation and find the one that decides.

    Args:
        instrument: What was asked.
        cards: One per rater and repeat.
        by_people: Whether people decide in this study because no judge has rated with the instrument.
    """
    every = tuple(cards)
    rated = tuple(card for card in every if not is_signals(card.rater))
    wanted = RaterKind.PERSON if by_people else RaterKind.MODEL
    deciders = tuple(card for card in rated if card.kind is wanted)
    deciding = panel(instrument, deciders) if deciders else None
    # Of several versions of the rule check, the latest.
    rule_check = next((card for card in reversed(every) if is_signals(card.rater)), None)
    return Cards(rated, deciders, deciding, rule_check)
