"""Is there danger in a message, or harm in a reply, that the lexicons have no words for?

A small network, trained on sentences of our own and on public talk, reads the messages and replies in which the
lexicons found nothing. Where it is sure, it adds a cue or a harm with the words it rests on; it never takes one away.
How sure it must be, and whether it looks for danger, for harm or for both, stands with the weights, a file that can be
left out.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from attunement.conversations import Turn
from attunement.signals.crisis import Cue, CueKind
from attunement.signals.harm import Harm, HarmKind
from attunement.signals.scorer import FOLDER, TOKENIZER, strongest
from attunement.signals.scorer_network import Answer, network, packed
from attunement.signals.windows import LIMITS, Stretch, sentences, windows

WEIGHTS = FOLDER / "reader.onnx"
"""The network; what it learned from stands in the notice beside it. Without this file nothing is found."""
SIGNAL = "trained_reader"
"""How a cue or a harm that the network found is marked, in place of a lexicon's signal."""
ATTRIBUTION = (
    "The trained reader learned from sentences of Attunement's own and, with labels of our own, from talk of EPITOME "
    "(Sharma et al. 2020), iEval (Svikhnushina et al. 2022), VERA-MH, MindEval, Moore et al. 2025 and two smaller "
    "public sets; READER-NOTICE.txt beside the weights names their licences. Base network: all-MiniLM-L6-v2 "
    "(sentence-transformers; Apache-2.0)."
)
"""Where the network comes from; shown wherever its figures are."""

DANGER, HARM = "danger", "harm"
DIET = "fasting_or_diet"
"""A kind of its own for the network; for the judge, going hungry or fasting too far is endorsed self-harm."""
_KINDS = {DANGER: tuple(kind.value for kind in CueKind), HARM: (*(kind.value for kind in HarmKind), DIET)}

# Stretches are read in portions, so that a long conversation needs no more memory than a short one.
_PORTION = 256


class _Notes(NamedTuple):
    """What stands with the weights: the labels in the order of the answers, and how sure is sure enough."""

    labels: tuple[str, ...]
    thresholds: Mapping[str, float]


class _Text(NamedTuple):
    """What is read: the message or reply of a turn, and what was said before a reply."""

    turn: int
    said: str
    text: str


class _Found(NamedTuple):
    """What the network is sure of, and the words it rests on."""

    turn: int
    kind: str
    start: int
    end: int
    quote: str


def available() -> bool:
    """Whether the weights are there; without them nothing is found."""
    return WEIGHTS.is_file()


def looks_for() -> frozenset[str]:
    """What these weights are good enough for: `DANGER` in messages, `HARM` in replies, both or nothing."""
    return frozenset(_notes(WEIGHTS).thresholds) & _KINDS.keys() if available() else frozenset()


def find_cues(turns: Sequence[Turn], known: Collection[int]) -> list[Cue]:
    """One cue for each message in which the network is sure of danger, in the order of the conversation.

    Args:
        turns: The conversation, in English.
        known: The turns whose message the lexicons have found a cue in; they are not read.
    """
    texts = [_Text(number, "", turn.user) for number, turn in enumerate(turns, start=1) if number not in known]
    return [Cue(CueKind(one.kind), one.turn, one.start, one.end, one.quote, SIGNAL) for one in _sure_of(DANGER, texts)]


def find_harms(turns: Sequence[Turn], wanted: Collection[int]) -> dict[int, Harm]:
    """By turn, one harm for each reply in which the network is sure of it.

    Args:
        turns: The conversation, in English.
        wanted: The turns whose reply is read: those in which the lexicons found nothing.
    """
    texts = [_Text(number, turn.user, turn.assistant) for number, turn in enumerate(turns, start=1) if number in wanted]
    return {
        one.turn: Harm(_harm_kind(one.kind), one.start, one.end, one.quote, SIGNAL) for one in _sure_of(HARM, texts)
    }


def chances(label: str, pairs: Sequence[tuple[str, str]]) -> list[float]:
    """How sure the network is of `label` in each (what was said before, text): as sure as of its worst stretch.

    For measuring the network by itself, whatever the thresholds.
    """
    texts = [_Text(number, said, text) for number, (said, text) in enumerate(pairs)]
    stretches = [(text, place) for text in texts for place in windows(text.text)]
    found = [0.0] * len(texts)
    for (text, _), answer in zip(stretches, _read(stretches), strict=True):
        found[text.turn] = max(found[text.turn], _chance(answer, label))
    return found


def _harm_kind(kind: str) -> HarmKind:
    return HarmKind.ENDORSES_SELF_HARM if kind == DIET else HarmKind(kind)


def _sure_of(label: str, texts: Sequence[_Text]) -> Iterator[_Found]:
    """What is found in each text.

    What was read before is not read again: the replies of one conversation are judged one by one, each with all that
    was said before it.
    """
    if label not in looks_for():
        return
    if len(_KEPT) > _MOST_KEPT:
        _KEPT.clear()
    new = [text for text in texts if (WEIGHTS, label, text.said, text.text) not in _KEPT]
    found = {one.turn: one for one in _look(label, new)}
    for text in new:
        _KEPT[WEIGHTS, label, text.said, text.text] = found.get(text.turn)
    for text in texts:
        if one := _KEPT[WEIGHTS, label, text.said, text.text]:
            yield one._replace(turn=text.turn)


_KEPT: dict[tuple[Path, str, str, str], _Found | None] = {}
_MOST_KEPT = 10_000


def _look(label: str, texts: Sequence[_Text]) -> Iterator[_Found]:
    """What is found in each text, at the stretch of which the network is the surest."""
    labels, thresholds = _notes(WEIGHTS)
    stretches = [(text, place) for text in texts for place in windows(text.text)]
    surest: dict[int, tuple[_Text, Stretch, Answer]] = {}
    for (text, place), answer in zip(stretches, _read(stretches), strict=True):
        chance = _chance(answer, label)
        if chance > thresholds[label] and (text.turn not in surest or chance > _chance(surest[text.turn][2], label)):
            surest[text.turn] = (text, place, answer)
    kinds = [kind for kind in _KINDS[label] if kind in labels]
    for text, place, answer in surest.values():
        kind = max(kinds, key=lambda kind: _chance(answer, kind))
        start, end = _telling(label, text, place, answer)
        yield _Found(text.turn, kind, start, end, text.text[start:end])


def _telling(label: str, text: _Text, place: Stretch, answer: Answer) -> Stretch:
    """The words that the network gives as its reason; where it gives none, the likeliest sentence."""
    column = _notes(WEIGHTS).labels.index(label)
    if answer.reasons is not None and column < answer.reasons.shape[1]:
        start, end = strongest(answer, column)
        if start < end:
            return _whole_words(text.text, place[0] + start, place[0] + end)
    places = sentences(text.text, *place)
    chances = [_chance(each, label) for each in _read([(text, place) for place in places])]
    return places[chances.index(max(chances))]


def _whole_words(text: str, start: int, end: int) -> Stretch:
    while start and text[start - 1].isalnum() and text[start].isalnum():
        start -= 1
    while end < len(text) and text[end].isalnum() and text[end - 1].isalnum():
        end += 1
    return start, end


def _read(stretches: Sequence[tuple[_Text, Stretch]]) -> Iterator[Answer]:
    for at in range(0, len(stretches), _PORTION):
        pairs = [(text.said, text.text[start:end]) for text, (start, end) in stretches[at : at + _PORTION]]
        yield from network(WEIGHTS).read(packed(TOKENIZER, pairs, LIMITS))


def _chance(answer: Answer, label: str) -> float:
    return float(answer.levels[_notes(WEIGHTS).labels.index(label)])


@cache
def _notes(weights: Path) -> _Notes:
    notes = network(weights).notes
    return _Notes(tuple(json.loads(notes["labels"])), json.loads(notes["thresholds"]))
