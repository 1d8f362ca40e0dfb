"""When do two texts say the same words?

Judges change case, quotes, dashes, line breaks and markdown when they quote, and leave words out at an ellipsis.
Folding keeps the words of a text and nothing else, so that these differences vanish and a changed word does not.
"""

import re
from itertools import islice
from typing import NamedTuple
from unicodedata import normalize

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
