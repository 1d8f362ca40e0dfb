"""What every judge offers: a question in, an answer out, or a typed failure.

A judge sends one request and says what came back. It does not retry, does not parse verdicts and knows nothing of
studies: asking again, reading replies and keeping them is the engine's work. A judge that reads the conversation
itself needs no request: it is given the question, and answers or abstains.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol, runtime_checkable

from attunement.judges.replies import Given
from attunement.questions import Question
from attunement.ratings import ErrorKind, RuleFinding


class Usage(NamedTuple):
    """Tokens as the server counted them."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    """The part of `prompt` that a prefix cache served."""
    written: int = 0
    """The part of `prompt` that was written to a prefix cache, where the server says so."""

    def plus(self, other: "Usage") -> "Usage":
        """The tokens of two calls together."""
        return Usage(
            self.prompt + other.prompt,
            self.completion + other.completion,
            self.cached + other.cached,
            self.written + other.written,
        )


class Exchange(NamedTuple):
    """A reply that could not be used, and what is said to the judge about it."""

    reply: str
    complaint: str


class Request(NamedTuple):
    """One call: the rendered question, the schema of the reply, and what went wrong before, if anything."""

    system: str
    shared: str
    """The beginning of the user message that other questions about the unit share; may be empty."""
    own: str
    """The rest of the user message."""
    schema: Mapping[str, Any]
    repairs: tuple[Exchange, ...] = ()


class Answer(NamedTuple):
    """What the model said."""

    text: str
    usage: Usage
    latency: float
    """Seconds from sending the request to having the whole reply."""
    finish_reason: str | None = None
    model: str | None = None
    """The model as the server names it."""
    logprobs: Any = None
    """As the server gave them, where they were asked for."""
    requests: int = 1
    """How many were sent for it, those included that found out what the server accepts."""


class Failure(NamedTuple):
    """Why there is no answer."""

    kind: ErrorKind
    detail: str
    """One sentence; it never holds a key."""
    retry_after: float | None = None
    """Seconds the server asks us to wait."""
    transient: bool = False
    """Asking again may help."""
    fatal: bool = False
    """No question can be answered: the key, the model or the address is wrong, or nobody is there."""
    requests: int = 1
    """As of an answer; 0 where nobody could be reached. While that may pass, the question can wait."""


class Judge(Protocol):
    """Something that answers questions."""

    @property
    def name(self) -> str:
        """How the user named it, such as `openai:gpt-5.2`."""
        ...

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything that makes its answers its own: model, address, temperature, seed. Never a key."""
        ...

    @property
    def refused(self) -> Mapping[str, str]:
        """What the server did not accept and we left out since: parameter -> what we do instead."""
        ...

    async def ask(self, request: Request) -> Answer | Failure:
        """Send one request."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


class Abstention(NamedTuple):
    """No answer, and what the judge points to instead."""

    pointers: tuple[RuleFinding, ...] = ()


@runtime_checkable
class UnitJudge(Judge, Protocol):
    """A judge that reads the unit itself instead of a rendered prompt: nothing is sent, nothing is paid or retried."""

    async def read_unit(self, question: Question) -> Mapping[str, Given | Abstention]:
        """The answer to each item of the question, by id; an Abstention where the judge cannot tell."""
        ...
