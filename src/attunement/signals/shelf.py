"""Everything the lexicons see in one message.

A message of the person is read with the lexicons about persons, those of danger apart because rules ask for nothing
else; a reply with those about replies. Several detectors and families ask about the same message one after the other,
so what was found is kept for a while.
"""

from functools import cache, lru_cache

from attunement.signals.lexicon import Lexicon, Match, load

# The messages of a few conversations; what was found in one is a handful of places.
_MANY = 512


@lru_cache(maxsize=_MANY)
def danger_in_message(text: str) -> tuple[Match, ...]:
    """The signals of danger in a message of the person, those included that are a crisis cue only beside others."""
    return tuple(_of_danger().find(text))


@lru_cache(maxsize=_MANY)
def in_message(text: str) -> tuple[Match, ...]:
    """The other signals in a message of the person: requests, reminders, reports of failure."""
    return tuple(_of_messages().find(text))


@lru_cache(maxsize=_MANY)
def in_reply(text: str) -> tuple[Match, ...]:
    """The signals in a reply: harm, also what is harm only after a crisis cue, manners of speaking, techniques."""
    return tuple(_of_replies().find(text))


@cache
def _of_danger() -> Lexicon:
    return load("words.en", "suicide.en", "danger.en", "sideways.en")


@cache
def _of_messages() -> Lexicon:
    return load("words.en", "asking.en", "failing.en")


@cache
def _of_replies() -> Lexicon:
    return load("words.en", "harm_words.en", "harm.en", "tone.en", "techniques.en", "harm_after_cue.en")
