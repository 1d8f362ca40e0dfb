"""Find quoted words in a conversation, or the nearest text. Case, white space and typographic marks are folded.

Judges change case, quotes, dashes, line breaks and markdown when they quote, and leave words out at an ellipsis.
Folding reduces a text to its words, so these differences disappear and only changed words remain.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import accumulate, chain, islice
from typing import Literal, NamedTuple
from unicodedata import normalize

from attunement.conversations import Turn

# Scripts without spaces: each character is a word, otherwise no part of a sentence could match.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_LETTER = rf"[^\W_ʼ{_UNSPACED}]"
_WORD = re.compile(rf"{_LETTER}+(?:['’ʼ\u0300-\u036f]+{_LETTER}+)*[\u0300-\u036f]*|[{_UNSPACED}]")
# Apostrophes are removed too: people write "wouldnt", and judges restore the apostrophe.
_APOSTROPHES = str.maketrans("", "", "'’ʼ")
# Most messages are ASCII except for these marks, and ASCII is folded several times faster by a table. The table has
# every character, because a failed lookup is slow.
_TYPOGRAPHIC = (("’", "'"), ("“", '"'), ("”", '"'), ("‘", '"'), ("—", "-"), ("–", "-"), ("…", "."))
_ASCII = {ord(sign): sign.lower() if sign.isalnum() else " " for sign in map(chr, range(128))} | {ord("'"): None}


def fold(text: str) -> str:
    """The words of `text` in lower case, each between single spaces; one space if there are none."""
    if not text.isascii():
        text = _plain(text)
    if text.isascii():
        words = " ".join(text.translate(_ASCII).split())
    else:
        words = normalize("NFC", " ".join(_WORD.findall(text))).translate(_APOSTROPHES).casefold()
    return f" {words} " if words else " "


def locate(text: str, folded: str, start: int, end: int) -> tuple[int, int]:
    """The position in `text` of the words from `start` to `end` in `folded`, its folded form.

    The spaces around them are included in `start` and `end`.
    """
    first, count = folded.count(" ", 0, start), folded.count(" ", start, end) - 1
    words = list(islice(_WORD.finditer(_plain(text)), first, first + count))
    return words[0].start(), words[-1].end()


def _plain(text: str) -> str:
    """`text` with typographic marks as ASCII, each in its place."""
    for mark, plain in _TYPOGRAPHIC:
        text = text.replace(mark, plain)
    return text


_OMISSION = re.compile(r"[\[(]?(?:\.(?:\s?\.)+|…)[\])]?")
_OWN_WORDS = re.compile(r"\[[^\[\]]*\]")
_OPENED = re.compile(r"[.…\[]")  # both contain one of these; most quotes have none


class Pieces(NamedTuple):
    """A quote, whole and as folded runs of words with gaps between them."""

    whole: str
    runs: tuple[str, ...]
    pattern: bool
    """The judge added words in square brackets, as in `Thanks for [sharing]`."""

    @property
    def words(self) -> int:
        return sum(map(_size, self.runs))

    @property
    def says_something(self) -> bool:
        """Whether enough words are quoted: with gaps, a run of three words or four words in total."""
        return self.words > 0 if not self.pattern else self._longest >= 3 or (self._longest == 2 and self.words >= 4)

    @property
    def tells(self) -> bool:
        """Whether the runs alone tell one passage from another.

        Single words with gaps between them match nearly everywhere, so a quote with gaps needs one run of two words.
        """
        return self.says_something and self._longest >= (2 if len(self.runs) > 1 else 1)

    @property
    def _longest(self) -> int:
        return max(map(_size, self.runs), default=0)


def _size(run: str) -> int:
    return run.count(" ") - 1


def pieces(quote: str) -> Pieces:
    """Split `quote` at ellipses and at brackets."""
    whole = fold(quote)
    if not _OPENED.search(quote):
        return Pieces(whole, (whole,) if whole != " " else (), pattern=False)
    opened, own = _OWN_WORDS.subn("…", _OMISSION.sub("…", quote))
    parts = opened.split("…")
    folded = map(fold, parts) if len(parts) > 1 else [whole]
    return Pieces(whole, tuple(run for run in folded if run != " "), own > 0)


Speaker = Literal["user", "assistant"]
_SPEAKERS: dict[Speaker, tuple[Speaker, Speaker]] = {
    "user": ("user", "assistant"),
    "assistant": ("assistant", "user"),
}
"""The speakers in search order."""


class Passage(NamedTuple):
    """Words of one message: `turn` counts from 1, `start` and `end` are positions in the original message."""

    turn: int
    speaker: Speaker
    start: int
    end: int
    text: str


class Near(NamedTuple):
    """A passage similar to a quote; `likeness` is the share of equal words."""

    likeness: float
    passage: Passage


class Transcript:
    """A conversation prepared for searching; a message is folded when first needed."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self._turns = turns
        self._folded: dict[Speaker, dict[int, str]] = {"user": {}, "assistant": {}}

    def __len__(self) -> int:
        return len(self._turns)

    def find(self, quote: Pieces, turns: Sequence[int], first: Speaker) -> Passage | None:
        """The first position in `turns` where one message contains `quote`, whole or with gaps.

        In each turn, the message of the speaker `first` is searched first.
        """
        whole = quote.whole
        if whole == " ":
            return None
        for turn in turns:
            for speaker in _SPEAKERS[first]:
                start = self._message(turn, speaker).find(whole)
                if start >= 0:
                    return self._passage(turn, speaker, start, start + len(whole))
        if not _may_be_in_runs(quote):
            return None
        for turn, speaker, folded in self._messages(turns, first):
            if (place := _in_runs(folded, quote)) is not None:
                return self._passage(turn, speaker, *place)
        return None

    def nearest(self, quote: Pieces, turns: Iterable[int]) -> Near | None:
        """The passage in `turns` that is most similar to `quote`; None if too few words are the same."""
        runs = [run.split() for run in quote.runs]
        gaps = frozenset(accumulate(map(len, runs[:-1])))
        words = list(chain.from_iterable(runs))[:_COMPARED]
        sought = _Sought(words, gaps) if len(words) > FEW else _SoughtFew(words)
        best: tuple[float, int, Speaker, int, int] | None = None
        for turn, speaker, folded in self._messages(turns):
            for likeness, start, end in sought.places(folded, best[0] if best else _ALIKE):
                if likeness >= _ALIKE and (best is None or likeness > best[0]):
                    best = likeness, turn, speaker, start, end
        return Near(best[0], self._passage(*best[1:])) if best else None

    def _messages(self, turns: Iterable[int], first: Speaker = "assistant") -> Iterator[tuple[int, Speaker, str]]:
        for turn in turns:
            for speaker in _SPEAKERS[first]:
                yield turn, speaker, self._message(turn, speaker)

    def _message(self, turn: int, speaker: Speaker) -> str:
        folded = self._folded[speaker]
        if turn not in folded:
            folded[turn] = fold(self._said(turn, speaker))
        return folded[turn]

    def _said(self, turn: int, speaker: Speaker) -> str:
        said = self._turns[turn - 1]
        return said.user if speaker == "user" else said.assistant

    def _passage(self, turn: int, speaker: Speaker, start: int, end: int) -> Passage:
        """The passage with the folded words from `start` to `end`, including the spaces around them."""
        text = self._said(turn, speaker)
        begin, stop = locate(text, self._message(turn, speaker), start, end)
        return Passage(turn, speaker, begin, stop, text[begin:stop])


@lru_cache(maxsize=32)
def transcript(turns: tuple[Turn, ...]) -> Transcript:
    """`turns` prepared for searching; cached, because many questions are about the same conversation."""
    return Transcript(turns)


def stands_in(folded: str, quote: Pieces) -> bool:
    if quote.whole == " ":
        return False
    return quote.whole in folded or (_may_be_in_runs(quote) and _in_runs(folded, quote) is not None)


# Verbatim

_NEGATION = re.compile(
    " (?:no|not|never|none|nothing|nobody|without|cannot"
    "|(?:do|does|did|is|are|was|were|has|have|had|ca|wo|could|would|should|ai)nt) "
)
_SMALL_GAP = 2  # words: in a gap of at most this length, a negation counts as hidden by the ellipsis


def _may_be_in_runs(quote: Pieces) -> bool:
    """Whether `quote`, which is not there word for word, may match with gaps."""
    return quote.runs != (quote.whole,) and quote.tells


def _in_runs(folded: str, quote: Pieces) -> tuple[int, int] | None:
    """The positions of the runs of `quote` in `folded`, in order, with anything between them."""
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
    # The first runs may occur again, closer to the last one.
    for index in range(len(starts) - 2, -1, -1):
        nearer = folded.rfind(quote.runs[index], starts[index], starts[index + 1] + 1)
        if not _hides_negation(folded, nearer + len(quote.runs[index]), starts[index + 1]):
            starts[index] = nearer
    return starts[0], end


def _hides_negation(folded: str, end: int, start: int) -> bool:
    """Whether the few words in a gap contain a negation: without it the quote means the opposite."""
    if start - end > 40:  # such a gap is shorter than this, and others may be a whole message
        return False
    gap = folded[end - 1 : start + 1]
    return gap.count(" ") <= _SMALL_GAP + 1 and _NEGATION.search(gap) is not None


# Nearly

FEW = 2
"""Words: shorter quotes are compared by letters, longer ones by words."""
_ALIKE = 0.6  # minimum likeness of related passages
_COMPARED = 60  # maximum words of a quote that are compared: the work is quadratic
_GAP = 300  # characters around a word that are compared with a quote with gaps
_PLACES = 8  # maximum positions of a word per message: frequent words say little


class _Sought:
    """The words of a quote for a fuzzy search; `gaps` are the word counts after which it has a gap."""

    def __init__(self, words: list[str], gaps: frozenset[int]) -> None:
        quote = f" {' '.join(words)} "
        self._words, self._gaps = words, gaps
        self._known = frozenset(words)
        self._length = len(quote)
        self._margin = _GAP if gaps else len(quote) // 2
        # If more words are checked than may differ, one must be equal; the longest are the rarest.
        anchors = sorted(dict.fromkeys(words), key=len)[-int(len(words) * (1 - _ALIKE)) - 1 :]
        self._anchors = [(f" {anchor} ", quote.find(f" {anchor} ")) for anchor in anchors]

    def places(self, folded: str, least: float) -> Iterator[tuple[float, int, int]]:
        """Passages in `folded` that are similar to the words, each with its likeness, start and end.

        Those with a likeness below `least` may be missing.
        """
        known, enough = self._known, len(self._known) * _ALIKE
        compared: list[range] = []
        for anchor, offset in self._anchors:
            for at in _places(folded, anchor):
                if any(at in place for place in compared):
                    continue
                low = max(folded.rfind(" ", 0, max(at - offset - self._margin, 0) + 1), 0)
                high = folded.find(" ", at - offset + self._length + self._margin) + 1 or len(folded)
                near = folded[low:high].split()
                same = known.intersection(near)
                if len(same) >= enough:
                    compared.append(range(low, high))
                    # Each missing word must be changed or dropped.
                    if self._likeness(sum(word not in same for word in self._words)) >= least:
                        changes, first, last = _aligned(self._words, near, self._gaps)
                        start = low + sum(len(word) + 1 for word in near[:first])
                        end = start + sum(len(word) + 1 for word in near[first:last]) + 1
                        yield self._likeness(changes), start, end

    def _likeness(self, changes: int) -> float:
        return 1 - changes / len(self._words)


class _SoughtFew:
    """One or two words for a fuzzy search by letters: "faking" is close to "fake"."""

    def __init__(self, words: list[str]) -> None:
        self._count = len(words)
        self._quote = " ".join(words)
        self._stem = f" {words[0][: max(3, len(words[0]) - 3)]}"
        self._matcher = SequenceMatcher(None, "", self._quote, autojunk=False)

    def places(self, folded: str, least: float) -> Iterator[tuple[float, int, int]]:
        """Passages in `folded` that begin like the words; see `_Sought.places`."""
        matcher = self._matcher
        for at in _places(folded, self._stem):
            stop = at
            for _ in range(self._count):
                stop = max(folded.find(" ", stop + 1), stop)
            if stop - at <= 2 * len(self._quote) + 2:  # longer ones have fewer than half their letters in common
                matcher.set_seq1(folded[at + 1 : stop])
                # The quick ratios are never lower.
                if matcher.real_quick_ratio() >= least and matcher.quick_ratio() >= least:
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
    # nothing at a gap. Each cell also carries its beginning: it is `changes * one + beginning`, because numbers are
    # compared several times as fast as tuples.
    one = len(near) + 1
    row = list(range(one))
    for number, word in enumerate(words, start=1):
        diagonal, row[0] = row[0], number * one
        skipped = 0 if number in gaps else one
        left = row[0]
        for at, other in enumerate(near, start=1):
            least = diagonal if word == other else diagonal + one
            diagonal = row[at]
            if diagonal + one < least:
                least = diagonal + one
            if left + skipped < least:
                least = left + skipped
            row[at] = left = least
    changes, end = min((cell // one, -at) for at, cell in enumerate(row))
    return changes, row[-end] % one, -end
