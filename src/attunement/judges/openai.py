"""`openai:MODEL`: any service that speaks OpenAI's chat completions.

OpenAI itself, Azure, OpenRouter, vLLM, llama.cpp, Ollama and many more are reached by their base URLs. They differ in
which parameters they accept, see `fallback`, and in where their key comes from.
"""

from collections.abc import Mapping
from typing import Any, cast

from attunement.errors import JudgeError
from attunement.judges.base import Answer, Failure, JudgeOptions, Request, Usage
from attunement.judges.client import Access, Address, access, address, basic, key, variable
from attunement.judges.fallback import Fallbacks, Levels, Parameter, Variant
from attunement.judges.http_judge import HttpJudge, count, without_lengths, word
from attunement.ratings import ErrorKind

OPENAI = "https://api.openai.com/v1"
PATH = "/chat/completions"

_TOP_LOGPROBS = 5
"""Alternatives for each token: enough for YES, NO, NA or five scores, and the most that every service gives."""


def openai_judge(model: str, options: JudgeOptions) -> "OpenAIJudge":
    """The judge `openai:MODEL`. Raises a JudgeError if the address is not one or the key it needs is not set."""
    target = address(options.base_url or variable("OPENAI_BASE_URL") or OPENAI, PATH)
    return OpenAIJudge(f"openai:{model}", model, target, _access(target, sends=options.sends), options)


def _access(target: Address, *, sends: bool) -> Access:
    """The key for this service. One provider's key is never sent to another that has its own variable."""
    needed, header, prefix = True, "Authorization", "Bearer "
    if target.host.endswith((".azure.com", ".azure.us", ".azure.cn")):
        name, header, prefix = "AZURE_OPENAI_API_KEY", "api-key", ""
    elif target.host == "openrouter.ai":
        name = "OPENROUTER_API_KEY"
    else:
        name, needed = "OPENAI_API_KEY", target.host.endswith(".openai.com")
    value = key(name)
    if target.credentials:
        return access(target, "the base URL", value, {"Authorization": basic(target.credentials)})
    if needed and not value and sends:
        raise JudgeError(f"{target.shown} needs a key: set the environment variable {name}")
    return access(target, name, value, {header: prefix + value} if value else {})


class OpenAIJudge(HttpJudge):
    """A model behind the chat completions of some service."""

    def __init__(self, name: str, model: str, target: Address, access: Access, options: JudgeOptions) -> None:
        """Nothing is sent before the first question."""
        # OpenAI's newer models accept only the newer name; other services know the older one best.
        newer, older = "max_completion_tokens", "max_tokens"
        openai = target.host.endswith((".openai.com", ".azure.com"))
        self._limit_names = (newer, older) if openai else (older, newer)
        fallbacks = Fallbacks(_parameters(self._limit_names, options), Levels())
        super().__init__(name, model, target, access, options, fallbacks)

    def _body(self, request: Request, levels: Levels) -> dict[str, Any]:
        user = request.shared + request.own
        messages: list[dict[str, str]] = []
        if request.system and levels.system:
            user = f"{request.system}\n\n{user}"
        elif request.system:
            messages.append({"role": "system", "content": request.system})
        messages.append({"role": "user", "content": user})
        for reply, complaint in request.repairs:
            messages += [{"role": "assistant", "content": reply}, {"role": "user", "content": complaint}]
        settings = self.settings
        body: dict[str, Any] = {"model": settings["model"]}
        if settings["temperature"] is not None and not levels.temperature:
            body["temperature"] = settings["temperature"]
        if settings["seed"] is not None and not levels.seed:
            body["seed"] = settings["seed"]
        if settings["logprobs"] and not levels.logprobs:
            body |= {"logprobs": True, "top_logprobs": _TOP_LOGPROBS}
        if levels.limit < len(self._limit_names):
            body[self._limit_names[levels.limit]] = settings["max_tokens"]
        body["messages"] = messages
        if levels.reply_format < 2:
            schema = without_lengths(request.schema) if levels.reply_format else request.schema
            form = {"name": "reply", "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": form}
        elif levels.reply_format == 2:
            body["response_format"] = {"type": "json_object"}
        return body

    def _read(self, document: dict[str, Any], request: Request, latency: float) -> Answer | Failure | None:
        choice = document["choices"][0]
        message = choice["message"]
        text, refusal = _text(message.get("content")), message.get("refusal")
        finish_reason = word(choice.get("finish_reason"))
        if finish_reason == "error":
            return None
        if refusal and not text:
            text, finish_reason = str(refusal), "refusal"
        usage = _usage(document.get("usage"))
        characters = len(request.system) + len(request.shared) + len(request.own)
        if 0 < usage.prompt < characters / _CHARACTERS_A_TOKEN:
            return Failure(
                ErrorKind.PROMPT_TOO_LONG,
                f"the server counted only {usage.prompt} tokens of the question, so it seems to have cut it off: "
                "give it a larger context",
            )
        return Answer(text, usage, latency, finish_reason, word(document.get("model")), choice.get("logprobs"))


_CHARACTERS_A_TOKEN = 8.0
"""Prose in any language has fewer characters a token. Ollama silently drops half of a question that does not fit; the
number of tokens that are left then shows it. A server that does not count what its cache held would look the same, and
then an error is still better than an answer about half a transcript."""


def _text(content: Any) -> str:
    if isinstance(content, list):  # in parts, some of which may be thoughts
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
    prompt = count(fields.get("prompt_tokens"))
    return Usage(prompt, count(fields.get("completion_tokens")), min(count(cached), prompt))


_SCHEMA_WORDS = r"response_format|json_schema|structured[ _]output|schema|grammar|guided"
_SYSTEM_WORDS = r"system (?:role|message|prompt|instruction)|messages\[0\]\.role|developer instruction"


def _parameters(limit_names: tuple[str, str], options: JudgeOptions) -> Mapping[str, Parameter]:
    """What may be refused, the most telling names first: a complaint about a schema may name several parameters."""
    left_out = Variant("left out")
    limits = [Variant(f"sent as {name}", rf"\b{name}\b") for name in limit_names]
    reply_formats = [
        Variant("a strict JSON schema with the limit of length", rf"max_?length|{_SCHEMA_WORDS}"),
        Variant("a JSON schema without the limit of length", _SCHEMA_WORDS),
        Variant("any JSON object, described in the prompt", r"response_format|json_object|json mode"),
        Variant("plain text; the prompt alone asks for JSON"),
    ]
    parameters: dict[str, Parameter] = {}
    if options.logprobs:
        parameters["logprobs"] = Parameter("logprobs", [Variant("asked for", r"logprobs"), left_out])
    if options.seed is not None:
        parameters["seed"] = Parameter("seed", [Variant("sent", r"\bseed\b"), left_out])
    if options.temperature is not None:
        temperature = [Variant("sent", r"\btemperature\b"), Variant("the model's own")]
        parameters["temperature"] = Parameter("temperature", temperature)
    system = [Variant("sent", _SYSTEM_WORDS), Variant("put before the user message")]
    return parameters | {
        "limit": Parameter(limit_names[0], [*limits, left_out], harmless=True),
        "reply_format": Parameter("response_format", reply_formats),
        "system": Parameter("system message", system),
    }
