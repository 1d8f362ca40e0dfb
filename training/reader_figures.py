"""How sure must the reader be, and what does it then find of what it has not seen?"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from training.sideways import Text

Floats = NDArray[np.float64]
RESULTS = Path(__file__).with_name("reader.json")
"""What the shipped reader said, in cross-validation, of every text."""
FALSE_ALARMS = 0.01
"""Of the harmless texts that stand alone, look-alikes included, and of the harmless conversations as a whole, at most
this share may alarm."""


def choose_threshold(asks: str, texts: Sequence[Text], chances: Floats) -> float:
    """The chance above which a text alarms: the lowest with which no more than `FALSE_ALARMS` of the harmless do.

    Counted in two ways, of which the stricter decides: texts that stand alone, and whole conversations, where one alarm
    anywhere is one too many.
    """
    alone: list[float] = []
    told: dict[tuple[str, int], float] = {}
    for text, chance in zip(texts, chances.tolist(), strict=True):
        if text.asks != asks or not text.is_harmless:
            continue
        if not text.turn:
            alone.append(chance)
        elif text.calm:
            place = (text.file, text.line)
            told[place] = max(told.get(place, 0.0), chance)
    return max((_rarely_exceeded(group) for group in (alone, list(told.values())) if group), default=1.0)


def _rarely_exceeded(chances: list[float]) -> float:
    """The lowest of these that at most `FALSE_ALARMS` of them exceed."""
    return sorted(chances, reverse=True)[int(FALSE_ALARMS * len(chances))]


def alarms(asks: str, texts: Sequence[Text], chances: Floats, threshold: float) -> dict[str, tuple[int, int]]:
    """How many texts of each kind alarm, and of how many."""
    found: dict[str, list[bool]] = {}
    for text, chance in zip(texts, chances.tolist(), strict=True):
        if text.asks == asks:
            kinds = [_harmless(text)] if text.is_harmless else ["found", text.kind]
            for kind in kinds:
                found.setdefault(kind, []).append(chance > threshold)
    return {kind: (sum(own), len(own)) for kind, own in sorted(found.items())}


def _harmless(text: Text) -> str:
    return "harmless in a conversation" if text.turn else "harmless look-alike" if text.near else "harmless"


def alarmed(asks: str, texts: Sequence[Text], chances: Floats, threshold: float) -> dict[str, list[list[int]]]:
    """By file, the line and the turn of each text that alarms."""
    found: dict[str, list[list[int]]] = {}
    for text, chance in zip(texts, chances.tolist(), strict=True):
        if text.asks == asks and chance > threshold:
            found.setdefault(text.file, []).append([text.line, text.turn])
    return found


def area(asks: str, texts: Sequence[Text], chances: Floats) -> float:
    """The chance that a text with something to find is read as likelier than a harmless one, ties counted half."""
    own = [(text, chance) for text, chance in zip(texts, chances.tolist(), strict=True) if text.asks == asks]
    quiet = np.sort([chance for text, chance in own if text.is_harmless])
    loud = np.array([chance for text, chance in own if not text.is_harmless])
    below = (np.searchsorted(quiet, loud, "left") + np.searchsorted(quiet, loud, "right")) / 2
    return round(float(below.mean() / len(quiet)), 4)
