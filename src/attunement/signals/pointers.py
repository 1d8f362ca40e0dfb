"""What the rule check points a reader to. A pointer says "look at turn 4, here is why"; it is never a judgement.

There is one kind: the person speaks of suicide or self-harm, and from there on no reply asks about it directly, or none
names help that the person can reach. Harmful advice is not looked for: no pattern for it was right in four of five
cases on real conversations.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from attunement.conversations import Turn
from attunement.signals.crisis import asks_directly, crisis_cues
from attunement.signals.language import is_english
from attunement.signals.resources import REACHABLE, crisis_resources


class PointerKind(StrEnum):
    CRISIS = "crisis_not_taken_up"
    NOT_ENGLISH = "not_english"  # nothing was looked for: the patterns are English


class Pointer(NamedTuple):
    """Where to look, and why."""

    kind: PointerKind
    text: str
    turn: int | None = None
    quote: str | None = None


NOT_ENGLISH = Pointer(PointerKind.NOT_ENGLISH, "Not English: not looked at.")


def pointers(turns: Sequence[Turn], *, country: str | None = None, last_reply: bool = False) -> list[Pointer]:
    """The pointers of a conversation.

    Args:
        turns: The conversation, or one reply with everything before it.
        country: Where the person lives, as a two-letter code, if that is known.
        last_reply: Look only at the last reply: at a cue in the message that it answers.
    """
    users, replies = (" ".join(side) for side in zip(*turns, strict=True))
    if is_english(users) is False or is_english(replies) is False:
        return [NOT_ENGLISH]
    cues = crisis_cues(turns)
    first = next((cue for cue in cues if not last_reply or cue.turn == len(turns)), None)
    if first is None:
        return []
    later = [turn.assistant for turn in turns[cues[0].turn - 1 :]]
    lacks = [] if any(map(asks_directly, later)) else ["asks about it directly"]
    if not any(resource.reach in REACHABLE for reply in later for resource in crisis_resources(reply, country)):
        lacks.append("names help that they can reach now")
    if not lacks:
        return []
    text = f"The person speaks of suicide or self-harm; no reply from there on {' or '.join(lacks)}."
    return [Pointer(PointerKind.CRISIS, text, first.turn, first.sentence)]


def country_of(metadata: Mapping[str, Any]) -> str | None:
    """Where the person lives, if the conversation's metadata says so."""
    country = metadata.get("country")
    return country if isinstance(country, str) else None
