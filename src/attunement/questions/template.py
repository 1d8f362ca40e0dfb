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

    def fill(self, values: Mapping[str, str]) -> str:
        """Put each value where its name stands in braces. A value that holds such a name itself is left alone."""
        pieces = self._pieces.copy()
        for place in range(1, len(pieces), 2):
            pieces[place] = values.get(pieces[place][1:-1], pieces[place])
        return "".join(pieces)
