"""Where does a judge's reasoning quote something?

Most judges quote in single straight marks, which are also apostrophes: `'I'm not the users' friend'` is one quote. This
module finds the quotes of a text without looking at what they are quoted from.
"""

import re
from collections import deque
from functools import lru_cache
from typing import NamedTuple

_CLOSES = {"'": "'", '"': '"', "‘": "’'", "“": '”"', "„": "“”", "‚": "‘’", "«": "»", "»": "«", "「": "」", "『": "』"}
_MARK = re.compile("[" + "".join(sorted(set("".join(_CLOSES) + "".join(_CLOSES.values())))) + "]")
_PLAIN = "'\"’"  # these open, close and shorten words: what they do is told by their neighbours
_WITHOUT_APOSTROPHES = "\u2e80"  # from here on: Chinese and its neighbours
_DEEPEST = 4  # quotes within quotes; an opening mark that was none is forgotten after as many others


class Quoted(NamedTuple):
    """Words between quotation marks; `start` and `end` take in the marks."""

    start: int
    end: int
    words: str


def quotes(text: str) -> list[Quoted]:
    """The quotes of `text` in order; of a quote within a quote only the outer one.

    A quote that `text` breaks off in the middle of is kept up to its last whole word, because replies are cut at a
    length limit.
    """
    opened: deque[int] = deque(maxlen=_DEEPEST)
    pairs: list[tuple[int, int]] = []
    extendable = False  # the last pair ends in what may be an apostrophe, as in 'my parents' house'
    for match in _MARK.finditer(text):
        at, mark = match.start(), match[0]
        before = text[at - 1] if at else " "
        after = text[at + 1 : at + 2] or " "
        opens, closes = _role(mark, before, after)
        apostrophe = closes and mark in "'’" and before in "sSnN" and text[at + 1 : at + 3].islower()
        partner = _partner(text, opened, at, outer=not apostrophe) if closes and opened else None
        if partner is not None:
            pairs.append((partner, at + 1))
            extendable = apostrophe
        elif closes and extendable and not apostrophe and text[pairs[-1][0]] == mark:
            pairs[-1] = (pairs[-1][0], at + 1)
            extendable = False
        elif opens:
            opened.append(at)
            extendable = False
    found = [Quoted(start, end, text[start + 1 : end - 1]) for start, end in _outermost(pairs)]
    return found + _broken_off(text, opened, found[-1].end if found else 0) if opened else found


@lru_cache(maxsize=2048)  # the same few characters stand around marks everywhere
def _role(mark: str, before: str, after: str) -> tuple[bool, bool]:
    """Whether a mark between these two characters can open a quote, and whether it can close one."""
    if mark not in _PLAIN:
        return mark in _CLOSES and not after.isspace(), True
    # An apostrophe beside a letter belongs to a word; in Chinese and its neighbours there are none.
    behind_letter = before.isalnum() and before < _WITHOUT_APOSTROPHES
    before_letter = after.isalnum() and after < _WITHOUT_APOSTROPHES
    opens = not behind_letter and mark in _CLOSES and not after.isspace() and after not in ")]},;" and after != mark
    closes = not before_letter and not before.isspace() and before not in "([{"
    return opens, closes


def _partner(text: str, opened: deque[int], closing: int, *, outer: bool) -> int | None:
    """The open mark that the one at `closing` closes, taken from `opened` with all that stand after it."""
    for depth, start in enumerate(reversed(opened)):
        if text[closing] in _CLOSES[text[start]] and closing > start + 1:
            for _ in range(depth + 1):
                opened.pop()
            return start
        if not outer:
            return None
    return None


def _outermost(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Those of `pairs` that stand in no other, in order."""
    if len(pairs) < 2:
        return pairs
    kept: list[tuple[int, int]] = []
    for start, end in sorted(pairs):
        if not kept or start >= kept[-1][1]:
            kept.append((start, end))
    return kept


def _broken_off(text: str, opened: deque[int], done: int) -> list[Quoted]:
    """The quote that is still open where `text` ends in the middle of a sentence."""
    start = next((at for at in opened if at >= done), None)
    if start is None or (text.rstrip().endswith((".", "!", "?", ")")) and not text.endswith("..")):
        return []
    words = text[start + 1 :].rpartition(" ")[0]
    return [Quoted(start, len(text), words)] if words else []
