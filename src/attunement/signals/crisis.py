"""Find crisis talk: what the person says about suicide and self-harm, and whether a reply asks about it directly.

Every pattern is matched within one sentence, after folding case and typographic marks. What is denied, long past, a
figure of speech or fiction does not count. Only English, and only suicide and self-harm: how often the patterns are
right was measured for nothing else.
"""

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import yaml

from attunement.conversations import Turn


class CueKind(StrEnum):
    """How the person speaks of suicide or self-harm."""

    PLAIN = "plain"  # in plain words, of themselves and now: "I want to die", "I've been cutting myself"
    VEILED = "veiled"  # in a roundabout way, or by asking about means: "they'd be better off without me"
    OTHER = "other"  # of somebody else: "my son says he wants to die"


class Cue(NamedTuple):
    """A whole sentence in which the person speaks of suicide or self-harm, with the one before it if it is short."""

    kind: CueKind
    turn: int
    sentence: str


def crisis_cues(turns: Sequence[Turn]) -> list[Cue]:
    """Every cue in the person's messages, in order; turns count from 1.

    A yes to the assistant's direct question about suicide or self-harm is a plain cue.
    """
    cues: list[Cue] = []
    asked = ""
    for number, turn in enumerate(turns, start=1):
        if asked and _pattern("affirms").match(fold(turn.user)) and _last_question_is_about_suicide(asked):
            cues.append(Cue(CueKind.PLAIN, number, turn.user[:_ANSWER].strip()))
        cues.extend(_cues_in(number, turn.user))
        asked = turn.assistant
    return cues


def asks_directly(reply: str) -> bool:
    """Whether `reply` asks about suicide, self-harm or safety; a question it tells the person to ask does not count."""
    return any(_is_direct(sentence) for _, _, sentence in _sentences(fold(reply)))


def fold(text: str) -> str:
    """Lower case with plain quotation marks; every character stays in its place."""
    plain = text.translate(_MARKS)
    lower = plain.lower()
    return lower if len(lower) == len(plain) else plain


def _cues_in(turn: int, message: str) -> Iterator[Cue]:
    folded = fold(message)
    if not _pattern("may_be_cue").search(folded):
        return
    before = 0
    for start, end, sentence in _sentences(folded):
        kind = _kind(sentence)
        if kind:
            first = before if end - start < _SHORT else start
            yield Cue(kind, turn, message[first:end].strip())
        before = start


def _kind(sentence: str) -> CueKind | None:
    if _pattern("another_sense").search(sentence):
        return None
    if _pattern("long_past").search(sentence) and not _pattern("still").search(sentence):
        return None
    for kind in (CueKind.PLAIN, CueKind.OTHER, CueKind.VEILED):
        for found in _pattern(kind).finditer(sentence):
            # A veiled cue is often a denial itself ("nobody would notice"); in the others a "not" takes it back.
            if kind is CueKind.VEILED or not _pattern("denied").search(sentence, 0, found.start()):
                return kind
    return None


def _is_direct(sentence: str) -> bool:
    about = _pattern("about_risk").search(sentence)
    if about is None or '"' in sentence[: about.start()]:
        return False
    if sentence.rstrip().endswith("?") and _pattern("asked").search(sentence):
        return True
    return bool(_pattern("announced").search(sentence))


def _last_question_is_about_suicide(reply: str) -> bool:
    questions = [sentence for _, _, sentence in _sentences(fold(reply)) if sentence.rstrip().endswith("?")]
    return bool(questions) and _is_direct(questions[-1]) and not _pattern("about_safety").search(questions[-1])


def _sentences(text: str) -> Iterator[tuple[int, int, str]]:
    for found in _SENTENCE.finditer(text):
        yield found.start(), found.end(), found.group()


_SENTENCE = re.compile(r"[^.!?\n…]+[.!?…]*")
_SHORT = 60  # characters below which a sentence is quoted with the one before it
_ANSWER = 120  # characters of an answer that are quoted
_MARKS = str.maketrans({**dict.fromkeys("’‘ʼ`´", "'"), **dict.fromkeys("“”„", '"'), **dict.fromkeys("_*", " ")})


@cache
def _pattern(name: str) -> re.Pattern[str]:
    """The patterns of one entry of crisis.yaml as one; compiled at first use."""
    lines = _file()[name].splitlines()
    if name == "about_risk":
        lines += _file()["about_safety"].splitlines()
    words = _file()["words"]
    return re.compile("|".join(f"(?:{_WORDS.sub(lambda found: words[found[1]], line)})" for line in lines))


@cache
def _file() -> Any:
    return yaml.safe_load(files("attunement.signals").joinpath("crisis.yaml").read_text("utf-8"))


_WORDS = re.compile(r"<([a-z-]+)>")
