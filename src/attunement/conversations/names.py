"""How may a given name be written in a text? Patterns that find it whole, whatever its accents and apostrophes."""

import re
import unicodedata
from collections.abc import Iterable, Sequence

from attunement.conversations.lengths import UNSPACED_SCRIPTS

_MARKS = "\u0300-\u036f"  # combining accents: some files write é as e and a mark
# Chinese, Japanese, Thai and the like have no spaces, and Korean hangs its particles onto a name: there a name ends
# where its last sign ends, not where a word does.
_ANYWHERE = re.compile(f"[{UNSPACED_SCRIPTS}\uac00-\ud7a3]")
_ENDS = (rf"(?![\w{_MARKS}])", "(?#)")  # where a word ends; anywhere


def any_of(names: Iterable[str], *, any_case: bool) -> re.Pattern[str]:
    """A pattern that finds whole names, the longest where several fit; blank names are left out.

    White space, straight and curly apostrophes, "&" and "and" are alike, and an accented letter may be written plain.
    With `any_case` off a capital letter must be one in the text too; small letters may be capitals ("SAMARITANS").
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
    """What the spellings that `any_of` takes for one name have in common."""
    plain = unicodedata.normalize("NFKD", name.replace("&", "and").replace("’", "'"))
    return " ".join("".join(sign for sign in plain if not unicodedata.combining(sign)).casefold().split())


def _tree(sequences: Sequence[Sequence[str]]) -> str:
    """One pattern for all `sequences` that shares what they begin with.

    A plain alternation would try every name at every place of a text, which takes minutes with a thousand names.
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
    # The end of a name comes last, so that a longer one is tried first.
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
