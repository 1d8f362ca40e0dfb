"""Is a text English?

The lexicons are English, so where words matter the embedded judge stays silent about other languages. The share of
the commonest English words tells: they are about half of what people say in English, and a tenth or less elsewhere.
"""

from functools import cache

from attunement.signals.lexicon import word_list, words_of

_FEW = 8
"""Different words below which a text is too short to tell; it is taken for English, as a lexicon reads it anyway."""

_ENOUGH = 150
"""Different words, added up over the texts, after which the rest would change nothing."""

_LEAST = 0.2
"""The share of different words that must be among the commonest. Half of it is what German or Dutch reach by chance
("in", "so", "was", "me"); short English messages full of names stay above it."""

_WIDE = 1.4
"""Bytes a letter, in texts that are not ASCII, above which they are in another script: English with typographic marks
has 1.1 at most, Greek and Russian nearly 2, Chinese 3."""


def is_english(*texts: str) -> bool:
    """Whether these texts, taken together, are English; a few words alone count as English.

    As many are looked at, from the first, as it takes to tell.
    """
    common = every = letters = size = 0
    for text in texts:
        if every > _ENOUGH:
            break
        words = words_of(text)
        every += len(words)
        common += len(words & _commonest())
        if not text.isascii():
            letters += len(text)
            size += len(text.encode("utf-8", "surrogatepass"))
    if size > _WIDE * letters:
        return False
    return every < _FEW or common >= _LEAST * every


@cache
def _commonest() -> frozenset[str]:
    return word_list("common.en", "commonest")
