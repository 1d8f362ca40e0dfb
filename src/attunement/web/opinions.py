"""How does what raters said about an item read for those who may see it?"""

from collections.abc import Iterable
from typing import NamedTuple

from attunement.instruments import Instrument
from attunement.people.answers import Draft
from attunement.web.catalogue import Catalogue
from attunement.web.questions import answer_words


class Said(NamedTuple):
    """What one rater said about an item."""

    who: str
    """A letter or a number, never a name."""
    answer: str
    meaning: str
    comment: str
    quotes: list[str]


def said_about(
    words: Catalogue, instrument: Instrument, item: str, given: Iterable[tuple[str, dict[str, Draft]]]
) -> list[Said]:
    """What each of these raters said about an item; who was not asked is left out."""
    found: list[Said] = []
    for who, answers in given:
        draft = answers.get(item)
        if draft is None:
            continue
        answer, meaning = answer_words(words, instrument, instrument.item(item), draft.outcome)
        quotes = [str(span["quote"]) for span in draft.evidence]
        found.append(Said(who, answer, meaning, draft.comment.strip(), quotes))
    return found
