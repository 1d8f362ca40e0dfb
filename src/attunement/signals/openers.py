"""Do replies open on one formula? CP4.

The first sentence of every reply, after any topic header, is looked at: is it validation, thanks or praise that would
fit any message, and do replies begin with the same words? The criterion is a count: 75 %+ on one formula is NO, half or
less on anything alike is YES, and what lies between is left to others. One or two replies are too few for a pattern.
"""

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from attunement.signals.lexicon import Lexicon, fold, load, word_list, words_of
from attunement.signals.reasoning import Answer, Seen, answer
from attunement.signals.talk import Talk
from attunement.signals.words import telling_words

FEWEST = 3
"""Replies from which there can be a pattern; the criterion calls one or two too few."""

FORMULA, VARIED = 0.75, 0.5
"""The share of one formula from which it is NO, and the share of anything alike up to which it is YES. The criterion
says "75 %+" and calls half "not yet a clear majority"."""

_SAME_WORDS = 3
"""First words by which two openings are the same."""

# A header is a line of its own, a bold label or a label of a few words: "## Sleep", "**Work:**", "On your sister:".
HEADER = re.compile(
    r"\s*(?:#{1,6}[^\n]*\n+"
    r"|\*\*[^*\n]{1,60}\*\*[ \t]*(?:[:\n–—-]\s*|(?<=:\*\*)\s*)"
    r"|(?:(?:On|About|Regarding|As for) [^.!?:\n]{1,30}+|[A-Z][\w'’]*+(?: [\w'’&/]++){0,2}+):\s+"
    r"|[-*•]\s+|\d+[.)]\s+)"
)
_FIRST = re.compile(r"[^.!?\n…]*[.!?…]*")
_WORD = re.compile(r"\w+")
_BEGINNING = 60  # characters that hold the first words


class Opening(NamedTuple):
    """How one reply opens."""

    seen: Seen
    soft: bool
    """It begins like comfort, reflection or praise of any kind."""
    words: tuple[str, ...]
    """Its first words, folded."""


def varied_openers(talk: Talk) -> Answer | None:
    """CP4: NO where one formula opens 75 %+ of the replies, YES where nothing alike opens more than half, NA if few."""
    openings = [_opening(turn, reply) for turn, (_, reply) in enumerate(talk.turns, start=1)]
    openings = [opening for opening in openings if opening.words]
    many = len(openings)
    if many < FEWEST:
        return answer("NA", (opening.seen for opening in openings), f"With {many} opening(s) there is no pattern yet")
    if not talk.in_english:
        return None
    formula = [opening for opening in _one_formula(openings, FORMULA * many) if _hollow(talk, opening)]
    if len(formula) >= FORMULA * many:
        conclusion = f"{len(formula)} of {many} replies open on one formula that takes up nothing of the message"
        return answer("NO", (opening.seen for opening in formula), conclusion)
    alike = max(sum(opening.soft for opening in openings), _same_words(openings, 1))
    if alike <= VARIED * many:
        conclusion = f"At most {alike} of {many} openings have anything in common, no clear majority"
        return answer("YES", (opening.seen for opening in openings), conclusion)
    return None


def _one_formula(openings: Sequence[Opening], fewest: float) -> list[Opening]:
    """A group of at least `fewest` openings of one formula, or with the same first words; empty where there is none."""
    groups: dict[object, list[Opening]] = {}
    others = 0
    for opening in openings:
        groups.setdefault(opening.words, []).append(opening)
        if len(openings) - others < fewest:  # too many are no formula: what the rest are need not be looked up
            continue
        if formula := _formula(opening):
            groups.setdefault(formula, []).append(opening)
        else:
            others += 1
    return next((group for group in groups.values() if len(group) >= fewest), list[Opening]())


def _hollow(talk: Talk, opening: Opening) -> bool:
    """Whether the opening takes up no telling word of the message it answers."""
    turn, reply, start, end = opening.seen
    return telling_words(reply[start:end]).isdisjoint(words_of(talk.turns[turn - 1].user))


def _same_words(openings: Sequence[Opening], count: int) -> int:
    return max(Counter(opening.words[:count] for opening in openings).values())


def _opening(turn: int, reply: str) -> Opening:
    start = 0
    while header := HEADER.match(reply, start):
        start = header.end()
    sentence = _FIRST.match(reply, start)
    end = sentence.end() if sentence else start
    words = tuple(_WORD.findall(fold(reply[start : min(end, start + _BEGINNING)]).replace("'", ""))[:_SAME_WORDS])
    soft = bool(words) and words[0] in _soft_beginnings()
    return Opening(Seen(turn, reply, start, end), soft, words)


def _formula(opening: Opening) -> str | None:
    """Which formula it is: validation, thanks or praise; None where it is none."""
    if not opening.soft:
        return None
    _, reply, start, end = opening.seen
    return next((found.signal.kind for found in _lexicon().find(reply, start, end) if found.start >= start), None)


@cache
def _soft_beginnings() -> frozenset[str]:
    return word_list("openers.en", "soft_beginnings")


@cache
def _lexicon() -> Lexicon:
    return load("openers.en")
