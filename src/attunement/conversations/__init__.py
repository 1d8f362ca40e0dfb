"""Conversations: the model, readers and writers, redaction and statistics."""

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
