"""What do the words in a table of ratings mean as answers on a scale?

The scale is the one that was named, or else what occurs, and that is said. Case, blanks and the zeros behind a number
do not tell answers apart; "NA" is an answer, not a gap.
"""

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

import numpy as np

from attunement.agreement.gathered import Answered, Scale
from attunement.agreement.tables import Floats, Ints
from attunement.errors import InputError

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)")
_NA = frozenset({"na", "n/a"})
_NO_YES = ("no", "yes")
_MOST_WORDS = 12
"""More different words than this are no scale but remarks."""


class Understood(NamedTuple):
    """What each of the words that occur means."""

    scale: Scale
    values: Floats
    """For each word its value, NaN for none."""
    states: Ints
    """For each word an `Answered`; NOTHING where it is not on the scale."""
    notes: tuple[str, ...]


def understood(words: Sequence[str], answers: tuple[str, ...], also_na: Collection[str] = ()) -> Understood:
    """What each of `words` means: a value, "does not apply", or nothing on the scale.

    Args:
        words: The different words that occur.
        answers: The scale from the lowest to the highest, or one text such as "1-5"; empty where it is not known.
        also_na: Words that mean "does not apply", beside NA and N/A.

    Raises:
        InputError: The scale that was named is none, or too many different words occur to be one.
    """
    na = _NA | {_folded(word) for word in also_na}
    scale, notes = _named(answers) if answers else _observed([word for word in words if _folded(word) not in na])
    number = {_folded(word): value for word, value in zip(scale.words, scale.values, strict=True)}
    values, states = np.full(len(words), np.nan), np.zeros(len(words), dtype=np.int64)
    spelled: dict[str, set[str]] = {}
    for place, word in enumerate(words):
        folded = _folded(word)
        if folded in na:
            states[place] = Answered.NA
        elif folded in number:
            values[place], states[place] = number[folded], Answered.VALUE
            spelled.setdefault(folded, set()).add(word)
    folds = [f"{_quoted(sorted(forms))} were read as the same answer." for forms in spelled.values() if len(forms) > 1]
    return Understood(scale, values, states, (*notes, *folds))


def _folded(word: str) -> str:
    """The word without what does not change its meaning: case, blanks around it, and zeros behind a number."""
    word = " ".join(word.split()).casefold()
    return f"{float(word):g}" if NUMBER.fullmatch(word) else word


def _named(answers: tuple[str, ...]) -> tuple[Scale, tuple[str, ...]]:
    if len(answers) == 1 and (span := re.fullmatch(r"\s*(-?\d+)\s*(?:-|to|\.\.)\s*(-?\d+)\s*", answers[0])):
        low, high = int(span[1]), int(span[2])
        if not low < high <= low + 1000:
            raise InputError(f"--scale {answers[0]}: name the lowest and the highest answer, such as 1-5")
        values = tuple(float(number) for number in range(low, high + 1))
        return Scale(values, tuple(f"{value:g}" for value in values)), ()
    if len(answers) < 2 or len({_folded(answer) for answer in answers}) < len(answers):
        raise InputError("--scale: name at least two different answers, lowest first, such as 1-5 or no,yes")
    if all(NUMBER.fullmatch(answer.strip()) for answer in answers):
        ordered = sorted(float(answer) for answer in answers)
        return Scale(tuple(ordered), tuple(f"{value:g}" for value in ordered)), ()
    return Scale(tuple(map(float, range(len(answers)))), tuple(" ".join(answer.split()) for answer in answers)), ()


def _observed(words: Sequence[str]) -> tuple[Scale, tuple[str, ...]]:
    folded = sorted({_folded(word) for word in words})
    if folded and all(NUMBER.fullmatch(word) for word in folded):
        values = sorted(float(word) for word in folded)
        shown = f"{values[0]:g} to {values[-1]:g} ({len(values)} different values)"
        note = f"No scale was named, so it is taken to be what occurs: {shown}; --scale names it."
        return Scale(tuple(values), tuple(f"{value:g}" for value in values), observed=True), (note,)
    if len(folded) > _MOST_WORDS:
        raise InputError(
            f"there are {len(folded)} different answers, from {folded[0][:40]!r} to {folded[-1][:40]!r}: name the "
            "scale with --scale"
        )
    if set(folded) <= set(_NO_YES):
        note = "No scale was named, so it is taken to be what occurs: no and yes."
        return Scale((0.0, 1.0), _NO_YES, observed=True), (note,)
    note = (
        f"No scale was named, so it is taken to be what occurs, without an order: {_quoted(folded)}; --scale names it "
        "from the lowest to the highest."
    )
    return Scale(tuple(map(float, range(len(folded)))), tuple(folded), ordered=False, observed=True), (note,)


def _quoted(words: Sequence[str]) -> str:
    return ", ".join(f"“{word[:40]}”" for word in words)
