"""The shapes of conversation records: messages, exchanges, pairs, flat records, plain chats, and rows of them.

The shape is detected from the field names and value types, once for all records of a file with the same fields.
`--format` limits detection to one family of shapes. To read a new shape, let `Recognizer` detect it and give a function
that makes its messages; add its field names to the lists in `messages`. For a log of another tool, it is easier to
rewrite it as plain records first: see `logs`.

Lists of messages: OpenAI's and TRL's `messages` (also with the last reply in a field of its own), ShareGPT's
`conversations` with `from` and `value`, and lists of the same kind under other names, also as JSON text in a cell.
Other fields of a message or an exchange, such as a time, a name or a number, are ignored.

Flat records: if Alpaca's `instruction` and `input` are both present, both are the person's message. A `history`
contains the earlier turns.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from itertools import chain
from typing import Any, NamedTuple

from attunement.conversations import messages as names
from attunement.conversations.chats import ChatText, chat_messages
from attunement.conversations.files import Format
from attunement.conversations.json_files import BadRecord, is_list, is_object
from attunement.conversations.logs import Call
from attunement.conversations.messages import (
    PRIVATE,
    Fields,
    Message,
    Side,
    Speakers,
    as_messages,
    join,
    keys_of,
    message_keys,
    plain,
    present,
    read_content,
    tool_call,
    tool_result,
    unknown_speaker,
)

Read = Callable[[Any], Iterator[Message]]


class Shape(NamedTuple):
    """Where the dialogue of a record is: `keys` are the fields that contain it, none if it is the record itself."""

    family: Format
    keys: tuple[str, ...]
    read: Read


class RowShape(NamedTuple):
    """How a row contains its part of a conversation, and which columns group and order the rows."""

    part: Shape
    id: str | None
    system: str | None
    number: str | None
    time: str | None
    is_message: bool  # else an exchange, or a call with the turns before it


class Recognizer:
    """Detects shapes.

    Args:
        wanted: The family of shapes that is allowed; None or a type of file allows all.
        fields: Names of fields and speakers to use instead of the usual ones, or besides them.
    """

    def __init__(self, wanted: Format | None, fields: Fields) -> None:
        self._wanted = None if wanted is None or wanted.is_kind else wanted
        self._fields = fields
        self._speakers = Speakers(fields)

    def shape(self, value: Any) -> Shape | None:
        """The shape of `value`, a parsed record, or None if it has no wanted shape."""
        wanted = _FAMILIES.get(self._wanted or "", self._wanted)
        return next((shape for shape in self._shapes(value) if wanted in (None, shape.family)), None)

    def is_conversation(self, value: Any) -> bool:
        return self.shape(value) is not None

    def row(self, row: Any) -> RowShape | None:
        """How `row` contains its part of a conversation, or None if it is a complete conversation."""
        forced = self._wanted is Format.ROWS
        if not is_object(row) or (self._wanted is not None and not forced):
            return None
        fields = self._fields
        keys, ids = self._columns(tuple(row))
        if not keys and not ids:
            return None
        whole = None if forced else self.shape(row)
        if whole and whole.family in (Format.EXCHANGES, Format.PAIRS, Format.TRANSCRIPT):
            return None
        numbers, times = present(names.TURN_NUMBER, row), present(names.TIME, row)
        if keys and isinstance(row[keys[0]], str) and (forced or ids or self._speakers.side(row[keys[0]])):
            part = Shape(Format.MESSAGES, keys, partial(self._row_message, keys))
            ids = ids or present(names.ID, row)
        elif whole and ids and (isinstance(row, Call) or self._is_part(whole, row, bool(numbers), bool(times))):
            part = whole
        else:
            return None
        systems = present((fields.system,) if fields.system else names.SYSTEM, row)
        systems = [system for system in systems if system not in part.keys]
        columns = (next(iter(found), None) for found in (ids, systems, numbers, times))
        return RowShape(part, *columns, is_message=part is not whole)

    @lru_cache(maxsize=64)  # noqa: B019 - a file repeats the same few fields, and a recognizer is for one file
    def _columns(self, columns: tuple[str, ...]) -> tuple[tuple[str, str] | None, list[str]]:
        """The columns with the speaker and the text of a message, if there are, and those with an id."""
        row = dict.fromkeys(columns)
        return message_keys(row), present((self._fields.id,) if self._fields.id else names.CONVERSATION_ID, row)

    def _is_part(self, whole: Shape, row: dict[str, Any], numbered: bool, timed: bool) -> bool:
        """Whether a record with an id of its conversation is one exchange of it, or one call with the turns before."""
        if whole.family is Format.FLAT:
            return (numbered or timed) and not present(names.HISTORY, row)
        return timed and len(whole.keys) > 1  # a list of messages, and the reply in a field of its own

    def _shapes(self, value: Any) -> Iterator[Shape]:
        if is_object(value):
            yield from self._shapes_of_object(value)
        elif is_list(value):
            yield from self._shapes_of_list(value, ())
        elif isinstance(value, ChatText):
            yield Shape(Format.TRANSCRIPT, (), partial(chat_messages, speakers=self._speakers))

    def _shapes_of_object(self, record: dict[str, Any]) -> Iterator[Shape]:
        fields = self._fields
        flat = self._flat(record)
        # A prompt that is a list of messages, with the reply in another field.
        for key in present((fields.prompt,) if fields.prompt else names.PROMPT, record):
            reply = self._reply_field(record, key)
            if reply is not None and as_messages(record[key]):
                yield Shape(Format.MESSAGES, (key, reply), partial(self._call, key, reply))
        if flat and (flat.keys[0] in present(names.HISTORY, record) or fields.prompt or fields.response):
            yield flat
        for key in present(names.DIALOGUE, record):
            for shape in self._shapes_of_list(record[key], (key,)):
                reply = self._reply_field(record, key)
                if shape.family is Format.MESSAGES and reply is not None:
                    shape = shape._replace(read=partial(self._with_reply, shape.read, reply))
                yield shape
        for key in present(names.TRANSCRIPT, record):
            if isinstance(record[key], str) and (self._wanted is Format.TRANSCRIPT or self._is_chat(record[key])):
                yield Shape(Format.TRANSCRIPT, (key,), partial(self._chat_in, key))
        if flat:
            yield flat
        for key, value in record.items():
            if is_list(value) and keys_of(value):
                yield from self._shapes_of_list(value, (key,))

    def _shapes_of_list(self, value: Any, keys: tuple[str, ...]) -> Iterator[Shape]:
        shape = self._list(value, keys)
        if shape is None:
            return
        entries: Any = as_messages(value) if isinstance(value, str) else value
        if entries and (not keys or plain(keys[0]) in _MANY):
            # Such a list may contain one conversation or many: an entry with an id, or without speaker fields, is a
            # separate conversation.
            if shape.family is Format.MESSAGES and present(names.CONVERSATION_ID, entries[0]):
                return
            forced = self._wanted in (Format.EXCHANGES, Format.TURNS)
            if shape.family is Format.EXCHANGES and not forced and self._is_separate(entries[0]):
                return
        yield shape

    def _list(self, value: Any, keys: tuple[str, ...]) -> Shape | None:
        """The shape of a list of messages, exchanges or pairs under `keys`, or None if it is something else."""
        entries: Any = as_messages(value) if isinstance(value, str) else value
        if not is_list(entries):
            return None
        first = entries[0] if entries else None

        def read(make: Callable[[list[Any]], Iterator[Message]], record: Any) -> Iterator[Message]:
            value = record[keys[0]] if keys else record
            entries: Any = as_messages(value) if isinstance(value, str) else value
            if not is_list(entries):
                raise BadRecord(f"the field '{keys[0]}' is not a list" if keys else "this is not a conversation")
            return make(entries)

        if found := keys_of(entries) if entries else ("role", "content"):
            make = partial(self._messages, role=found[0], content=found[1])
            return Shape(Format.MESSAGES, keys, partial(read, make))
        if exchange := _exchange_keys(first):
            return Shape(Format.EXCHANGES, keys, partial(read, partial(_exchanges, *exchange)))
        return Shape(Format.PAIRS, keys, partial(read, _pairs)) if _is_pair(first) else None

    def _is_separate(self, exchange: dict[str, Any]) -> bool:
        keys = _exchange_keys(exchange) or ()
        if any(self._speakers.side(key) is None for key in keys):
            return True
        return bool(present((*names.ID, *names.SYSTEM), [key for key in exchange if key not in keys]))

    def _messages(self, entries: list[Any], role: str, content: str) -> Iterator[Message]:
        """The messages of a list in order, with tool messages marked."""
        spoken = self._speakers.spoken
        for number, message in enumerate(entries, 1):
            try:
                side, text = spoken[message[role]], message[content]
                if type(text) is str and (len(message) == 2 or _SPECIAL.isdisjoint(message)):
                    yield side, text
                    continue
            except (KeyError, TypeError):
                pass
            if not is_object(message):
                raise BadRecord(f"message {number} is not an object with a speaker and text")
            try:
                yield from self._message(message, role, content)
            except BadRecord as error:
                raise BadRecord(f"message {number}: {error.reason}") from None

    def _row_message(self, keys: tuple[str, str], row: dict[str, Any]) -> Iterator[Message]:
        return self._messages([row], *keys)

    def _message(self, message: dict[str, Any], role: str, content: str) -> Iterator[Message]:
        kind = str(message.get("type"))
        if kind in ("function_call", "function_call_output"):
            # OpenAI's newer format has calls and results between the messages, without a role.
            yield Side.ASSISTANT, join(*read_content([message]))
            return
        if kind in PRIVATE:
            return
        side = self._speakers.side(message.get(role))
        if side is None:
            raise BadRecord(unknown_speaker(role, message.get(role)))
        text = message.get(content if content in message else next(iter(present(names.CONTENT, message)), content))
        if side is Side.TOOL_RESULT:
            yield Side.ASSISTANT, tool_result(text, message.get("name"))
            return
        text, results = read_content(text)
        if side is Side.TOOL_CALL:
            yield Side.ASSISTANT, f"[tool call: {text}]"
            return
        if results:
            # Anthropic's format has tool results inside a user message.
            yield Side.ASSISTANT, results
            if not text:
                return
        calls: Any = message.get("tool_calls")
        both = [*(calls if is_list(calls) else [calls]), message.get("function_call")]
        yield side, join(text, "\n".join(tool_call(call) for call in both if is_object(call)))

    def _reply_field(self, record: dict[str, Any], dialogue: str) -> str | None:
        replies = present((self._fields.response,) if self._fields.response else names.RESPONSE, record)
        return next((key for key in replies if key != dialogue and isinstance(record[key], _TEXTS)), None)

    def _call(self, key: str, reply: str, record: dict[str, Any]) -> Iterator[Message]:
        """The messages of a call to a model, and its reply."""
        before = as_messages(record[key])
        if before is None:
            raise BadRecord(f"the field '{key}' has no messages")
        yield from self._any_messages(before)
        yield from self._reply(record[reply])

    def _with_reply(self, read: Read, reply: str, record: dict[str, Any]) -> Iterator[Message]:
        """The messages, and the reply field if the last message is the person's; else it is something else."""
        found = list(read(record))
        yield from found
        if record[reply] and found and found[-1][0] is Side.USER:
            yield from self._reply(record[reply])

    def _any_messages(self, entries: list[Any]) -> Iterator[Message]:
        return self._messages(entries, *(keys_of(entries) or ("role", "content")))

    def _reply(self, value: Any) -> Iterator[Message]:
        entries = as_messages(value)
        return self._any_messages(entries) if entries else _both(None, value)

    def _flat(self, record: dict[str, Any]) -> Shape | None:
        """One exchange in the fields of a record, or None if the person's message or the reply is missing.

        A name given by the user wins; otherwise the most specific name with text, which may differ by record.
        """
        fields = self._fields
        replies = [key for key in _texts(record, names.RESPONSE, fields.response) if key != fields.prompt]
        prompts = [key for key in _texts(record, names.PROMPT, fields.prompt) if key not in replies[:1]]
        if not replies or not prompts:
            return None
        chosen = prompts[:1]
        if plain(chosen[0]) in ("instruction", "input"):
            chosen = present(("instruction", "input"), prompts)
        history = next((key for key in present(names.HISTORY, record) if isinstance(record[key], (list, _NONE))), None)
        others = [key for key in (*prompts, *replies) if key not in (*chosen, replies[0])]

        def read(record: dict[str, Any]) -> Iterator[Message]:
            for key in others:
                alternative = chosen if key in prompts else replies[:1]
                if record[key] and not any(record[each] for each in alternative):
                    raise BadRecord(f"the field '{alternative[0]}' is empty, but '{key}' is not")
            earlier: Iterator[Message] = iter(())
            if history is not None and record[history]:
                shape = self._list(record[history], (history,))
                if shape is None:
                    raise BadRecord(f"the turns in the field '{history}' have an unknown format")
                earlier = shape.read(record)
            prompt = ((Side.USER, join(*read_content(record[key]))) for key in chosen)
            return chain(earlier, prompt, _both(None, record[replies[0]]))

        return Shape(Format.FLAT, (*([history] if history else []), *chosen, replies[0]), read)

    def _chat_in(self, key: str, record: dict[str, Any]) -> Iterator[Message]:
        if not isinstance(record[key], str):
            raise BadRecord(f"the field '{key}' is not text")
        try:
            return chat_messages(record[key], self._speakers)
        except BadRecord as error:
            raise BadRecord(f"{error.reason} (line {error.line} of the field '{key}')") from None

    def _is_chat(self, text: str) -> bool:
        try:
            return any(side is Side.ASSISTANT for side, _ in chat_messages(text, self._speakers))
        except BadRecord:
            return False


_FAMILIES: dict[str, Format] = {Format.SHAREGPT: Format.MESSAGES, Format.TURNS: Format.EXCHANGES}
_NONE = type(None)
_TEXTS = (str, list, dict, _NONE)
_MANY = frozenset({"conversations", "dialogs"})
_SPECIAL = frozenset({"tool_calls", "function_call", "type"})  # fields that need more than the speaker and text


def _exchange_keys(exchange: object) -> tuple[str, str] | None:
    if not is_object(exchange):
        return None
    users, replies = present(names.EXCHANGE_USER, exchange), present(names.EXCHANGE_ASSISTANT, exchange)
    return (users[0], replies[0]) if users and replies else None


def _exchanges(user: str, assistant: str, entries: list[Any]) -> Iterator[Message]:
    """The messages of the exchanges in order; a side that is missing or `null` has no message."""
    for number, exchange in enumerate(entries, 1):
        if not is_object(exchange):
            raise BadRecord(f"exchange {number} is not an object")
        said, reply = exchange.get(user), exchange.get(assistant)
        if said is None and reply is None:
            raise BadRecord(f"exchange {number} has neither the field '{user}' nor '{assistant}'")
        try:
            yield from _both(said, reply)
        except BadRecord as error:
            raise BadRecord(f"exchange {number}: {error.reason}") from None


def _pairs(entries: list[Any]) -> Iterator[Message]:
    for number, pair in enumerate(entries, 1):
        if not _is_pair(pair):
            raise BadRecord(f"pair {number} is not a list of two messages, the person's and the reply")
        yield from _both(pair[0], pair[1])


def _is_pair(value: object) -> bool:
    return is_list(value) and len(value) == 2 and all(each is None or isinstance(each, (str, list)) for each in value)


def _both(user: Any, reply: Any) -> Iterator[Message]:
    """The two sides of an exchange; parts and marked tool calls are joined."""
    if user is not None:
        yield Side.USER, user if type(user) is str else join(*read_content(user))
    if reply is not None:
        yield Side.ASSISTANT, reply if type(reply) is str else join(*read_content(reply))


def _texts(record: dict[str, Any], usual: tuple[str, ...], given: str | None) -> list[str]:
    """The fields that may contain a message, those with text first."""
    found = present(usual if given is None else (given,), record)
    texts = [key for key in found if isinstance(record[key], (str, list, _NONE))]
    return sorted(texts, key=lambda key: not record[key])
