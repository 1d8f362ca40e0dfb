"""Read the parts of a record: the text of messages, their speakers, and the other fields.

Private reasoning that some files save with a reply (parts `thinking` and `reasoning`) was never shown to the person and
is ignored.

Lists of names are ordered: if several names occur in one record, the first in the list wins. The most specific names
come first, because a field `prompt` may contain a template around the text of `user_statement`.

A field `system` may contain the bot's name or its system prompt. It is the prompt if it has a line break, more than
four words or a period at its end; otherwise, and whenever the record also has `instructions`, it is the name. If the
record has no id or system, they may be in an object `metadata` or `meta`.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import lru_cache
from typing import Any, NamedTuple

from attunement.conversations.json_files import BadRecord, is_list, is_object, parse
from attunement.conversations.model import Origin, Turn


@dataclass(frozen=True, slots=True)
class Fields:
    """Field names to use instead of the usual ones, and the names under which people and assistants speak."""

    prompt: str | None = None
    response: str | None = None
    id: str | None = None
    system: str | None = None
    person: tuple[str, ...] = ()
    assistant: tuple[str, ...] = ()


class Side(Enum):
    USER = auto()
    ASSISTANT = auto()
    INSTRUCTIONS = auto()
    TOOL_CALL = auto()
    TOOL_RESULT = auto()
    NOTICE = auto()  # written by the app, as in "Anna joined the group"


Message = tuple[Side, str]

_USER = ("user", "human", "person", "usr", "seeker", "client", "patient", "customer", "member", "speaker", "caller")
_ASSISTANT = (
    "assistant", "chatbot", "bot", "gpt", "ai", "model", "sys", "chatgpt", "supporter", "therapist", "counselor",
    "counsellor", "coach", "clinician", "helper", "listener", "agent",
)  # fmt: skip
_SPOKEN = (Side.USER, Side.ASSISTANT, Side.INSTRUCTIONS)  # their text is used as it is
_SIDES: Mapping[str, Side] = {
    **dict.fromkeys(_USER, Side.USER),
    **dict.fromkeys(_ASSISTANT, Side.ASSISTANT),
    **dict.fromkeys(("system", "developer"), Side.INSTRUCTIONS),
    "function_call": Side.TOOL_CALL,
    **dict.fromkeys(("tool", "function", "observation"), Side.TOOL_RESULT),
}

# Fields for the list of messages or exchanges, and for a message's speaker and text.
DIALOGUE = (
    "messages", "conversations", "conversation", "turns", "exchanges", "pairs", "dialogue", "dialog", "dialogs",
    "chat", "chat_history", "history", "transcript", "utterances",
)  # fmt: skip
ROLE = ("role", "from", "speaker", "sender", "author", "speaker_role")
CONTENT = ("content", "value", "text", "message", "utterance", "body", "parts")

# One exchange: the field of the person and the field of the assistant. Those that name a speaker come first.
EXCHANGE_USER = (
    *_USER, "user_message", "user_input", "user_statement", "prompt", "question", "query", "input",
)  # fmt: skip
EXCHANGE_ASSISTANT = (
    *_ASSISTANT, "assistant_message", "assistant_response", "bot_message", "bot_response", "response", "reply",
    "answer", "output", "completion",
)  # fmt: skip

# A flat record: the field with the person's words, the field with the reply, and the turns before them.
PROMPT = (
    "user_statement", "user_message", "user_utterance", "user_input", "user_query", "user_prompt", "seeker_post",
    "question", "query", "user", "human", "seeker", "client", "patient", "instruction", "input", "prompt", "context",
)  # fmt: skip
RESPONSE = (
    "assistant_response", "assistant_message", "bot_response", "chatbot_response", "model_response", "response_post",
    "response", "reply", "answer", "assistant", "chatbot", "bot", "supporter", "therapist", "counselor", "completion",
    "output",
)  # fmt: skip
HISTORY = ("history", "chat_history")

# A whole chat as one text in a field.
TRANSCRIPT = ("full_conversation", "conversation", "transcript", "dialogue", "dialog", "chat", "chat_log", "text")

CONVERSATION_ID = (
    "conversation_id", "conv_id", "dialogue_id", "dialog_id", "chat_id", "session_id", "thread_id", "trace_id",
)  # fmt: skip
ID = (
    "conversation_id", "conv_id", "dialogue_id", "dialog_id", "chat_id", "id", "sample_id", "session_id", "thread_id",
    "transcript_id", "example_id", "uid", "uuid",
)  # fmt: skip
SYSTEM = ("system", "system_name", "model", "model_name", "bot", "bot_name", "chatbot", "provider_llm")
INSTRUCTIONS = ("instructions", "system_prompt", "system_message")
METADATA = ("metadata", "meta")
TURN_NUMBER = (
    "turn", "turn_index", "turn_idx", "turn_number", "turn_no", "turn_id", "utterance_idx", "utterance_index",
    "message_index", "message_idx", "message_number", "index", "idx",
)  # fmt: skip
TIME = (
    "timestamp", "time", "datetime", "date_time", "created_at", "sent_at", "start_time", "created", "inserted_at",
    "date", "ts",
)  # fmt: skip


@lru_cache(maxsize=4096)  # a file repeats the same few names
def plain(name: str) -> str:
    """Normalize a field name: `Conversation ID` and `conversationId` become `conversation_id`."""
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z][a-z]|ID?\b)", "_", name.strip())
    return name.casefold().replace(" ", "_").replace("-", "_")


def present(wanted: Iterable[str], keys: Collection[str]) -> list[str]:
    """The `keys` that match `wanted`, in their own spelling and in the order of `wanted`."""
    spelled = {plain(key): key for key in reversed([*keys])} | {key: key for key in keys}
    return [spelled[name] for name in wanted if name in spelled]


class Speakers:
    """Who is the person and who the assistant: by the usual names, and those that the user gives."""

    def __init__(self, fields: Fields) -> None:
        self.given = frozenset(map(plain, (*fields.person, *fields.assistant)))
        given = {Side.USER: fields.person, Side.ASSISTANT: fields.assistant}
        self._sides = {
            **_SIDES,
            **{spelled: side for side in given for name in given[side] for spelled in (name, plain(name))},
        }
        self.spoken = {label: side for label, side in self._sides.items() if side in _SPOKEN}

    def side(self, label: object) -> Side | None:
        """The speaker for `label`, in any case; None if the label is unknown."""
        if not isinstance(label, str):
            return None
        return self._sides.get(label) or self._sides.get(plain(label))


def unknown_speaker(role: str, name: object) -> str:
    hint = f"; use --person-name {name!r} or --assistant-name {name!r}" if isinstance(name, str) else ""
    return f"the {role} {name!r} is not known as the person or the assistant{hint}"


class Dialogue(NamedTuple):
    turns: tuple[Turn, ...]
    unanswered: bool  # a last message without a reply was left out
    instructions: str | None = None
    notices: int = 0  # that were left out


def weave(messages: Iterable[Message]) -> Dialogue:
    """Put messages together into turns.

    Consecutive messages of one side are joined with a blank line. A reply without a message before it opens the
    conversation, with an empty `user`. An empty reply is still a reply.

    Raises:
        BadRecord: The text of a message is JSON with messages inside, so the record was not understood.
    """
    found = list(messages)
    texts = [text for _, text in found]
    for text in texts:
        if text[:1] in _JSON and as_messages(text) is not None:
            raise BadRecord(
                f"the text of a message is JSON with speakers inside ({text[:40]}…), so it would be misread; convert "
                "the file so that each message has its own text"
            )
    if [side for side, _ in found] == [Side.USER, Side.ASSISTANT] * (len(found) // 2):  # the common case
        return Dialogue(tuple(map(Turn, texts[::2], texts[1::2])), unanswered=False)
    turns: list[Turn] = []
    instructions: str | None = None
    notices = 0
    user: str | None = None
    reply: str | None = None
    for side, text in found:
        if side is Side.USER:
            if reply is not None:
                turns.append(Turn(user or "", reply))
                user = reply = None
            user = text if user is None else join(user, text)
        elif side is Side.NOTICE:
            notices += 1
        elif side is Side.INSTRUCTIONS:
            if text != instructions:  # logs of calls repeat them
                instructions = text if instructions is None else join(instructions, text)
        else:
            reply = text if reply is None else join(reply, text)
    if reply is not None:
        turns.append(Turn(user or "", reply))
        user = None
    return Dialogue(tuple(turns), user is not None, instructions, notices)


def join(first: str, second: str) -> str:
    """Two texts with a blank line between them, or the one of them that is not empty."""
    return f"{first}\n\n{second}" if first and second else first or second


def message_keys(message: object) -> tuple[str, str] | None:
    """The fields of the speaker and the text in `message`, or None if one is missing."""
    if not is_object(message):
        return None
    roles = present(ROLE, message)
    contents = [key for key in present(CONTENT, message) if key not in roles]
    if not roles or not (contents or "tool_calls" in message):
        return None
    return roles[0], contents[0] if contents else "content"


def keys_of(entries: list[Any]) -> tuple[str, str] | None:
    """The fields of the speaker and the text in a list of messages, which may begin with reasoning or a tool call."""
    first = next(
        (entry for entry in entries if not (is_object(entry) and str(entry.get("type")) in _WITHOUT_ROLE)), None
    )
    return message_keys(first)


_JSON = ("[", "{")


def as_messages(value: Any) -> list[Any] | None:
    """The messages in `value`: a list of them, one of them, an object with a list, or any of these as JSON text."""
    if isinstance(value, str):
        if not value.startswith(_JSON) or not any(f'"{role}"' in value for role in ROLE):
            return None
        try:
            value = parse(value)
        except BadRecord:
            return None
    if is_object(value):
        value = next((value[key] for key in present(DIALOGUE, value)), [value])
    return value if is_list(value) and keys_of(value) else None


_CALLS = frozenset({"tool_use", "tool_call", "tool-call", "function_call", "server_tool_use"})
_RESULTS = frozenset(
    {"tool_result", "tool-result", "function_call_output", "tool_call_response", "web_search_tool_result"}
)
PRIVATE = frozenset({"thinking", "redacted_thinking", "reasoning"})
_WITHOUT_ROLE = PRIVATE | {"function_call", "function_call_output"}
_NOT_TEXT = ("image", "audio", "video", "file", "document", "blob", "uri")


def read_content(content: Any) -> tuple[str, str]:
    """The text in the content of a message (a string, or a list of parts), and its tool results.

    Parts are joined with line breaks.

    Raises:
        BadRecord: A part is an image, audio or a file, or has an unknown type.
    """
    if content is None:
        return "", ""
    if isinstance(content, str):
        return content, ""
    texts: list[str] = []
    results: list[str] = []
    for part in content if is_list(content) else [content]:
        kind, text = _read_part(part)
        if kind in _RESULTS:
            results.append(text)
        elif kind not in PRIVATE:
            texts.append(text)
    return "\n".join(texts), "\n".join(results)


def _read_part(part: Any) -> tuple[str, str]:
    if isinstance(part, str):
        return "text", part
    if not is_object(part):
        raise BadRecord(f"a message contains {json.dumps(part)[:40]} instead of text")
    kind = str(part.get("type") or "text")
    if kind.removeprefix("input_").startswith(_NOT_TEXT):
        raise BadRecord(f"a message contains a part of type '{kind}', but only text can be read")
    if kind in _CALLS:
        return kind, tool_call(part)
    if kind in _RESULTS:
        results = (part[key] for key in ("content", "output", "result", "response") if key in part)
        return kind, tool_result(next(results, None), None)
    if kind in PRIVATE:
        return kind, ""
    keys = ("text", "refusal", "content") if "type" in part else ("text", "refusal")  # a message is not a part
    text = next((part[key] for key in keys if isinstance(part.get(key), str)), None)
    if text is None:
        raise BadRecord(f"a message contains a part of type '{kind}' without text, which cannot be read")
    return kind, text


def tool_call(call: dict[str, Any]) -> str:
    """A tool call as marked text: `[tool call NAME: {...}]`."""
    function: Any = call.get("function")
    inner = function if is_object(function) else call
    name = inner.get("name", "unnamed")
    arguments = inner.get("arguments", inner.get("input", inner.get("args")))
    return f"[tool call {name}]" if arguments is None else f"[tool call {name}: {_compact(arguments)}]"


def tool_result(content: Any, name: object = None) -> str:
    """A tool result as marked text: `[tool result NAME: ...]`."""
    text = join(*read_content(content)) if isinstance(content, (str, list)) else _compact(content)
    return f"[tool result {name}: {text}]" if name else f"[tool result: {text}]"


_DEEPEST = 200  # far below what Python can follow, and far above what metadata needs


def _is_deeper(value: Any, levels: int) -> bool:
    inner = value.values() if is_object(value) else value if is_list(value) else ()
    return any(not levels or _is_deeper(part, levels - 1) for part in inner)


def _compact(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


_ORIGINS = frozenset(Origin)


class RecordInfo(NamedTuple):
    id: str | None = None
    system: str | None = None
    instructions: str | None = None
    origin: Origin = Origin.UNKNOWN
    metadata: Mapping[str, Any] = {}


class Layout:
    """The meaning of a record's fields other than the dialogue, for all records with the same fields."""

    def __init__(self, keys: Iterable[str], dialogue: Collection[str], fields: Fields) -> None:
        self._rest = [key for key in keys if key not in dialogue]
        self._id_names = ID if fields.id is None else (fields.id,)
        self._system_names = SYSTEM if fields.system is None else (fields.system,)
        self._ids = present(self._id_names, self._rest)
        self._systems = present(self._system_names, self._rest)
        # A field `system` may be the system prompt.
        ambiguous = fields.system is None and not present(("instructions",), self._rest)
        self._prompts = present(("system",), self._rest) if ambiguous else []
        self._instructions = present(INSTRUCTIONS, self._rest)
        self._origins = present(("origin",), self._rest)
        self._objects = present(METADATA, self._rest)

    def read(self, record: dict[str, Any]) -> RecordInfo:
        """The fields of `record` other than the dialogue; unknown fields become metadata."""
        rest = {key: record[key] for key in self._rest}
        if _is_deeper(rest, _DEEPEST):
            raise BadRecord("nested too deeply")
        inner: dict[str, Any] = {}
        for key in self._objects:
            if isinstance(rest[key], dict):
                inner |= rest.pop(key)
        instructions = ""
        for key in self._instructions:
            if rest[key] is None or isinstance(rest[key], str):
                instructions = join(instructions, rest.pop(key) or "")
        for key in self._prompts:
            if isinstance(rest[key], str) and reads_as_prompt(rest[key]):
                instructions = join(instructions, rest.pop(key))
        identity, system, origin = _take(self._ids, rest), _take(self._systems, rest), _take_origin(self._origins, rest)
        if inner:
            identity = identity or _take(present(self._id_names, inner), inner)
            system = system or _take(present(self._system_names, inner), inner)
            origin = origin or _take_origin(present(("origin",), inner), inner)
            for key, value in inner.items():
                rest[f"metadata.{key}" if key in rest else key] = value
        return RecordInfo(identity, system, instructions or None, origin or Origin.UNKNOWN, rest)


@lru_cache(maxsize=64)  # a file repeats the same few values
def reads_as_prompt(system: str) -> bool:
    """Whether a field `system` contains the bot's system prompt and not its name."""
    # "Claude 3.5 Sonnet v2" is a name; system prompts of up to four words end with a period.
    return "\n" in system or len(system.split()) > 4 or system.rstrip().endswith((".", "!", "?"))


def _take(keys: Iterable[str], record: dict[str, Any]) -> str | None:
    for key in keys:
        value = record.get(key)
        if isinstance(value, (str, int, float)) and not isinstance(value, bool) and value != "":
            del record[key]
            return str(value)
    return None


def _take_origin(keys: Iterable[str], record: dict[str, Any]) -> Origin | None:
    for key in keys:
        if isinstance(value := record[key], str) and value.casefold() in _ORIGINS:
            del record[key]
            return Origin(value.casefold())
    return None
