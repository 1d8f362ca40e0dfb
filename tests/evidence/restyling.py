"""True quotes as judges write them, and false ones of known falsehood, from any conversation."""

import json
import random
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from attunement.conversations import Turn

_NEGATION = r"(?:not|never) (?=\w)"
_MARKS = ("''", '""', "“”", "‘’", "«»")
_FORMS = (
    "Turn {turn}: {quote}",
    "Turn {turn} ({quote})",
    "{quote} (Turn {turn})",
    "The assistant is warm here: {quote} (Turn {turn}).",
    "In Turn {turn}, the assistant answers with {quote} and moves on.",
    "In turn {turn} the user says {quote}.",
    "T{turn}: {quote}",
    "Assistant (Turn {turn}): {quote}",
    "The tone fits throughout (e.g., Turn {turn}: {quote}).",
    "It takes up the {quote} theme from Turn {turn}.",
    "Turn {turn} - {quote} shows warmth.",
)


class Sentence(NamedTuple):
    """A sentence that somebody really said, and where."""

    turns: tuple[Turn, ...]
    turn: int
    words: tuple[str, ...]


def conversations(file: Path) -> dict[str, tuple[Turn, ...]]:
    """The conversations of a file of the coaching study, by id."""
    with file.open(encoding="utf-8") as lines:
        read = [json.loads(line) for line in lines]
    return {one["id"]: tuple(Turn(turn["user"], turn["assistant"]) for turn in one["turns"]) for one in read}


def sentences(talks: list[tuple[Turn, ...]], chance: random.Random) -> Iterator[Sentence]:
    """Sentences of 6 to 40 words, drawn without end from all conversations."""
    while True:
        turns = chance.choice(talks)
        number = chance.randrange(len(turns))
        said = re.split(r"(?<=[.!?])\s+|\n+", chance.choice(turns[number]))
        words = tuple(chance.choice(said).split())
        if 6 <= len(words) <= 40:
            yield Sentence(turns, number + 1, words)


def shortened(words: tuple[str, ...], chance: random.Random) -> list[str]:
    """The words with some left out at an ellipsis, in one of the ways judges do it; often all of them."""
    kept = list(words)
    match chance.choice(("whole", "whole", "begin", "end", "middle", "middle", "both")):
        case "begin":
            kept = ["..." + kept[2], *kept[3:]]
        case "end":
            kept = [*kept[:-3], kept[-3] + chance.choice(("...", "…"))]
        case "both":
            kept = ["…" + kept[1], *kept[2:-2], kept[-2] + "..."]
        case "middle" if len(kept) >= 8:
            # Three words at least: leaving out a lone "not" is no shortening but a falsehood.
            first = chance.randint(2, len(kept) - 6)
            last = chance.randint(first + 3, len(kept) - 3)
            gap = chance.choice(("...", "…", " ... ", " [...] ", " […] "))
            kept = [*kept[: first - 1], kept[first - 1] + gap + kept[last], *kept[last + 1 :]]
        case _:
            pass
    return kept


def restyled(words: list[str], chance: random.Random) -> str:
    """The words between quotation marks, with case, dashes, markdown and white space as a judge might have them."""
    text = chance.choice((" ", " ", " ", "  ", "\n")).join(words)
    if chance.random() < 0.6:
        text = re.sub(r"[*_#`]", "", text)
    if chance.random() < 0.5:
        text = re.sub(r"\s*[—–]\s*", chance.choice(("—", "–", " - ", " — ", "--")), text)
    if chance.random() < 0.5:
        text = text.replace("’", "'")
    text = chance.choice((str, str, str.lower, str.capitalize, str.upper))(text).strip()
    opening, closing = chance.choice(_MARKS)
    inner = "'" if opening in '"“«' else '"'
    text = re.sub(r"[\"“”‘«»]", inner, text)
    if chance.random() < 0.3:
        text = text.rstrip(".!?") + ","
    return opening + text + closing


def cited(quote: str, turn: int, chance: random.Random) -> str:
    """A reasoning that cites `quote` for `turn`, with other words around it."""
    before = chance.choice(("", "", "The assistant listens well. ", "Across all turns the reply fits. "))
    after = chance.choice(("", "", " This meets the criterion.", " It never minimises."))
    return before + chance.choice(_FORMS).format(turn=turn, quote=quote) + after


@cache
def _vocabulary(turns: tuple[Turn, ...]) -> list[str]:
    return [word for turn in turns for word in turn.assistant.split() if re.fullmatch(r"[a-z]{5,}", word)]


def with_a_word_changed(words: list[str], sentence: Sentence, chance: random.Random) -> list[str] | None:
    """The words with one content word replaced by another of the conversation; None where there is none."""
    content = [at for at, word in enumerate(words) if re.fullmatch(r"[A-Za-z]{5,}", word)]
    others = _vocabulary(sentence.turns)
    if not content or not others:
        return None
    at, other = chance.choice(content), chance.choice(others)
    if other.lower() == words[at].lower():
        return None
    return [*words[:at], other, *words[at + 1 :]]


def with_a_negation_added(words: list[str], _sentence: Sentence, chance: random.Random) -> list[str]:
    """The words with "not" or "never" between two of them."""
    at = chance.randint(1, len(words) - 1)
    return [*words[:at], chance.choice(("not", "never")), *words[at:]]


def with_a_negation_removed(words: list[str], _sentence: Sentence, chance: random.Random) -> list[str] | None:
    """The words without one negation; None where there is none.

    One at the beginning or end, or at an ellipsis, is left: without it the rest is still word for word what was said.
    """
    text = " ".join(words)
    inside = re.compile(rf"(?<=\w )(?:{_NEGATION})|(?<=\w)n['’]t\b(?= \w)", re.IGNORECASE)
    found = list(inside.finditer(text))
    if not found:
        return None
    one = chance.choice(found)
    return (text[: one.start()] + text[one.end() :]).split()


def stands_in(quote: str, message: str) -> bool:
    """Whether the words of `quote` stand in `message`, told in another way than the package does: by one pattern."""
    parts = [re.findall(r"[^\W_]+", part) for part in re.split(r"\[?(?:\.\.\.|…)\]?", quote)]
    pattern = r"\b.*?\b".join(r"[\W_]+".join(map(re.escape, part)) for part in parts if part)
    return re.search(rf"(?<![^\W_]){pattern}(?![^\W_])", message, re.IGNORECASE | re.DOTALL) is not None
