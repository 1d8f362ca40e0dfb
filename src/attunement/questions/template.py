"""Texts with variables in braces, such as `{conversation}`."""

import re
from collections.abc import Mapping

_VARIABLE = re.compile(r"(\{[a-z_]+\})")


class Template:
    """A text whose variables are filled in one pass; braces that hold no known variable stay as they are."""

    def __init__(self, text: str) -> None:
        """Take the text apart once."""
        self.text = text
        self._pieces = _VARIABLE.split(text)

    def fill(self, values: Mapping[str, str], *, around: str) -> list[str]:
        """Put each value where its name stands in braces, and give the texts between which that of `around` is to go.

        A value that holds such a name itself is left alone.
        """
        texts = [""]
        for place, piece in enumerate(self._pieces):
            if place % 2 == 0:
                texts[-1] += piece
            elif piece[1:-1] == around:
                texts.append("")
            else:
                texts[-1] += values.get(piece[1:-1], piece)
        return texts
