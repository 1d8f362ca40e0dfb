"""What does the trained scorer say of a reply, on the scale of the empathy instrument? `emotion`, `validation`.

The scorer gives EPITOME's levels from 0 to 2: interpretations (does the reply show what it understood) and emotional
reactions (warmth and concern). They are put on the instrument's five levels by what the levels say, not by people's
ratings of both: the result is mapped, not measured. Without the scorer's weights there is no answer.
"""

from attunement.signals import scorer
from attunement.signals.reasoning import Answer, Seen, answer, whole
from attunement.signals.talk import Talk

MAPPED = (1, 3, 4)
"""The instrument's level for EPITOME's level 0, 1 and 2: nothing of it, something general, something explicit or tied
to the person. No level of EPITOME says what sets 2 from 1 or 5 from 4 apart, so these two are never given."""

_REACTIONS, _INTERPRETATIONS = 0, 1


def recognises(talk: Talk) -> Answer | None:
    """`emotion`: the level of interpretations, mapped."""
    return _mapped(talk, _INTERPRETATIONS, "interpretations")


def validates(talk: Talk) -> Answer | None:
    """`validation`: the level of emotional reactions, mapped."""
    return _mapped(talk, _REACTIONS, "emotional reactions")


def _mapped(talk: Talk, mechanism: int, name: str) -> Answer | None:
    if not scorer.available() or not talk.in_english or not talk.turns[-1].assistant.strip():
        return None
    reading = talk.kept("scorer", lambda: scorer.read([_pair(talk)])[0])
    level = reading.levels[mechanism]
    reply = talk.turns[-1].assistant
    start = reply.find(reading.quotes[mechanism]) if reading.quotes[mechanism] else -1
    seen = (
        Seen(talk.last, reply, start, start + len(reading.quotes[mechanism])) if start >= 0 else whole(talk.last, reply)
    )
    conclusion = f"The trained scorer reads {name} at {level} of 2 on EPITOME's scale; mapped, not measured"
    return answer(MAPPED[level], [seen], conclusion)


def _pair(talk: Talk) -> tuple[str, str]:
    """What was said before the reply, and the reply."""
    *before, last = talk.turns
    said = [message for turn in before for message in turn if message]
    return "\n".join([*said, last.user]), last.assistant
