"""Find quoted words in a conversation, or the nearest text. Case, white space and typographic marks are folded.

Judges change case, quotes, dashes, line breaks and markdown when they quote, and leave words out at an ellipsis.
Folding keeps the words of a text and nothing else, so that these differences vanish and a changed word does not.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import accumulate, chain, islice
from typing import Literal, NamedTuple
from unicodedata import normalize

from attunement.conversations import Turn

# Scripts written without spaces: each character is a word, else no part of a sentence could be quoted.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_LETTER = rf"[^\W_ʼ{_UNSPACED}]"
_WORD = re.compile(rf"{_LETTER}+(?:['’ʼ\u0300-\u036f]+{_LETTER}+)*[\u0300-\u036f]*|[{_UNSPACED}]")
# Apostrophes go as well: people write "wouldnt", and judges put the apostrophe back.
_APOSTROPHES = str.maketrans("", "", "'’ʼ")
# Most messages are ASCII but for these marks, and ASCII is folded several times faster by a table. It names every
# sign, because looking for one in vain takes long.
_TYPOGRAPHIC = (("’", "'"), ("“", '"'), ("”", '"'), ("‘", '"'), ("—", "-"), ("–", "-"), ("…", "."))
_ASCII = {ord(sign): sign.lower() if sign.isalnum() else " " for sign in map(chr, range(128))} | {ord("'"): None}
_ASCII_WORD = re.compile(r"[0-9A-Za-z]+(?:'+[0-9A-Za-z]+)*")
_FAR = 20  # words before a passage from which it pays to count them first


def fold(text: str) -> str:
    """The words of `text` in lower case, each between single spaces; one space where there are none."""
    if not text.isascii():
        text = _plain(text)
    if text.isascii():
        words = " ".join(text.translate(_ASCII).split())
    else:
        words = normalize("NFC", " ".join(_WORD.findall(text))).translate(_APOSTROPHES).casefold()
    return f" {words} " if words else " "


def locate(text: str, folded: str, start: int, end: int) -> tuple[int, int]:
    """Where in `text` the words begin and end that stand from `start` to `end` in `folded`, its folded form.

    The spaces around them are included in `start` and `end`.
    """
    first, count = folded.count(" ", 0, start), folded.count(" ", start, end) - 1
    if not text.isascii():
        text = _plain(text)
    if not text.isascii():
        words = list(islice(_WORD.finditer(text), first, first + count))
        return words[0].start(), words[-1].end()
    at = 0
    if first > _FAR:
        # In ASCII no word stands further ahead than where it is folded to, so what stands before `start` can be passed
        # over. To split it and count is many times as fast as to find one word after the other.
        at = max(text.rfind(" ", 0, start), 0)
        first -= len(text[:at].translate(_ASCII).split())
    found = _ASCII_WORD.finditer(text, at)
    word = next(islice(found, first, None))
    begin = word.start()
    # Where a single sign stands between each two words, as in most quotes, their length tells how far they reach.
    stop = begin + end - start - 2
    if text[begin:stop].translate(_ASCII) == folded[start + 1 : end - 1]:
        return begin, stop
    words = [word, *islice(found, count - 1)]
    return begin, words[-1].end()


def _plain(text: str) -> str:
    """`text` with typographic marks as ASCII, each in its place."""
    for mark, plain in _TYPOGRAPHIC:
        text = text.replace(mark, plain)
    return text


_OMISSION = re.compile(r"[\[(]?(?:\.(?:\s?\.)+|…)[\])]?")
_OWN_WORDS = re.compile(r"\[[^\[\]]*\]")
_OPENED = re.compile(r"[.…\[]")  # one of them stands in both; most quotes have none


class Pieces(NamedTuple):
    """A quote, whole and as the folded runs of words between which something is left out."""

    whole: str
    runs: tuple[str, ...]
    pattern: bool
    """The judge put words of its own in square brackets, as in `Thanks for [sharing]`."""

    @property
    def words(self) -> int:
        """How many words are quoted."""
        return sum(map(_size, self.runs))

    @property
    def says_something(self) -> bool:
        """Whether anything but a pattern is quoted: of one, a run of three words or four words in all must be left."""
        return self.words > 0 if not self.pattern else self._longest >= 3 or (self._longest == 2 and self.words >= 4)

    @property
    def tells(self) -> bool:
        """Whether the runs alone tell one passage from another.

        Single words with anything between them stand nearly everywhere, so where something is left out between words
        one run must have two of them.
        """
        return self.says_something and self._longest >= (2 if len(self.runs) > 1 else 1)

    @property
    def _longest(self) -> int:
        return max(map(_size, self.runs), default=0)


def _size(run: str) -> int:
    return run.count(" ") - 1


def pieces(quote: str) -> Pieces:
    """Split `quote` where it leaves words out or puts words of its own in brackets."""
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
"""Whose message is looked at first, and whose after it."""


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
        self._folded: dict[Speaker, dict[int, str]] = {"user": {}, "assistant": {}}

    def __len__(self) -> int:
        return len(self._turns)

    def find(self, quote: Pieces, turns: Sequence[int], first: Speaker) -> Passage | None:
        """The first place among `turns` where `quote` stands within one message, whole or with words left out.

        Of the two messages of a turn, that of the speaker `first` is looked at first.
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
        """The passage among `turns` that is most like `quote`; None where too few words are the same."""
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
        """What `speaker` says in `turn`, folded."""
        folded = self._folded[speaker]
        if turn not in folded:
            folded[turn] = fold(self._said(turn, speaker))
        return folded[turn]

    def _said(self, turn: int, speaker: Speaker) -> str:
        said = self._turns[turn - 1]
        return said.user if speaker == "user" else said.assistant

    def _passage(self, turn: int, speaker: Speaker, start: int, end: int) -> Passage:
        """The passage whose folded words stand from `start` to `end`, the spaces around them included."""
        text = self._said(turn, speaker)
        begin, stop = locate(text, self._message(turn, speaker), start, end)
        return Passage(turn, speaker, begin, stop, text[begin:stop])


@lru_cache(maxsize=32)
def transcript(turns: tuple[Turn, ...]) -> Transcript:
    """`turns` ready for looking words up; kept for a while, since many questions are asked about one conversation."""
    return Transcript(turns)


def stands_in(folded: str, quote: Pieces) -> bool:
    """Whether `quote` stands in a folded text."""
    if quote.whole == " ":
        return False
    return quote.whole in folded or (_may_be_in_runs(quote) and _in_runs(folded, quote) is not None)


# Verbatim

_NEGATION = re.compile(
    " (?:no|not|never|none|nothing|nobody|without|cannot"
    "|(?:do|does|did|is|are|was|were|has|have|had|ca|wo|could|would|should|ai)nt) "
)
_SMALL_GAP = 2  # words: where no more is left out, a negation among them is what the ellipsis hides


def _may_be_in_runs(quote: Pieces) -> bool:
    """Whether `quote`, which does not stand there word for word, may stand there with words left out."""
    return quote.runs != (quote.whole,) and quote.tells


def _in_runs(folded: str, quote: Pieces) -> tuple[int, int] | None:
    """Where the runs of `quote` stand in `folded`, in order, with anything between them."""
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


class _Sought:
    """The words of a quote, to be likened to messages; it leaves something out after each number of words in `gaps`."""

    def __init__(self, words: list[str], gaps: frozenset[int]) -> None:
        quote = f" {' '.join(words)} "
        self._words, self._gaps = words, gaps
        self._known = frozenset(words)
        self._length = len(quote)
        self._margin = _GAP if gaps else len(quote) // 2
        # Among more words than may differ one must be the same; the longest are the rarest.
        anchors = sorted(dict.fromkeys(words), key=len)[-int(len(words) * (1 - _ALIKE)) - 1 :]
        self._anchors = [(f" {anchor} ", quote.find(f" {anchor} ")) for anchor in anchors]

    def places(self, folded: str, least: float) -> Iterator[tuple[float, int, int]]:
        """Places in `folded` that are like the words, each with its likeness, where it begins and where it ends.

        Those that are less like them than `least` may be left out.
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
                    # Each word that is not there must be changed or dropped.
                    if self._likeness(sum(word not in same for word in self._words)) >= least:
                        changes, first, last = _aligned(self._words, near, self._gaps)
                        start = low + sum(len(word) + 1 for word in near[:first])
                        end = start + sum(len(word) + 1 for word in near[first:last]) + 1
                        yield self._likeness(changes), start, end

    def _likeness(self, changes: int) -> float:
        return 1 - changes / len(self._words)


class _SoughtFew:
    """One or two words, to be likened to messages by their letters: "faking" is near "fake"."""

    def __init__(self, words: list[str]) -> None:
        self._count = len(words)
        self._quote = " ".join(words)
        self._stem = f" {words[0][: max(3, len(words[0]) - 3)]}"
        self._matcher = SequenceMatcher(None, "", self._quote, autojunk=False)

    def places(self, folded: str, least: float) -> Iterator[tuple[float, int, int]]:
        """Places in `folded` that begin like the words, with the same as `_Sought.places` says of each."""
        matcher = self._matcher
        for at in _places(folded, self._stem):
            stop = at
            for _ in range(self._count):
                stop = max(folded.find(" ", stop + 1), stop)
            if stop - at <= 2 * len(self._quote) + 2:  # what is longer has fewer than half its letters in common
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
