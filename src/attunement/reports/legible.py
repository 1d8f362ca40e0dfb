"""How is text that others wrote shown without letting it steer the terminal it is shown on?

Transcripts, reasons and names are untrusted. Their control characters are drawn as signs, and what could turn the
direction of a line or pass for our own marks is replaced. Every character becomes one character, so that a place in
the text stays the same place.
"""

import re

from attunement.instruments.show import visible

MARKS = "⟦⟧"
"""What stands around quoted evidence; the same signs inside a text are shown as square brackets."""

_WINDOWS_BREAK = re.compile("\r(?=\n)")
_REPLACED = (
    {ord("\t"): " ", 0x2028: "\n", 0x2029: "\n"}
    | dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)], "\ufffd")  # these turn a line around
    | dict.fromkeys(range(0xD800, 0xE000), "\ufffd")  # lone surrogates, which no terminal can be sent
    | dict(zip(map(ord, MARKS), "[]", strict=True))
)


def legible(text: str) -> str:
    """`text` as it can be shown, as long as it was."""
    return visible(_WINDOWS_BREAK.sub(" ", text)).translate(_REPLACED)


def in_a_line(text: str, longest: int = 200) -> str:
    """`text` on one line, shortened where it is longer than `longest`."""
    line = " ".join(legible(text).split())
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"
