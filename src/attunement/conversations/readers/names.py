"""Which words files use: for the person, for the assistant, and for the fields that hold them.

Every list is ordered: of several names that occur in one record, the first in the list is taken. The most specific
names come first, because a field `prompt` may hold a template around the words that `user_statement` holds bare.
"""

from collections.abc import Collection, Iterable, Mapping
from enum import Enum, auto


class Side(Enum):
    """Who a message belongs to."""

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

# Whose words can be taken as they are; those of tools need marking first.
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

# A list of messages: where it stands in a record, and what a message calls its speaker and its words.
TALK = (
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

# A flat record: the field with the person's words and the field with the reply.
PROMPT = (
    "user_statement", "user_message", "user_utterance", "user_input", "user_query", "user_prompt", "seeker_post",
    "question", "query", "user", "human", "seeker", "client", "patient", "instruction", "input", "prompt", "context",
)  # fmt: skip
RESPONSE = (
    "assistant_response", "assistant_message", "bot_response", "chatbot_response", "model_response", "response_post",
    "response", "reply", "answer", "assistant", "chatbot", "bot", "supporter", "therapist", "counselor", "completion",
    "output",
)  # fmt: skip

# A whole chat as one text in a field.
TRANSCRIPT = ("full_conversation", "conversation", "transcript", "dialogue", "dialog", "chat", "chat_log", "text")

# The turns before the exchange that a flat record holds.
HISTORY = ("history", "chat_history")

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
    """Whose words stand under `label`, whatever its case; None where the label is not known."""
    if not isinstance(label, str):
        return None
    return _SIDES.get(label) or _SIDES.get(plain(label))


def plain(name: str) -> str:
    """`name` as the lists here spell it: `Conversation ID` is `conversation_id`."""
    return name.strip().casefold().replace(" ", "_").replace("-", "_")


def present(wanted: Iterable[str], keys: Collection[str]) -> list[str]:
    """Those of `keys`, in their own spelling, that `wanted` names, in the order of `wanted`."""
    spelled = {plain(key): key for key in reversed([*keys])} | {key: key for key in keys}
    return [spelled[name] for name in wanted if name in spelled]
