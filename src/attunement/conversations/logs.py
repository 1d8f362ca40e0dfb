"""Logs of other tools, rewritten as plain records.

Inspect logs are one document: see `LOGS`. Calls to models, as OpenTelemetry spans, Langfuse observations and logs of
OpenAI's APIs record them, are rewritten one by one by `calls`, as records with `input` (the messages of the call),
`output` (the reply), an id of the conversation, a time and a model. The calls of one conversation are put together
afterwards, like rows of a table: see `rows`.

To read the log of another tool, rewrite its records here; the result is read like any other record.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from attunement.conversations.json_files import BadRecord, is_list, is_object, parse
from attunement.conversations.messages import CONTENT, PROMPT, RESPONSE, as_messages, present

SAMPLE, EPOCH, TASK = "inspect_sample", "inspect_epoch", "inspect_task"
"""Metadata fields that point back to the log."""

_ATTACHED = "attachment://"


class Log(NamedTuple):
    """How to recognize and rewrite the log of a tool.

    `key` names the list whose entries become conversations; `record` gets the document and one entry.
    """

    key: str
    matches: Callable[[Any], bool]
    record: Callable[[dict[str, Any], Any], Any]


def _is_inspect(value: Any) -> bool:
    if not is_object(value) or not is_object(value.get("eval")) or not is_list(value.get("samples")):
        return False
    return "model" in value["eval"] and all(is_object(one) and "messages" in one for one in value["samples"])


def _inspect_record(log: dict[str, Any], sample: dict[str, Any]) -> dict[str, Any]:
    spec = log["eval"]
    epochs = _object(spec.get("config")).get("epochs")
    id, epoch = sample.get("id"), sample.get("epoch") or 1
    messages: Any = sample["messages"]
    if is_list(messages):
        messages = [_inspect_message(one, _object(sample.get("attachments"))) for one in messages]
    return {
        "id": f"{id} (epoch {epoch})" if isinstance(epochs, int) and epochs > 1 else str(id),
        "system": str(spec["model"]),
        "messages": messages,
        "metadata": {
            "scenario": str(id),
            **_object(sample.get("metadata")),
            SAMPLE: id,
            EPOCH: epoch,
            TASK: spec.get("task"),
        },
    }


def _inspect_message(message: Any, attached: dict[str, Any]) -> Any:
    if not is_object(message):
        return message
    made = {"role": message.get("role"), "content": _restored(message.get("content"), attached)}
    if is_list(calls := message.get("tool_calls")):
        made["tool_calls"] = [_inspect_call(_restored(call, attached)) for call in calls]
    if message.get("role") == "tool" and message.get("function"):
        made["name"] = message["function"]
    return made


def _inspect_call(call: Any) -> Any:
    if is_object(call) and isinstance(call.get("function"), str):
        return {"function": {"name": call["function"], "arguments": call.get("arguments")}}
    return call


def _restored(value: Any, attached: dict[str, Any]) -> Any:
    """The value with its attachments resolved."""
    if isinstance(value, str) and value.startswith(_ATTACHED):
        return attached.get(value.removeprefix(_ATTACHED), value)
    if is_list(value):
        return [_restored(one, attached) for one in value]
    if is_object(value):
        return {key: _restored(one, attached) for key, one in value.items()}
    return value


def _object(value: Any) -> dict[str, Any]:
    return value if is_object(value) else {}


LOGS = (Log("samples", _is_inspect, _inspect_record),)


class Call(dict[str, Any]):
    """A call to a model: one of several in a conversation."""


class Calls:
    """Rewrites the records of one file that are calls to a model; `left_out` counts those that are something else."""

    def __init__(self) -> None:
        self.left_out = 0
        self._chains: dict[str, str] = {}  # the first response of the chain to which a response belongs

    def rewrite(self, value: Any) -> list[Any]:
        """`value`, or what it contains: no call, one or many."""
        if not is_object(value) or _TELLING.isdisjoint(value):
            return [value]
        if is_list(value.get("resourceSpans")):
            return [call for span in _spans(value) for call in self._span(span)]
        attributes = _attributes(value.get("attributes"))
        if any(key.startswith(("gen_ai.", "traceloop.")) for key in attributes) or value.keys() >= _SPAN:
            return self._span({**value, "attributes": attributes})
        if {"input", "output"} <= value.keys() and not _LANGFUSE_TIMES.isdisjoint(value):
            value = {**value, "input": _cell("input", value), "output": _cell("output", value)}
        if {"traceId", "type", "input", "output"} <= value.keys():  # an observation of Langfuse
            kept = value["type"] == "GENERATION"
            self.left_out += not kept
            return [Call({key: cell for key, cell in value.items() if key != "id"})] if kept else []
        if {"timestamp", "input", "output", "observations"} <= value.keys():  # a trace of Langfuse with its details
            return [{key: cell for key, cell in value.items() if key not in ("observations", "scores")}]
        return [self._api_call(value)]

    def _span(self, span: dict[str, Any]) -> list[Any]:
        """One span of OpenTelemetry by the conventions for generative AI, also in their earlier forms."""
        attributes = _attributes(span.get("attributes"))
        before, reply = _messages_of(attributes, "input"), _messages_of(attributes, "output")
        events: Any = span.get("events")
        for event in events if is_list(events) else []:
            name, body = str(_object(event).get("name")), _attributes(_object(event).get("attributes"))
            role = name.removeprefix("gen_ai.").removesuffix(".message")
            if name == "gen_ai.choice":
                message: Any = _json(body.get("message"))
                content = message.get("content") if is_object(message) else message or body.get("content")
                reply.append({"role": "assistant", "content": content})
            elif role in ("system", "user", "assistant", "tool"):
                before.append({"role": role, "content": body.get("content")})
            else:
                before += _messages_of(body, "input")
                reply += _messages_of(body, "output")
        if not before or not reply:
            self.left_out += 1
            return []
        instructions: Any = _json(attributes.get("gen_ai.system_instructions"))
        if is_list(instructions):
            before = [{"role": "system", "content": instructions}, *before]
        trace = span.get("traceId") or span.get("trace_id") or _object(span.get("context")).get("trace_id")
        call = {
            "conversation_id": next((attributes[key] for key in _SESSIONS if attributes.get(key)), trace),
            "timestamp": next((span[key] for key in _STARTS if key in span), None),
            "model": attributes.get("gen_ai.response.model") or attributes.get("gen_ai.request.model"),
            "input": before,
            "output": reply,
        }
        return [Call({key: cell for key, cell in call.items() if cell is not None})]

    def _api_call(self, value: dict[str, Any]) -> dict[str, Any]:
        """A request and its response of OpenAI's APIs, in one object or in two; other records as they are."""
        request, response = value.get("request"), value.get("response")
        if is_object(request) and is_object(response):
            request, response = _object(request.get("body")) or request, _object(response.get("body")) or response
            others = {key: cell for key, cell in value.items() if key not in ("request", "response")}
            value = {**others, **request, **response}
        choices: Any = value.get("choices")
        if is_list(choices) and choices and "messages" in value:
            call = {key: value[key] for key in value.keys() - {"messages", "choices", "usage", "object"}}
            return {**call, "input": value["messages"], "output": [_object(choices[0]).get("message")]}
        output: Any = value.get("output")
        if not is_list(output) or not any(_object(item).get("type") == "message" for item in output):
            return value
        if "input" not in value:
            raise BadRecord("this is a response without its input; log the request with it, as `input` or `request`")
        id, previous = str(value.get("id")), value.get("previous_response_id")
        conversation: Any = value.get("conversation")
        if is_object(conversation):
            conversation = conversation.get("id")
        first = self._chains[id] = self._chains.get(str(previous), str(previous or id))
        given: Any = value["input"]
        call = {
            "conversation_id": conversation or value.get("conversation_id") or value.get("session_id") or first,
            "timestamp": next((value[key] for key in ("created_at", "timestamp") if key in value), None),
            "model": value.get("model"),
            "instructions": value.get("instructions"),
            "input": [{"role": "user", "content": given}] if isinstance(given, str) else given,
            "output": output,
            "metadata": value.get("metadata"),
        }
        return Call({key: cell for key, cell in call.items() if cell is not None})


_LANGFUSE_TIMES = frozenset({"timestamp", "startTime"})
_TELLING = frozenset({"resourceSpans", "attributes", "observations", "type", "request", "choices", "output"})
_SPAN = frozenset({"traceId", "spanId", "attributes"})
_SESSIONS = (
    "gen_ai.conversation.id",
    "session.id",
    "langfuse.session.id",
    "traceloop.association.properties.session_id",
)
_STARTS = ("startTimeUnixNano", "start_time", "startTime", "start_time_unix_nano", "timestamp")


def _cell(name: str, record: dict[str, Any]) -> Any:
    """The messages or the text in a field of Langfuse, which holds any JSON; in a table it is JSON text."""
    value: Any = record[name]
    if isinstance(value, str) and value[:1] in ('"', "[", "{"):
        try:
            value = parse(value)
        except BadRecord:
            return value  # a text that only begins like JSON
    if not is_object(value) and not is_list(value):
        return value
    if found := as_messages(value):
        return found
    fields = value if is_object(value) else {}
    texts = [fields[key] for key in present((*PROMPT, *RESPONSE, *CONTENT), fields) if isinstance(fields[key], str)]
    if len(texts) != 1:
        raise BadRecord(
            f"the field '{name}' is JSON without messages that have a speaker and a text; convert it to a list of "
            "messages with `role` and `content`"
        )
    return texts[0]


def _spans(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for resource in document["resourceSpans"]:
        scopes: Any = _object(resource).get("scopeSpans")
        for scope in scopes if is_list(scopes) else []:
            yield from filter(is_object, _object(scope).get("spans") or [])


def _attributes(value: Any) -> dict[str, Any]:
    """The attributes of a span: an object, or OTLP's list of keys with typed values."""
    if is_list(value):
        return {str(one["key"]): _typed(one.get("value")) for one in value if is_object(one) and "key" in one}
    return _object(value)


def _typed(value: Any) -> Any:
    value = next(iter(value.values()), None) if is_object(value) and len(value) == 1 else value
    if is_object(value) and is_list(value.get("values")):
        values: list[Any] = value["values"]
        keyed = values and all(is_object(one) and "key" in one for one in values)
        return _attributes(values) if keyed else [_typed(one) for one in values]
    return value


_NAMES = {
    "input": ("gen_ai.input.messages", "gen_ai.prompt"),
    "output": ("gen_ai.output.messages", "gen_ai.completion"),
}


def _messages_of(attributes: dict[str, Any], side: str) -> list[Any]:
    """The messages in the attributes, as a list or numbered: `gen_ai.prompt.0.role`."""
    for name in _NAMES[side]:
        if found := as_messages(_json(attributes.get(name))):
            return [*found]
    numbered: list[Any] = []
    while f"{_NAMES[side][1]}.{len(numbered)}.content" in attributes:
        front = f"{_NAMES[side][1]}.{len(numbered)}"
        role = attributes.get(f"{front}.role", "user" if side == "input" else "assistant")
        numbered.append({"role": role, "content": attributes[f"{front}.content"]})
    return numbered


def _json(value: Any) -> Any:
    if isinstance(value, str) and value[:1] in ("[", "{"):
        try:
            return parse(value)
        except BadRecord:
            return value
    return value
