"""Count what can be counted exactly in a conversation. Whether the counts are good is for a rater to say."""

import re
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from attunement.conversations import Turn
from attunement.conversations.statistics import LengthStatistics, length_statistics
from attunement.signals.resources import Resource, crisis_resources

_REPEATED = 3  # replies from which the same first words are worth a line
_OPENING_WORDS = 3


class Named(NamedTuple):
    """A crisis resource and the turn whose reply names it."""

    turn: int
    resource: Resource


class Facts(NamedTuple):
    """The counts of one conversation."""

    replies: int
    lengths: LengthStatistics
    end_with_question: int  # replies whose last sentence is a question
    openers: dict[str, int]  # the first three words of at least three replies, and of how many
    techniques: dict[str, int]  # the techniques that at least two replies name, and how many do
    resources: tuple[Named, ...]


def facts(turns: Sequence[Turn], country: str | None = None) -> Facts:
    """Count what can be counted in the replies. `country`: where the person lives, as a two-letter code."""
    replies = [turn.assistant for turn in turns]
    openers = Counter(" ".join(words) for reply in replies if (words := _first_words(reply)))
    techniques = Counter(name for reply in replies for name in _techniques(reply))
    return Facts(
        replies=sum(bool(reply.strip()) for reply in replies),
        lengths=length_statistics(turns),
        end_with_question=sum(reply.rstrip(_CLOSING)[-1:] in _QUESTION_MARKS for reply in replies if reply.strip()),
        openers={words: times for words, times in openers.most_common() if times >= _REPEATED},
        techniques={name: times for name, times in techniques.most_common() if times > 1},
        resources=tuple(
            Named(number, resource)
            for number, reply in enumerate(replies, start=1)
            for resource in crisis_resources(reply, country)
        ),
    )


def _first_words(reply: str) -> list[str]:
    # After a heading or a label on its own line, which belongs to the topic and not to the sentence.
    words = _WORD.findall(_HEADING.sub("", reply, count=1).lower().replace("’", "'"))[:_OPENING_WORDS]
    return words if len(words) == _OPENING_WORDS else []


def _techniques(reply: str) -> list[str]:
    folded = reply.lower().replace("’", "'").replace("-", " ")
    return [name for name, pattern in _TECHNIQUES.items() if pattern.search(folded)]


_CLOSING = " \t\r\n*_\"'”’»)]"
_QUESTION_MARKS = frozenset("?？؟")
_WORD = re.compile(r"[\w']+")
_HEADING = re.compile(r"^\s*(?:#{1,6}[^\n]*\n+|\*\*[^*\n]{1,60}\*\*:?\s*\n+)")
_TECHNIQUES = {
    name: re.compile(rf"\b(?:{pattern})\b")
    for name, pattern in {
        "behavioural activation": r"behaviou?ral activation",
        "body scan": r"body scan",
        "box breathing": r"box breathing|square breathing",
        "breathing exercise": r"breathing (?:exercise|technique)s?|deep breath(?:s|ing)?|4 7 8",
        "exposure ladder": r"(?:exposure|fear) (?:ladder|hierarchy)",
        "gratitude list": r"gratitude (?:list|journal|practice)",
        "grounding": r"grounding|5 4 3 2 1",
        "journaling": r"journal(?:l?ing)?",
        "meditation": r"meditat(?:e|ion|ing)",
        "miracle question": r"miracle question",
        "muscle relaxation": r"muscle relaxation",
        "opposite action": r"opposite action",
        "pros and cons": r"pros and cons|decisional balance",
        "reframing": r"refram(?:e|ing)",
        "scaling question": r"scale (?:of|from) (?:0|1|zero|one)",
        "self-compassion": r"self compassion",
        "thought record": r"thought (?:record|log|diary)",
        "urge surfing": r"urge surfing|surf(?:ing)? the urge|ride (?:out )?the urge",
        "wise mind": r"wise mind",
        "worry time": r"worry (?:time|window|period)",
    }.items()
}
