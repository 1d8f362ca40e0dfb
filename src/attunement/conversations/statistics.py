"""Count the words of messages and replies, and summarize a set of conversations.

The prompt of criterion CP2 contains these numbers, and `attune describe` prints them. They follow the study that the
coaching instrument comes from: words are separated by white space, and the mean ratio is the mean of the turns' ratios,
not the ratio of the means.

Conversations are counted one by one in constant memory.
"""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import NamedTuple

from attunement.conversations.model import Conversation, Origin, Turn

DOUBLE = 2.0
"""A reply with more than twice the words of the message counts as too long for CP2."""

# Chinese characters, kana and bopomofo: each counts as one word, as in word processors. Korean is not included because
# it is written with spaces.
_CHARACTER = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9d\U00020000-\U0003ffff"
)
# Letters and marks of Thai, Lao, Tibetan, Burmese and Khmer, which have no spaces between words.
_LETTER = "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecd\u0edc-\u0edf\u0f40-\u0fbc\u1000-\u103f\u1050-\u108f\u1780-\u17d3"
UNSPACED_SCRIPTS = f"{_CHARACTER}{_LETTER}"
"""Characters of scripts without spaces between words, for use inside [] of a pattern."""

_LETTERS_PER_WORD = 4  # a Thai word has four to five characters on average; an estimate without a dictionary

_UNSPACED = re.compile(f"[{_CHARACTER}]|[{_LETTER}]+")

# Nearly all text has neither these scripts nor non-ASCII white space: its words are counted in bytes, where each begins
# after a space.
_UNUSUAL = re.compile(f"[{UNSPACED_SCRIPTS}\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
_TYPOGRAPHIC = "’‘“”–—…"  # often the only non-ASCII characters in English, and none of them separates words
_SPACE_OR_NOT = bytes(ord(" " if sign.isspace() and sign.isascii() else "x") for sign in map(chr, range(256)))


class TurnLength(NamedTuple):
    """Word counts of one turn; `ratio` is assistant / user, None if the user wrote nothing."""

    user: int
    assistant: int
    ratio: float | None


class LengthStatistics(NamedTuple):
    """The lengths of a conversation.

    `mean_user` is over the turns in which the user wrote something, `mean_assistant` over all of them; 0 if there
    are none. `mean_ratio` is the mean of the turns' ratios. `above_double` counts ratios strictly above 2.
    """

    turns: tuple[TurnLength, ...]
    mean_user: float
    mean_assistant: float
    mean_ratio: float | None
    above_double: int

    @property
    def share_above_double(self) -> float | None:
        compared = sum(turn.ratio is not None for turn in self.turns)
        return self.above_double / compared if compared else None


def words(text: str) -> int:
    """Count the words of `text`, separated by white space: "don't", "24/7" and a lone dash are one each.

    In scripts that are written without spaces each Chinese or Japanese character counts as one word, and every four
    letters of a run of Thai, Lao, Tibetan, Burmese or Khmer count as one (rounded up). Punctuation next to such
    characters does not count.
    """
    plain = text
    if not text.isascii():
        for sign in _TYPOGRAPHIC:
            plain = plain.replace(sign, "-")
        if not plain.isascii() and _UNUSUAL.search(plain):
            return sum(_words_in_piece(piece) for piece in text.split())
    return (b" " + plain.encode(errors="surrogatepass")).translate(_SPACE_OR_NOT).count(b" x")


def length_statistics(turns: Sequence[Turn]) -> LengthStatistics:
    counts = ((words(turn.user), words(turn.assistant)) for turn in turns)
    lengths = tuple(TurnLength(user, reply, reply / user if user else None) for user, reply in counts)
    ratios = [length.ratio for length in lengths if length.ratio is not None]
    spoken = [length.user for length in lengths if length.user]
    return LengthStatistics(
        turns=lengths,
        mean_user=fmean(spoken) if spoken else 0.0,
        mean_assistant=fmean(length.assistant for length in lengths) if lengths else 0.0,
        mean_ratio=fmean(ratios) if ratios else None,
        above_double=sum(ratio > DOUBLE for ratio in ratios),
    )


def _words_in_piece(piece: str) -> int:
    runs: list[str] = _UNSPACED.findall(piece)
    if not runs:
        return 1
    rest = _UNSPACED.sub(" ", piece).split()
    between = sum(any(character.isalnum() for character in part) for part in rest)
    return sum(-(-len(run) // _LETTERS_PER_WORD) for run in runs) + between


MOST_SCENARIOS = 10_000  # distinct values per system; beyond this, an overview only shows that there are more
MOST_SYSTEMS = 1_000  # counted separately; all others are counted together under `OTHER_SYSTEMS`
OTHER_SYSTEMS = "(other systems)"

TURN_BINS = (1, 2, 4, 8, 16, 32, 64)
"""Lower bounds of the bins of turns per conversation; the last one is open."""

RATIO_BINS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0)
"""Lower bounds of the bins of a turn's ratio. 1.5 and 2 are the limits in criterion CP2."""


@dataclass
class Overview:
    """The counts of the conversations added so far. Means are None if there are no values."""

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
        """Count one conversation; one without turns only increases the number of conversations."""
        self.conversations += 1
        self.origins[conversation.origin] += 1
        scenario = conversation.scenario
        if scenario is not None and scenario not in self.scenarios:
            if len(self.scenarios) < MOST_SCENARIOS:
                self.scenarios.add(scenario)
            else:
                self.more_scenarios = True
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

    @property
    def mean_turns(self) -> float | None:
        return self.turns / self.conversations if self.conversations else None

    @property
    def mean_words_user(self) -> float | None:
        """Words per message of the person, over the turns in which they wrote something."""
        return self.words_user / self.messages if self.messages else None

    @property
    def mean_words_assistant(self) -> float | None:
        return self.words_assistant / self.turns if self.turns else None

    @property
    def mean_ratio(self) -> float | None:
        return self.sum_of_ratios / self.compared if self.compared else None

    @property
    def share_above_double(self) -> float | None:
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
