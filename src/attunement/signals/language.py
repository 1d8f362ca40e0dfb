"""Tell whether a text is English, by its word tokens: English function words and endings against foreign ones.

Made for one whole side of a conversation. On a single short sentence a library such as py3langid is more often right
about other languages; on English text the two are close, and this needs no model file.
"""

import re

_ENGLISH = frozenset(  # function words, with the commonest of talk about oneself
    """
    the and you that it my your with this not have are but if what how when who why they she them there their could
    would should about because from just like know been did does were out more some any than then too very really
    these those i'm it's that's i've im dont its cant ive thats u ur yes feel get our think want need help good got
    much other never always even make people time only which well after day life please anyone someone everyone hey
    sorry thanks thank ok okay hope try here where now maybe same fuck
    """.split()  # noqa: SIM905
)
_SHARED = frozenset(  # English words that are common words elsewhere too: half as telling
    """
    i a in on me so to at is was of an am do as he her for had all be or by we one can will up go has him his us
    """.split()  # noqa: SIM905
)
_FOREIGN = frozenset(
    """
    ich nicht und das der die ist mir du mich zu mit es ein dir auch den sehr ik niet het een mijn je van dat en de
    er te wat voor le la les des que ne pas est pour une dans ce qui et mais el los por para con una muy pero mi lo
    se del un al su mucho nao e o os da um uma com eu mas muito di che il per sono mio ho ma si della nie sie ze
    jest w na z bir ve bu cok ben ama jag inte det att och om jeg ikke og har som af til hai nahi ki ka ke mujhe kya
    ho aur yang tidak aku saya dan ini itu ga ada bisa y ya
    """.split()  # noqa: SIM905
)
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)*")
_ENDING = re.compile(r"\w{2,}(?:ing|ly|ed|ness|ght|n't|'re|'ve|'ll)")
_LAST_LATIN = "\u024f"
_READ = 4_000  # characters that are looked at
_ENOUGH = 0.12  # the share of English words from which a text is English


def is_english(text: str) -> bool | None:
    """Whether a text is English; None if it is too short to tell."""
    words = _WORD.findall(text[:_READ].lower().replace("\u2019", "'"))
    letters = sum(map(len, words))
    if 2 * sum(letter > _LAST_LATIN for word in words for letter in word) > letters:
        return False
    sure = sum(word in _ENGLISH or _ENDING.fullmatch(word) is not None for word in words)
    foreign = sum(word in _FOREIGN or not word.isascii() for word in words)
    english = sure + sum(word in _SHARED for word in words) / 2
    if english > foreign and english >= _ENOUGH * len(words):
        return True
    return None if len(words) < 4 or (len(words) < 10 and not foreign) else False
