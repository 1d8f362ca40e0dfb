"""`openai:MODEL`: any service that speaks OpenAI's chat completions.

OpenAI itself, Azure, OpenRouter, vLLM, llama.cpp, Ollama and many more are reached by their base URL. They differ in
what they accept, which is negotiated, and in where their key comes from.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast

from attunement.errors import JudgeError
from attunement.judges.base import Answer, Failure, JudgeOptions, Request, Usage
from attunement.judges.client import Access, Address, address, basic, key, secrets_of, variable
from attunement.judges.http_judge import HttpJudge, Lever, Negotiation, Setting, Terms, count, dumps, without_lengths
from attunement.prompts.prompt import escaped
from attunement.ratings import ErrorKind

OPENAI = "https://api.openai.com/v1"
PATH = "/chat/completions"

_TOP_LOGPROBS = 5
"""Alternatives a token: enough for YES, NO, NA or five scores, and the most that every service gives."""


def openai_judge(model: str, options: JudgeOptions) -> "OpenAIJudge":
    """The judge `openai:MODEL`; a JudgeError where the address is none or the key it needs is not set."""
    target = address(options.base_url or variable("OPENAI_BASE_URL") or OPENAI, PATH)
    return OpenAIJudge(f"openai:{model}", model, target, _access(target, sends=options.sends), options)


def _access(target: Address, *, sends: bool) -> Access:
    """The key for this service. One provider's key is never sent to another that has a variable of its own."""
    needed, header, prefix = True, "Authorization", "Bearer "
    if target.host.endswith((".azure.com", ".azure.us", ".azure.cn")):
        name, header, prefix = "AZURE_OPENAI_API_KEY", "api-key", ""
    elif target.host == "openrouter.ai":
        name = "OPENROUTER_API_KEY"
    else:
        name, needed = "OPENAI_API_KEY", target.host.endswith(".openai.com")
    value = key(name)
    if target.credentials:
        return Access("the base URL", {"Authorization": basic(target.credentials)}, secrets_of(target, value))
    if needed and not value and sends:
        raise JudgeError(f"{target.shown} needs a key: set the environment variable {name}")
    return Access(name, {header: prefix + value} if value else {}, secrets_of(target, value))


class _Frame(NamedTuple):
    """A request without its messages, as JSON."""

    schema: Mapping[str, Any]
    """Kept, so that no other schema can get its `id` meanwhile."""
    opening: bytes
    closing: bytes


_MOST_FRAMES = 512
"""Frames that are kept: more than a run needs, which has at most one for each item and each change of the terms."""


class OpenAIJudge(HttpJudge):
    """A model behind the chat completions of some service."""

    def __init__(self, name: str, model: str, target: Address, access: Access, options: JudgeOptions) -> None:
        """Nothing is sent before the first question."""
        names = _limit_names(target)
        super().__init__(name, model, target, access, options, Negotiation(_levers(names, options)))
        self._limit_names = names
        self._frames: dict[tuple[Terms, int], _Frame] = {}

    def _body(self, request: Request, terms: Terms) -> bytes:
        # Put together from what is written already: the texts are large, and each of them is in many requests.
        frame = self._frame(request.schema, terms)
        pieces = [frame.opening]
        system = escaped(request.system)
        if system and not terms.system:
            pieces += (b'{"role":"system","content":"', system, b'"},')
        pieces.append(b'{"role":"user","content":"')
        if system and terms.system:
            pieces += (system, rb"\n\n")
        pieces += (escaped(request.shared), escaped(request.own), b'"}')
        for reply, complaint in request.repairs:
            pieces += (b",", dumps({"role": "assistant", "content": reply}))
            pieces += (b",", dumps({"role": "user", "content": complaint}))
        pieces.append(frame.closing)
        return b"".join(pieces)

    def _frame(self, schema: Mapping[str, Any], terms: Terms) -> _Frame:
        """What stands around the messages of all requests with this schema and these terms."""
        key = terms, id(schema)
        frame = self._frames.get(key)
        if frame is None:
            if len(self._frames) == _MOST_FRAMES:
                self._frames.clear()
            empty: dict[str, Any] = {**self._parameters(terms), "messages": []}
            empty |= _response_format(schema, terms.reply_format)
            before, messages, behind = dumps(empty).partition(b'"messages":[]')
            frame = self._frames[key] = _Frame(schema, before + messages[:-1], messages[-1:] + behind)
        return frame

    def _parameters(self, terms: Terms) -> dict[str, Any]:
        settings = self._settings
        wanted = {
            "model": settings["model"],
            "temperature": None if terms.temperature else settings["temperature"],
            "seed": None if terms.seed else settings["seed"],
            "logprobs": True if settings["logprobs"] and not terms.logprobs else None,
            "top_logprobs": _TOP_LOGPROBS if settings["logprobs"] and not terms.logprobs else None,
        }
        if terms.limit < len(self._limit_names):
            wanted[self._limit_names[terms.limit]] = settings["max_tokens"]
        return {name: value for name, value in wanted.items() if value is not None}

    def _read(self, document: dict[str, Any], request: Request, latency: float) -> Answer | Failure | None:
        try:
            choice = document["choices"][0]
            message = choice["message"]
            text, refusal = _text(message.get("content")), message.get("refusal")
        except (LookupError, TypeError, AttributeError):
            return None
        finish_reason = choice.get("finish_reason")
        if finish_reason == "error":
            return None
        if refusal and not text:
            text, finish_reason = str(refusal), "refusal"
        usage = _usage(document.get("usage"))
        if _seems_cut(request, usage.prompt):
            return Failure(
                ErrorKind.PROMPT_TOO_LONG,
                f"the server counted only {usage.prompt} tokens of the question, so it seems to have cut it off: "
                "give it a larger context",
            )
        return Answer(text, usage, latency, finish_reason, document.get("model"), choice.get("logprobs"))


_CHARACTERS_A_TOKEN = 8.0
"""Prose in any language has fewer characters a token. Ollama drops half of a question that does not fit and says
nothing; the number of tokens that are left then gives it away. A server that does not count what its cache held would
look the same, and then an error is still better than an answer about half a transcript."""


def _seems_cut(request: Request, tokens: int) -> bool:
    characters = len(request.system) + len(request.shared) + len(request.own)
    return 0 < tokens < characters / _CHARACTERS_A_TOKEN


def _text(content: Any) -> str:
    if isinstance(content, list):  # in parts, of which some may be thoughts
        parts = cast(list[dict[str, Any]], content)
        return "".join(str(part.get("text") or "") for part in parts if part.get("type") == "text")
    return content if isinstance(content, str) else ""


def _usage(usage: Any) -> Usage:
    if not isinstance(usage, dict):
        return Usage()
    fields = cast(dict[str, Any], usage)
    details = fields.get("prompt_tokens_details")
    cached = cast(dict[str, Any], details).get("cached_tokens") if isinstance(details, dict) else None
    if cached is None:
        cached = fields.get("prompt_cache_hit_tokens")  # DeepSeek's name for it
    return Usage(count(fields.get("prompt_tokens")), count(fields.get("completion_tokens")), count(cached))


_SCHEMA_WORDS = r"response_format|json_schema|structured[ _]output|schema|grammar|guided"
_REPLY_FORMATS = (
    Setting("a strict JSON schema with the limit of length", rf"max_?length|{_SCHEMA_WORDS}"),
    Setting("a JSON schema without the limit of length", _SCHEMA_WORDS),
    Setting("any JSON object, described in the prompt", r"response_format|json_object|json mode"),
    Setting("plain text; the prompt alone asks for JSON"),
)


def _response_format(schema: Mapping[str, Any], level: int) -> dict[str, Any]:
    match level:
        case 0 | 1:
            wanted = schema if level == 0 else without_lengths(schema)
            form = {"type": "json_schema", "json_schema": {"name": "reply", "strict": True, "schema": wanted}}
        case 2:
            form = {"type": "json_object"}
        case _:
            return {}
    return {"response_format": form}


def _limit_names(target: Address) -> Sequence[str]:
    """OpenAI's newer models take only the newer name; other services know the older one best."""
    newer, older = "max_completion_tokens", "max_tokens"
    return (newer, older) if target.host.endswith((".openai.com", ".azure.com")) else (older, newer)


def _levers(limits: Sequence[str], options: JudgeOptions) -> dict[str, Lever]:
    """What may be refused, the most telling names first: a complaint about a schema may name several things."""
    levers = {
        "logprobs": Lever("logprobs", (Setting("asked for", r"logprobs"), Setting("left out"))),
        "seed": Lever("seed", (Setting("sent", r"\bseed\b"), Setting("left out"))),
        "temperature": Lever("temperature", (Setting("sent", r"\btemperature\b"), Setting("the model's own"))),
        "limit": Lever(
            limits[0],
            (*(Setting(f"sent as {name}", rf"\b{name}\b") for name in limits), Setting("left out")),
            harmless=True,
        ),
        "reply_format": Lever("response_format", _REPLY_FORMATS),
        "system": Lever(
            "system message",
            (
                Setting(
                    "sent", r"system (?:role|message|prompt|instruction)|messages\[0\]\.role|developer instruction"
                ),
                Setting("put before the user message"),
            ),
        ),
    }
    unwanted = {
        "logprobs": not options.logprobs,
        "seed": options.seed is None,
        "temperature": options.temperature is None,
    }
    return {name: lever for name, lever in levers.items() if not unwanted.get(name)}
