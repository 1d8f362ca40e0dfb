"""Where in a conversation do quoted words stand, and if nowhere, what comes nearest?"""

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import accumulate, chain
from typing import Literal, NamedTuple

from attunement.conversations import Turn
from attunement.evidence.folding import Pieces, fold, locate

Speaker = Literal["user", "assistant"]


class Passage(NamedTuple):
    """Words of one message: `turn` counts from 1, `start` and `end` are places in the message as it was said."""

    turn: int
    speaker: Speaker
    start: int
    end: int
    text: str


class Near(NamedTuple):
    """A passage that is like a quote without being it; `likeness` is the share of the words that are the same."""

    likeness: float
    passage: Passage


class Transcript:
    """A conversation prepared for looking words up; a message is folded when it is first needed."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self._turns = turns
        self._folded: dict[tuple[int, Speaker], str] = {}

    def __len__(self) -> int:
        return len(self._turns)

    def find(self, quote: Pieces, turns: Iterable[int], first: Speaker) -> Passage | None:
        """The first place among `turns` where `quote` stands within one message, whole or with words left out.

        Of the two messages of a turn, that of the speaker `first` is looked at first.
        """
        turns = tuple(turns)
        for window in (_whole, _in_runs):
            for turn, speaker, folded in self._messages(turns, first):
                if (place := window(folded, quote)) is not None:
                    return self._passage(turn, speaker, *place)
        return None

    def nearest(self, quote: Pieces, turns: Iterable[int]) -> Near | None:
        """The passage among `turns` that is most like `quote`; None where too few words are the same."""
        runs = [run.split() for run in quote.runs]
        gaps = frozenset(accumulate(map(len, runs[:-1])))
        words = list(chain.from_iterable(runs))[:_COMPARED]
        best: tuple[float, int, Speaker, int, int] | None = None
        for turn, speaker, folded in self._messages(turns):
            for likeness, start, end in _likest(folded, words, gaps):
                if likeness >= _ALIKE and (best is None or likeness > best[0]):
                    best = likeness, turn, speaker, start, end
        return Near(best[0], self._passage(*best[1:])) if best else None

    def _messages(self, turns: Iterable[int], first: Speaker = "assistant") -> Iterator[tuple[int, Speaker, str]]:
        speakers: tuple[Speaker, ...] = ("user", "assistant") if first == "user" else ("assistant", "user")
        for turn in turns:
            for speaker in speakers:
                folded = self._folded.get((turn, speaker))
                if folded is None:
                    folded = self._folded[turn, speaker] = fold(self._said(turn, speaker))
                yield turn, speaker, folded

    def _said(self, turn: int, speaker: Speaker) -> str:
        said = self._turns[turn - 1]
        return said.user if speaker == "user" else said.assistant

    def _passage(self, turn: int, speaker: Speaker, start: int, end: int) -> Passage:
        """The passage whose folded words stand from `start` to `end`, the spaces around them included."""
        folded, text = self._folded[turn, speaker], self._said(turn, speaker)
        begin, stop = locate(text, folded.count(" ", 0, start), folded.count(" ", start, end) - 1)
        return Passage(turn, speaker, begin, stop, text[begin:stop])


@lru_cache(maxsize=32)
def transcript(turns: tuple[Turn, ...]) -> Transcript:
    """`turns` ready for looking words up; kept for a while, since many questions are asked about one conversation."""
    return Transcript(turns)


def stands_in(folded: str, quote: Pieces) -> bool:
    """Whether `quote` stands in a folded text."""
    return (_whole(folded, quote) or _in_runs(folded, quote)) is not None


# Verbatim

_NEGATION = re.compile(
    " (?:no|not|never|none|nothing|nobody|without|cannot"
    "|(?:do|does|did|is|are|was|were|has|have|had|ca|wo|could|would|should|ai)nt) "
)
_SMALL_GAP = 2  # words: where no more is left out, a negation among them is what the ellipsis hides


def _whole(folded: str, quote: Pieces) -> tuple[int, int] | None:
    """Where `quote` stands in `folded` word for word, from the space before it to the one after it."""
    start = folded.find(quote.whole) if quote.whole != " " else -1
    return (start, start + len(quote.whole)) if start >= 0 else None


def _in_runs(folded: str, quote: Pieces) -> tuple[int, int] | None:
    """Where the runs of `quote` stand in `folded`, in order, with anything between them."""
    if quote.runs == (quote.whole,) or not quote.tells:
        return None
    starts: list[int] = []
    end = 1
    for run in quote.runs:
        found = folded.find(run, end - 1)
        while starts and found >= 0 and _hides_negation(folded, end, found):
            found = folded.find(run, found + 1)
        if found < 0:
            return None
        starts.append(found)
        end = found + len(run)
    # The first runs may stand again, nearer to the last one.
    for index in range(len(starts) - 2, -1, -1):
        nearer = folded.rfind(quote.runs[index], starts[index], starts[index + 1] + 1)
        if not _hides_negation(folded, nearer + len(quote.runs[index]), starts[index + 1]):
            starts[index] = nearer
    return starts[0], end


def _hides_negation(folded: str, end: int, start: int) -> bool:
    """Whether the few words left out between two runs hold a negation: without it the quote says the opposite."""
    if start - end > 40:  # no two words with a negation among them are that long, and the gap may be a whole message
        return False
    gap = folded[end - 1 : start + 1]
    return gap.count(" ") <= _SMALL_GAP + 1 and _NEGATION.search(gap) is not None


# Nearly

FEW = 2
"""Words: so short a quote is likened by its letters, a longer one by its words."""
_ALIKE = 0.6  # likeness below which two passages have nothing to do with each other
_COMPARED = 60  # words of a quote that are compared: the work grows with their square
_GAP = 300  # characters around a word that are compared with a quote that leaves something out
_PLACES = 8  # places of a word that are looked at in one message: a word that comes oftener tells little


def _likest(folded: str, words: list[str], gaps: frozenset[int]) -> Iterator[tuple[float, int, int]]:
    """Places in `folded` that are like `words`, each with its likeness, where it begins and where it ends.

    `gaps` are the numbers of words after which the quote leaves something out.
    """
    if len(words) <= FEW:
        yield from _likest_few(folded, words)
        return
    quote, known = f" {' '.join(words)} ", set(words)
    margin = _GAP if gaps else len(quote) // 2
    # Among more words than may differ one must be the same; the longest are the rarest.
    anchors = sorted(known, key=len)[-int(len(words) * (1 - _ALIKE)) - 1 :]
    compared: list[range] = []
    for anchor in anchors:
        offset = quote.find(f" {anchor} ")
        for at in _places(folded, f" {anchor} "):
            if any(at in place for place in compared):
                continue
            low = max(folded.rfind(" ", 0, max(at - offset - margin, 0) + 1), 0)
            high = folded.find(" ", at - offset + len(quote) + margin) + 1 or len(folded)
            near = folded[low:high].split()
            if len(known.intersection(near)) >= len(known) * _ALIKE:
                compared.append(range(low, high))
                changes, first, last = _aligned(words, near, gaps)
                start = low + sum(len(word) + 1 for word in near[:first])
                yield 1 - changes / len(words), start, start + sum(len(word) + 1 for word in near[first:last]) + 1


def _likest_few(folded: str, words: list[str]) -> Iterator[tuple[float, int, int]]:
    """Places in `folded` that begin like the one or two `words`: "faking" is near "fake"."""
    quote = " ".join(words)
    stem = words[0][: max(3, len(words[0]) - 3)]
    matcher = SequenceMatcher(None, "", quote, autojunk=False)
    for at in _places(folded, f" {stem}"):
        stop = at
        for _ in words:
            stop = max(folded.find(" ", stop + 1), stop)
        if stop - at <= 2 * len(quote) + 2:  # what is longer has fewer than half its letters in common
            matcher.set_seq1(folded[at + 1 : stop])
            yield matcher.ratio(), at, stop + 1


def _places(folded: str, anchor: str) -> Iterator[int]:
    at = folded.find(anchor)
    for _ in range(_PLACES):
        if at < 0:
            return
        yield at
        at = folded.find(anchor, at + 1)


def _aligned(words: list[str], near: list[str], gaps: frozenset[int]) -> tuple[int, int, int]:
    """How many words must be changed, added or dropped to make `words` from a part of `near`, and which part."""
    # The usual edit distance, except that the part may begin and end anywhere and that words of it are skipped for
    # nothing at a gap; each cell also carries its beginning.
    row = [(0, at) for at in range(len(near) + 1)]
    for number, word in enumerate(words, start=1):
        diagonal, row[0] = row[0], (number, 0)
        skipped = number not in gaps
        for at, other in enumerate(near, start=1):
            same = diagonal[0] + (word != other), diagonal[1]
            diagonal = row[at]
            row[at] = min(same, (diagonal[0] + 1, diagonal[1]), (row[at - 1][0] + skipped, row[at - 1][1]))
    changes, end = min((cell[0], -at) for at, cell in enumerate(row))
    return changes, row[-end][1], -end
