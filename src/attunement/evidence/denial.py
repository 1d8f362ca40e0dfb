"""Does a judge quote words to say that they do not occur?

"It never says 'at least'" quotes as surely as "it says 'at least'", and means the opposite. This module reads the words
before a quote for that.
"""

import re
from enum import IntEnum


class Denial(IntEnum):
    """How surely the words before a quote say that it does not occur."""

    NONE = 0
    LOOSE = 1
    """As in "it avoids cold words like '...'"."""
    PLAIN = 2
    """As in "it never says '...'": there is no other reading."""


_REACH = 120  # characters between a word of denial and the quote it denies
_CLAUSE_ENDS = (".", ";", ":", "—", "–")  # a denial does not reach beyond
_NOT = r"(?:\snot|n['’]t)"
# The last word of denial counts, so everything before it is passed over greedily.
_DENIED = re.compile(
    r".*(?:\b(?:never|no(?=\s)|nor|without|avoid(?:s|ed|ing)?|refrain(?:s|ed|ing)?|free of|lack(?:s|ed|ing)?"
    rf"|absence of|fail(?:s|ed|ing)? to(?!\smeet)|rather than|instead of|(?:do|does|did|has|have){_NOT})|['’]s not)\b"
    rf"(?P<then>[^.;:—–]{{0,{_REACH}}})$|.*\b(?:is|are|was|were){_NOT}\b(?P<so>[^.;:—–(]{{0,40}})$",
    re.IGNORECASE | re.DOTALL,
)
# One of these stands in every denial, and most clauses have none: they are looked for many times as fast. They have no
# "i" and no "s", which to a regular expression that ignores case are more letters than to `lower`.
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
    """Whether the quote behind `clause` is said not to occur.

    `clause` is what its sentence says up to it, with other quotes blanked out; `between` is what stands between it and
    the quote before it, for which `before` was found: what goes for one quote of a list goes for the next.
    """
    if before and _SAME_BREATH.match(between):
        return before
    clause = clause[-2 * _REACH :].replace("e.g.", "like").replace("i.e.", "like")  # their dots end no clause
    if clause.rstrip().endswith(_CLAUSE_ENDS):
        return Denial.NONE  # no word stands between the quote and the end of the clause before it
    if not any(map(clause.lower().__contains__, _STEMS)):
        return Denial.NONE
    denied = _DENIED.match(clause)
    if not _NONE_OF.search(clause) and (denied is None or _AFFIRMED.search(denied["then"] or denied["so"] or "")):
        return Denial.NONE
    return Denial.PLAIN if _PLAINLY.search(clause) else Denial.LOOSE
