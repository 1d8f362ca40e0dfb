"""Which words of a text tell what it is about?

Words that stand in almost every message say nothing about a topic; the others do. English only: in another language
every word would be telling.
"""

from functools import cache

from attunement.signals.lexicon import word_list, words_of

_SHORTEST = 4
"""Letters of a telling word; shorter ones are nearly all common ("job", "mum" and "cat" are the price)."""


def telling_words(text: str) -> frozenset[str]:
    """The words of `text` that tell what it is about, folded and without apostrophes."""
    long = frozenset(word for word in words_of(text) if len(word) >= _SHORTEST and not word.isdigit())
    return long - _said_of_anything()


@cache
def _said_of_anything() -> frozenset[str]:
    return word_list("common.en", "said_of_anything")
