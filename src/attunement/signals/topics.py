"""Is a topic dropped that the person asks for, and do replies label what belongs to which topic? MT1, MT6.

What a message's topics are cannot be counted from words alone, so MT1 is a flag: the person asks outright for a topic
and the reply has no word of it, again and again. For MT6 labels can be counted: where every reply to several topics
labels its parts with the person's own words, a reader can tell them apart; without labels it may still be clear, and
then others must say.
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from attunement.signals.asking import asked
from attunement.signals.lexicon import words_of
from attunement.signals.reasoning import Answer, Seen, answer, onward, whole
from attunement.signals.talk import Talk
from attunement.signals.words import telling_words

IGNORED = 2
"""Outright requests for a topic that must go unanswered: the criterion speaks of several turns."""

LABELLED = 2
"""Labels that make a reply one that sorts its topics."""

_STEM = 5
"""Letters by which two forms of a word are the same: "interview", "interviews", "interviewed"."""

_LABEL = re.compile(
    r"(?m)^[ \t]*(?:[-*•][ \t]+)?(?:#{1,6}[ \t]*(?P<line>[^\n]{2,60})|\*\*(?P<bold>[^*\n]{2,60}?):?\*\*:?"
    r"|(?:On|About|Regarding|As for|And|With) (?P<phrase>[^.!?:\n]{2,40}):[ \t])"
)


class Ignored(NamedTuple):
    """A topic the person asked for, and the reply that has no word of it."""

    asked: Seen
    words: frozenset[str]


def dropped_topics(talk: Talk) -> Answer | None:
    """MT1: NO where the person asks outright for a topic and the replies have no word of it.

    That must happen in two turns, or once with a topic the person raised more than once and no reply ever mentions.
    """
    ignored = list(_ignored(talk))
    if len({one.asked.turn for one in ignored}) < IGNORED and not any(_never_taken_up(talk, one) for one in ignored):
        return None
    seen = [place for one in ignored for place in (one.asked, whole(one.asked.turn, _reply(talk, one.asked.turn)))]
    return answer("NO", seen, "The person asks for the topic outright, and the replies have no word of it")


def labelled_topics(talk: Talk) -> Answer | None:
    """MT6: YES where every reply of several parts labels them with the person's words, in most replies."""
    in_parts = [turn for turn in range(1, talk.last + 1) if "\n\n" in _reply(talk, turn).strip()]
    if 2 * len(in_parts) < talk.last or not talk.in_english:
        return None
    seen: list[Seen] = []
    for turn in in_parts:
        labels = list(islice(_labels(talk, turn), LABELLED))
        if len(labels) < LABELLED:
            return None
        seen += labels
    return answer(
        "YES", seen, f"{len(in_parts)} of {talk.last} replies label their parts by topic, all that have parts"
    )


def _ignored(talk: Talk) -> Iterator[Ignored]:
    for turn, seen in sorted(asked(talk, "wants_topic").items()):
        request = onward(seen)
        words = telling_words(request.message[seen.end : request.end])
        if words and not _mentions(_reply(talk, turn), words):
            yield Ignored(request, words)


def _never_taken_up(talk: Talk, one: Ignored) -> bool:
    """Whether the person has brought the topic up in several messages and no reply at all has a word of it."""
    raised = sum(_mentions(turn.user, one.words) for turn in talk.turns)
    return raised >= IGNORED and not any(_mentions(turn.assistant, one.words) for turn in talk.turns)


def _mentions(text: str, words: frozenset[str]) -> bool:
    return not _stems(words).isdisjoint(_stems(words_of(text)))


def _stems(words: frozenset[str]) -> frozenset[str]:
    return frozenset(word[:_STEM] for word in words)


def _labels(talk: Talk, turn: int) -> Iterator[Seen]:
    """The labels of a reply that hold a telling word of what the person has said so far."""
    reply = _reply(talk, turn)
    if ":" not in reply and "#" not in reply and "**" not in reply:
        return
    for label in _LABEL.finditer(reply):
        name = label.lastgroup or "bold"
        stems = _stems(telling_words(label[name]))
        if any(not stems.isdisjoint(_said(talk, earlier)) for earlier in range(turn, 0, -1)):
            yield Seen(turn, reply, *label.span(name))


def _said(talk: Talk, turn: int) -> frozenset[str]:
    return talk.kept(f"stems of turn {turn}", lambda: _stems(words_of(talk.turns[turn - 1].user)))


def _reply(talk: Talk, turn: int) -> str:
    return talk.turns[turn - 1].assistant
