"""`anthropic:MODEL`: Claude through Anthropic's messages, or another service with the same interface.

If the transcript comes first, a cache mark is set at its end, so that the questions about a conversation pay for it
once.
"""

import re
from collections.abc import Mapping
from typing import Any, cast

from attunement.errors import JudgeError
from attunement.judges.base import Answer, Failure, JudgeOptions, Request, Usage
from attunement.judges.client import Access, Address, access, address, basic, key, variable
from attunement.judges.fallback import Fallbacks, Levels, Parameter, Variant
from attunement.judges.http_judge import HttpJudge, count, without_lengths, word
from attunement.ratings import ErrorKind

ANTHROPIC = "https://api.anthropic.com"
PATH = "/v1/messages"

_VERSION = "2023-06-01"  # of the interface, which Anthropic keeps stable
_CACHE_HERE = {"cache_control": {"type": "ephemeral"}}


def anthropic_judge(model: str, options: JudgeOptions) -> "AnthropicJudge":
    """The judge `anthropic:MODEL`. Raises a JudgeError if the address is not one or the key it needs is not set."""
    base = options.base_url or variable("ANTHROPIC_BASE_URL") or ANTHROPIC
    target = address(re.sub(r"/v1/?(?=\?|$)", "", base), PATH)  # people write it with and without the version
    name = "ANTHROPIC_API_KEY"
    value = key(name)
    if not value and options.sends and target.host == "api.anthropic.com":
        raise JudgeError(f"{target.shown} needs a key: set the environment variable {name}")
    headers = {"anthropic-version": _VERSION}
    if value:
        headers["x-api-key"] = value
    if target.credentials:
        headers["Authorization"] = basic(target.credentials)
    return AnthropicJudge(f"anthropic:{model}", model, target, access(target, name, value, headers), options)


class AnthropicJudge(HttpJudge):
    """A model behind Anthropic's messages."""

    def __init__(self, name: str, model: str, target: Address, access: Access, options: JudgeOptions) -> None:
        """Nothing is sent before the first question."""
        absent = [Variant("sent"), Variant("left out; this service has none")]
        # Length limits are not part of the schemas that this service accepts.
        schema = Variant("a JSON schema", r"output_config|output_format|structured[ _]output|schema")
        plain = Variant("plain text; the prompt alone asks for JSON")
        parameters: dict[str, Parameter] = {}
        if options.logprobs:
            parameters["logprobs"] = Parameter("logprobs", absent)
        if options.seed is not None:
            parameters["seed"] = Parameter("seed", absent)
        if options.temperature is not None:
            temperature = [Variant("sent", r"\btemperature\b"), Variant("the model's own")]
            parameters["temperature"] = Parameter("temperature", temperature)
        parameters["reply_format"] = Parameter("output_config", [schema, plain])
        levels = Levels(seed=int(options.seed is not None), logprobs=int(options.logprobs))
        super().__init__(name, model, target, access, options, Fallbacks(parameters, levels))

    def _body(self, request: Request, levels: Levels) -> dict[str, Any]:
        user: list[dict[str, Any]] = [{"type": "text", "text": request.own}]
        if request.shared:
            user.insert(0, {"type": "text", "text": request.shared, **_CACHE_HERE})
        messages: list[dict[str, Any]] = [{"role": "user", "content": user}]
        for reply, complaint in request.repairs:
            messages.append({"role": "assistant", "content": reply or "(nothing)"})  # an empty message is refused
            messages.append({"role": "user", "content": complaint})
        body = {"model": self.settings["model"], "max_tokens": self.settings["max_tokens"], "messages": messages}
        if request.system:
            mark = _CACHE_HERE if request.shared else {}
            body["system"] = [{"type": "text", "text": request.system, **mark}]
        temperature = self.settings["temperature"]
        if temperature is not None and not levels.temperature:
            body["temperature"] = temperature
        if not levels.reply_format:
            schema = without_lengths(request.schema)
            body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        return body

    def _read(self, document: dict[str, Any], request: Request, latency: float) -> Answer | Failure | None:
        blocks, usage = document.get("content"), document.get("usage")
        if not isinstance(blocks, list) or not isinstance(usage, dict):
            return None
        text = "".join(
            str(block.get("text") or "") for block in cast(list[dict[str, Any]], blocks) if block.get("type") == "text"
        )
        reason = word(document.get("stop_reason"))
        if reason == "model_context_window_exceeded":
            return Failure(ErrorKind.PROMPT_TOO_LONG, "the question and its answer do not fit the model's context")
        return Answer(text, _usage(cast(dict[str, Any], usage)), latency, reason, word(document.get("model")))


def _usage(usage: Mapping[str, Any]) -> Usage:
    """Anthropic counts what was read from the cache and written to it separately from the rest of the prompt."""
    cached = count(usage.get("cache_read_input_tokens"))
    written = count(usage.get("cache_creation_input_tokens"))
    prompt = count(usage.get("input_tokens")) + cached + written
    return Usage(prompt, count(usage.get("output_tokens")), cached, written)
