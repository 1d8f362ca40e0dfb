"""What an item is asked about: one reply in its context, or the whole conversation."""

from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from attunement.conversations.model import Conversation, Turn


class UnitKind(StrEnum):
    """Which part of a conversation an instrument asks about."""

    RESPONSE = "response"
    CONVERSATION = "conversation"


class Responses(StrEnum):
    """Which replies of a conversation are units of a response instrument."""

    ALL = "all"
    LAST = "last"


class Unit(NamedTuple):
    """One thing to be rated. `turn` counts from 1; None means the whole conversation."""

    conversation: Conversation
    turn: int | None = None

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The turns a rater reads: all of them, or those up to the reply that is rated."""
        return self.conversation.turns[: self.turn]

    def __str__(self) -> str:
        where = str(self.conversation.identity)
        return where if self.turn is None else f"{where}#{self.turn}"


def units(conversation: Conversation, kind: UnitKind, responses: Responses = Responses.ALL) -> Iterator[Unit]:
    """The units of `conversation` for an instrument that asks about `kind`, in order."""
    if kind is UnitKind.CONVERSATION:
        yield Unit(conversation)
        return
    last = len(conversation.turns)
    first = 1 if responses is Responses.ALL else last
    for turn in range(first, last + 1):
        yield Unit(conversation, turn)
