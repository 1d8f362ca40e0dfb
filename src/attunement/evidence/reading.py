"""Which turns does a judge's reasoning cite, and which words does it quote from them?

Judges write freely: `Turn 3: '...'`, `Turn 12 ("...")`, `'...' (Turns 4, 5 and 9)`, `In Turn 5 the user says '...'`.
This module decides which turns each quote belongs to. It knows how many turns there are, not what was said in them.
"""

import re
from bisect import bisect_left, bisect_right
from itertools import pairwise
from operator import attrgetter
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


# A turn is named by a word and a number. The number is looked for first: there are few in a reasoning, and a pattern
# that begins with a set of signs is found several times as fast as one that begins with a choice of words.
_NO_TURN = r"(?![0-9A-Za-z%]|[.:][0-9])"  # behind a number that counts something else
_NUMBER = re.compile(rf"[0-9](?<![0-9][0-9])[0-9]{{0,3}}{_NO_TURN}")
_NAME = re.compile(r"\b(?:(?:[Tt]urn|TURN|[Ee]xchange|[Rr]esponse|[Rr]eply)[sS]?\s?(?:#|[Nn]o\.|[Nn]umber)?\s?|T)\Z")
_LONGEST_NAME = len("responses number ")
_MORE = re.compile(
    r"\s?(,\s?(?:and|or|&)|[,/&–—‑-]|and\b|or\b|to\b|through\b|thru\b|until\b)\s?((?:[Tt]urns?\s?#?|T)?)\s?"
    rf"([0-9]{{1,4}}){_NO_TURN}"
)
_RANGE = frozenset("–—‑-") | {"to", "through", "thru", "until"}
_COUNTS_SOMETHING = re.compile(r"\s(?!and\b|or\b|to\b|through\b)[a-z]")
# A list of turns may have a quote for each: "Turn 3, '...', and 4 ('...')". This stands between two of its numbers.
_QUOTE_OF_LIST = re.compile(r"\s?[,:(-]?\s?[\"'“‘«„]_*+[.!?]?[\"'”’»“]\)?(?:,\s?(?:(?:and|or|&)\s)?|\s(?:and|or|&)\s)")
_QUOTES_NEXT = re.compile(r"\s?[(:]\s?[\"'“‘«„]")


def mentions(prose: str, last: int) -> list[Mention]:
    """The places of `prose` that name turns; a range is spelled out as far as `last`, the last turn there is."""
    found: list[Mention] = []
    at = 0
    while len(found) < _MENTIONS and (first := _NUMBER.search(prose, at)):
        start, at = first.span()
        if name := _NAME.search(prose, max(start - _LONGEST_NAME, 0), start):
            start = name.start()
        elif not (found and _QUOTES_NEXT.match(prose, at) and _QUOTE_OF_LIST.fullmatch(prose, found[-1].end, start)):
            continue
        turns = [int(first[0])]
        while more := _MORE.match(prose, at):
            joint, again, number = more[1], more[2], int(more[3])
            # "In Turn 5, 3 topics are dropped" names one turn.
            if joint == "," and not again and _COUNTS_SOMETHING.match(prose, more.end()):
                break
            if joint in _RANGE:
                turns.extend(range(turns[-1] + 1, min(number, last) + 1))
            turns.append(number)
            at = more.end()
        once = dict.fromkeys(turns) if len(turns) > 1 else turns
        found.append(Mention(start, at, tuple(once)))
    return found


# A sentence does not end between two quotes: 'Like this.' 'Or this.' Both kinds of end begin with one set of signs,
# which is searched for several times as fast as a choice.
_SENTENCE = re.compile(
    r"[.!?\n](?:(?<=\n)\n*|(?<!\n)(?<!e\.g\.)(?<!i\.e\.)(?<!\bvs\.)(?<!\bcf\.)"
    r"(?:[)\]]*\s+(?=[^a-z\s])|[\"'”’»][\"'”’»)\]]*\s+(?=[^a-z\s\"'“‘«„])))"
)


def citations(reasoning: str, last: int) -> list[Citation]:
    """What `reasoning` points to in a conversation of `last` turns, in the order of the reasoning.

    A quote belongs to the turns named before it in its sentence and to those named right behind it. Where neither
    names one, the turn that was named last before is carried over.
    """
    text = reasoning[:READ]
    quoted = quotes(text)[:QUOTES]
    prose = _own_words(text, quoted)
    named = mentions(prose, last)
    if not quoted:
        return [_unquoted(mention) for mention in named]
    behind = _behind(prose, quoted, named)
    used = {mention.start for mention in behind.values()}
    free = [
        mention
        for mention in named
        if not _ASIDE.match(prose, mention.end)
        and not (mention.start in used and _SET_OFF.search(prose, max(mention.start - 3, 0), mention.start))
    ]
    # Behind the last quote it does not matter where a sentence ends; whether one ends before it, its mark may tell.
    stops = [0, *[stop.end() for stop in _SENTENCE.finditer(prose, 0, quoted[-1].start + 1)]]

    found: list[Citation] = []
    denied, done = Denial.NONE, 0
    for quote in quoted:
        start, end, words = quote
        sentence = stops[bisect_right(stops, start) - 1]
        clause = prose[sentence:start]
        denied = denial(clause, prose[max(sentence, done) : start], denied if done >= sentence else Denial.NONE)
        done = end
        own = _ahead(prose, quote, sentence, free)
        for mention in own:
            used.add(mention.start)
        if start in behind:
            own.append(behind[start])
        carried = [] if own else named[: bisect_left(named, quote)][-1:]
        turns = _turns(own or carried)
        found.append(Citation(start, end, words, turns, bool(carried), denied, _names_user_last(clause)))
    if len(used) < len(named):
        found += [_unquoted(mention) for mention in named if mention.start not in used]
        found.sort(key=attrgetter("start"))
    return found


def _unquoted(mention: Mention) -> Citation:
    return Citation(mention.start, mention.end, None, mention.turns)


def _turns(naming: list[Mention]) -> tuple[int, ...]:
    if len(naming) == 1:
        return naming[0].turns
    return tuple(dict.fromkeys(turn for mention in naming for turn in mention.turns))


def _names_user_last(clause: str) -> bool:
    if "user" not in clause and "User" not in clause:
        return False
    user = max(clause.rfind("user"), clause.rfind("User"))
    return user > clause.rfind("assistant") and user > clause.rfind("Assistant")


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
_COMMA = re.compile(r",\s?$")
# Before a turn that is named only for the quote before it, and not for the next one.
_SET_OFF = re.compile(r"(?:[(\[]|[\"'”’»“],\s?)\Z")
# Where a turn that was named ceases to speak for a quote that has one of its own behind a comma.
_NEW_CLAUSE = re.compile(r"[;\n]|[.!?][\"'”’»)\]]*\s|\w\s\(")
_CHAIN = re.compile(r"\s?(?:[,;/&]|(?:,\s?)?(?:and|or))\s?$")


def _behind(prose: str, quoted: list[Quoted], named: list[Mention]) -> dict[int, Mention]:
    """By where a quote begins the mention that follows it and belongs to it: `'...' (Turn 3)`, `'...' from Turn 4`.

    Behind a comma, as in `'...', Turn 3; '...', Turn 4`, it belongs to a quote for which no turn is named before.
    """
    belongs: dict[int, Mention] = {}
    if not named or named[-1].start < quoted[0].start:
        return belongs
    items = sorted([*quoted, *named])
    for item, following in reversed(list(pairwise(items))):
        if isinstance(item, Mention):
            continue
        between = prose[item.end : following.start]
        if isinstance(following, Quoted):
            if following.start in belongs and _CHAIN.match(between):
                belongs[item.start] = belongs[following.start]
        elif not _LABEL.match(prose, following.end) and (
            _RIGHT_BEHIND.match(between)
            or (between.isspace() and _ENDS.match(prose, following.end))
            or (_COMMA.match(between) and _ENDS.match(prose, following.end) and _opens_clause(prose, item, named))
            or (_BEHIND.match(between) and not (prose[item.end - 2] in ".!?" and between.lstrip()[:1].isupper()))
        ):
            belongs[item.start] = following
    return belongs


def _opens_clause(prose: str, quote: Quoted, named: list[Mention]) -> bool:
    """Whether no turn is named for `quote` before it: in `Turn 2: '...', Turn 8` the second turn is cited by itself."""
    before = named[: bisect_left(named, quote)][-1:]
    return not before or bool(_NEW_CLAUSE.search(prose, before[0].end, quote.start))


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
            if not (_LIST.fullmatch(between) or (between[-1:].isspace() and _LINKED.search(between))):
                break
        ahead.insert(0, mention)
    return ahead


def _reaches(prose: str, mention: Mention, sentence: int, place: int) -> bool:
    """Whether `mention` speaks for `place`: one within brackets speaks for what these hold, `(Turn 3)` for more."""
    opening = prose.rfind("(", sentence, mention.start)
    if opening < 0 or ")" in prose[opening : mention.start] or prose[mention.end : mention.end + 1] == ")":
        return True
    return prose.find(")", mention.end, place) < 0
