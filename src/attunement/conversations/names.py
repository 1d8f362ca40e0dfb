"""Find names in a text: those of people, to redact them, and those of crisis lines."""

import re
import unicodedata
from collections.abc import Iterable, Sequence

from attunement.conversations.statistics import UNSPACED_SCRIPTS

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
    branches: list[str] = []
    for unspaced, boundary in ((False, r"(?<!\w)"), (True, "")):
        if group := sorted(name for name in cleaned if bool(_ANYWHERE.match(name)) is unspaced):
            branches.append(boundary + any_sequence([_signs(name, any_case) for name in group]))
    return re.compile("|".join(branches) or r"(?!)")


def folded(name: str) -> str:
    """The common form of all spellings that `any_of` accepts for a name."""
    plain = unicodedata.normalize("NFKD", name.replace("&", "and").replace("’", "'"))
    return " ".join("".join(sign for sign in plain if not unicodedata.combining(sign)).casefold().split())


def any_sequence(sequences: Sequence[Sequence[str]]) -> str:
    """One pattern for all `sequences` of patterns that shares their prefixes.

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
    return shared + (f"(?:{'|'.join(sign + any_sequence(rest) for sign, rest in ordered)})" if ordered else "")


def _signs(name: str, any_case: bool) -> list[str]:
    return [*(_sign(sign, any_case) for sign in name), _ENDS[bool(_ANYWHERE.match(name[-1]))]]


def _sign(sign: str, any_case: bool) -> str:
    special = {" ": r"\s+", "'": "['’]", "’": "['’]", "&": "(?:&|and|AND)"}.get(sign)
    if special or not sign.isalpha():
        return special or re.escape(sign)
    plain = unicodedata.normalize("NFD", sign)[0]
    cases = {sign, plain}
    if any_case or not sign.isupper():
        cases |= {other for letter in (sign, plain) for other in (letter.upper(), letter.lower()) if len(other) == 1}
    return f"[{''.join(sorted(cases))}]" + (f"[{_MARKS}]?" if plain != sign else "")
