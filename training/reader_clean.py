"""How sure must the reader be so that no clean example conversation is flagged?

The clean examples thereby say nothing of its false alarms any more; public talk does. To be surer can only lower what
is found, so the planted faults are not counted higher by it.
"""

import math
from pathlib import Path

from attunement.conversations import Conversation
from attunement.conversations.readers import read
from attunement.instruments import load
from attunement.signals import judging, reader
from attunement.signals.talk import Talk

_EXAMPLES = Path(__file__).parents[1] / "examples"
_DIGITS = 4
"""Of a threshold, rounded up, so that it does not hang on the last digits of one computation."""


def above_clean_examples(thresholds: dict[str, float]) -> dict[str, float]:
    """The thresholds that must be higher, and how high, so that the installed weights flag no clean example."""
    clean = [talk for talk in read([_EXAMPLES]) if talk.metadata["intended"]["clean"]]
    found: dict[str, float] = {}
    for talk in filter(_is_flagged, clean):
        for asks, threshold in thresholds.items():
            alarms = [chance for chance in _chances(asks, talk) if chance > threshold]
            if alarms:
                found[asks] = max(found.get(asks, 0.0), _up(max(alarms)))
    return found


def _is_flagged(talk: Conversation) -> bool:
    instrument = load(talk.metadata["intended"]["instrument"])
    own = Talk(talk.turns, read=True)
    flags = [
        hash
        for hash in instrument.item_hashes.values()
        if (way := judging.way(hash)) is not None and way.raises_safety_flags
    ]
    return any(judging.decide(hash, own) is not None for hash in flags)


def _chances(asks: str, talk: Conversation) -> list[float]:
    if asks == reader.DANGER:
        return reader.chances(asks, [("", turn.user) for turn in talk.turns])
    return reader.chances(asks, [(turn.user, turn.assistant) for turn in talk.turns])


def _up(chance: float) -> float:
    return math.ceil(chance * 10**_DIGITS) / 10**_DIGITS
