"""What a reader of a public data set gives: conversations, instruments, raters, their answers, and figures.

Everything is read and checked before anything is kept, so a folder that does not fit leaves no trace in a study.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from attunement.conversations import Conversation, Identity, Turn
from attunement.instruments import Instrument
from attunement.ratings import Outcome, RaterKind

WORDLESS = (Turn("", ""),)
"""What stands for a talk whose words are not in the set: one exchange that was rated and cannot be read."""


class Who(NamedTuple):
    """A rater of the set: a person with what is known of them, or a model whose answers came with the set."""

    name: str
    kind: RaterKind
    settings: dict[str, Any]


class Answer(NamedTuple):
    """One rater's outcome for one item of one conversation, or of one turn in it."""

    conversation: Identity
    item: str
    rater: str
    outcome: Outcome
    repeat: int = 0
    turn: int | None = None
    reasoning: str = ""
    detail: str = ""
    """What stood in the file, where it is no answer on the scale."""


@dataclass(frozen=True)
class Part:
    """What was asked with one instrument. A set that was rated on several scales has several parts."""

    title: str
    instrument: Instrument
    conversations: Sequence[Conversation]
    answers: Sequence[Answer]

    @property
    def has_text(self) -> bool:
        """Whether there is anything that a judge could read."""
        return any(turn.assistant for conversation in self.conversations for turn in conversation.turns)


class Table(NamedTuple):
    """Figures to be shown: a title, the names of the columns, rows of text, and what is to be said about them."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    remarks: Sequence[str] = ()


class Count(NamedTuple):
    """How many of the published figures came out."""

    what: str
    same: int
    of: int

    def __str__(self) -> str:
        return f"{self.same} of {self.of} {self.what}"


@dataclass
class Figures:
    """The published figures beside ours."""

    tables: list[Table] = field(default_factory=list[Table])
    details: list[Table] = field(default_factory=list[Table])
    """Long tables, shown only on request."""
    counts: list[Count] = field(default_factory=list[Count])


@dataclass(frozen=True)
class Loaded:
    """A data set as it was read."""

    parts: Sequence[Part]
    raters: Sequence[Who]
    notes: Sequence[str]
    """What a user must know of it: what is absent, what was refused and how often."""
    figures: Callable[[], Figures]
    """Computes the published figures again, from what stands in the files."""
    people: str | None = None
    """Whom judges are held against, where not everybody who rated is meant: a word that is known of them."""

    def counts(self) -> Counter[RaterKind]:
        """How many answers people and models gave."""
        kinds = {who.name: who.kind for who in self.raters}
        return Counter(kinds[answer.rater] for part in self.parts for answer in part.answers)

    def refused(self) -> Counter[str]:
        """What stood in the files and is no answer, and how often."""
        return Counter(answer.detail for part in self.parts for answer in part.answers if answer.detail)


class Known(NamedTuple):
    """A data set that `attune bench` can read."""

    name: str
    what: str
    people: str
    licence: str
    where: str
    """The public repository, or what the folder must hold."""
    shows: str
    """What it can tell about a judge."""
    read: Callable[[Path], Loaded]
