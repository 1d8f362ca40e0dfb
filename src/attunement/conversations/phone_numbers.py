"""Find telephone numbers and names in a text.

A text is full of digits that are not telephone numbers: dates, times, amounts, ages, scores. This module splits them
into chains of digit groups ("0800 111 0 111" is one chain of four groups) and decides by shape and by the words around
them (in `phone_words.yaml`) whether a chain is a phone number. `crisis_lines` decides which of them are crisis lines.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from attunement.conversations.statistics import UNSPACED_SCRIPTS

SHORTEST, LONGEST = 7, 15
"""Digits of a subscriber's number: seven in the shortest local ones, fifteen at most by the plan E.164."""

SHORTEST_CODE = 3  # digits; two, such as 15 for an ambulance in France, look like a count

_BEFORE = 40  # characters before a number where a word such as "call" refers to that number
_SPACE = " \u00a0\u202f"
_DASH = "\\-\u2010-\u2015"
# Separators between two groups of one number. A period followed by a space ends a sentence, so it is not included.
_SEPARATOR = (
    rf"(?:[{_SPACE}]?[{_DASH}/][{_SPACE}]?|[{_SPACE}]?\([{_SPACE}]?"
    rf"|\)[{_SPACE}]?[{_DASH}./]?[{_SPACE}]?|\.|[{_SPACE}]{{1,2}})"
)
_CHAIN = re.compile(
    # The first character comes first, so that most characters of a text are skipped quickly.
    r"(?=[\d(+])"
    # Not in the middle of a word, an identifier ("ORD-555-1234"), an amount, a decimal, a time or a query string.
    rf"(?<![\w$€£¥₹#=&])(?<![^\W\d]-)(?<!\d[.,:])(?<![$€£¥₹][{_SPACE}])"
    rf"(?P<plus>\(?\+[{_SPACE}]?)?\(?\d+(?:{_SEPARATOR}\d+)*(?!\w)(?![{_DASH}][^\W\d])"
)
_GROUP = re.compile(r"\d+")
_PARTING = frozenset(f"{_SPACE}()/")

_YEAR = r"(?:1[6-9]|20|21)\d\d"
# Dates with a full year, times of day, addresses of machines and "24/7": never part of a telephone number.
_NO_NUMBER = re.compile(
    rf"(?=\d)(?:(?<!\d)(?<!\d[-/.])(?:{_YEAR}[-/.]\d{{1,2}}[-/.]\d{{1,2}}|\d{{1,2}}[-/.]\d{{1,2}}[-/.]{_YEAR})(?![-/.]?\d)"
    r"|(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])"
    r"|(?<!\d)\d{1,2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?!\d)"
    r"|(?<![\d/])24\s?/\s?7(?:\s?/\s?365)?(?![\d/]))"
)

_SENTENCE_END = re.compile(r"[.!?…](?=\s)|\n\s*\n")
# Where a word of letters begins, so that patterns do not try their whole word list at every digit group.
_WORD = r"\b(?=[^\W\d_])"
_FRAMES = {
    "phone": rf"{_WORD}(?:WORDS)\b",
    "unit": rf"[{_SPACE}]?(?:[%°$€£¥₹]|(?:WORDS)\b)",
    "order": r"\b(?:WORDS):?\s$",
    "line_before": rf"{_WORD}(?:WORDS)\b",
    "line_after": r"\)?[\s:–—-]{1,3}(?:WORDS)\b",
    "label": rf"{_WORD}(?:WORDS)\.?[\s#]{{1,2}}$",
    "year": r"\b(?:WORDS)\s$",
}


@cache
def phone_words(name: str) -> re.Pattern[str]:
    """The words of one entry of `phone_words.yaml` as one pattern."""
    words: Any = yaml.safe_load(Path(__file__).with_name("phone_words.yaml").read_text("utf-8"))
    return re.compile(_FRAMES[name].replace("WORDS", "|".join(words[name].splitlines())), re.IGNORECASE)


# Without separators the second group must be valid too; with separators, "555-123-4567" can only be a number.
_NORTH_AMERICAN = re.compile(r"1?[2-9]\d\d[2-9]\d{6}")
_NORTH_AMERICAN_GROUPS = {(3, 3, 4), (1, 3, 3, 4), (3, 7), (1, 3, 7)}


class Group(NamedTuple):
    """One run of digits; `start` and `end` are its position in the text.

    `apart` tells whether a new number may begin here: yes in "988 741741" and "911/999", but not in "988-1234",
    "988.50" or "9/11".
    """

    start: int
    end: int
    digits: str
    apart: bool


class Chain(NamedTuple):
    """Digit groups in a row as a number might be written; `start` includes a plus sign or "(" in front."""

    start: int
    end: int
    groups: tuple[Group, ...]
    plus: bool

    @property
    def digits(self) -> str:
        return "".join(group.digits for group in self.groups)

    def part(self, text: str, first: int, last: int) -> "Chain":
        """The chain of the groups `first` to `last`, both included."""
        groups = self.groups[first : last + 1]
        start, end = self.start if first == 0 else groups[0].start, groups[-1].end
        return Chain(_trimmed(text, start, end), end, groups, self.plus and first == 0)


def chains(text: str) -> Iterator[Chain]:
    """Every chain of digit groups in `text`, in order; dates, times and addresses of machines are left out."""
    masked = _NO_NUMBER.sub(lambda found: "\0" * len(found[0]), text)
    for found in _CHAIN.finditer(masked):
        groups = tuple(_groups(text, *found.span()))
        yield Chain(_trimmed(text, *found.span()), found.end(), groups, bool(found["plus"]))


def lead(text: str, start: int) -> str:
    """The words before `start` that may refer to it: up to 40 characters of the same sentence."""
    before = text[max(0, start - _BEFORE) : start]
    ends = [found.end() for found in _SENTENCE_END.finditer(before)]
    return before[ends[-1] :] if ends else before


def spoken_of_as_phone(text: str, chain: Chain) -> bool:
    """Whether words such as "call", "text" or "my number" come before `chain`, and it is not a count."""
    return bool(phone_words("phone").search(lead(text, chain.start))) and not counts_something(text, chain.end)


def is_given_as_phone(text: str, chain: Chain) -> bool:
    """Whether `chain` has the length of a telephone number and the words call it one: "my number is 555-1234"."""
    return _may_be_phone(text, chain) and spoken_of_as_phone(text, chain)


def counts_something(text: str, end: int) -> bool:
    """Whether a unit or something countable follows at `end`: "142 people", "988 days", "24 %"."""
    return bool(phone_words("unit").match(text, end))


def has_phone_length(digits: int, groups: int) -> bool:
    """Whether it has as many digits as a phone number, mostly in groups of two or more.

    "1 2 3 4 5 6 7 8" is counting, and "0800 111 0 111" is a number.
    """
    return SHORTEST <= digits <= LONGEST and digits >= 2 * groups


def has_phone_shape(text: str, chain: Chain) -> bool:
    """Whether `chain` is a telephone number by its shape alone.

    Such shapes are: a plus or 00 in front, an area code in parentheses, the North American format, a leading zero with
    at least nine digits, the Australian 1300 and 1800, and the Indian five and five.
    """
    if not _may_be_phone(text, chain):
        return False
    digits, sizes = chain.digits, tuple(len(group.digits) for group in chain.groups)
    if chain.plus:
        return len(digits) >= SHORTEST + 1
    if digits.startswith("00"):
        return len(digits) >= SHORTEST + 3
    if digits.startswith("0"):
        # Nine to twelve digits with the zero; 02139-1234 is an American postal code.
        return SHORTEST + 2 <= len(digits) <= LONGEST - 3 and sizes != (5, 4)
    if len(sizes) == 1 and _NORTH_AMERICAN.fullmatch(digits):
        return True
    if sizes in _NORTH_AMERICAN_GROUPS:
        return digits.removeprefix("1")[0] in "23456789"
    if text[chain.start] == "(" and len(sizes) > 1:
        return len(digits) >= SHORTEST + 1
    if digits.startswith(("1300", "1800")):
        return len(digits) == 10 and len(sizes) > 1
    return sizes == (5, 5) and digits[0] in "6789"


def _may_be_phone(text: str, chain: Chain) -> bool:
    return has_phone_length(len(chain.digits), len(chain.groups)) and not counts_something(text, chain.end)


def _groups(text: str, start: int, end: int) -> Iterator[Group]:
    before: Group | None = None
    for found in _GROUP.finditer(text, start, end):
        apart = True
        if before is not None:
            between = text[before.end : found.start()]
            short = between == "/" and min(len(before.digits), len(found[0])) < SHORTEST_CODE
            apart = not short and not _PARTING.isdisjoint(between)
        before = Group(found.start(), found.end(), found[0], apart)
        yield before


def _trimmed(text: str, start: int, end: int) -> int:
    """The start of a number: includes the parenthesis in "(800) 273", but not in "(988)"."""
    if text[start] == "(" and ")" not in text[start:end]:
        return start + 1
    if text[start - 1 : start] == "(" and ")" in text[start:end]:
        return start - 1
    return start


_MARKS = "\u0300-\u036f"  # combining accents: some files write é as e and a mark
# Chinese, Japanese, Thai and similar scripts have no spaces, and Korean adds particles to a name: there a name ends
# with its last character, not at a word boundary.
_ANYWHERE = re.compile(f"[{UNSPACED_SCRIPTS}\uac00-\ud7a3]")
_ENDS = (rf"(?![\w{_MARKS}])", "(?#)")  # where a word ends; anywhere


def any_of(names: Iterable[str], *, any_case: bool) -> re.Pattern[str]:
    """A pattern that finds whole names, the longest if several match; blank names are ignored.

    White space, straight and curly apostrophes, "&" and "and" are equivalent, and accents may be missing. With
    `any_case` off a capital letter must be one in the text too; small letters may be capitals ("SAMARITANS").
    """
    cleaned = {" ".join(unicodedata.normalize("NFC", name).split()) for name in names} - {""}
    branches = [
        f"{boundary}{_tree([_signs(name, any_case) for name in group])}"
        for boundary, group in (
            (r"(?<!\w)", sorted(name for name in cleaned if not _ANYWHERE.match(name))),
            ("", sorted(name for name in cleaned if _ANYWHERE.match(name))),
        )
        if group
    ]
    return re.compile("|".join(branches) or r"(?!)")


def folded(name: str) -> str:
    """The common form of all spellings that `any_of` accepts for a name."""
    plain = unicodedata.normalize("NFKD", name.replace("&", "and").replace("’", "'"))
    return " ".join("".join(sign for sign in plain if not unicodedata.combining(sign)).casefold().split())


def _tree(sequences: Sequence[Sequence[str]]) -> str:
    """One pattern for all `sequences` that shares their prefixes.

    A plain alternation would try every name at every position, which takes minutes with a thousand names.
    """
    shared = ""
    while True:
        branches: dict[str, list[Sequence[str]]] = {}
        for sequence in sequences:
            if sequence:
                branches.setdefault(sequence[0], []).append(sequence[1:])
        if len(branches) != 1:
            break
        ((sign, sequences),) = branches.items()
        shared += sign
    # The end of a name comes last, so that longer names are tried first.
    ordered = sorted(branches.items(), key=lambda branch: branch[0] in _ENDS)
    return shared + (f"(?:{'|'.join(sign + _tree(rest) for sign, rest in ordered)})" if ordered else "")


def _signs(name: str, any_case: bool) -> list[str]:
    return [*(_sign(sign, any_case) for sign in name), _ENDS[bool(_ANYWHERE.match(name[-1]))]]


def _sign(sign: str, any_case: bool) -> str:
    if sign == " ":
        return r"\s+"
    if sign in "'’":
        return "['’]"
    if sign == "&":
        return "(?:&|and|AND)"
    if not sign.isalpha():
        return re.escape(sign)
    plain = unicodedata.normalize("NFD", sign)[0]
    cases = {sign, plain}
    if any_case or not sign.isupper():
        cases |= {other for letter in (sign, plain) for other in (letter.upper(), letter.lower()) if len(other) == 1}
    return f"[{''.join(sorted(cases))}]" + (f"[{_MARKS}]?" if plain != sign else "")
