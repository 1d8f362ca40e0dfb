"""What a study gives and takes, beside conversations, instruments and ratings."""

from typing import Any, NamedTuple

from attunement.conversations import Conversation, Identity, Origin
from attunement.ratings import ErrorKind, Outcome, RaterKind, Rating


class Rater(NamedTuple):
    """Who answers, as the study knows them."""

    key: int
    name: str
    kind: RaterKind
    settings: dict[str, Any]
    refused: dict[str, str]
    """What the rater's server did not accept."""


class AnswerRecord(NamedTuple):
    """What a judge said to one prompt, and what it cost."""

    prompt: str
    rater: int
    repeat: int
    text: str = ""
    error: ErrorKind | None = None
    detail: str = ""
    model: str | None = None
    finish_reason: str | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = None
    latency: float | None = None
    attempts: int = 1
    logprobs: Any = None
    at: str = ""


class KeptRating(NamedTuple):
    """A rating with the keys under which it is kept."""

    conversation: int
    rater: int
    rating: Rating


class Rated(NamedTuple):
    """That something was rated already."""

    conversation: int
    turn: int | None
    item: str
    asked: str
    repeat: int
    outcome: Outcome


class Summary(NamedTuple):
    """What is known of a conversation without its words."""

    key: int
    identity: Identity
    turns: int
    metadata: dict[str, Any]
    origin: Origin


class Kept(NamedTuple):
    """A conversation in the study and its key."""

    key: int
    conversation: Conversation
