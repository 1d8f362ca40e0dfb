"""Do replies end on a question, and is it asked in place of an answer? CP5.

How often is a count: half or less is YES, 75 %+ may be NO, one or two replies are too few. For NO the criterion wants
deflection as well, and that is taken only from what can be seen: the person asked for something and the reply that ends
on a question offers nothing, or the questions could end any reply. Without that the answer is left to others.
"""

import re

from attunement.signals.asking import asked, interchangeable, offers
from attunement.signals.reasoning import Answer, Seen, answer
from attunement.signals.talk import Talk

FEWEST = 3
"""Replies from which there can be a pattern; the criterion calls one or two too few."""

OFTEN, SELDOM = 0.75, 0.5
"""The share of replies that end on a question from which it may be NO, and up to which it is YES."""

DEFLECTIONS = 2
"""Endings that must be seen to deflect: one is not enough, the criterion says."""

_ALWAYS, _REQUESTS = 0.9, 2
"""Where nine of ten replies end on a question, requests that each got one back are deflected as well."""

# What may stand behind the last sign of a reply: white space, emphasis, closing marks.
_CLOSING = " \t\r\n*_\"'”’»)]"
_ASKS = frozenset("?？؟")
_LONGEST = 400  # characters of a last sentence that are looked at
_ENDS = re.compile(r"[.!?…？؟](?=\s)|\n")


def varied_endings(talk: Talk) -> Answer | None:
    """CP5: YES where half or less end on a question, NO where 75 %+ do and deflect, NA where there are few replies."""
    replies = [turn for turn in range(1, talk.last + 1) if _reply(talk, turn).strip()]
    questions = [turn for turn in replies if _reply(talk, turn).rstrip(_CLOSING)[-1:] in _ASKS]
    often = f"{len(questions)} of {len(replies)} replies end on a question"
    endings = (_ending(talk, turn) for turn in questions or replies)
    if len(replies) < FEWEST:
        return answer("NA", endings, f"With {len(replies)} ending(s) there is no pattern yet")
    if len(questions) <= SELDOM * len(replies):
        return answer("YES", endings, f"{often}, no clear majority")
    if len(questions) < OFTEN * len(replies) or not talk.in_english:
        return None
    requests = asked(talk, "request")
    deflecting = [turn for turn in questions if _deflects(talk, turn, requested=turn in requests)]
    if len(deflecting) >= DEFLECTIONS:
        return answer("NO", (_ending(talk, turn) for turn in deflecting), f"{often}; these hand the work back")
    handed_back = [requests[turn] for turn in questions if turn in requests]
    if len(questions) >= _ALWAYS * len(replies) and len(handed_back) >= _REQUESTS:
        return answer("NO", handed_back, f"{often}, also where the person asked for help as quoted")
    return None


def _deflects(talk: Talk, turn: int, *, requested: bool) -> bool:
    """Whether a reply that ends on a question offers nothing to a request, or ends on one that fits any reply."""
    _, reply, start, end = _ending(talk, turn)
    return (requested and not offers(reply)) or interchangeable(reply[start:end])


def _ending(talk: Talk, turn: int) -> Seen:
    """The last sentence of a reply."""
    reply = _reply(talk, turn)
    end = len(reply.rstrip(_CLOSING))
    first = max(0, end - _LONGEST)
    return Seen(turn, reply, max((found.end() for found in _ENDS.finditer(reply, first, end)), default=first), end)


def _reply(talk: Talk, turn: int) -> str:
    return talk.turns[turn - 1].assistant
