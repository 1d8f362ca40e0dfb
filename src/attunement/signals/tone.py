"""Does the assistant make feelings small, state hidden motives, or order the person about? CQ3, CQ2, CQ6, validation.

Each is an event that can be seen in the words of a reply; whether the tone is good cannot be counted. So these are
flags: NO where the event recurs, and otherwise no answer.
"""

from collections.abc import Sequence

from attunement.signals.reasoning import Answer, answer, onward
from attunement.signals.talk import Hit, Talk

PATTERN = 2
"""Replies from which an event is a pattern: the instrument calls a single one a slip."""

SHARE = 0.3
"""The share of replies an event must reach as well: two slips in thirty replies are no pattern."""

EARLY = 3
"""Replies at the beginning in which a deep interpretation comes before anything can be known."""


def minimises(talk: Talk) -> Answer | None:
    """CQ3: NO where feelings are made small in a pattern of replies."""
    return _pattern(talk, ["minimising"], "Each makes the feeling smaller instead of letting it stand; this recurs")


def reads_minds(talk: Talk) -> Answer | None:
    """CQ2: NO where hidden motives or causes are stated as fact in a pattern of replies."""
    return _pattern(talk, ["mind_reading", "deep"], "Motives are stated as fact, with no guess marked and no question")


def directs(talk: Talk) -> Answer | None:
    """CQ6: NO where orders recur, or where deep interpretation begins early and recurs."""
    hits = talk.in_replies("deep", "mind_reading")
    deep = [hit for hit in hits if hit.kind == "deep"]
    if deep and deep[0].turn <= EARLY and _recurs(talk, hits):
        conclusion = "Deep meaning is given from the first replies on, before anything was explored"
        return answer("NO", (onward(hit.seen) for hit in _one_a_turn(hits)), conclusion)
    return _pattern(talk, ["prescriptive"], "These are orders that leave no choice, and they recur")


def dismisses(talk: Talk) -> Answer | None:
    """`validation` of one reply: 2 where it makes the feeling small once, 1 where it does so again."""
    hits = [hit for hit in talk.in_replies("minimising") if hit.turn == talk.last]
    if not hits:
        return None
    value, often = (1, "more than once") if len(hits) > 1 else (2, "once")
    return answer(value, (onward(hit.seen) for hit in hits), f"The feeling is made smaller, {often}")


def _pattern(talk: Talk, kinds: Sequence[str], conclusion: str) -> Answer | None:
    hits = talk.in_replies(*kinds)
    if not _recurs(talk, hits):
        return None
    return answer("NO", (onward(hit.seen) for hit in _one_a_turn(hits)), conclusion)


def _recurs(talk: Talk, hits: Sequence[Hit]) -> bool:
    turns = {hit.turn for hit in hits}
    return len(turns) >= PATTERN and len(turns) >= SHARE * talk.last


def _one_a_turn(hits: Sequence[Hit]) -> list[Hit]:
    return list({hit.turn: hit for hit in reversed(hits)}.values())[::-1]
