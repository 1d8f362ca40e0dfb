"""What does the person ask for, and does a reply offer anything? Several families rest on these two."""

from functools import cache

from attunement.signals.lexicon import Lexicon, load
from attunement.signals.reasoning import Seen
from attunement.signals.talk import Talk


def asked(talk: Talk, kind: str) -> dict[int, Seen]:
    """Where the person asks for help (`request`), for a topic (`wants_topic`), or has to repeat (`reminder`), by turn.

    The first such words of each turn.
    """
    return {hit.turn: hit.seen for hit in reversed(talk.in_messages(kind))}


def offers(reply: str) -> bool:
    """Whether `reply` suggests, advises or explains something that can be done."""
    return _holds(reply, "suggestion")


def interchangeable(question: str) -> bool:
    """Whether `question` could end any reply."""
    return _holds(question, "interchangeable")


def _holds(text: str, kind: str) -> bool:
    return any(found.signal.kind == kind for found in _offering().find(text))


@cache
def _offering() -> Lexicon:
    return load("offering.en")
