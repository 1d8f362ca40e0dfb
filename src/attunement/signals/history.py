"""Does the person have to say again what they have told? MT4.

How well a talk draws on what was said before cannot be counted: counting recalls would reward recalls for show. One
failure can be seen, the person saying that they told it already or otherwise; so this is a flag. Whether a topic that
returns is taken up as a continuation (MT5) leaves no such trace, and a question asked twice was tried for it and
dropped: on 37 coaching conversations it only found stock questions.
"""

from attunement.signals.asking import asked
from attunement.signals.reasoning import Answer, answer, onward
from attunement.signals.talk import Talk

REMINDERS = 2
"""Turns in which the person must say that they told it already: one forgotten detail is a slip."""

SELDOM = 15
"""Turns to a reminder beyond which they are slips: two in ninety turns are no gap that comes again."""


def forgets(talk: Talk) -> Answer | None:
    """MT4: NO where the person has to say in two turns or more that they have told it already, or told it otherwise.

    A reply that admits a slip stands for one such turn: the person had to set it right before.
    """
    reminders = {turn: onward(seen) for turn, seen in asked(talk, "reminder").items() if turn > 1}
    admissions = {hit.turn: onward(hit.seen) for hit in talk.in_replies("admission")}
    if not reminders or len(reminders.keys() | admissions.keys()) < max(REMINDERS, talk.last / SELDOM):
        return None
    seen = [*reminders.values(), *(admissions[turn] for turn in admissions.keys() - reminders.keys())]
    conclusion = "The person has to repeat or correct what was told; the same gap comes again"
    return answer("NO", sorted(seen), conclusion)
