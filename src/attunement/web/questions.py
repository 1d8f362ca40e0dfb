"""The items of an instrument as questions on a page: choices, boundary rules, examples, and raters' answers.

All text about an item comes from the instrument; the pages add only words such as "met" and "not met".
"""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from attunement.annotation.tasks import answers_of, needs_note
from attunement.annotation.training import words_of
from attunement.instruments import Instrument, Item, Value
from attunement.instruments.model import Example
from attunement.ratings import Outcome, State
from attunement.store.annotation import Draft
from attunement.web.site import Catalogue

_CRITERIA = {"YES": ("rate.met", "Y"), "NO": ("rate.not_met", "N"), "NA": ("rate.not_applicable", "X")}

Said = tuple[tuple[str, str], ...]
"""The messages of a conversation, turn by turn."""


class Choice(NamedTuple):
    value: Value
    sign: str  # printed large: the score; empty for a criterion
    label: str
    key: str  # the keyboard key of the answer; empty if it has none
    text: str
    needs_note: bool

    @property
    def words(self) -> str:
        return f"{self.sign} {self.label}".strip()


class Question(NamedTuple):
    item: Item
    number: int
    choices: list[Choice]
    boundaries: list[tuple[str, str]]  # a short heading, such as "3 or 4?", and the rule
    examples: list[tuple[Example, str, str]]  # with the answer and its reason in people's words


class Opinion(NamedTuple):
    """One rater's answer to an item; `who` is a letter or a number, never a name."""

    who: str
    answer: str
    meaning: str
    draft: Draft


Mark = tuple[int, int, str]
"""From where to where words of a shown message are marked, and the number of the question."""


def marks(given: Iterable[tuple[str, Draft]]) -> dict[tuple[int, str], list[Mark]]:
    """The words that raters marked, by turn and speaker; each draft comes with the number of its question."""
    found: dict[tuple[int, str], list[Mark]] = {}
    for number, draft in given:
        for span in draft.evidence:
            place = found.setdefault((span["turn"], span["speaker"]), [])
            place.append((span["start"], span["end"], number))
    return found


def question(
    words: Catalogue, instrument: Instrument, id: str, number: int, *, hidden: Collection[Said] | None = None
) -> Question:
    """The item as a question. It has its worked examples only if those that are `hidden` are given."""
    item = instrument.item(id)
    examples = [] if hidden is None else [example for example in item.examples if words_of(example) not in hidden]
    rules = [
        (str(words("rate.boundaries", low=rule.between[0], high=rule.between[1])), rule.text)
        if rule.between
        else (str(words("rate.note_word")), rule.text)
        for rule in item.boundaries
    ]
    rules += [(str(words("rate.special_case")), text) for text in item.edge_cases]
    rules += [(str(words("rate.not_applicable")), item.na_note)] if item.na_note else []
    return Question(
        item,
        number,
        [_choice(words, instrument, item, value) for value in answers_of(instrument, item)],
        [(heading, words.of_instrument(instrument, text)) for heading, text in rules],
        [
            (
                example,
                answer_words(words, instrument, id, Outcome.of(example.answer))[0],
                words.of_instrument(instrument, example.why),
            )
            for example in examples
        ],
    )


def _choice(words: Catalogue, instrument: Instrument, item: Item, value: Value) -> Choice:
    noted = needs_note(instrument, item, Outcome.of(value))
    if isinstance(value, str):
        name, key = _CRITERIA[value]
        meaning = next((text for answer, text in item.meanings.items() if answer == value), "")
        return Choice(value, "", str(words(name)), key, words.of_instrument(instrument, meaning), noted)
    anchor = item.anchors.get(value)
    key = str(value) if 0 <= value <= 9 else ""
    return Choice(value, str(value), (anchor and anchor.label) or "", key, anchor.text if anchor else "", noted)


def answer_words(words: Catalogue, instrument: Instrument, item: str, outcome: Outcome | None) -> tuple[str, str]:
    """An answer as people read it, with its meaning from the instrument."""
    if outcome is None or outcome.value is None:
        abstained = outcome is not None and outcome.state is State.ABSTAINED
        return str(words("rate.cannot_judge")) if abstained else "–", ""
    choice = _choice(words, instrument, instrument.item(item), outcome.value)
    return choice.words, choice.text


def opinions_on(
    words: Catalogue, instrument: Instrument, item: str, given: Iterable[tuple[str, dict[str, Draft]]]
) -> list[Opinion]:
    """These raters' answers to an item; raters who were not asked are left out."""
    return [
        Opinion(who, *answer_words(words, instrument, item, answers[item].outcome), answers[item])
        for who, answers in given
        if item in answers
    ]
