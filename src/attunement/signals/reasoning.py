"""How does the embedded judge say what it saw?

Evidence first, as the instruments ask for it: the cited turns with exact quotes, then what they mean for the item, then
the answer, in at most 300 characters. A quote is always a piece of the message as it was said, so that the evidence
check finds it in the turn it is cited for.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from attunement.instruments import Value

LIMIT = 300
"""Characters of a reasoning; what both built-in instruments ask for."""

_LONGEST_QUOTE, _SHORTEST_QUOTE = 70, 24
"""Characters of a quote where there is room, and where there is little."""

# What would end or split a quote for a reader: quotation marks, brackets, line breaks, and an apostrophe that is not
# inside a word. Written so that it begins with a set of signs, which is searched for quickly.
_LETTER = r"[^\W_\u2e80-\U0010ffff]"  # Chinese and its neighbours, from here on, have no apostrophes
_BREAKS = re.compile(rf"[\"“”„«»「」『』‘‚\[\]()\n\r\x00-\x1f'’ʼ`´](?<!{_LETTER}['’ʼ`´](?={_LETTER}))")
_STOP = re.compile(r"[.!?;…\n]|$")
_WORD = re.compile(r"[^\W_]+(?:['’ʼ][^\W_]+)*")


class Seen(NamedTuple):
    """Words of a message that an answer rests on: the piece of `message` from `start` to `end`, said in `turn`."""

    turn: int
    message: str
    start: int
    end: int


class Answer(NamedTuple):
    """What the embedded judge answers to one item, and why."""

    value: Value
    reasoning: str


def onward(seen: Seen) -> Seen:
    """The same place up to the end of its sentence: a few words alone often do not show what they mean."""
    stop = _STOP.search(seen.message, seen.end)
    return seen._replace(end=stop.start() if stop else len(seen.message))


def apart(places: Iterable[Seen]) -> list[Seen]:
    """Those of `places` that overlap none before them, in their order."""
    kept: list[Seen] = []
    for place in places:
        if not any(place.turn == one.turn and place.start < one.end and one.start < place.end for one in kept):
            kept.append(place)
    return kept


def whole(turn: int, message: str) -> Seen:
    """All of a message as evidence; a quote of it is its beginning."""
    return Seen(turn, message, 0, len(message))


def answer(value: Value, seen: Iterable[Seen], conclusion: str) -> Answer:
    """An answer that cites `seen` as far as there is room and then says `conclusion`, which ends in a full stop."""
    ending = f" {conclusion.rstrip('.')}: {value}."
    cited: list[str] = []
    first: Seen | None = None
    room = LIMIT - len(ending)
    for piece in seen:
        first = first or piece
        longest = min(_LONGEST_QUOTE, room - len(f" Turn {piece.turn}: ''."))
        if longest < _SHORTEST_QUOTE:
            break
        if quoted := quote(piece, longest):
            cited.append(f"Turn {piece.turn}: '{quoted}'.")
            room -= len(cited[-1]) + 1
    if not cited and first:  # a message of signs alone has no word to quote
        cited.append(f"Turn {first.turn}.")
    return Answer(value, f"{' '.join(cited)}{ending}".strip())


def quote(seen: Seen, longest: int = _LONGEST_QUOTE) -> str:
    """Whole words of the message that can stand between quotation marks, `longest` characters at most.

    The longest run within `seen` that nothing breaks, from its beginning; a word that `seen` cuts is left out. Empty
    where there is no word.
    """
    message = seen.message
    runs: list[tuple[int, int]] = []
    start = seen.start
    for broken in _BREAKS.finditer(message, start, seen.end + 1):  # with the sign behind, which tells of an apostrophe
        if broken.start() >= seen.end:
            break
        runs.append((start, broken.start()))
        start = broken.end()
    runs.append((start, max(start, seen.end)))
    start, end = max(runs, key=lambda run: run[1] - run[0])
    first, last = -1, 0
    for word in _WORD.finditer(message, message.rfind(" ", 0, start) + 1):  # from the word that `start` may cut
        begins, ends = word.span()
        if begins < start:
            continue
        if first < 0:
            first, end = begins, min(end, begins + longest)
        if ends > end:
            break
        last = ends
    return message[first:last] if last else ""
