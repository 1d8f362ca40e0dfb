"""How long is what each side says, and how long are the replies beside the messages they answer?

Criterion CP2 carries these figures in its prompt and `attune stats` prints them. They follow the study that the
coaching instrument comes from: words are what white space separates, and the mean ratio is the mean of the turns'
ratios, not the ratio of the means.
"""

import re
from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

from attunement.conversations.model import Turn

DOUBLE = 2.0
"""A reply of more than twice the words of the message counts as over-long for CP2."""

# Chinese characters, kana and bopomofo: each is about a word or a syllable, and each counts as one word, as word
# processors count them. Korean is not here because it is written with spaces.
_CHARACTER = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9d\U00020000-\U0003ffff"
)
# Letters and marks of Thai, Lao, Tibetan, Burmese and Khmer: written without spaces between words, in letters.
_LETTER = "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecd\u0edc-\u0edf\u0f40-\u0fbc\u1000-\u103f\u1050-\u108f\u1780-\u17d3"
UNSPACED_SCRIPTS = f"{_CHARACTER}{_LETTER}"
"""The signs of scripts that are written without spaces between words, as they stand inside [] of a pattern."""

_LETTERS_PER_WORD = 4  # a Thai word has four to five signs on average; a figure for the order of size, not a dictionary

_UNSPACED = re.compile(f"[{_CHARACTER}]|[{_LETTER}]+")

# Nearly all text has neither these scripts nor white space beyond ASCII: its words are counted in bytes, where each
# begins behind a space.
_UNUSUAL = re.compile(f"[{UNSPACED_SCRIPTS}\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")
_TYPOGRAPHIC = "’‘“”–—…"  # in English often all that is not ASCII, and none of them separates words
_SPACE_OR_NOT = bytes(ord(" " if sign.isspace() and sign.isascii() else "x") for sign in map(chr, range(256)))


class TurnLength(NamedTuple):
    """Words of one turn; `ratio` is assistant / user, None where the user said nothing."""

    user: int
    assistant: int
    ratio: float | None


class LengthStatistics(NamedTuple):
    """The lengths of a conversation.

    `mean_user` is over the turns in which the user said something, `mean_assistant` over all of them; 0 where there
    are none. `mean_ratio` is the mean of the turns' ratios. `above_double` counts ratios strictly above 2.
    """

    turns: tuple[TurnLength, ...]
    mean_user: float
    mean_assistant: float
    mean_ratio: float | None
    above_double: int

    @property
    def share_above_double(self) -> float | None:
        """The share of turns above 2x, among those that have a ratio."""
        compared = sum(turn.ratio is not None for turn in self.turns)
        return self.above_double / compared if compared else None


def words(text: str) -> int:
    """Count the words of `text`: what white space separates, so that "don't", "24/7" and a lone dash are one each.

    In scripts that are written without spaces each Chinese or Japanese character counts as one word, and every four
    letters of a run of Thai, Lao, Tibetan, Burmese or Khmer count as one (rounded up). Punctuation that touches such
    characters counts as nothing.
    """
    plain = text
    if not text.isascii():
        for sign in _TYPOGRAPHIC:
            plain = plain.replace(sign, "-")
        if not plain.isascii() and _UNUSUAL.search(plain):
            return sum(_words_in_piece(piece) for piece in text.split())
    return (b" " + plain.encode(errors="surrogatepass")).translate(_SPACE_OR_NOT).count(b" x")


def length_statistics(turns: Sequence[Turn]) -> LengthStatistics:
    """Measure `turns`; any number of them, none included."""
    lengths = tuple(_turn_length(turn) for turn in turns)
    ratios = [length.ratio for length in lengths if length.ratio is not None]
    spoken = [length.user for length in lengths if length.user]
    return LengthStatistics(
        turns=lengths,
        mean_user=fmean(spoken) if spoken else 0.0,
        mean_assistant=fmean(length.assistant for length in lengths) if lengths else 0.0,
        mean_ratio=fmean(ratios) if ratios else None,
        above_double=sum(ratio > DOUBLE for ratio in ratios),
    )


def _turn_length(turn: Turn) -> TurnLength:
    user, assistant = words(turn.user), words(turn.assistant)
    return TurnLength(user, assistant, assistant / user if user else None)


def _words_in_piece(piece: str) -> int:
    runs: list[str] = _UNSPACED.findall(piece)
    if not runs:
        return 1
    rest = _UNSPACED.sub(" ", piece).split()
    between = sum(any(character.isalnum() for character in part) for part in rest)
    return sum(-(-len(run) // _LETTERS_PER_WORD) for run in runs) + between
