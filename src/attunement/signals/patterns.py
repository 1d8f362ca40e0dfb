"""What does one line of a lexicon match?

A line in a small language of words becomes a regular expression over one folded sentence (see `lexicon`), compiled
when it is first tried. Beside it stand the words that occur in every sentence that can match, so that most lines need
not be tried at all.

The language
    word            that word; an apostrophe may be absent (`don't` = dont), a hyphen may be a space or absent, and
                    a # is any digit
    (a|b c|d)       one of these; alternatives may hold several words
    word? (a|b)?    may be absent
    @name           a named list of alternatives
    ..              up to two words of any kind
    ...             up to five words of any kind
    ~               any words of the same sentence
Punctuation and white space between words do not matter.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

_TOKEN = re.compile(r"\.\.\.?|~|[()|?]|@[a-z_]+|[^\s()|?~@]+|\s+")
_ENDS = frozenset({"", ")", "|"})

_GAP = r"\W{1,6}"  # "die -- I" needs four; a longer run of signs is no longer one phrase
_END = r"(?!'?\w)"  # of a word
_FILLERS = {
    "..": rf"(?:\w[\w']*{_GAP}){{0,2}}",
    "...": rf"(?:\w[\w']*{_GAP}){{0,5}}",
    "~": r"(?:.*?\W)??",
}

# How many sentences of a hundred thousand, about, hold a word: what a pattern requires is better said by rare words
# where it has them, and one of the commonest stands in more sentences than hundreds of other words together.
_RARE = 50
_SHARES = {
    word: share
    for share, words in (
        (25_000, "a and i is it that the to you"),
        (
            8_000,
            """about are be but can do dont for have if im in its just know like me my need not now of on or out
            said so thats this want was what with your youre""",
        ),
        (
            2_500,
            """actually after again all alone also am an any anything as at back because been before being
            better by call cant could day days did didnt does doesnt doing even everything family feel
            feeling feels felt few fine first from get getting glad go going good got had has having he hear
            help her here hes him his how important into ive keep kind last let life make makes maybe mental
            might mom more much myself no nothing off okay one over people please real really right safe say
            see she should sleep some someone something sometimes sorry sounds still stop support take talk
            tell than them then there these they thing things think thinking those thoughts through time
            told too try trying up very way we week well went were when where which while who why will
            without wont work would yourself youve""",
        ),
    )
    for word in words.split()
}


class PatternError(ValueError):
    """A line of a lexicon that is not in the language; it says which and why."""


@dataclass(frozen=True)
class _Part:
    """One element of a line: a filler, a word, or alternatives, each a sequence of parts."""

    text: str = ""
    choices: tuple[tuple["_Part", ...], ...] = ()
    optional: bool = False

    @property
    def filler(self) -> bool:
        return self.text in _FILLERS

    @cached_property
    def words(self) -> frozenset[str]:
        """Words of which one must occur where the part matches; none if that cannot be said."""
        if self.filler or "#" in self.text:
            return frozenset()
        if not self.choices:
            pieces = re.findall(r"\w+", self.text.replace("'", ""))
            return frozenset({pieces[-1], "".join(pieces)}) if pieces else frozenset()
        needed = [_needed(choice) for choice in self.choices]
        return frozenset(word for parts in needed for word in parts[0].words) if all(needed) else frozenset()

    @cached_property
    def commonness(self) -> int:
        return _share(self.words)


@dataclass(frozen=True)
class Pattern:
    """One line of a lexicon, to be read with the named lists it uses."""

    source: str
    lists: Mapping[str, str]

    @cached_property
    def parts(self) -> tuple[_Part, ...]:
        """The elements of the line; a PatternError where it is not in the language."""
        return _Parser(self.source, self.lists).parse()

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """The compiled regular expression, for a folded sentence."""
        return re.compile(any_of([self]))

    @cached_property
    def sets(self) -> tuple[frozenset[str], ...]:
        """Sets of words without apostrophes, the rarest first; every sentence that matches holds one word of each.

        A line of emoji or digits has none.
        """
        return tuple(part.words for part in _needed(self.parts))

    @cached_property
    def clues(self) -> Mapping[str, tuple[frozenset[str], ...]]:
        """The words of the rarest set, each with the sets of which one word must stand beside it, the rarest first.

        Narrower than `sets`: in "(move on|let go) already" the word "move" asks for "on". A PatternError where there
        is none, because the line would have to be tried everywhere.
        """
        clues = _clues(self.parts)
        if not clues:
            raise PatternError(f"{self.source!r}: there is no word that must occur")
        return clues


def any_of(patterns: Iterable[Pattern]) -> str:
    """The regular expression of several lines, which finds what any of them does."""
    every = [pattern.parts for pattern in patterns]
    if all(map(_begins_with_letter, every)):
        return _either([_sequence(parts, first=True) for parts in every], first=True)
    return rf"(?<!\w)(?<!\w'){_either([_sequence(parts) for parts in every])}"


@lru_cache(maxsize=8192)
def _word(text: str) -> _Part:
    # Some thousand words make up all lines: what is known of one is found out once.
    return _Part(text)


class _Parser:
    """Reads one line from left to right."""

    def __init__(self, source: str, lists: Mapping[str, str]) -> None:
        tokens = _TOKEN.findall(source)
        self._source = source
        self._lists = lists
        self._tokens = [*(token for token in tokens if not token.isspace()), ""]
        self._at = 0
        if "".join(tokens) != source:
            raise self._wrong("there is a sign that the language does not have")

    def parse(self) -> tuple[_Part, ...]:
        parts = self._sequence()
        if self._tokens[self._at]:
            raise self._wrong("a bracket is closed that was not opened, or a | stands outside of brackets")
        return parts

    def _wrong(self, what: str) -> PatternError:
        return PatternError(f"{self._source!r}: {what}")

    def _next(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1]

    def _sequence(self) -> tuple[_Part, ...]:
        parts: list[_Part] = []
        while self._tokens[self._at] not in _ENDS:
            parts.append(self._element())
        if not parts or parts[0].filler or parts[-1].filler:
            raise self._wrong("a phrase begins and ends with a word")
        return tuple(parts)

    def _element(self) -> _Part:
        part = self._atom(self._next())
        if self._tokens[self._at] != "?" or part.filler:
            return part
        self._at += 1
        return _Part(part.text, part.choices, optional=True)

    def _atom(self, sign: str) -> _Part:
        if sign == "(":
            return _Part(choices=self._alternatives())
        if sign.startswith("@"):
            if sign[1:] not in self._lists:
                raise self._wrong(f"there is no list {sign}")
            return _Part(choices=(_Parser(self._lists[sign[1:]], self._lists).parse(),))
        if sign == "?":
            raise self._wrong("a ? follows nothing that could be absent")
        if sign.startswith("'"):
            raise self._wrong(f"{sign} hangs on the word before it; write that word with it")
        return _word(sign)

    def _alternatives(self) -> tuple[tuple[_Part, ...], ...]:
        found = [self._sequence()]
        while (sign := self._next()) == "|":
            found.append(self._sequence())
        if sign != ")":
            raise self._wrong("a bracket is not closed")
        return tuple(found)


def _begins_with_letter(parts: tuple[_Part, ...]) -> bool:
    """Whether the first letter of every match is known."""
    part = parts[0]
    if part.optional:
        return False
    return all(map(_begins_with_letter, part.choices)) if part.choices else part.text[0].isalnum()


def _sequence(parts: tuple[_Part, ...], *, first: bool = False) -> str:
    needed = [index for index, part in enumerate(parts) if not part.optional and not part.filler]
    # Where nothing must occur, the first element is the one the others lean on.
    last = needed[-1] if needed else 0
    pieces: list[str] = []
    for index, part in enumerate(parts):
        if part.filler:
            pieces.append(_FILLERS[part.text])
            continue
        one = _one(part, first=first and index == 0)
        if part.optional and index != last:
            pieces.append(f"(?:{one}{_GAP})?" if index < last else f"(?:{_GAP}{one})?")
        else:
            pieces.append(one + (_GAP if index < last else ""))
    return "".join(pieces)


def _one(part: _Part, *, first: bool) -> str:
    if part.choices:
        return _either([_sequence(choice, first=first) for choice in _flat(part.choices)], first=first)
    letters = re.escape(part.text).replace("'", "'?").replace(r"\-", r"\W?").replace(r"\#", r"\d")
    return f"{letters}{_END}"


def _flat(choices: tuple[tuple[_Part, ...], ...]) -> Iterator[tuple[_Part, ...]]:
    """The same choices without brackets around brackets, as named lists have them."""
    for choice in choices:
        if len(choice) == 1 and choice[0].choices and not choice[0].optional:
            yield from _flat(choice[0].choices)
        else:
            yield choice


def _either(choices: Iterable[str], *, first: bool = False) -> str:
    """One of `choices`, the first that fits. Those that begin with one letter stand together: the rest is passed over.

    Which one fits first stays the same, because those that begin with another letter do not fit in the same place; and
    one that may begin in several ways stays behind all that stood before it. Where they are the `first` of a pattern,
    no word may begin before: that is looked at behind the letter, because what begins with letters is searched for
    quickly.
    """
    choices = list(choices)
    end = _END if all(choice.endswith(_END) for choice in choices) else ""
    groups: list[list[str]] = []
    begun: dict[str, list[str]] = {}
    for choice in (choice.removesuffix(end) for choice in choices):
        letter = choice[0]
        if not letter.isalnum():
            begun.clear()
            groups.append([choice])
        elif letter in begun:
            begun[letter].append(choice)
        else:
            begun[letter] = [choice]
            groups.append(begun[letter])
    return f"(?:{'|'.join(_group(group, first=first) for group in groups)}){end}"


def _group(choices: list[str], *, first: bool) -> str:
    letter = choices[0][0]
    if not first or not letter.isalnum():
        return f"(?:{'|'.join(choices)})"
    rest = "|".join(choice[1:] for choice in choices)
    return rf"{letter}(?<!\w{letter})(?<!\w'{letter})(?:{rest})"


def _needed(parts: tuple[_Part, ...]) -> list[_Part]:
    """The parts that must occur and of which a word is known, the rarest first."""
    return sorted((part for part in parts if not part.optional and part.words), key=lambda part: part.commonness)


def _clues(parts: tuple[_Part, ...]) -> dict[str, tuple[frozenset[str], ...]]:
    needed = _needed(parts)
    if not needed:
        return {}
    rarest, *others = needed
    own = _clues_of_any(rarest.choices) if rarest.choices else dict.fromkeys(rarest.words, ())
    beside = tuple(part.words for part in others)
    return {word: tuple(sorted((*sets, *beside), key=_share)) for word, sets in own.items()}


def _clues_of_any(choices: tuple[tuple[_Part, ...], ...]) -> dict[str, tuple[frozenset[str], ...]]:
    found: dict[str, list[tuple[frozenset[str], ...]]] = {}
    for choice in choices:
        for word, sets in _clues(choice).items():
            found.setdefault(word, []).append(sets)
    # Any alternative that holds the word will do: the first sets of all are joined, then the second ones, as far as all
    # of them have any.
    return {word: tuple(map(_joined, zip(*every, strict=False))) for word, every in found.items()}


def _joined(sets: tuple[frozenset[str], ...]) -> frozenset[str]:
    return frozenset[str]().union(*sets)


def _share(words: frozenset[str]) -> int:
    return sum(_SHARES.get(word, _RARE) for word in words)
