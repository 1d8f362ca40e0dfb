"""Write conversations in any of the JSON shapes; reading them again gives the same conversations."""

import gzip
import json
import sys
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from attunement.conversations.messages import reads_as_prompt
from attunement.conversations.model import Conversation
from attunement.errors import InputError
from attunement.output import STDOUT, replacing


class Shape(StrEnum):
    MESSAGES = "messages"
    TURNS = "turns"
    EXCHANGES = "exchanges"
    PAIRS = "pairs"
    SHAREGPT = "sharegpt"
    FLAT = "flat"


def write(conversations: Iterable[Conversation], target: str | Path | BinaryIO, shape: Shape = Shape.MESSAGES) -> int:
    """Write `conversations` one by one, and return their number.

    Args:
        conversations: Any iterable; it is streamed.
        target: A file `.jsonl` or `.json`, each also with `.gz`; `-` for standard output, or an open stream, as JSONL.
        shape: The layout of the dialogue in each record.

    Raises:
        InputError: The name has another extension, the file cannot be written, or a conversation has too many turns for
            the shape.
    """
    if not isinstance(target, (str, Path)):
        return _write(conversations, target, shape)
    if str(target) == STDOUT:
        return _write(conversations, sys.stdout.buffer, shape)
    path = Path(target)
    name = path.name.removesuffix(".gz")
    if not name.endswith((".jsonl", ".ndjson", ".json")):
        ways = ".jsonl or .json, with or without .gz"
        raise InputError(f"{path}: conversations are written as {ways}; change the extension.")
    as_list = name.endswith(".json")
    with replacing(path) as stream:
        if path.suffix == ".gz":
            # The header has no time and name, so that equal conversations give equal bytes.
            with gzip.GzipFile("", "wb", fileobj=stream, mtime=0) as compressed:
                return _write(conversations, compressed, shape, as_list)
        return _write(conversations, stream, shape, as_list)


def _write(conversations: Iterable[Conversation], stream: Any, shape: Shape, as_list: bool = False) -> int:
    count = 0
    for conversation in conversations:
        record = encode(as_record(conversation, shape))
        stream.write(b"".join((b",\n" if count else b"[\n", record)) if as_list else record + b"\n")
        count += 1
    if as_list:
        stream.write(b"\n]\n" if count else b"[]\n")
    return count


def as_record(conversation: Conversation, shape: Shape) -> dict[str, Any]:
    """`conversation` as an object of `shape`; reading it gives the same conversation.

    Raises:
        InputError: The shape is `flat` and the conversation has more than one turn.
    """
    record: dict[str, Any] = {"id": conversation.id, "system": conversation.system, "origin": conversation.origin.value}
    as_message = shape in (Shape.MESSAGES, Shape.SHAREGPT)
    if (conversation.instructions is not None and not as_message) or reads_as_prompt(conversation.system):
        # In a record with instructions, even empty ones, `system` is the name of the bot and not its prompt.
        record["instructions"] = None if as_message else conversation.instructions
    match shape:
        case Shape.MESSAGES:
            record["messages"] = _messages(conversation, "role", "content", ("system", "user", "assistant"))
        case Shape.SHAREGPT:
            record["conversations"] = _messages(conversation, "from", "value", ("system", "human", "gpt"))
        case Shape.TURNS | Shape.EXCHANGES:
            record[shape.value] = [turn._asdict() for turn in conversation.turns]
        case Shape.PAIRS:
            record["pairs"] = [list(turn) for turn in conversation.turns]
        case Shape.FLAT:
            if len(conversation.turns) != 1:
                raise InputError(
                    f"The conversation '{conversation.id}' of the system '{conversation.system}' has "
                    f"{len(conversation.turns)} turns, but the shape 'flat' allows only one; choose another shape."
                )
            record["prompt"], record["response"] = conversation.turns[0]
    if conversation.metadata:
        record["metadata"] = dict(conversation.metadata)
    return record


def _messages(conversation: Conversation, role: str, content: str, sides: tuple[str, str, str]) -> list[dict[str, str]]:
    system, user, assistant = sides
    messages = [] if conversation.instructions is None else [{role: system, content: conversation.instructions}]
    for number, turn in enumerate(conversation.turns):
        if turn.user or number:  # the assistant opens the conversation
            messages.append({role: user, content: turn.user})
        messages.append({role: assistant, content: turn.assistant})
    return messages


def encode(record: Mapping[str, Any]) -> bytes:
    """`record` as JSON on one line, with lone surrogates and numbers of any length."""
    try:
        return orjson.dumps(record)
    except TypeError:
        return json.dumps(record, allow_nan=False).encode("ascii")
