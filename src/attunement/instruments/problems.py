"""What a lint of an instrument reports: a problem, where it stands and what to do about it."""

from enum import StrEnum
from typing import NamedTuple


class Level(StrEnum):
    """How bad a problem is."""

    ERROR = "error"
    """The instrument cannot be used to judge until this is mended."""
    WARNING = "warning"
    """The author should look at it again; the instrument can be used."""


class Problem(NamedTuple):
    """One thing that is wrong or doubtful. `where` and `text` read as one sentence."""

    level: Level
    where: str
    text: str

    @classmethod
    def error(cls, where: str, text: str) -> "Problem":
        """A problem that must be mended."""
        return cls(Level.ERROR, where, text)

    @classmethod
    def warning(cls, where: str, text: str) -> "Problem":
        """A problem that should be looked at."""
        return cls(Level.WARNING, where, text)

    def __str__(self) -> str:
        return f"{self.where} {self.text}"
