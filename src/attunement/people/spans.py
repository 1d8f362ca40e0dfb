"""Where do the words stand that a rater marked?

A browser does not show every text as it was kept: line ends become one kind, and some characters cannot be sent at
all. Raters therefore mark words in the text as it is shown, and what they marked is carried back to the text as kept.
Positions count characters, as Python does.
"""

import re

_UNSENDABLE = re.compile("[\x00\ud800-\udfff]")


def shown(text: str) -> str:
    """`text` as a page shows it."""
    return _UNSENDABLE.sub("�", text.replace("\r\n", "\n").replace("\r", "\n"))


def as_kept(text: str, start: int, end: int) -> tuple[int, int]:
    """Where the characters from `start` to `end` of `shown(text)` stand in `text`."""
    if "\r\n" not in text:
        return start, end
    kept = [at for at, sign in enumerate(text) if not (sign == "\n" and at and text[at - 1] == "\r")]
    kept.append(len(text))
    return kept[start], kept[end]
