"""The model of a conversation, and the units that items are asked about.

Readers convert every file format to this model. The identity is (system, id): the same scenario id may occur once per
system.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple


class Turn(NamedTuple):
    """One message of the person and the assistant's reply to it.

    If the assistant opens the conversation, the first `user` is empty.
    """

    user: str
    assistant: str


class Origin(StrEnum):
    """Where the conversation comes from: raters of real conversations need more protection."""

    REAL = "real"
    SIMULATED = "simulated"
    WRITTEN = "written"
    UNKNOWN = "unknown"


class Identity(NamedTuple):
    system: str
    id: str

    def __str__(self) -> str:
        return f"{self.system}/{self.id}"


@dataclass(frozen=True, slots=True)
class Conversation:
    """A recorded conversation. Prompts contain only its `turns`."""

    id: str
    system: str
    turns: tuple[Turn, ...]
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    instructions: str | None = None
    origin: Origin = Origin.UNKNOWN
    _fingerprint: str = field(default="", init=False, repr=False, compare=False)

    @property
    def identity(self) -> Identity:
        return Identity(self.system, self.id)

    @property
    def scenario(self) -> str | None:
        """The scenario, if the file has one; comparisons of systems are paired by it."""
        scenario = self.metadata.get("scenario")
        return None if scenario is None else str(scenario)

    def fingerprint(self) -> str:
        """The sha256 of the turns; equal for equal text from different files."""
        if not self._fingerprint:  # cached, because reading, planning and storing all need it
            object.__setattr__(self, "_fingerprint", fingerprint(self.turns))
        return self._fingerprint


def fingerprint(turns: tuple[Turn, ...]) -> str:
    """Hash `turns` so that no two different lists of messages can give the same bytes.

    Each message is preceded by its length, because with a separator a message that contains the separator could pass
    for two. Lone surrogates are hashed as they are, because some files contain them.
    """
    parts: list[bytes] = []
    for turn in turns:
        for message in turn:
            encoded = message.encode("utf-8", "surrogatepass")
            parts += (b"%d:" % len(encoded), encoded)
    return hashlib.sha256(b"".join(parts)).hexdigest()


def is_whole(text: str) -> bool:
    """Whether `text` has no lone surrogate (half a character), which some files contain and no request can."""
    try:  # many times faster than to search for one
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


class UnitKind(StrEnum):
    RESPONSE = "response"
    CONVERSATION = "conversation"


class Responses(StrEnum):
    """Which replies a response instrument rates."""

    ALL = "all"
    LAST = "last"


class Unit(NamedTuple):
    """One thing to be rated. `turn` counts from 1; None means the whole conversation."""

    conversation: Conversation
    turn: int | None = None

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns that a rater reads: all, or those up to the rated reply."""
        return self.conversation.turns[: self.turn]

    def __str__(self) -> str:
        where = str(self.conversation.identity)
        return where if self.turn is None else f"{where}#{self.turn}"


def units(conversation: Conversation, kind: UnitKind, responses: Responses = Responses.ALL) -> Iterator[Unit]:
    """The units of `conversation` for an instrument of this `kind`, in order."""
    if kind is UnitKind.CONVERSATION:
        yield Unit(conversation)
        return
    last = len(conversation.turns)
    first = 1 if responses is Responses.ALL else last
    for turn in range(first, last + 1):
        yield Unit(conversation, turn)
