"""What is judged: the model of a conversation, the readers that fill it, and what can be counted in it."""

from attunement.conversations.model import (
    Conversation,
    Identity,
    Origin,
    Responses,
    Turn,
    Unit,
    UnitKind,
    fingerprint,
    is_whole,
    units,
)

__all__ = [
    "Conversation",
    "Identity",
    "Origin",
    "Responses",
    "Turn",
    "Unit",
    "UnitKind",
    "fingerprint",
    "is_whole",
    "units",
]
