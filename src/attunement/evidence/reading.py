"""Which turns does a judge's reasoning cite, and which words does it quote from them?

Judges write freely: `Turn 3: '...'`, `Turn 12 ("...")`, `'...' (Turns 4, 5 and 9)`, `In Turn 5 the user says '...'`.
This module decides which turns each quote belongs to. It knows how many turns there are, not what was said in them.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import islice, pairwise
from typing import NamedTuple

from attunement.evidence.denial import Denial, denial
from attunement.evidence.marks import Quoted, quotes

READ = 20_000
"""Characters of a reasoning that are read; the longest known one has 1,029. A runaway reply must stay cheap."""
QUOTES = 60
"""Quotes of a reasoning that are looked at; the most known are 12."""
_MENTIONS = 200


class Mention(NamedTuple):
    """A place where turns are named, with the turns in the order they are named."""

    start: int
    end: int
    turns: tuple[int, ...]


class Citation(NamedTuple):
    """One thing a judge points to: a quote, or turns without a quote."""

    start: int
    end: int
    quote: str | None
    turns: tuple[int, ...]
    """The turns named for it; empty for a quote that comes without a turn."""
    carried: bool = False
    """The turns were named for something before it: the quote may or may not be meant to stand there."""
    denial: Denial = Denial.NONE
    by_user: bool = False
    """The person was spoken of last, so the words are looked for in the person's message first."""


_NUMBER = r"([0-9]{1,4})(?![0-9A-Za-z%]|[.:][0-9])"
_HEAD = re.compile(
    rf"\b(?:(?:[Tt]urn|TURN|[Ee]xchange|[Rr]esponse|[Rr]eply)[sS]?\s?(?:#|[Nn]o\.|[Nn]umber)?\s?|T){_NUMBER}"
)
_MORE = re.compile(
    rf"\s?(,\s?(?:and|or|&)|[,/&–—‑-]|and\b|or\b|to\b|through\b|thru\b|until\b)\s?((?:[Tt]urns?\s?#?|T)?)\s?{_NUMBER}"
)
_RANGE = frozenset("–—‑-") | {"to", "through", "thru", "until"}
_COUNTS_SOMETHING = re.compile(r"\s(?!and\b|or\b|to\b|through\b)[a-z]")


def mentions(prose: str, last: int) -> Iterator[Mention]:
    """The places of `prose` that name turns; a range is spelled out as far as `last`, the last turn there is."""
    at = 0
    while head := _HEAD.search(prose, at):
        turns = [int(head[1])]
        at = head.end()
        while more := _MORE.match(prose, at):
            joint, again, number = more[1], more[2], int(more[3])
            # "In Turn 5, 3 topics are dropped" names one turn.
            if joint == "," and not again and _COUNTS_SOMETHING.match(prose, more.end()):
                break
            if joint in _RANGE:
                turns.extend(range(turns[-1] + 1, min(number, last) + 1))
            turns.append(number)
            at = more.end()
        yield Mention(head.start(), at, tuple(dict.fromkeys(turns)))


# A sentence does not end between two quotes: 'Like this.' 'Or this.'
_SENTENCE = re.compile(
    r"[.!?](?<!e\.g\.)(?<!i\.e\.)(?<!\bvs\.)(?<!\bcf\.)"
    r"(?:[)\]]*\s+(?=[^a-z\s])|[\"'”’»][\"'”’»)\]]*\s+(?=[^a-z\s\"'“‘«„]))|\n+"
)


def citations(reasoning: str, last: int) -> list[Citation]:
    """What `reasoning` points to in a conversation of `last` turns, in the order of the reasoning.

    A quote belongs to the turns named before it in its sentence and to those named right behind it. Where neither
    names one, the turn that was named last before is carried over.
    """
    text = reasoning[:READ]
    quoted = quotes(text)[:QUOTES]
    prose = _own_words(text, quoted)
    named = list(islice(mentions(prose, last), _MENTIONS))
    behind = _behind(prose, quoted, named)
    used = set(behind.values())
    free = [
        mention
        for mention in named
        if not _ASIDE.match(prose, mention.end) and not (mention in used and prose[mention.start - 1] in "([")
    ]
    stops = [0, *(stop.end() for stop in _SENTENCE.finditer(prose))]

    found: list[Citation] = []
    denied, done = Denial.NONE, 0
    for quote in quoted:
        sentence = stops[bisect_right(stops, quote.start) - 1]
        before = prose[max(sentence, done) : quote.start]
        denied = denial(prose[sentence : quote.start], before, denied if done >= sentence else Denial.NONE)
        done = quote.end
        ahead = _ahead(prose, quote, sentence, free)
        used.update(ahead)
        own = [*ahead, behind[quote]] if quote in behind else ahead
        carried = [] if own else named[: bisect_left(named, quote)][-1:]
        turns = tuple(dict.fromkeys(turn for mention in own or carried for turn in mention.turns))
        by_user = _named_last(prose[sentence : quote.start]) == "user"
        found.append(Citation(quote.start, quote.end, quote.words, turns, bool(carried), denied, by_user))
    found += [Citation(mention.start, mention.end, None, mention.turns) for mention in named if mention not in used]
    return sorted(found, key=lambda citation: citation.start)


def _named_last(before: str) -> str:
    return max(("assistant", "user"), key=lambda name: max(before.rfind(name), before.rfind(name.title())))


def _own_words(text: str, quoted: list[Quoted]) -> str:
    """`text` with what it quotes blanked out; only a final full stop or the like is left standing."""
    parts: list[str] = []
    at = 0
    for start, end, words in quoted:
        inner = max(end - start - 2, 0)
        stop = words[-1:] if words[-1:] in {".", "!", "?"} else "_"
        parts += text[at : start + 1], ("_" * inner)[1:], stop * bool(inner)
        at = start + 1 + inner
    parts.append(text[at:])
    return "".join(parts)


_LABEL = re.compile(r"\)?(?:\s\([^()]{0,40}\))?\s?:|\s?[-–—(]?\s?[\"'“‘«„]")
_RIGHT_BEHIND = re.compile(
    r"[.,;]?\s?[(\[]\s?(?:e\.g\.,?\s|see\s|in\s|from\s|both\s|(?:user|assistant),?\s)?$", re.IGNORECASE
)
_BEHIND = re.compile(
    r"[)\]]?\s(?:(?!and\b|but\b|while\b|when\b|then\b)[\w'’/-]+\s){0,8}?(?:(?:in|from|of|at|during|since)\s|\([^()]{0,60})$"
)
_ENDS = re.compile(r"\s?(?:[)\].;]|$)")
_CHAIN = re.compile(r"\s?(?:[,;/&]|(?:,\s?)?(?:and|or))\s?$")


def _behind(prose: str, quoted: list[Quoted], named: list[Mention]) -> dict[Quoted, Mention]:
    """For each quote the mention that follows it and belongs to it: `'...' (Turn 3)`, `'...' from Turn 4`."""
    items = sorted([*quoted, *named])
    belongs: dict[Quoted, Mention] = {}
    for item, following in reversed(list(pairwise(items))):
        if isinstance(item, Mention):
            continue
        between = prose[item.end : following.start]
        if isinstance(following, Quoted):
            if following in belongs and _CHAIN.match(between):
                belongs[item] = belongs[following]
        elif not _LABEL.match(prose, following.end) and (
            _RIGHT_BEHIND.match(between)
            or (between.isspace() and _ENDS.match(prose, following.end))
            or (_BEHIND.match(between) and not (prose[item.end - 2] in ".!?" and between.lstrip()[:1].isupper()))
        ):
            belongs[item] = following
    return belongs


_ASIDE = re.compile(r"\s?[)\]]\s?(?:[.,;]|and\b|or\b|$)")
_LIST = re.compile(r"\s?[,/&]?\s?(?:and|or|&)?\s?(?:in\s)?")
_OTHER = r"(?!\b(?:and|but|while|then|or|finally)\b)\b\w+"
_LINKED = re.compile(rf"^\s{_OTHER}\s$|(?:{_OTHER}|[\"'’”)])\s(?:in|from|of|to|at|since|with|on|the|about|by)\s$")


def _ahead(prose: str, quote: Quoted, sentence: int, free: list[Mention]) -> list[Mention]:
    """The mentions before `quote` in its sentence that name its turns.

    That is the last one, and those that are tied to it: "Turns 3 and 4", or "Turn 6 takes up the '...' from Turn 4".
    """
    ahead: list[Mention] = []
    for mention in reversed(free[bisect_left(free, (sentence,)) : bisect_left(free, quote)]):
        if not _reaches(prose, mention, sentence, quote.start):
            continue
        if ahead:
            between = prose[mention.end : ahead[0].start]
            if not (_LIST.fullmatch(between) or _LINKED.search(between)):
                break
        ahead.insert(0, mention)
    return ahead


def _reaches(prose: str, mention: Mention, sentence: int, place: int) -> bool:
    """Whether `mention` speaks for `place`: one within brackets speaks for what these hold, `(Turn 3)` for more."""
    opening = prose.rfind("(", sentence, mention.start)
    if opening < 0 or ")" in prose[opening : mention.start] or prose[mention.end : mention.end + 1] == ")":
        return True
    return prose.find(")", mention.end, place) < 0
