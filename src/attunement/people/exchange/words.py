"""How do answers read for people, and what did a person mean by a word?

People never read a bare YES or NO: a criterion is met or not met. What they write is taken only where it can mean one
thing; anything else is no answer.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from attunement.instruments import Instrument, Item, Value
from attunement.instruments.model import Scores
from attunement.people.answers import answers_of
from attunement.ratings import ABSTAINED, Outcome
from attunement.study.importing.answers import read_answer

CANNOT_JUDGE = "cannot judge"
NOT_ASKED = "–"
"""Stands in a sheet where an item is not asked of a conversation."""

_WORDS: dict[Value, str] = {"YES": "met", "NO": "not met", "NA": "does not apply"}
_MEANT = {word: value for value, word in _WORDS.items()}


class Choice(NamedTuple):
    """An answer that a person can give."""

    word: str
    """How it reads, and how it stands in files."""
    hint: str
    """What it means for this item; empty where the instrument does not say."""


def choices(instrument: Instrument, item: Item) -> Iterator[Choice]:
    """The answers to an item in order; "cannot judge" comes last and is apart from "does not apply"."""
    for answer in answers_of(instrument, item):
        if isinstance(answer, int):
            anchor = item.anchors.get(answer)
            label = f"{anchor.label}: " if anchor and anchor.label else ""
            yield Choice(str(answer), f"{label}{anchor.text}" if anchor else "")
        else:
            meaning = next((text for key, text in item.meanings.items() if key == answer), "")
            yield Choice(_WORDS[answer], meaning or (item.na_note if answer == "NA" else ""))
    yield Choice(CANNOT_JUDGE, "You have no valid way to know.")


def is_blank(value: Any) -> bool:
    """Whether nothing was answered."""
    return value is None or (isinstance(value, str) and value.strip() in {"", NOT_ASKED, "-"})


def outcome_of(value: Any, instrument: Instrument, item: Item) -> Outcome | None:
    """What a person meant; None where it is no answer to this item."""
    if isinstance(value, str):
        word = " ".join(value.split()).lower()
        if word in {CANNOT_JUDGE, "abstained", "?"}:
            return ABSTAINED
        value = _MEANT.get(word, value)
    outcome = read_answer(value, instrument)
    if outcome is None or outcome.value not in answers_of(instrument, item):
        return None
    return outcome


def allowed(instrument: Instrument, item: Item) -> str:
    """The answers to an item in one line."""
    words = [choice.word for choice in choices(instrument, item)]
    if isinstance(instrument.scale, Scores):
        words = [f"{instrument.scale.lowest} to {instrument.scale.highest}", CANNOT_JUDGE]
    return f"{', '.join(words[:-1])} or {words[-1]}"


def guide(instrument: Instrument) -> str:
    """What a rater has to know, as plain text: the rules, and for each item its meaning, answers and hesitant cases.

    Weights and thresholds are left out: a rater who knows what an answer costs answers otherwise.
    """
    parts = [instrument.title, instrument.about, *guidance(instrument)]
    for item in instrument.items:
        parts += [f"{item.id}: {item.title}", item.definition]
        parts += [f"- {choice.word}: {choice.hint}" for choice in choices(instrument, item) if choice.hint]
        parts += [hesitant(boundary.between, boundary.text) for boundary in item.boundaries]
        parts += item.edge_cases
    return "\n\n".join(part for part in parts if part) + "\n"


def guidance(instrument: Instrument) -> Iterator[str]:
    """The rules for every item, with the words in which answers are given here."""
    yield from instrument.guidance
    if not isinstance(instrument.scale, Scores):
        yield "Here YES reads “met”, NO “not met” and NA “does not apply”. “Cannot judge” is an answer too."


def hesitant(between: tuple[int, int] | None, text: str) -> str:
    """A rule for hesitant cases in one line."""
    return f"{between[0]} or {between[1]}? {text}" if between else text
