"""Which of a lexicon's signals stand in a text, and exactly where?

A lexicon is a data file of named signals. Each has patterns (the language is in `patterns`), a reason, an example of
what it sees and one of what it must leave alone, and guards that say when the same words mean something else. Text
is matched sentence by sentence, and what is found is a place in the original text. Files are named by subject and
language ("suicide.en"); English is the only language so far, and another one is another set of files.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import StrEnum
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from pydantic import BaseModel, ConfigDict, Field

from attunement.signals.patterns import Pattern, any_of

FOLDER = Path(__file__).parent / "lexicons"

_SENTENCE = re.compile(r"[^.!?;\n…]+[.!?;…]*")
_STOPS = frozenset(".!?;…")  # what belongs to the sentence that it ends
_END = re.compile(r"[.!?;\n…]")
_SIGN = re.compile(r"[^\w'.!?;\n…]")
# The same for ASCII, which folded English nearly always is, as bytes, which are replaced fastest: the end of a sentence
# becomes a line break, and a sign a space.
_ASCII = bytes(
    ord("\n" if _END.match(sign) else sign if sign.isalnum() or sign == "'" else " ") for sign in map(chr, range(128))
) + bytes(128)
_LETTER_BEYOND_ASCII = re.compile(r"[^\W\x00-\x7f]")
_LEADING = re.compile(r"\w[\w']*\W+")
_LEAD = 5  # words before a match in which a guard with `lead` or `near` looks
_QUOTED = re.compile(r'"[^"]*"')

# Text without a full stop is read in pieces that overlap, so that no message can make the patterns slow.
_LONGEST, _OVERLAP = 1200, 300

# One sign for one, so that a place in the folded text is the same place in the original. An underscore is a letter to
# a regular expression and an emphasis to a writer.
_SIGNS = {**dict.fromkeys("’‘ʼ`´", "'"), **dict.fromkeys("“”„«»", '"'), **dict.fromkeys("‐‑‒–—", "-"), "_": " "}
_ASCII_SIGNS = {sign: plain for sign, plain in _SIGNS.items() if sign.isascii()}


class Place(StrEnum):
    """Where a guard looks, relative to the words that matched."""

    BEFORE = "before"
    """Directly before them, in the same sentence."""
    AFTER = "after"
    """Directly after them, in the same sentence."""
    LEAD = "lead"
    """In the five words before them."""
    NEAR = "near"
    """In the five words before them or in these words."""
    INSIDE = "inside"
    SENTENCE = "sentence"
    MESSAGE = "message"
    QUESTION = "question"
    """The sentence is a question; the guard needs no patterns."""
    QUOTATION = "quotation"
    """They stand between quotation marks; the guard needs no patterns."""


class Hint(StrEnum):
    """How much a veiled sign says. Each may mean something else; together they hardly do."""

    STRONG = "strong"
    WEAK = "weak"


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Condition(_Strict):
    """Patterns, and where to look for them."""

    where: Place
    patterns: tuple[str, ...] = ()


class Guard(Condition):
    """When the words of a signal mean something else. It gives way where `unless` holds as well."""

    why: str
    unless: Condition | None = None


class Signal(_Strict):
    """One named thing that a detector sees."""

    id: str = Field(pattern=r"^[a-z0-9-]+$")
    kind: str
    why: str
    patterns: tuple[str, ...] = Field(min_length=1)
    guards: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    """Conditions, kept among the guards, that must hold as well: of what is told in several sentences."""
    alone: bool = True
    """Whether it is a crisis cue, or harm, by itself; otherwise it counts only near a cue that is."""
    hint: Hint | None = None
    """For words that do not stand alone: with other hints in the same message they do, if one of them is strong."""
    needs: tuple[str, ...] = ()
    """Kinds of crisis cue of which one must stand in the person's words for this to count."""
    example: str
    """Words in which it is seen."""
    contrast: str
    """Words that look alike and in which it is not."""
    after: str = ""
    """What the person says before the example and the contrast."""


class LexiconFile(_Strict):
    """One file: its signals, and the lists and guards they use."""

    language: str
    about: str
    lists: dict[str, str] = {}
    guards: dict[str, Guard] = {}
    signals: tuple[Signal, ...] = ()


class Match(NamedTuple):
    """A signal and the place of its words in the text."""

    signal: Signal
    start: int
    end: int


class _Context(NamedTuple):
    """Where the words that matched stand: in a sentence of a message."""

    reading: "_Reading"
    place: "_Sentence"
    start: int
    end: int

    def at(self, place: Place) -> str:
        sentence = self.place.text
        match place:
            case Place.BEFORE:
                return sentence[: self.start]
            case Place.AFTER:
                return sentence[self.end :]
            case Place.LEAD:
                return sentence[self._lead() : self.start]
            case Place.NEAR:
                return sentence[self._lead() : self.end]
            case Place.INSIDE:
                return sentence[self.start : self.end]
            case Place.MESSAGE:
                return self.reading.message
            case _:
                return sentence

    def _lead(self) -> int:
        words = [word.start() for word in _LEADING.finditer(self.place.text, 0, self.start)]
        return words[-_LEAD] if len(words) >= _LEAD else words[0] if words else self.start

    def quoted(self) -> bool:
        start, end = self.place.first + self.start, self.place.first + self.end
        return any(found.start() < start and end < found.end() for found in _QUOTED.finditer(self.reading.message))


class Lexicon:
    """Signals of one or more files, ready to be looked for. Patterns are compiled when they are first tried."""

    def __init__(self, *files: LexiconFile) -> None:
        lists = {name: words for file in files for name, words in file.lists.items()}
        self.signals = tuple(signal for file in files for signal in file.signals)
        self.guards = {name: _Test(guard, lists) for file in files for name, guard in file.guards.items()}
        self._tests = [_Tests.of(signal, self.guards) for signal in self.signals]
        self._patterns = [
            (number, Pattern(line, lists)) for number, signal in enumerate(self.signals) for line in signal.patterns
        ]
        self._clues = _Clues(pattern for _, pattern in self._patterns)

    def find(self, text: str, start: int = 0, end: int | None = None) -> Iterator[Match]:
        """Each signal that stands in `text` and that no guard takes back, once: where it is first found.

        With `start` and `end` only the sentences that stand there, in part or whole, are looked at.
        """
        reading = _read(text)
        seen: set[int] = set()
        for number in reading.numbers(start, end):
            candidates = self._clues.candidates(reading.bags[number])
            if not candidates:
                continue
            sentence = reading.sentence(number)
            for candidate in sorted(candidates):
                which, pattern = self._patterns[candidate]
                if which in seen:
                    continue
                found = pattern.regex.search(sentence.text)
                while found:
                    first, last = found.span()
                    if self._tests[which].stand(_Context(reading, sentence, first, last)):
                        seen.add(which)
                        yield Match(self.signals[which], sentence.first + first, sentence.first + last)
                        break
                    found = pattern.regex.search(sentence.text, last)


class _Tests(NamedTuple):
    """What decides whether the words of a signal mean it."""

    guards: tuple["_Test", ...]
    beside: tuple["_Test", ...]

    @classmethod
    def of(cls, signal: Signal, tests: Mapping[str, "_Test"]) -> "_Tests":
        return cls(tuple(tests[name] for name in signal.guards), tuple(tests[name] for name in signal.beside))

    def stand(self, context: _Context) -> bool:
        """Whether no guard holds, and everything that must stand beside the words does."""
        absent = context.place.words.isdisjoint
        for guard in self.guards:
            # Most guards need words that are not there; that is seen here, because it is asked very often.
            clues = guard.clues.words
            if clues and not guard.in_message and absent(clues):
                continue
            if guard.holds(context):
                return False
        return all(test.holds(context) for test in self.beside)


class _Once:
    """Keeps one of several equal sets."""

    def __init__(self) -> None:
        self._sets: dict[frozenset[str], frozenset[str]] = {}

    def kept(self, words: frozenset[str]) -> frozenset[str]:
        if words not in self._sets:
            self._sets[words] = frozenset(set(words))  # a copy is as small as a set can be, a union is not
        return self._sets[words]


class _Clues:
    """Which of many patterns may stand in a sentence, told by its words."""

    def __init__(self, patterns: Iterable[Pattern]) -> None:
        # A pattern may stand where one of its clues stands and a word of each set that belongs to it. The first of
        # these sets is the rarest; where there is none, the clue stands for it.
        index: dict[str, list[tuple[int, frozenset[str], tuple[frozenset[str], ...]]]] = {}
        for number, pattern in enumerate(patterns):
            for word, sets in pattern.clues.items():
                rarest, *others = sets or (frozenset({word}),)
                index.setdefault(word, []).append((number, rarest, tuple(others)))
        self.words = frozenset(index)
        """Words of which at least one stands where a pattern does."""
        # Two of three times no pattern with the clue can stand there, and one look at all their rarest words tells.
        # Equal sets are kept once: the less there is to look through, the more of it a core has at hand.
        once = _Once()
        self._index = {
            word: (
                once.kept(frozenset[str]().union(*(rarest for _, rarest, _ in entries))),
                tuple((number, once.kept(rarest), tuple(map(once.kept, others))) for number, rarest, others in entries),
            )
            for word, entries in index.items()
        }

    def candidates(self, words: frozenset[str]) -> Collection[int]:
        """The numbers of the patterns that may stand in a sentence of these words."""
        known = words & self.words
        if not known:
            return ()
        numbers: set[int] = set()
        absent, index = words.isdisjoint, self._index
        for word in known:
            beside, entries = index[word]
            if absent(beside):
                continue
            for number, rarest, others in entries:
                if absent(rarest):
                    continue
                for other in others:
                    if absent(other):
                        break
                else:
                    numbers.add(number)
        return numbers


class _Test:
    """A condition whose patterns are tried one by one, each compiled when it is first tried.

    Only those are tried that may stand there. All of them in one regular expression would be tried at every letter of
    a message, where most of them cannot stand.
    """

    def __init__(self, condition: Condition, lists: Mapping[str, str]) -> None:
        self._where = condition.where
        self.in_message = condition.where is Place.MESSAGE
        self._patterns = [Pattern(source, lists) for source in condition.patterns]
        self._regexes: dict[int, re.Pattern[str]] = {}
        unless = condition.unless if isinstance(condition, Guard) else None
        self._unless = _Test(unless, lists) if unless else None

    def holds(self, context: _Context) -> bool:
        if self.clues.words:
            candidates = self.clues.candidates(context.reading.words if self.in_message else context.place.words)
            if not candidates:
                return False
        else:
            candidates = range(len(self._patterns))
        return self._met(context, candidates) and not (self._unless and self._unless.holds(context))

    def _met(self, context: _Context, candidates: Iterable[int]) -> bool:
        if self._where is Place.QUESTION:
            return context.place.text.rstrip().endswith("?")
        if self._where is Place.QUOTATION:
            return context.quoted()
        text = context.at(self._where)
        return any(self._regex(candidate).search(text) for candidate in candidates)

    @cached_property
    def clues(self) -> _Clues:
        """What tells where the patterns may stand; without words where one of them needs none."""
        return _Clues(self._patterns if all(pattern.sets for pattern in self._patterns) else ())

    def _regex(self, number: int) -> re.Pattern[str]:
        if number not in self._regexes:
            self._regexes[number] = _regex_at(self._where, self._patterns[number])
        return self._regexes[number]


class _Sentence(NamedTuple):
    first: int
    text: str
    words: frozenset[str]  # without apostrophes


class _Reading:
    """A folded message, cut into sentences. Most need not be looked at any further than for their words."""

    __slots__ = ("_flat", "_pieces", "_spans", "_words", "bags", "message")

    def __init__(self, message: str) -> None:
        self.message = message
        self._spans: tuple[list[int], list[int]] | None = None
        self._words: frozenset[str] | None = None
        self._pieces: list[tuple[int, int]] = []
        self._flat = _flat(message)
        if _may_be_too_long(self._flat) and any(len(sentence) > _LONGEST for sentence in _SENTENCE.findall(message)):
            self._pieces = [piece for found in _SENTENCE.finditer(message) for piece in _pieces(*found.span())]
            sentences = [self._flat[start:end].replace("'", "") for start, end in self._pieces]
        else:
            sentences = filter(None, self._flat.replace("'", "").split("\n"))
        self.bags = list(map(frozenset, map(str.split, sentences)))
        """The words of each sentence, without apostrophes."""

    @property
    def words(self) -> frozenset[str]:
        if self._words is None:
            self._words = frozenset[str]().union(*self.bags)
        return self._words

    @property
    def starts(self) -> list[int]:
        """Where each sentence begins."""
        return (self._spans or self._find_spans())[0]

    def _find_spans(self) -> tuple[list[int], list[int]]:
        """Where each sentence begins, and where its full stop stands."""
        starts: list[int] = []
        ends: list[int] = []
        if self._pieces:
            starts, ends = map(list, zip(*self._pieces, strict=True))
        else:
            start = 0
            for line in self._flat.split("\n"):
                end = start + len(line)
                if line.strip("'"):
                    starts.append(start)
                    ends.append(end)
                start = end + 1
        self._spans = starts, ends
        return self._spans

    def end(self, number: int) -> int:
        """Where a sentence ends: behind its full stop."""
        end = (self._spans or self._find_spans())[1][number]
        if not self._pieces:
            message, length = self.message, len(self.message)
            while end < length and message[end] in _STOPS:
                end += 1
        return end

    def numbers(self, start: int, end: int | None) -> Iterable[int]:
        """The numbers of the sentences that stand between `start` and `end`, in part or whole."""
        if not start and end is None:
            return range(len(self.bags))
        first = bisect_right(self.starts, start)
        while first and self.end(first - 1) > start:
            first -= 1
        return range(first, len(self.bags) if end is None else bisect_left(self.starts, end))

    def sentence(self, number: int) -> _Sentence:
        start = self.starts[number]
        return _Sentence(start, self.message[start : self.end(number)], self.bags[number])


def _may_be_too_long(flat: str) -> bool:
    """Whether a sentence with its full stops may be longer than what is read at once, told without cutting them out."""
    if len(flat) <= _LONGEST:
        return False
    # Each full stop is a line of its own. One of the two, the words or the full stops, must be half as long.
    lines = flat.split("\n")
    return len(lines) > _LONGEST // 2 or max(map(len, lines)) > _LONGEST // 2


def _pieces(start: int, end: int) -> Iterator[tuple[int, int]]:
    while end - start > _LONGEST:
        yield start, start + _LONGEST
        start += _LONGEST - _OVERLAP
    yield start, end


def _flat(message: str) -> str:
    """The message with a line break for every end of a sentence and a space for every other sign, in their places."""
    message = message.replace("…", ".")  # often the only sign that is not ASCII
    if message.isascii():
        return message.encode().translate(_ASCII).decode()
    if _LETTER_BEYOND_ASCII.search(message):
        return _END.sub("\n", _SIGN.sub(" ", message))
    # Nothing but signs, such as emoji. Each becomes a question mark, once there is no other.
    return message.replace("?", ".").encode("ascii", "replace").replace(b"?", b" ").translate(_ASCII).decode()


# Several lexicons read the same messages one after the other: those of a conversation of 50 turns and parts of them. No
# more are kept, because what is not at hand in a core's own memory is slow to look through.
@lru_cache(maxsize=112)
def _read(text: str) -> _Reading:
    return _Reading(fold(text))


def words_of(text: str) -> frozenset[str]:
    """The different words of `text`, folded and without apostrophes."""
    return _read(text).words


def holds_any(text: str, words: frozenset[str]) -> bool:
    """Whether one of `words` is among those of `text`: faster than `words_of`, which puts the sentences together."""
    return not all(map(words.isdisjoint, _read(text).bags))


def sentence_starts(text: str) -> list[int]:
    """Where the sentences of `text` begin, as the lexicons see them."""
    return _read(text).starts


def fold(text: str) -> str:
    """Lower case and plain signs, each in its own place: positions in the result are positions in `text`."""
    # The signs first: most texts are ASCII without them, and that becomes lower case ten times as fast.
    for sign, plain in (_ASCII_SIGNS if text.isascii() else _SIGNS).items():
        if sign in text:  # str.translate takes ten times as long on text that is not ASCII
            text = text.replace(sign, plain)
    lowered = text.lower()
    if len(lowered) != len(text):  # "İ" becomes two
        return "".join(sign.lower() if len(sign.lower()) == 1 else sign for sign in text)
    return lowered


def load(*names: str) -> Lexicon:
    """The lexicon made of these files of the package, such as "words.en"."""
    return Lexicon(*(read(FOLDER / f"{name}.yaml") for name in names))


def word_list(name: str, list_name: str) -> frozenset[str]:
    """A plain list of words of one file of the package."""
    return frozenset(read(FOLDER / f"{name}.yaml").lists[list_name].split())


def read(path: Path) -> LexiconFile:
    """One lexicon file."""
    content: Any = yaml.load(path.read_text("utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    return LexiconFile.model_validate(content)


def _regex_at(place: Place, pattern: Pattern) -> re.Pattern[str]:
    # Directly before or after: nothing but signs may stand between.
    match place:
        case Place.BEFORE:
            return re.compile(rf"(?:{any_of([pattern])})\W*$")
        case Place.AFTER:
            return re.compile(rf"^\W*(?:{any_of([pattern])})")
        case _:
            return pattern.regex
