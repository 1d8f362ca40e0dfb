"""What one message says, as text: its parts joined, tool calls and results marked, pictures and sound refused.

Private reasoning that some files keep beside a reply (parts `thinking` and `reasoning`) was never said to the person
and is left out.
"""

import json
from typing import Any, NamedTuple

from attunement.conversations.readers.record import BadRecord, InexactNumber, is_list, is_object, surely_exact
from attunement.conversations.readers.talk import join

_CALLS = frozenset({"tool_use", "tool_call", "tool-call", "function_call", "server_tool_use"})
_RESULTS = frozenset({"tool_result", "tool-result", "function_call_output", "web_search_tool_result"})
_PRIVATE = frozenset({"thinking", "redacted_thinking", "reasoning"})
_REFUSED = ("image", "audio", "video", "file", "document")


class Said(NamedTuple):
    """The words of a message, and apart from them the tool results that it carries for the assistant."""

    text: str
    results: str = ""


def read_content(content: Any, exact: bool = True) -> Said:
    """Read the content of a message: a text, or a list of parts.

    Parts are joined with line breaks. `exact` says that no number in there was rounded.

    Raises:
        BadRecord: A part is a picture, a sound or a file, or of a kind that is not known.
        InexactNumber: The arguments of a tool call hold a number that may have been rounded.
    """
    if content is None:
        return Said("")
    if isinstance(content, str):
        return Said(content)
    parts = content if is_list(content) else [content]
    texts: list[str] = []
    results: list[str] = []
    for part in parts:
        kind, text = _read_part(part, exact)
        if kind in _RESULTS:
            results.append(text)
        elif kind not in _PRIVATE:
            texts.append(text)
    return Said("\n".join(texts), "\n".join(results))


def _read_part(part: Any, exact: bool) -> tuple[str, str]:
    if isinstance(part, str):
        return "text", part
    if not is_object(part):
        raise BadRecord(f"a message holds {json.dumps(part)[:40]} where its words should be")
    kind = str(part.get("type") or "text")
    if any(kind.removeprefix("input_").startswith(word) for word in _REFUSED):
        raise BadRecord(f"a message holds a part of the kind '{kind}', and only text can be read")
    if kind in _CALLS:
        return kind, tool_call(part, exact)
    if kind in _RESULTS:
        return kind, tool_result(part.get("content", part.get("output", part.get("result"))), None, exact)
    if kind in _PRIVATE:
        return kind, ""
    text = part.get("text", part.get("refusal"))
    if isinstance(text, str):
        return kind, text
    raise BadRecord(f"a message holds a part of the kind '{kind}' without text, which cannot be read")


def tool_call(call: dict[str, Any], exact: bool = True) -> str:
    """A tool call as marked text: `[tool call NAME: {...}]`."""
    function: Any = call.get("function")
    inner = function if is_object(function) else call
    name = inner.get("name", "unnamed")
    arguments = inner.get("arguments", inner.get("input", inner.get("args")))
    return f"[tool call {name}]" if arguments is None else f"[tool call {name}: {_compact(arguments, exact)}]"


def tool_result(content: Any, name: object = None, exact: bool = True) -> str:
    """What a tool gave back, as marked text: `[tool result NAME: ...]`."""
    text = join(*read_content(content, exact)) if isinstance(content, (str, list)) else _compact(content, exact)
    return f"[tool result {name}: {text}]" if name else f"[tool result: {text}]"


def _compact(value: Any, exact: bool) -> str:
    if isinstance(value, str):
        return value
    if not exact and not surely_exact(value):
        raise InexactNumber
    return json.dumps(value, ensure_ascii=False)
