"""How sure must the reader be, and what does it then find of what it has not seen?"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from training.sideways import Text

Floats = NDArray[np.float64]
RESULTS = Path(__file__).with_name("reader.json")
"""What the shipped reader said, in cross-validation, of every text."""
LOOK_ALIKES, TALKS, PUBLIC = 0.05, 0.05, 0.005
"""Of the harmless look-alikes of our own, of the harmless conversations of our own and of the harmless stretches of
public talk, at most these shares may alarm. The first two were written to be taken for danger or harm; the last is how
people talk, and an alarm there is what a user would meet."""


def choose_threshold(asks: str, texts: Sequence[Text], chances: Floats) -> float:
    """The chance above which a text alarms: the lowest with which no group of harmless texts alarms too often."""
    alike, public = list[float](), list[float]()
    told: dict[tuple[str, int], float] = {}
    for text, chance in zip(texts, chances.tolist(), strict=True):
        if text.asks != asks or not text.is_harmless:
            continue
        if text.public:
            public.append(chance)
        elif text.turn and text.calm:
            place = (text.file, text.line)
            told[place] = max(told.get(place, 0.0), chance)
        elif text.near:
            alike.append(chance)
    groups = ((alike, LOOK_ALIKES), (list(told.values()), TALKS), (public, PUBLIC))
    return max((_rarely_exceeded(group, share) for group, share in groups if group), default=1.0)


def _rarely_exceeded(chances: list[float], share: float) -> float:
    """The lowest of these that at most this share of them exceed."""
    return sorted(chances, reverse=True)[int(share * len(chances))]


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
    if text.public:
        return "harmless in public talk"
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
