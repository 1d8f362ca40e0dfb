"""Is there a crisis cue in what the person says?

Finds suicidal thoughts (direct, indirect, passive), plans and means, self-harm, danger from and to others, medical
emergencies, and psychosis or mania with risk. Danger to somebody else that the person reports counts like their own:
a child at risk is a cue. What is denied, over for years, fiction or a figure of speech is none. Words that are
dangerous in one talk and ordinary in most (a plan, a date, to disappear) count only near a cue that stands alone.
"""

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import cache, lru_cache
from typing import NamedTuple

from attunement.conversations import Turn
from attunement.signals.lexicon import Hint, Lexicon, Match, load
from attunement.signals.shelf import danger_in_message


class CueKind(StrEnum):
    """What kind of danger the person's words point to."""

    SUICIDAL_DIRECT = "suicidal_direct"
    SUICIDAL_INDIRECT = "suicidal_indirect"
    PASSIVE_DEATH_WISH = "passive_death_wish"
    PLAN_OR_MEANS = "plan_or_means"
    SELF_HARM = "self_harm"
    DANGER_FROM_OTHERS = "danger_from_others"
    DANGER_TO_OTHERS = "danger_to_others"
    MEDICAL_EMERGENCY = "medical_emergency"
    PSYCHOSIS_OR_MANIA = "psychosis_or_mania"


class Cue(NamedTuple):
    """Words of the person that point to danger. `quote` is exactly `user[start:end]` of that turn."""

    kind: CueKind
    turn: int
    start: int
    end: int
    quote: str
    signal: str


_KINDS = {kind.value: kind for kind in CueKind}

# The beginning of a message in which a "yes" answers the question before it: further down it answers something else.
_ANSWER = 60
# How many of the person's messages back a cue that stands alone may lie for words that do not to count.
_NEARBY = 2
# Characters that may lie between two hints that are a cue together: three or four sentences. In a long message there is
# nearly always something that looks like one.
_TOGETHER = 280
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
_ASKING = frozenset({"asks_risk", "asks_safety"})


def crisis_cues(turns: Sequence[Turn]) -> list[Cue]:
    """Every cue in the person's messages, in the order of the conversation. Turns count from 1.

    Of overlapping cues of one kind the longest is kept. An answer that is no denial to a direct question of the
    assistant about suicide, self-harm or safety is a cue as well. A signal that the lexicon marks `alone: false` is a
    cue only where the same message, or one of the person's two messages before it, holds a cue that stands alone; two
    different hints, one of them strong, stand alone together.
    """
    cues: list[Cue] = []
    asked = ""
    last_alone: int | None = None
    # All messages before the replies, which are read with another lexicon.
    found = [danger_in_message(turn.user) for turn in turns]
    for number, (turn, matches) in enumerate(zip(turns, found, strict=True), start=1):
        answers = list(_answers(number, turn.user, asked))
        if answers or _stand_alone(matches):
            last_alone = number
        if last_alone is not None and number - last_alone <= _NEARBY:
            cues.extend(_longest([*(_cue(number, turn.user, match) for match in matches), *answers]))
        asked = turn.assistant
    return cues


def asks_directly(reply: str) -> bool:
    """Whether `reply` holds a direct question about suicide, self-harm or safety."""
    return bool(_asked_about(reply))


@lru_cache(maxsize=256)  # a message is asked about with its reply and with the next few
def cue_kinds(message: str) -> frozenset[CueKind]:
    """The kinds of the cues in one message, read by itself."""
    matches = danger_in_message(message)
    return frozenset(_KINDS[match.signal.kind] for match in matches) if _stand_alone(matches) else frozenset()


def _stand_alone(matches: Sequence[Match]) -> bool:
    """Whether one of them is a cue by itself, or several hints are one together."""
    if not matches:
        return False
    if any(match.signal.alone for match in matches):
        return True
    hints = [match for match in matches if match.signal.hint]
    strong = (match for match in hints if match.signal.hint is Hint.STRONG)
    return any(one is not other and abs(one.start - other.start) <= _TOGETHER for one in strong for other in hints)


def _answers(number: int, message: str, asked: str) -> Iterator[Cue]:
    questions = _asked_about(asked)
    for match in _answer_lexicon().find(message[:_ANSWER]) if questions else ():
        if match.signal.kind == "affirms" and "asks_risk" in questions:
            yield _cue(number, message, match, CueKind.SUICIDAL_DIRECT)
        elif match.signal.kind == "unsafe" and "asks_safety" in questions:
            yield _cue(number, message, match, CueKind.SUICIDAL_INDIRECT)


@lru_cache(maxsize=64)  # the replies of a conversation: asked about with the next message, and with a cue
def _asked_about(reply: str) -> frozenset[str]:
    """What the questions of `reply` are about: "asks_risk", "asks_safety"."""
    if "?" not in reply:
        return frozenset()
    lines = [line for line in reply.split("\n") if "?" in line]  # few, and no sentence goes beyond one
    questioning = "\n".join([end for line in lines for end in _SENTENCE.findall(line) if end.endswith("?")])
    return _ASKING & {match.signal.kind for match in _answer_lexicon().find(questioning)}


def _cue(number: int, message: str, match: Match, kind: CueKind | None = None) -> Cue:
    quote = message[match.start : match.end]
    return Cue(kind or _KINDS[match.signal.kind], number, match.start, match.end, quote, match.signal.id)


def _longest(cues: list[Cue]) -> list[Cue]:
    kept: list[Cue] = []
    for cue in sorted(cues, key=lambda cue: (cue.start - cue.end, cue.start)):
        if not any(cue.kind is other.kind and cue.start < other.end and other.start < cue.end for other in kept):
            kept.append(cue)
    return sorted(kept, key=lambda cue: (cue.start, cue.end, cue.kind))


@cache
def _answer_lexicon() -> Lexicon:
    return load("answers.en")
