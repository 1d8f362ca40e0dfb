"""What every judge offers: a question in, an answer or a typed failure out. Also its options, and model families.

A judge sends one request and returns what came back. It does not retry, parse verdicts or know about studies: that is
the engine's work. A judge that reads the conversation itself needs no request: it gets the question, and answers or
abstains.

A judge of the same family as the system it judges favours that system, and a name without a date may mean another
model next month. Names are all we have; a name that says nothing gives None or False.
"""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable
from urllib.parse import urlsplit

from attunement.judges.reply_parser import ParsedAnswer
from attunement.prompts import Question
from attunement.ratings import ErrorKind, RuleFinding


class Usage(NamedTuple):
    """Tokens as the server counted them."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0  # the part of `prompt` that a prefix cache served
    written: int = 0  # the part of `prompt` that was written to a prefix cache, if the server says so

    def plus(self, other: "Usage") -> "Usage":
        """The tokens of two calls together."""
        return Usage(*(mine + more for mine, more in zip(self, other, strict=True)))


class Exchange(NamedTuple):
    """A reply that could not be used, and what the judge is told about it."""

    reply: str
    complaint: str


class Request(NamedTuple):
    """One call: the rendered question, the schema of the reply, and what went wrong before, if anything."""

    system: str
    shared: str  # the beginning of the user message that other questions about the unit share; may be empty
    own: str  # the rest of the user message
    schema: Mapping[str, Any]
    repairs: tuple[Exchange, ...] = ()
    prompt: str = ""  # the hash of the question
    repeat: int = 0


class ServerLimits(NamedTuple):
    """What a server announces that it accepts in a minute."""

    requests: float | None = None
    tokens: float | None = None


class Answer(NamedTuple):
    """What the model replied."""

    text: str
    usage: Usage
    latency: float  # seconds from sending the request to having the whole reply
    finish_reason: str | None = None
    model: str | None = None  # as the server names it
    logprobs: Any = None  # as the server gave them, if they were requested
    requests: int = 1  # how many were sent for it, including those that found out what the server accepts
    limits: ServerLimits | None = None  # as the server announces them


class Failure(NamedTuple):
    """Why there is no answer."""

    kind: ErrorKind
    detail: str  # one sentence that never contains a key
    retry_after: float | None = None  # seconds the server asks us to wait
    transient: bool = False  # whether a retry may help
    fatal: bool = False  # no question can be answered: the key, the model or the address is wrong, or nobody is there
    requests: int = 1  # as in an answer; 0 if the server could not be reached, so that the question can wait
    limits: ServerLimits | None = None
    billable: bool = False  # whether the service may charge for it: the reply was broken off or never came


class Judge(Protocol):
    """Something that answers questions."""

    @property
    def name(self) -> str:
        """How the user named it, such as `openai:gpt-5.2`."""
        ...

    @property
    def settings(self) -> Mapping[str, Any]:
        """Everything that affects its answers: model, address, temperature, seed. Never a key."""
        ...

    @property
    def refused(self) -> Mapping[str, str]:
        """What the server did not accept and is left out since: parameter -> what is done instead."""
        ...

    async def ask(self, request: Request) -> Answer | Failure:
        """Send one request."""
        ...

    async def close(self) -> None:
        """Close its connections."""
        ...


class Abstention(NamedTuple):
    """No answer, and what the judge points to instead."""

    pointers: tuple[RuleFinding, ...] = ()


@runtime_checkable
class UnitJudge(Judge, Protocol):
    """A judge that reads the unit itself instead of a rendered prompt: nothing is sent, paid or retried."""

    async def read_unit(self, question: Question) -> Mapping[str, ParsedAnswer | Abstention]:
        """The answer to each item of the question, by id; an Abstention if the judge cannot tell."""
        ...


_FAMILIES = {
    "gpt": r"(?:chat)?gpt|o[134]|davinci|codex",
    "claude": r"claude",
    "gemini": r"gemini|gemma|palm|medgemma",
    "llama": r"(?:code|tiny)?llama|vicuna|alpaca",
    "mistral": r"mistral|mixtral|ministral|magistral|codestral|devstral|pixtral|voxtral|zephyr",
    "qwen": r"qwen|qwq|qvq",
    "deepseek": r"deepseek",
    "phi": r"phi",
    "command": r"command|aya",
    "grok": r"grok",
    "nova": r"nova",
    "glm": r"(?:chat)?glm",
    "kimi": r"kimi|moonshot",
    "minimax": r"minimax",
    "granite": r"granite",
    "falcon": r"falcon",
    "yi": r"yi",
    "olmo": r"olmo|tulu",
    "smollm": r"smollm",
}
# A stem is a word of its own or is followed by its version ("llama3", "gpt-4o"); "ollama" and "phil" are other words.
_STEMS = re.compile(
    r"(?<![a-z])(?:"
    + "|".join(f"(?P<{family}>{stems})" for family, stems in _FAMILIES.items())
    + r")(?![a-z])(?!\.cpp)"
)


def model_family(name: str) -> str | None:
    """The family of the model that `name` names first, such as `gpt` for `openai:gpt-5.2`; None where unknown."""
    match = _STEMS.search(_bare(name))
    return match.lastgroup if match else None


def shared_family(one: str, other: str) -> str | None:
    """A family that both names mention: a model distilled from one family into another belongs to both."""
    families = {match.lastgroup for match in _STEMS.finditer(_bare(one))}
    for match in _STEMS.finditer(_bare(other)):
        if match.lastgroup in families:
            return match.lastgroup
    return None


def _bare(name: str) -> str:
    """The name without the prefix of the judge, which says how it is reached and not what it is."""
    return re.sub(r"\A(?:openai|anthropic|local):", "", name.lower())


_DATE = re.compile(
    r"(?<!\d)(?:"
    r"20\d\d-?(?:0[1-9]|1[0-2])-?(?:0[1-9]|[12]\d|3[01])"  # 2025-08-07, 20250807
    r"|(?:0[1-9]|1[0-2])-?(?:0[1-9]|[12]\d|3[01])|(?:2\d)(?:0[1-9]|1[0-2])"  # 0613, 05-20; 2411
    r"|00[1-9]"  # the numbered versions of Gemini are as fixed as a date
    r")(?![\dbk])"
)


def is_dated(model: str) -> bool:
    """Whether the name contains a date or a numbered version, so that it means the same model next month."""
    return _DATE.search(model.partition("-")[2]) is not None


_THINKS = re.compile(
    r"(?<![a-z])(?:gpt-5(?!.*chat)|gpt-oss|o[134](?![a-z])|gemini-(?:2\.5|[3-9])|grok-(?:[4-9]|3-mini)|qwq|qvq|magistral)"
    r"|thinking|reason|deepseek-r\d|[-_]r1\b"
)


def thinks(model: str) -> bool:
    """Whether a model of this name is known to write down thoughts before its answer, which count as reply."""
    return _THINKS.search(model.lower()) is not None


def hosted(judge: Judge) -> bool:
    """Whether somebody else runs the judge's model and may change it behind its name."""
    return hosted_at(judge.settings.get("base_url"))


def hosted_at(address: str | None) -> bool:
    """Whether somebody else runs the service at this address; one without an address runs in this process."""
    host = urlsplit(address or "").hostname
    if not host:
        return False
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:
        # A name without a dot, or with one of the reserved endings, is a private machine.
        return "." in host and not host.endswith((".local", ".localhost", ".internal", ".lan", ".home.arpa"))


HOSTED_TIMEOUT, LOCAL_TIMEOUT = 120.0, 1800.0

_REPLY_TOKENS, _REPLY_TOKENS_WITH_THOUGHTS = 2048, 8192


@dataclass(frozen=True)
class JudgeOptions:
    """Settings of a judge. A judge leaves out what its server does not accept, and says so in `refused`."""

    base_url: str | None = None  # by default the usual variable (`OPENAI_BASE_URL`, ...) or the provider's own
    temperature: float | None = 0.0  # None leaves it to the server
    seed: int | None = None
    timeout: float | None = None  # seconds for a whole request; by default 120, or 1,800 for a model on this machine
    max_tokens: int | None = None
    """The most tokens of a reply; by default 2,048, or 8,192 for models that are known to think before they answer.

    A reply stops by itself after some 150 tokens an item, so this only ends one that runs away. Thinking counts as
    reply, and a limit that cuts it off leaves no answer. A higher default for every model would do harm: some services
    count the limit, not the use, against the tokens per minute, and small servers subtract it from their context.
    """
    logprobs: bool = False
    sends: bool = True  # whether anything will be sent; an estimate needs no key
    max_connections: int = 100

    def reply_limit(self, model: str) -> int:
        """The most tokens of a reply of `model`."""
        return self.max_tokens or (_REPLY_TOKENS_WITH_THOUGHTS if thinks(model) else _REPLY_TOKENS)
