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
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from functools import lru_cache, partial
from typing import Any, NamedTuple, TypeGuard

from attunement.conversations.model import Origin, Turn


class Format(StrEnum):
    """A shape of records or a type of file. If one is given, the other is still detected."""

    MESSAGES = "messages"
    SHAREGPT = "sharegpt"
    TURNS = "turns"
    EXCHANGES = "exchanges"
    PAIRS = "pairs"
    FLAT = "flat"
    ROWS = "rows"
    TRANSCRIPT = "transcript"
    JSONL = "jsonl"
    JSON = "json"
    CSV = "csv"
    TSV = "tsv"
    TEXT = "text"
    PARQUET = "parquet"

    @property
    def is_kind(self) -> bool:
        """Whether this is a type of file and not a shape of records."""
        return self in _KINDS


_KINDS = frozenset({Format.JSONL, Format.JSON, Format.CSV, Format.TSV, Format.TEXT, Format.PARQUET})


@dataclass(frozen=True, slots=True)
class Fields:
    """Field names to use instead of the usual ones."""

    prompt: str | None = None
    response: str | None = None
    id: str | None = None
    system: str | None = None


class BadRecord(Exception):
    """One record cannot be read; the others may be fine.

    `reason` is a clause that follows the place; `line` is the line of the error within the record, if known (from 1).
    """

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line


class InexactNumber(Exception):
    """A number was rounded when its line was parsed: the line must be parsed again in the exact, slower way."""


class Place(NamedTuple):
    """Where a record begins; lines count from 1. For Parquet, `line` is the row."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Record(NamedTuple):
    """One record of a file: the parsed value, or a `BadRecord` with the reason why it could not be parsed."""

    line: int
    value: Any
    raw: bytes | str
    exact: bool = True  # False: whole numbers of more than 64 bits were rounded


def is_object(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def decoded(raw: bytes) -> str:
    """The text of `raw`, in which lone surrogates may occur.

    Raises:
        BadRecord: `raw` is not UTF-8; the reason names the first invalid byte.
    """
    try:
        return raw.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start)
        column = error.start - (raw.rfind(b"\n", 0, error.start) + 1)
        raise BadRecord(
            f"this is not UTF-8 text (the line has 0x{raw[error.start]:02x} as byte {column + 1}); save it as UTF-8",
            line + 1,
        ) from None


def surely_exact(value: object) -> bool:
    """Whether every number in `value` is certainly the number in the file.

    orjson rounds whole numbers that need more than 64 bits to floats; ids of 20 digits are such numbers.
    """
    if isinstance(value, str):
        return True
    if isinstance(value, float):
        return abs(value) < 2**63
    if is_object(value):
        return all(map(surely_exact, value.values()))
    return all(map(surely_exact, value)) if is_list(value) else True


class Side(Enum):
    USER = auto()
    ASSISTANT = auto()
    INSTRUCTIONS = auto()
    TOOL_CALL = auto()
    TOOL_RESULT = auto()


_USER = ("user", "human", "person", "usr", "seeker", "client", "patient", "customer", "member", "speaker", "caller")
_ASSISTANT = (
    "assistant", "chatbot", "bot", "gpt", "ai", "model", "sys", "chatgpt", "supporter", "therapist", "counselor",
    "counsellor", "coach", "clinician", "helper", "listener", "agent",
)  # fmt: skip

# Speakers whose text is used as it is; text from tools is marked first.
SPOKEN: Mapping[str, Side] = {
    **dict.fromkeys(_USER, Side.USER),
    **dict.fromkeys(_ASSISTANT, Side.ASSISTANT),
    **dict.fromkeys(("system", "developer"), Side.INSTRUCTIONS),
}
_SIDES: Mapping[str, Side] = {
    **SPOKEN,
    "function_call": Side.TOOL_CALL,
    **dict.fromkeys(("tool", "function", "observation"), Side.TOOL_RESULT),
}

# Fields for the list of messages or exchanges, and for a message's speaker and text.
DIALOGUE = (
    "messages", "conversations", "conversation", "turns", "exchanges", "pairs", "dialogue", "dialog", "dialogs",
    "chat", "chat_history", "history", "transcript", "utterances",
)  # fmt: skip
ROLE = ("role", "from", "speaker", "sender", "author", "speaker_role")
CONTENT = ("content", "value", "text", "message", "utterance", "body")

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

CONVERSATION_ID = ("conversation_id", "conv_id", "dialogue_id", "dialog_id", "chat_id", "session_id", "thread_id")
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


def side_of(label: object) -> Side | None:
    """The speaker for `label`, in any case; None if the label is unknown."""
    if not isinstance(label, str):
        return None
    return _SIDES.get(label) or _SIDES.get(plain(label))


def plain(name: str) -> str:
    """Normalize a field name: `Conversation ID` becomes `conversation_id`."""
    return name.strip().casefold().replace(" ", "_").replace("-", "_")


def present(wanted: Iterable[str], keys: Collection[str]) -> list[str]:
    """The `keys` that match `wanted`, in their own spelling and in the order of `wanted`."""
    spelled = {plain(key): key for key in reversed([*keys])} | {key: key for key in keys}
    return [spelled[name] for name in wanted if name in spelled]


class Dialogue(NamedTuple):
    turns: tuple[Turn, ...]
    unanswered: bool  # a last message without a reply was left out
    instructions: str | None = None


_as_turn = partial(tuple[str, str].__new__, Turn)


def plain_dialogue(users: list[Any], replies: list[Any]) -> Dialogue | None:
    """The dialogue if each message has its reply and all of them are plain texts, else None."""
    if set(map(type, users)) == set(map(type, replies)) == {str}:
        # `Turn` itself would validate its arguments again, which takes longer than all the rest.
        return Dialogue(tuple(map(_as_turn, zip(users, replies, strict=True))), unanswered=False)
    return None


def weave(messages: Iterable[tuple[Side, str]]) -> Dialogue:
    """Put messages together into turns.

    Consecutive messages of one side are joined with a blank line. A reply without a message before it opens the
    conversation, with an empty `user`. An empty reply is still a reply.
    """
    turns: list[Turn] = []
    instructions: str | None = None
    user: str | None = None
    reply: str | None = None
    for side, text in messages:
        if side is Side.USER:
            if reply is not None:
                turns.append(Turn(user or "", reply))
                user = reply = None
            user = text if user is None else join(user, text)
        elif side is Side.INSTRUCTIONS:
            instructions = text if instructions is None else join(instructions, text)
        else:
            reply = text if reply is None else join(reply, text)
    if reply is not None:
        turns.append(Turn(user or "", reply))
        user = None
    return Dialogue(tuple(turns), user is not None, instructions)


def join(first: str, second: str) -> str:
    """Two texts with a blank line between them, or the one of them that is not empty."""
    return f"{first}\n\n{second}" if first and second else first or second


_CALLS = frozenset({"tool_use", "tool_call", "tool-call", "function_call", "server_tool_use"})
_RESULTS = frozenset({"tool_result", "tool-result", "function_call_output", "web_search_tool_result"})
_PRIVATE = frozenset({"thinking", "redacted_thinking", "reasoning"})
_NOT_TEXT = ("image", "audio", "video", "file", "document")


def read_content(content: Any, exact: bool = True) -> tuple[str, str]:
    """The text in the content of a message (a string, or a list of parts), and its tool results.

    Parts are joined with line breaks. `exact`: no number in there was rounded.

    Raises:
        BadRecord: A part is an image, audio or a file, or has an unknown type.
        InexactNumber: The arguments of a tool call contain a number that may have been rounded.
    """
    if content is None:
        return "", ""
    if isinstance(content, str):
        return content, ""
    texts: list[str] = []
    results: list[str] = []
    for part in content if is_list(content) else [content]:
        kind, text = _read_part(part, exact)
        if kind in _RESULTS:
            results.append(text)
        elif kind not in _PRIVATE:
            texts.append(text)
    return "\n".join(texts), "\n".join(results)


def _read_part(part: Any, exact: bool) -> tuple[str, str]:
    if isinstance(part, str):
        return "text", part
    if not is_object(part):
        raise BadRecord(f"a message contains {json.dumps(part)[:40]} instead of text")
    kind = str(part.get("type") or "text")
    if kind.removeprefix("input_").startswith(_NOT_TEXT):
        raise BadRecord(f"a message contains a part of type '{kind}', but only text can be read")
    if kind in _CALLS:
        return kind, tool_call(part, exact)
    if kind in _RESULTS:
        return kind, tool_result(part.get("content", part.get("output", part.get("result"))), None, exact)
    if kind in _PRIVATE:
        return kind, ""
    text = part.get("text", part.get("refusal"))
    if isinstance(text, str):
        return kind, text
    raise BadRecord(f"a message contains a part of type '{kind}' without text, which cannot be read")


def tool_call(call: dict[str, Any], exact: bool = True) -> str:
    """A tool call as marked text: `[tool call NAME: {...}]`."""
    function: Any = call.get("function")
    inner = function if is_object(function) else call
    name = inner.get("name", "unnamed")
    arguments = inner.get("arguments", inner.get("input", inner.get("args")))
    return f"[tool call {name}]" if arguments is None else f"[tool call {name}: {_compact(arguments, exact)}]"


def tool_result(content: Any, name: object = None, exact: bool = True) -> str:
    """A tool result as marked text: `[tool result NAME: ...]`."""
    text = join(*read_content(content, exact)) if isinstance(content, (str, list)) else _compact(content, exact)
    return f"[tool result {name}: {text}]" if name else f"[tool result: {text}]"


def _compact(value: Any, exact: bool) -> str:
    if isinstance(value, str):
        return value
    if not exact and not surely_exact(value):
        raise InexactNumber
    return json.dumps(value, ensure_ascii=False)


_ORIGINS = frozenset(Origin)


class RecordInfo(NamedTuple):
    id: str | None = None
    system: str | None = None
    instructions: str | None = None
    origin: Origin = Origin.UNKNOWN
    metadata: Mapping[str, Any] = {}


class Layout(NamedTuple):
    """The meaning of a record's fields, for all records with the same fields."""

    id_names: tuple[str, ...]
    system_names: tuple[str, ...]
    ids: list[str]
    systems: list[str]
    prompts: list[str]  # a field `system` that may be the system prompt
    instructions: list[str]
    origins: list[str]
    objects: list[str]
    rest: list[str]


def lay_out(keys: Iterable[str], dialogue: Collection[str], fields: Fields) -> Layout:
    """Assign meanings to `keys`; `dialogue` are those that contain the conversation itself."""
    rest = [key for key in keys if key not in dialogue]
    ids = ID if fields.id is None else (fields.id,)
    systems = SYSTEM if fields.system is None else (fields.system,)
    ambiguous = fields.system is None and not present(("instructions",), rest)
    return Layout(
        id_names=ids,
        system_names=systems,
        ids=present(ids, rest),
        systems=present(systems, rest),
        prompts=present(("system",), rest) if ambiguous else [],
        instructions=present(INSTRUCTIONS, rest),
        origins=present(("origin",), rest),
        objects=present(METADATA, rest),
        rest=rest,
    )


def read_info(record: dict[str, Any], layout: Layout, exact: bool) -> RecordInfo:
    """The fields of `record` other than the dialogue; unknown fields become metadata.

    Raises:
        InexactNumber: A number may have been rounded, and `exact` is false.
    """
    rest = {key: record[key] for key in layout.rest}
    inner: dict[str, Any] = {}
    for key in layout.objects:
        if isinstance(rest[key], dict):
            inner |= rest.pop(key)
    instructions = ""
    for key in layout.instructions:
        if rest[key] is None or isinstance(rest[key], str):
            instructions = join(instructions, rest.pop(key) or "")
    for key in layout.prompts:
        if isinstance(rest[key], str) and reads_as_prompt(rest[key]):
            instructions = join(instructions, rest.pop(key))
    identity = _take(layout.ids, rest, exact)
    system = _take(layout.systems, rest, exact)
    origin = _take_origin(layout.origins, rest)
    if not exact and not (surely_exact(rest) and surely_exact(inner)):
        raise InexactNumber
    if inner:
        identity = identity or _take(present(layout.id_names, inner), inner, exact)
        system = system or _take(present(layout.system_names, inner), inner, exact)
        origin = origin or _take_origin(present(("origin",), inner), inner)
        for key, value in inner.items():
            rest[f"metadata.{key}" if key in rest else key] = value
    return RecordInfo(identity, system, instructions or None, origin or Origin.UNKNOWN, rest)


@lru_cache(maxsize=64)  # a file repeats the same few values
def reads_as_prompt(system: str) -> bool:
    """Whether a field `system` contains the bot's system prompt and not its name."""
    # "Claude 3.5 Sonnet v2" is a name; system prompts of up to four words end with a period.
    return "\n" in system or len(system.split()) > 4 or system.rstrip().endswith((".", "!", "?"))


def _take(keys: Iterable[str], record: dict[str, Any], exact: bool) -> str | None:
    for key in keys:
        value = record.get(key)
        if isinstance(value, (str, int, float)) and not isinstance(value, bool) and value != "":
            if not (exact or surely_exact(value)):
                raise InexactNumber
            del record[key]
            return str(value)
    return None


def _take_origin(keys: Iterable[str], record: dict[str, Any]) -> Origin | None:
    for key in keys:
        if isinstance(value := record[key], str) and value.casefold() in _ORIGINS:
            del record[key]
            return Origin(value.casefold())
    return None
