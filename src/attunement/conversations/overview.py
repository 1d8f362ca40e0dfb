"""What is in a pile of conversations: how many, by which systems, how long, and how long replies are beside messages.

Conversations are added one by one and forgotten, so that a file of any size is counted in the same memory.
"""

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from attunement.conversations.lengths import DOUBLE, length_statistics
from attunement.conversations.model import Conversation, Origin

MOST_SCENARIOS = 10_000
"""Scenarios told apart per system; of further ones an overview only knows that there are more."""

MOST_SYSTEMS = 1_000
"""Systems kept apart; the conversations of further ones are counted together under `OTHER_SYSTEMS`."""

OTHER_SYSTEMS = "(other systems)"

TURN_BINS = (1, 2, 4, 8, 16, 32, 64)
"""Where the bins of turns per conversation begin; the last one is open."""

RATIO_BINS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0)
"""Where the bins of a turn's ratio begin. 1.5 and 2 are the limits that criterion CP2 goes by."""


@dataclass
class Overview:
    """The counts of the conversations added so far. Means are None where there is nothing to take a mean of."""

    conversations: int = 0
    turns: int = 0
    fewest_turns: int | None = None
    most_turns: int = 0
    messages: int = 0
    words_user: int = 0
    words_assistant: int = 0
    compared: int = 0
    sum_of_ratios: float = 0.0
    above_double: int = 0
    origins: Counter[Origin] = field(default_factory=Counter[Origin])
    scenarios: set[str] = field(default_factory=set[str])
    more_scenarios: bool = False
    turn_bins: list[int] = field(default_factory=lambda: [0] * len(TURN_BINS))
    ratio_bins: list[int] = field(default_factory=lambda: [0] * len(RATIO_BINS))

    def add(self, conversation: Conversation) -> None:
        """Count one conversation; one without turns counts as a conversation and nothing else."""
        self.conversations += 1
        self.origins[conversation.origin] += 1
        self._add_scenario(conversation.scenario)
        count = len(conversation.turns)
        self.turns += count
        self.fewest_turns = count if self.fewest_turns is None else min(self.fewest_turns, count)
        self.most_turns = max(self.most_turns, count)
        if count:
            self.turn_bins[bisect_right(TURN_BINS, count) - 1] += 1
        for turn in length_statistics(conversation.turns).turns:
            self.words_user += turn.user
            self.words_assistant += turn.assistant
            self.messages += turn.user > 0
            if turn.ratio is not None:
                self.compared += 1
                self.sum_of_ratios += turn.ratio
                self.above_double += turn.ratio > DOUBLE
                self.ratio_bins[bisect_right(RATIO_BINS, turn.ratio) - 1] += 1

    def _add_scenario(self, scenario: str | None) -> None:
        if scenario is None or scenario in self.scenarios:
            return
        if len(self.scenarios) < MOST_SCENARIOS:
            self.scenarios.add(scenario)
        else:
            self.more_scenarios = True

    @property
    def mean_turns(self) -> float | None:
        """Turns per conversation."""
        return self.turns / self.conversations if self.conversations else None

    @property
    def mean_words_user(self) -> float | None:
        """Words per message of the person, over the turns in which they said something."""
        return self.words_user / self.messages if self.messages else None

    @property
    def mean_words_assistant(self) -> float | None:
        """Words per reply."""
        return self.words_assistant / self.turns if self.turns else None

    @property
    def mean_ratio(self) -> float | None:
        """The mean of the ratios of all turns, reply to message."""
        return self.sum_of_ratios / self.compared if self.compared else None

    @property
    def share_above_double(self) -> float | None:
        """The share of turns whose reply has more than twice the words of the message."""
        return self.above_double / self.compared if self.compared else None


def overviews(conversations: Iterable[Conversation]) -> dict[str, Overview]:
    """Count `conversations` by system, in the order in which the systems first occur."""
    systems: dict[str, Overview] = {}
    for conversation in conversations:
        system = conversation.system
        if system not in systems and len(systems) >= MOST_SYSTEMS:
            system = OTHER_SYSTEMS
        systems.setdefault(system, Overview()).add(conversation)
    return systems
