"""Find what a judge's reasoning cites: turns, quoted words, and words it says do not occur.

Judges write freely: `Turn 3: '...'`, `Turn 12 ("...")`, `'...' (Turns 4, 5 and 9)`, `In Turn 5 the user says '...'`.
This module decides which turns each quote belongs to. It knows the number of turns, not their text.

Most judges quote in single straight marks, which are also apostrophes: `'I'm not the users' friend'` is one quote. This
module finds the quotes in a text without the transcript.

"It never says 'at least'" is also a quote, but means the opposite. This module checks the words before a quote for such
denials.
"""

import re
from bisect import bisect_left, bisect_right
from collections import deque
from enum import IntEnum
from functools import lru_cache
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

_CLOSES = {"'": "'", '"': '"', "‘": "’'", "“": '”"', "„": "“”", "‚": "‘’", "«": "»", "»": "«", "「": "」", "『": "』"}
_MARK = re.compile("[" + "".join(sorted(set("".join(_CLOSES) + "".join(_CLOSES.values())))) + "]")
_PLAIN = "'\"’"  # these open, close and shorten words: their neighbors tell which
_WITHOUT_APOSTROPHES = "\u2e80"  # from here on: Chinese, Japanese and Korean
_DEEPEST = 4  # nesting depth; older opening marks are dropped


class Quoted(NamedTuple):
    """Words between quotation marks; `start` and `end` include the marks."""

    start: int
    end: int
    words: str


def quotes(text: str) -> list[Quoted]:
    """The quotes of `text` in order; of a quote within a quote only the outer one.

    If `text` ends inside a quote, the quote is returned up to its last whole word, because replies are cut at a length
    limit.
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


@lru_cache(maxsize=2048)  # the same few characters surround most marks
def _role(mark: str, before: str, after: str) -> tuple[bool, bool]:
    """Whether a mark between these two characters can open a quote, and whether it can close one."""
    if mark not in _PLAIN:
        return mark in _CLOSES and not after.isspace(), True
    # An apostrophe next to a letter belongs to a word; Chinese, Japanese and Korean have none.
    behind_letter = before.isalnum() and before < _WITHOUT_APOSTROPHES
    before_letter = after.isalnum() and after < _WITHOUT_APOSTROPHES
    opens = not behind_letter and mark in _CLOSES and not after.isspace() and after not in ")]},;" and after != mark
    closes = not before_letter and not before.isspace() and before not in "([{"
    return opens, closes


def _partner(text: str, opened: deque[int], closing: int, *, outer: bool) -> int | None:
    """The open mark that the one at `closing` closes; it and all later ones are removed from `opened`."""
    for depth, start in enumerate(reversed(opened)):
        if text[closing] in _CLOSES[text[start]] and closing > start + 1:
            for _ in range(depth + 1):
                opened.pop()
            return start
        if not outer:
            return None
    return None


def _outermost(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The `pairs` that are not inside another, in order."""
    if len(pairs) < 2:
        return pairs
    kept: list[tuple[int, int]] = []
    for start, end in sorted(pairs):
        if not kept or start >= kept[-1][1]:
            kept.append((start, end))
    return kept


def _broken_off(text: str, opened: deque[int], done: int) -> list[Quoted]:
    """The quote that is still open if `text` ends in the middle of a sentence."""
    start = next((at for at in opened if at >= done), None)
    if start is None or (text.rstrip().endswith((".", "!", "?", ")")) and not text.endswith("..")):
        return []
    words = text[start + 1 :].rpartition(" ")[0]
    return [Quoted(start, len(text), words)] if words else []


class Denial(IntEnum):
    """How clearly the words before a quote deny that it occurs."""

    NONE = 0
    LOOSE = 1
    """As in "it avoids cold words like '...'"."""
    PLAIN = 2
    """As in "it never says '...'", which is unambiguous."""


_REACH = 120  # characters between a word of denial and the quote it denies
_CLAUSE_ENDS = (".", ";", ":", "—", "–")  # a denial ends at these
_NOT = r"(?:\snot|n['’]t)"
# The last word of denial counts, so the pattern skips everything before it greedily.
_DENIED = re.compile(
    r".*(?:\b(?:never|no(?=\s)|nor|without|avoid(?:s|ed|ing)?|refrain(?:s|ed|ing)?|free of|lack(?:s|ed|ing)?"
    rf"|absence of|fail(?:s|ed|ing)? to(?!\smeet)|rather than|instead of|(?:do|does|did|has|have){_NOT})|['’]s not)\b"
    rf"(?P<then>[^.;:—–]{{0,{_REACH}}})$|.*\b(?:is|are|was|were){_NOT}\b(?P<so>[^.;:—–(]{{0,40}})$",
    re.IGNORECASE | re.DOTALL,
)
# Every denial contains one of these and most clauses have none, so this check is much faster. They avoid "i" and "s",
# which match more letters in a case-insensitive regular expression than in `lower`.
_STEMS = ("no", "n't", "n’t", "never", "thout", "avo", "refra", "free", "lack", "ence of", "fa", "ther than", "tead")
_NONE_OF = re.compile(
    r"\bno\s(?:\w+\s){0,2}(?:mention|sign|statement|instance|expression|indication|reference|use)s?\b"
    rf"(?:(?!but\b|instead\b|,\sand\b|\bturns?\s[0-9])[^.;:—–]){{0,{_REACH}}}$",
    re.IGNORECASE,
)
_PLAINLY = re.compile(
    rf"\b(?:(?:never|without|(?:do|does|did){_NOT})(?:\s\w+ly)?\s(?:say|us|ask|mention|stat|writ|utter|express)\w{{0,4}}"
    r"|avoid(?:s|ed|ing)?|no(?:\s(?:mention|use)\sof)?)"
    r"(?:\s(?:that|the|any|word|words|phrase|phrases|things|like|such|as)){0,3}\s$",
    re.IGNORECASE,
)
_AFFIRMED = re.compile(
    r"\brequired by\b|\b(?:but|instead|only|merely|simply|even|while)\b|\bjust\s|\s-\s|,\sand\b|\)"
    r"|,\s(?:\w+ly\s)?\w+ing\b|\bby\s(?:\w+ly\s)?(?:stat|say|not)ing\b"
    r"|\band\s(?:\w+ly\s)?(?:use|ask|say|validate|frame|offer|ensure|relie|reliance)s?\b"
    r"|\((?!\s?(?:like|such as|$|[\"'“‘]))|\b[Tt]urns?\s[0-9]",
    re.IGNORECASE,
)
_SAME_BREATH = re.compile(r"\s?[)\]]?\s?(?:[,;/&(\[]|(?:and|or|nor|like|such as|e\.g\.,?|i\.e\.,?)\s?|\s){0,4}$")


def denial(clause: str, between: str, before: Denial) -> Denial:
    """Whether the words before a quote deny that it occurs.

    `clause` is its sentence up to the quote, with other quotes blanked out; `between` is the text after the previous
    quote, for which `before` was found: in a list, a denial also applies to the next quote.
    """
    if before and _SAME_BREATH.match(between):
        return before
    clause = clause[-2 * _REACH :].replace("e.g.", "like").replace("i.e.", "like")  # their dots do not end a clause
    if clause.rstrip().endswith(_CLAUSE_ENDS):
        return Denial.NONE  # no word between the quote and the end of the clause before it
    if not any(map(clause.lower().__contains__, _STEMS)):
        return Denial.NONE
    denied = _DENIED.match(clause)
    if not _NONE_OF.search(clause) and (denied is None or _AFFIRMED.search(denied["then"] or denied["so"] or "")):
        return Denial.NONE
    return Denial.PLAIN if _PLAINLY.search(clause) else Denial.LOOSE


READ = 20_000
"""Maximum characters of a reasoning that are read, so that runaway replies stay cheap; the longest known one has 1,029.
"""
QUOTES = 60
"""Maximum quotes of a reasoning that are checked; the most known are 12."""
_MENTIONS = 200


class Mention(NamedTuple):
    """A mention of turns, with the turns in the order they are named."""

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
    """The turns were named for an earlier quote, so this quote may or may not be from them."""
    denial: Denial = Denial.NONE
    by_user: bool = False
    """The person was mentioned last, so the person's message is searched first."""


# A mention is a word and a number. The search starts with the number, because a pattern that begins with a character
# set is several times faster than one that begins with alternatives.
_NO_TURN = r"(?![0-9A-Za-z%]|[.:][0-9])"  # after a number that counts something else
_NUMBER = re.compile(rf"[0-9](?<![0-9][0-9])[0-9]{{0,3}}{_NO_TURN}")
_NAME = re.compile(r"\b(?:(?:[Tt]urn|TURN|[Ee]xchange|[Rr]esponse|[Rr]eply)[sS]?\s?(?:#|[Nn]o\.|[Nn]umber)?\s?|T)\Z")
_LONGEST_NAME = len("responses number ")
_MORE = re.compile(
    r"\s?(,\s?(?:and|or|&)|[,/&–—‑-]|and\b|or\b|to\b|through\b|thru\b|until\b)\s?((?:[Tt]urns?\s?#?|T)?)\s?"
    rf"([0-9]{{1,4}}){_NO_TURN}"
)
_RANGE = frozenset("–—‑-") | {"to", "through", "thru", "until"}
_COUNTS_SOMETHING = re.compile(r"\s(?!and\b|or\b|to\b|through\b)[a-z]")
# A list of turns may have a quote for each: "Turn 3, '...', and 4 ('...')". This matches the text between two of its
# numbers.
_QUOTE_OF_LIST = re.compile(r"\s?[,:(-]?\s?[\"'“‘«„]_*+[.!?]?[\"'”’»“]\)?(?:,\s?(?:(?:and|or|&)\s)?|\s(?:and|or|&)\s)")
_QUOTES_NEXT = re.compile(r"\s?[(:]\s?[\"'“‘«„]")


def mentions(prose: str, last: int) -> list[Mention]:
    """The mentions of turns in `prose`; ranges are expanded up to `last`, the last turn."""
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


# A sentence does not end between two quotes: 'Like this.' 'Or this.' Both kinds of end begin with one character set,
# which is several times faster to search than alternatives.
_SENTENCE = re.compile(
    r"[.!?\n](?:(?<=\n)\n*|(?<!\n)(?<!e\.g\.)(?<!i\.e\.)(?<!\bvs\.)(?<!\bcf\.)"
    r"(?:[)\]]*\s+(?=[^a-z\s])|[\"'”’»][\"'”’»)\]]*\s+(?=[^a-z\s\"'“‘«„])))"
)


def citations(reasoning: str, last: int) -> list[Citation]:
    """The citations in `reasoning` about a conversation of `last` turns, in order.

    A quote belongs to the turns named before it in its sentence and to those named right after it. If there are none,
    the last turn named earlier is carried over.
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
    # After the last quote, sentence ends do not matter; its own mark may show whether one ends before it.
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
    """`text` with its quotes blanked out, except for final punctuation."""
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
# Text before a turn that is named only for the previous quote, not for the next one.
_SET_OFF = re.compile(r"(?:[(\[]|[\"'”’»“],\s?)\Z")
# Text after which an earlier turn no longer applies to a quote with its own turn after a comma.
_NEW_CLAUSE = re.compile(r"[;\n]|[.!?][\"'”’»)\]]*\s|\w\s\(")
_CHAIN = re.compile(r"\s?(?:[,;/&]|(?:,\s?)?(?:and|or))\s?$")


def _behind(prose: str, quoted: list[Quoted], named: list[Mention]) -> dict[int, Mention]:
    """The mention that follows a quote and belongs to it, by the quote's start: `'...' (Turn 3)`, `'...' from Turn 4`.

    After a comma, as in `'...', Turn 3; '...', Turn 4`, it belongs to the quote if no turn is named before it.
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
    """Whether no turn before `quote` is named for it: in `Turn 2: '...', Turn 8` Turn 8 is a separate one."""
    before = named[: bisect_left(named, quote)][-1:]
    return not before or bool(_NEW_CLAUSE.search(prose, before[0].end, quote.start))


_ASIDE = re.compile(r"\s?[)\]]\s?(?:[.,;]|and\b|or\b|$)")
_LIST = re.compile(r"\s?[,/&]?\s?(?:and|or|&)?\s?(?:in\s)?")
_OTHER = r"(?!\b(?:and|but|while|then|or|finally)\b)\b\w+"
_LINKED = re.compile(rf"^\s{_OTHER}\s$|(?:{_OTHER}|[\"'’”)])\s(?:in|from|of|to|at|since|with|on|the|about|by)\s$")


def _ahead(prose: str, quote: Quoted, sentence: int, free: list[Mention]) -> list[Mention]:
    """The mentions before `quote` in its sentence that name its turns.

    That is the last one, and those connected with it: "Turns 3 and 4", or "Turn 6 takes up the '...' from Turn 4".
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
    """Whether `mention` applies to `place`: inside longer brackets only to their content, `(Turn 3)` to more."""
    opening = prose.rfind("(", sentence, mention.start)
    if opening < 0 or ")" in prose[opening : mention.start] or prose[mention.end : mention.end + 1] == ")":
        return True
    return prose.find(")", mention.end, place) < 0
