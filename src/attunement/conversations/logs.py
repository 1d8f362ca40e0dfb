"""Logs of other tools, rewritten as plain records with messages, an id and a system.

To read the log of another tool, add a `Log` to `LOGS`. `matches` tells whether a JSON document is such a log, `key`
names the list whose entries become conversations, and `record` turns one entry into an object with `messages` (each
with `role` and `content`), `id`, `system` and `metadata`. The object is then read like any other record: see `shapes`
for what it may contain, and for shapes that need no rewriting.

From an Inspect log, the metadata are the model, the task, the sample and the epoch. Attachments are resolved, and tool
calls are rewritten in the common format.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from attunement.conversations.messages import is_list, is_object

SAMPLE, EPOCH, TASK = "inspect_sample", "inspect_epoch", "inspect_task"
"""Metadata fields that point back to the log."""

_ATTACHED = "attachment://"


class Log(NamedTuple):
    """How to recognize and rewrite the log of a tool. `record` gets the document and one entry of its list."""

    key: str
    matches: Callable[[Any], bool]
    record: Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]


def _is_inspect(value: Any) -> bool:
    if not is_object(value) or not is_object(value.get("eval")) or not is_list(value.get("samples")):
        return False
    return "model" in value["eval"] and all(is_object(one) and "messages" in one for one in value["samples"])


def _inspect_record(log: dict[str, Any], sample: dict[str, Any]) -> dict[str, Any]:
    spec = log["eval"]
    config: Any = spec.get("config")
    epochs: Any = config.get("epochs") if is_object(config) else None
    id, epoch = sample.get("id"), sample.get("epoch") or 1
    own: Any = sample.get("metadata")
    attached: Any = sample.get("attachments")
    messages: Any = sample["messages"]
    if is_list(messages):
        messages = [_inspect_message(one, attached if is_object(attached) else {}) for one in messages]
    return {
        "id": f"{id} (epoch {epoch})" if isinstance(epochs, int) and epochs > 1 else str(id),
        "system": str(spec["model"]),
        "messages": messages,
        "metadata": {
            "scenario": str(id),
            **(own if is_object(own) else {}),
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


LOGS = (Log("samples", _is_inspect, _inspect_record),)
