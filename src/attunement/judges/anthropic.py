"""`anthropic:MODEL`: Claude through Anthropic's messages, or a service that speaks them.

Where the transcript comes first, its end carries a caching mark, so that the questions about a conversation pay for
it once.
"""

import re
from collections.abc import Mapping
from typing import Any, cast

from attunement.errors import JudgeError
from attunement.judges.base import Answer, Failure, JudgeOptions, Request, Usage
from attunement.judges.client import Access, Address, address, basic, key, secrets_of, variable
from attunement.judges.http_judge import HttpJudge, Lever, Negotiation, Setting, Terms, count, dumps, without_lengths
from attunement.ratings import ErrorKind

ANTHROPIC = "https://api.anthropic.com"
PATH = "/v1/messages"

_VERSION = "2023-06-01"
"""The version of the interface, which its makers keep stable."""

_CACHE_HERE = {"cache_control": {"type": "ephemeral"}}


def anthropic_judge(model: str, options: JudgeOptions) -> "AnthropicJudge":
    """The judge `anthropic:MODEL`; a JudgeError where the address is none or the key it needs is not set."""
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
    access = Access(name, headers, secrets_of(target, value))
    return AnthropicJudge(f"anthropic:{model}", model, target, access, options)


class AnthropicJudge(HttpJudge):
    """A model behind Anthropic's messages."""

    def __init__(self, name: str, model: str, target: Address, access: Access, options: JudgeOptions) -> None:
        """Nothing is sent before the first question."""
        levers = _levers(options)
        negotiation = Negotiation(levers)
        for absent in levers.keys() & {"seed", "logprobs"}:
            negotiation.move(absent, 1)
        super().__init__(name, model, target, access, options, negotiation)

    def _body(self, request: Request, terms: Terms) -> bytes:
        body: dict[str, Any] = {
            "model": self._settings["model"],
            "max_tokens": self._settings["max_tokens"],
            "messages": _messages(request),
        }
        if request.system:
            mark = _CACHE_HERE if request.shared else {}
            body["system"] = [{"type": "text", "text": request.system, **mark}]
        temperature = self._settings["temperature"]
        if temperature is not None and not terms.temperature:
            body["temperature"] = temperature
        if not terms.reply_format:
            schema = without_lengths(request.schema)
            body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        return dumps(body)

    def _read(self, document: dict[str, Any], request: Request, latency: float) -> Answer | Failure | None:
        blocks, usage = document.get("content"), document.get("usage")
        if not isinstance(blocks, list) or not isinstance(usage, dict):
            return None
        text = "".join(
            str(block.get("text") or "") for block in cast(list[dict[str, Any]], blocks) if block.get("type") == "text"
        )
        reason = document.get("stop_reason")
        if reason == "model_context_window_exceeded":
            return Failure(ErrorKind.PROMPT_TOO_LONG, "the question and its answer do not fit the model's context")
        return Answer(text, _usage(cast(dict[str, Any], usage)), latency, reason, document.get("model"))


def _messages(request: Request) -> list[dict[str, Any]]:
    user: list[dict[str, Any]] = [{"type": "text", "text": request.own}]
    if request.shared:
        user.insert(0, {"type": "text", "text": request.shared, **_CACHE_HERE})
    messages: list[dict[str, Any]] = [{"role": "user", "content": user}]
    for reply, complaint in request.repairs:
        # An empty message is refused.
        messages += [{"role": "assistant", "content": reply or "(nothing)"}, {"role": "user", "content": complaint}]
    return messages


def _usage(usage: Mapping[str, Any]) -> Usage:
    """Anthropic counts what was read from the cache and written to it apart from the rest of the prompt."""
    cached = count(usage.get("cache_read_input_tokens"))
    written = count(usage.get("cache_creation_input_tokens"))
    prompt = count(usage.get("input_tokens")) + cached + written
    return Usage(prompt, count(usage.get("output_tokens")), cached, written)


def _levers(options: JudgeOptions) -> dict[str, Lever]:
    absent = (Setting("sent"), Setting("left out; this service has none"))
    levers = {
        "logprobs": Lever("logprobs", absent),
        "seed": Lever("seed", absent),
        "temperature": Lever("temperature", (Setting("sent", r"\btemperature\b"), Setting("the model's own"))),
        "reply_format": Lever(
            "output_config",
            (
                # Limits of length are no part of the schemas this service takes.
                Setting("a JSON schema", r"output_config|output_format|structured[ _]output|schema"),
                Setting("plain text; the prompt alone asks for JSON"),
            ),
        ),
    }
    unwanted = {
        "logprobs": not options.logprobs,
        "seed": options.seed is None,
        "temperature": options.temperature is None,
    }
    return {name: lever for name, lever in levers.items() if not unwanted.get(name)}
