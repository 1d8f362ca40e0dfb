"""How do an instrument's items and a transcript become what a rater reads?

Every word about an item is the instrument's; the pages add only "met", "not met" and the like.
"""

from collections.abc import Collection
from typing import NamedTuple

from attunement.conversations import Unit
from attunement.instruments import Instrument, Item, Value
from attunement.instruments.model import Boundary, Example
from attunement.people.answers import answers_of, needs_note
from attunement.people.examples import words_of
from attunement.people.spans import shown
from attunement.ratings import Outcome, State
from attunement.web.catalogue import Catalogue

_CRITERIA = {"YES": ("rate.met", "Y"), "NO": ("rate.not_met", "N"), "NA": ("rate.not_applicable", "X")}
_TALLEST, _MAP, _GAPS = 44, 560, 7
"""Pixels: the tallest message in the mini-map, the whole map where it would be longer, what is empty in each turn."""

Said = tuple[tuple[str, str], ...]
"""The words of a conversation: what was said, turn by turn."""


class Choice(NamedTuple):
    """One answer that can be given."""

    value: Value
    sign: str
    """What is printed large: the score; nothing for a criterion."""
    label: str
    key: str
    """The key that gives the answer; empty where no single key can."""
    text: str
    """What the answer means."""
    needs_note: bool


class Shown(NamedTuple):
    """A worked example in the help of a question."""

    turns: tuple[tuple[str, str], ...]
    answer: str
    why: str


class Question(NamedTuple):
    """One item as it stands on the page."""

    id: str
    number: int
    title: str
    definition: str
    choices: tuple[Choice, ...]
    boundaries: tuple[tuple[str, str], ...]
    """A short heading, such as "3 or 4?", and the rule."""
    button: str
    """What the button says that opens the boundaries."""
    examples: tuple[Shown, ...]


class Message(NamedTuple):
    """One message of the transcript."""

    turn: int
    speaker: str
    text: str
    rated: bool


class Bar(NamedTuple):
    """One turn in the mini-map: heights in pixels."""

    turn: int
    user: int
    assistant: int
    rated: bool


def question(
    words: Catalogue,
    instrument: Instrument,
    id: str,
    number: int,
    *,
    examples: bool = True,
    hidden: Collection[Said] = (),
) -> Question:
    """The item as a question, with its worked examples where wanted, but without those whose words are `hidden`."""
    item = instrument.item(id)
    helping = [example for example in item.examples if examples and words_of(example) not in hidden]
    return Question(
        id=item.id,
        number=number,
        title=item.title,
        definition=item.definition,
        choices=tuple(_choice(words, instrument, item, value) for value in answers_of(instrument, item)),
        boundaries=_boundaries(words, item),
        button=_button(words, item),
        examples=tuple(_example(words, instrument, item, example) for example in helping),
    )


def answer_words(words: Catalogue, instrument: Instrument, item: Item, outcome: Outcome | None) -> tuple[str, str]:
    """An answer as people read it, and what the instrument says it means."""
    if outcome is None or outcome.value is None:
        abstained = outcome is not None and outcome.state is State.ABSTAINED
        return str(words("rate.cannot_judge")) if abstained else "–", ""
    choice = _choice(words, instrument, item, outcome.value)
    return f"{choice.sign} {choice.label}".strip(), choice.text


def talk(unit: Unit) -> list[list[Message]]:
    """The transcript, turn by turn; a message without words is left out."""
    return [
        [
            Message(number, speaker, shown(text), rated=speaker == "assistant" and number == unit.turn)
            for speaker, text in zip(("user", "assistant"), turn, strict=True)
            if text or (speaker == "assistant" and number == unit.turn)
        ]
        for number, turn in enumerate(unit.turns, 1)
    ]


def mini_map(unit: Unit) -> list[Bar]:
    """The transcript seen from far away. One turn needs no map."""
    if len(unit.turns) < 2:
        return []
    heights = [tuple(min(_TALLEST, 4 + len(text) // 24) for text in turn) for turn in unit.turns]
    scale = min(1.0, max(0, _MAP - _GAPS * len(heights)) / sum(map(sum, heights)))
    return [
        Bar(number, max(1, round(user * scale)), max(1, round(assistant * scale)), number == unit.turn)
        for number, (user, assistant) in enumerate(heights, 1)
    ]


def _choice(words: Catalogue, instrument: Instrument, item: Item, value: Value) -> Choice:
    noted = needs_note(instrument, item, Outcome.of(value))
    if isinstance(value, str):
        name, key = _CRITERIA[value]
        meaning = next((text for answer, text in item.meanings.items() if answer == value), "")
        return Choice(value, "", str(words(name)), key, meaning, noted)
    anchor = item.anchors.get(value)
    key = str(value) if 0 <= value <= 9 else ""
    return Choice(value, str(value), (anchor and anchor.label) or "", key, anchor.text if anchor else "", noted)


def _boundaries(words: Catalogue, item: Item) -> tuple[tuple[str, str], ...]:
    rules = [(_heading(words, boundary), boundary.text) for boundary in item.boundaries]
    rules += [(str(words("rate.special_case")), text) for text in item.edge_cases]
    if item.na_note:
        rules.append((str(words("rate.not_applicable")), item.na_note))
    return tuple(rules)


def _heading(words: Catalogue, boundary: Boundary) -> str:
    if boundary.between is None:
        return str(words("rate.note_word"))
    return str(words("rate.boundaries", low=boundary.between[0], high=boundary.between[1]))


def _button(words: Catalogue, item: Item) -> str:
    """The button names the last pair of scores that a rule tells apart: on most scales the one people stumble over."""
    pairs = [boundary for boundary in item.boundaries if boundary.between is not None]
    return _heading(words, pairs[-1]) if pairs else str(words("rate.boundaries_any"))


def _example(words: Catalogue, instrument: Instrument, item: Item, example: Example) -> Shown:
    said = tuple((shown(message.user), shown(message.assistant)) for message in example.turns)
    name, _ = answer_words(words, instrument, item, Outcome.of(example.answer))
    return Shown(said, name, example.why)
