"""The shapes of conversation records: messages, exchanges, pairs, rows, flat records, plain chats.

The shape is detected from the field names and value types, once for all records of a file with the same fields.
`--format` limits detection to one family of shapes.

To read a new shape, add a `Shape` with the fields that contain the dialogue (`keys`) and a way to extract it
(`dialogue`, mostly by passing the messages in order to `weave`), and let `_shapes_of_object`, `list_shape` or
`read_chat` detect it. Add its field names to the lists in `messages`. For a log of another tool with nested or
scattered messages, it is easier to rewrite it as plain records first: see `logs`.

Lists of messages: OpenAI's and TRL's `messages` (also with the last reply in a field of its own), ShareGPT's
`conversations` with `from` and `value`, and lists of the same kind under other names. Other fields of a message or an
exchange, such as a time, a name or a number, are ignored.

Flat records: if Alpaca's `instruction` and `input` are both present, both are the person's message. A `history`
contains the earlier turns.

Consecutive rows with the same conversation id and system form one conversation. A column with a turn number sorts them.
A table of messages without a conversation id is one conversation.

Chats as text: a message continues until the next label. Only the first two labels of a chat count as labels, so a reply
that quotes a play ("Therapist: ...") in a chat between `user:` and `chatbot:` stays one reply. With turn headers, each
turn has one message and one reply, and only the next number in order is a header.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

from attunement.conversations import messages as names
from attunement.conversations.json_files import parse_exactly
from attunement.conversations.messages import (
    SPOKEN,
    BadRecord,
    Dialogue,
    Fields,
    Format,
    Record,
    Side,
    is_list,
    is_object,
    join,
    plain,
    plain_dialogue,
    present,
    read_content,
    side_of,
    surely_exact,
    tool_call,
    tool_result,
    weave,
)


@dataclass(frozen=True)
class Shape:
    """How to extract the dialogue from a record.

    `keys` are the fields that contain it; none if the record is a bare list or a text.
    """

    keys: tuple[str, ...]

    def dialogue(self, record: Any, exact: bool) -> Dialogue:
        """The dialogue in `record`; `exact`: no number in there was rounded.

        Raises:
            BadRecord: It cannot be read in this shape.
        """
        raise NotImplementedError


class ListShape(Shape):
    """A list under the first of `keys`, or the record itself."""

    def dialogue(self, record: Any, exact: bool) -> Dialogue:
        entries = _list_in(record, self.keys[0] if self.keys else None)
        return self.if_plain(entries) or weave(self.messages(entries, exact))

    def if_plain(self, entries: list[Any]) -> Dialogue | None:
        """The dialogue if the list has only texts that alternate between the person and the assistant.

        This is the common case and much faster. None: use the general path.
        """
        del entries

    def messages(self, entries: list[Any], exact: bool) -> Iterator[tuple[Side, str]]:
        raise NotImplementedError


def _list_in(record: Any, key: str | None) -> list[Any]:
    value = record if key is None else record[key]
    if not is_list(value):
        raise BadRecord("this is not a conversation" if key is None else f"the field '{key}' is not a list")
    return value


# Only messages with one of these fields need more than their speaker and text.
_SPECIAL = frozenset({"tool_calls", "function_call", "type"})


@dataclass(frozen=True)
class MessageList(ListShape):
    """A list of messages.

    The field `reply`, if there is one, is the last reply. If it is not one of `keys`, it may be something else, and
    counts only if the last message of the list is the person's.
    """

    role: str
    content: str
    reply: str | None = None

    def dialogue(self, record: Any, exact: bool) -> Dialogue:
        found = super().dialogue(record, exact)
        if self.reply is None or not record[self.reply] or not (found.unanswered or self.reply in self.keys):
            return found
        reply = record[self.reply]
        before = self.messages(record[self.keys[0]] if self.keys else record, exact)
        if isinstance(reply, str):
            return weave(chain(before, [(Side.ASSISTANT, reply)]))
        return weave(chain(before, self.messages(_list_in(record, self.reply), exact)))

    def if_plain(self, entries: list[Any]) -> Dialogue | None:
        try:
            roles = [message[self.role] for message in entries]
            texts = [message[self.content] for message in entries]
            in_turn = SPOKEN[roles[0]] is Side.USER and SPOKEN[roles[1]] is Side.ASSISTANT
        except (KeyError, TypeError, IndexError):
            return None
        if in_turn and roles == roles[:2] * (len(roles) // 2) and set(map(len, entries)) == {2}:
            return plain_dialogue(texts[0::2], texts[1::2])
        return None

    def messages(self, entries: list[Any], exact: bool) -> Iterator[tuple[Side, str]]:
        """The messages of the list in order, with tool messages marked."""
        role, content = self.role, self.content
        for number, message in enumerate(entries, 1):
            try:
                side, text = SPOKEN[message[role]], message[content]
            except (KeyError, TypeError):
                yield from self._marked(number, message, exact)
                continue
            if type(text) is str and (len(message) == 2 or _SPECIAL.isdisjoint(message)):
                yield side, text
            else:
                yield from self._marked(number, message, exact)

    def _marked(self, number: int, message: Any, exact: bool) -> Iterator[tuple[Side, str]]:
        if not is_object(message):
            raise BadRecord(f"message {number} is not an object with a speaker and text")
        if message.get("type") in ("function_call", "function_call_output"):
            # OpenAI's newer format has calls and results between the messages, without a role.
            yield Side.ASSISTANT, join(*read_content([message], exact))
            return
        side = side_of(message.get(self.role))
        if side is None:
            raise BadRecord(
                f"message {number} has the {self.role} {message.get(self.role)!r}, which is not a known name for the "
                f"person (such as 'user') or the assistant (such as 'assistant')"
            )
        yield from _numbered(f"message {number}", _read_message(side, message, message.get(self.content), exact))


def _numbered(place: str, messages: Iterator[tuple[Side, str]]) -> Iterator[tuple[Side, str]]:
    """The messages; a BadRecord gets the place in front of its reason."""
    try:
        yield from messages
    except BadRecord as error:
        raise BadRecord(f"{place}: {error.reason}") from None


def _read_message(side: Side, message: Mapping[str, Any], content: Any, exact: bool) -> Iterator[tuple[Side, str]]:
    if side is Side.TOOL_RESULT:
        yield Side.ASSISTANT, tool_result(content, message.get("name"), exact)
        return
    text, results = read_content(content, exact)
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
    marks = [tool_call(call, exact) for call in both if is_object(call)]
    yield side, join(text, "\n".join(marks))


def message_keys(message: object) -> tuple[str, str] | None:
    """The fields of the speaker and the text in `message`, or None if one is missing."""
    if not is_object(message):
        return None
    roles = present(names.ROLE, message)
    contents = [key for key in present(names.CONTENT, message) if key not in roles]
    if not roles or not (contents or "tool_calls" in message):
        return None
    return roles[0], contents[0] if contents else "content"


@dataclass(frozen=True)
class ExchangeList(ListShape):
    """A list of objects, each with a message of the person and a reply."""

    user: str
    assistant: str

    def if_plain(self, entries: list[Any]) -> Dialogue | None:
        try:
            users = [exchange[self.user] for exchange in entries]
            return plain_dialogue(users, [exchange[self.assistant] for exchange in entries])
        except (KeyError, TypeError):
            return None

    def messages(self, entries: list[Any], exact: bool) -> Iterator[tuple[Side, str]]:
        """The messages of the exchanges in order; a side that is missing or `null` has no message."""
        for number, exchange in enumerate(entries, 1):
            if not is_object(exchange):
                raise BadRecord(f"exchange {number} is not an object")
            user, reply = exchange.get(self.user), exchange.get(self.assistant)
            if user is None and reply is None:
                raise BadRecord(f"exchange {number} has neither the field '{self.user}' nor '{self.assistant}'")
            yield from _numbered(f"exchange {number}", _both(user, reply, exact))


class PairList(ListShape):
    """A list of pairs, each a list of a message of the person and a reply."""

    def messages(self, entries: list[Any], exact: bool) -> Iterator[tuple[Side, str]]:
        for number, pair in enumerate(entries, 1):
            if not _is_pair(pair):
                raise BadRecord(f"pair {number} is not a list of two messages, the person's and the reply")
            yield from _both(pair[0], pair[1], exact)


def _both(user: Any, reply: Any, exact: bool) -> Iterator[tuple[Side, str]]:
    """The two sides of an exchange; parts and marked tool calls are joined."""
    if user is not None:
        yield Side.USER, user if type(user) is str else join(*read_content(user, exact))
    if reply is not None:
        yield Side.ASSISTANT, reply if type(reply) is str else join(*read_content(reply, exact))


def _is_pair(value: object) -> bool:
    return is_list(value) and len(value) == 2 and all(each is None or isinstance(each, (str, list)) for each in value)


def list_shape(entries: Any, keys: tuple[str, ...]) -> ListShape | None:
    """The shape of the list `entries` under `keys`, or None if it is not a list of messages."""
    if not is_list(entries):
        return None
    if not entries:
        # No messages in any shape: reading it as the most common shape reports that.
        return MessageList(keys, "role", "content")
    if found := message_keys(entries[0]):
        return MessageList(keys, *found)
    if is_object(exchange := entries[0]):
        users, replies = present(names.EXCHANGE_USER, exchange), present(names.EXCHANGE_ASSISTANT, exchange)
        return ExchangeList(keys, users[0], replies[0]) if users and replies else None
    return PairList(keys) if _is_pair(entries[0]) else None


@dataclass(frozen=True)
class FlatRecord(Shape):
    """One exchange in the fields of a record: the fields that contain it, and alternatives if these are empty."""

    prompts: tuple[str, ...]
    response: str
    other_prompts: tuple[str, ...]
    other_responses: tuple[str, ...]
    history: str | None
    history_shape: ListShape | None

    def dialogue(self, record: Any, exact: bool) -> Dialogue:
        for chosen, others in ((self.prompts, self.other_prompts), ((self.response,), self.other_responses)):
            for key in others:
                if record[key] and not any(record[each] for each in chosen):
                    raise BadRecord(f"the field '{chosen[0]}' is empty, but '{key}' is not")
        return weave(self._messages(record, exact))

    def _messages(self, record: dict[str, Any], exact: bool) -> Iterator[tuple[Side, str]]:
        if self.history is not None and record[self.history]:
            if self.history_shape is None:
                raise BadRecord(f"the turns in the field '{self.history}' have an unknown format")
            yield from self.history_shape.messages(_list_in(record, self.history), exact)
        for key in self.prompts:
            yield Side.USER, join(*read_content(record[key], exact))
        yield from _both(None, record[self.response], exact)


def flat_record(record: dict[str, Any], fields: Fields) -> FlatRecord | None:
    """Which fields of `record` contain the person's message and the reply, or None if one is missing.

    A name given by the user wins; otherwise the most specific name with text.
    """
    replies = [key for key in _candidates(record, names.RESPONSE, fields.response) if key != fields.prompt]
    prompts = [key for key in _candidates(record, names.PROMPT, fields.prompt) if key not in replies[:1]]
    if not replies or not prompts:
        return None
    chosen = prompts[:1]
    if plain(chosen[0]) in ("instruction", "input"):
        chosen = present(("instruction", "input"), prompts)
    histories = (key for key in present(names.HISTORY, record) if record[key] is None or is_list(record[key]))
    history = next(histories, None)
    return FlatRecord(
        keys=(*chosen, replies[0]) if history is None else (history, *chosen, replies[0]),
        prompts=tuple(chosen),
        response=replies[0],
        other_prompts=tuple(key for key in prompts if key not in chosen),
        other_responses=tuple(replies[1:]),
        history=history,
        history_shape=None if history is None else list_shape(record[history], ()),
    )


def _candidates(record: dict[str, Any], usual: tuple[str, ...], given: str | None) -> list[str]:
    """The fields that may contain a message, those with text first."""
    found = present(usual if given is None else (given,), record)
    texts = [key for key in found if record[key] is None or isinstance(record[key], (str, list))]
    return sorted(texts, key=lambda key: not record[key])


_BLANK = (None, "")


@dataclass(frozen=True)
class RowShape(Shape):
    """How a row contains its part of the dialogue, and which columns group rows."""

    part: MessageList | ExchangeList
    id: str | None
    system: str | None
    number: str | None

    def dialogue(self, record: Any, exact: bool) -> Dialogue:
        return self.part.dialogue(record.rows, exact)


class RowGroup(dict[str, Any]):
    """Combine rows into one record, which also contains the rows themselves.

    A column with one distinct value becomes that value; others become a list.
    """

    def __init__(self, shape: RowShape, rows: list[dict[str, Any]]) -> None:
        super().__init__()
        self.shape = shape
        self.rows = rows
        for key in dict.fromkeys(key for row in rows for key in row):
            cells = [row.get(key) for row in rows]
            filled = [cell for cell in cells if cell not in _BLANK]
            self[key] = next(iter(filled), cells[0]) if all(cell == filled[0] for cell in filled) else cells


def row_shape(row: Any, fields: Fields, forced: bool = False) -> RowShape | None:
    """How `row` contains its part of a conversation, or None if it is a complete conversation.

    With `forced`, a row with an unknown speaker is also a message.
    """
    if not is_object(row):
        return None
    conversations = present((fields.id,) if fields.id else names.CONVERSATION_ID, row)
    numbers = present(names.TURN_NUMBER, row)
    systems = present((fields.system,) if fields.system else names.SYSTEM, row)
    part: MessageList | ExchangeList
    if (keys := message_keys(row)) and (forced or side_of(row[keys[0]])):
        part = MessageList((), *keys)
        conversations = conversations or present(names.ID, row)
    elif conversations and numbers and (flat := flat_record(row, fields)) and not flat.history:
        keys = (flat.prompts[0], flat.response)
        part = ExchangeList((), *keys)
    else:
        return None
    systems = [system for system in systems if system not in keys]
    id, system, number = (next(iter(columns), None) for columns in (conversations, systems, numbers))
    return RowShape(keys, part, id, system, number)


def grouped(records: Iterable[Record], shape: RowShape) -> Iterator[Record]:
    """Combine the rows of `records`, so that each record is one conversation."""
    rows: list[Record] = []
    for record in records:
        if not record.exact and not surely_exact(record.value):
            record = record._replace(value=parse_exactly(record.raw), exact=True)
        if not is_object(record.value):
            yield record
            continue
        if rows and not _together(rows, record, shape):
            yield _group(rows, shape)
            rows = []
        rows.append(record)
    if rows:
        yield _group(rows, shape)


def _together(rows: list[Record], record: Record, shape: RowShape) -> bool:
    if shape.id is not None and rows[-1].value.get(shape.id) != record.value.get(shape.id):
        return False
    if shape.system is None or record.value.get(shape.system) in _BLANK:
        return True
    named = [row.value.get(shape.system) for row in rows if row.value.get(shape.system) not in _BLANK]
    return not named or named[0] == record.value[shape.system]


def _group(rows: list[Record], shape: RowShape) -> Record:
    values = [row.value for row in rows]
    value: RowGroup | BadRecord
    try:
        if shape.number is not None and len(rows) > 1:
            # Rows with equal numbers stay in file order, as when both messages of a turn have the same number.
            values.sort(key=lambda row: float(row[shape.number]))
        value = RowGroup(shape, values)
    except (KeyError, TypeError, ValueError):
        value = BadRecord(f"the turns of this conversation are not numbered in the column '{shape.number}'")
    whole = [row.raw if isinstance(row.raw, str) else row.raw.decode("utf-8", "surrogateescape") for row in rows]
    return Record(rows[0].line, value, "".join(whole))


_HEADER = re.compile(r"\s*--- Turn (\d{1,6}) ---\s*")
# `user:`, `Chatbot :`, `**User:**`, `### Human:`, `<user>:`, `[User]:`
_LABEL = re.compile(r"\s*(?:[#*<\[_]+\s*)?([^\W\d_][\w \-]{0,30}?)\s*[*>\]_]*\s*:[*_]*")
_LINE_BREAK = re.compile(r"\r\n|\r|\n")


class ChatText(str):
    """The text of a file that is one chat; a string in JSON is something else."""

    __slots__ = ()


class Transcript(Shape):
    """A whole chat as text, in the field that `keys` names or as the record itself."""

    def dialogue(self, record: Any, exact: bool) -> Dialogue:
        if not self.keys:
            return read_chat(record)
        text = record[self.keys[0]]
        if not isinstance(text, str):
            raise BadRecord(f"the field '{self.keys[0]}' is not text")
        try:
            return read_chat(text)
        except BadRecord as error:
            raise BadRecord(f"{error.reason} (line {error.line} of the field '{self.keys[0]}')") from None


class _Label(NamedTuple):
    side: Side
    name: str
    rest: str  # the text on the line after the label


def read_chat(text: str) -> Dialogue:
    """Read the chat in `text`.

    Raises:
        BadRecord: The first line that is not blank does not begin with a known label; `line` is its number.
    """
    lines = _LINE_BREAK.split(text)
    headed = _is_header(next(filter(str.strip, lines), ""), 1)
    speakers: dict[Side, str] = {}
    messages: list[tuple[Side, list[str]]] = []
    turn, speaker = 0, None
    for number, line in enumerate(lines, 1):
        if headed and _is_header(line, turn + 1):
            turn, speaker = turn + 1, None
            continue
        label = _label(line)
        if label is not None and _opens(label, speakers, headed, speaker):
            speaker = label.side
            messages.append((speaker, [label.rest]))
        elif speaker is not None:
            messages[-1][1].append(line)
        elif line.strip():
            raise BadRecord("this text has no label such as 'user:' or 'assistant:' in front", number)
    return weave((side, "\n".join(words).strip()) for side, words in messages)


def begins_like_a_chat(line: str) -> bool:
    """Whether `line` could be the first of a chat: a turn header or a known label."""
    return _is_header(line, 1) or _label(line) is not None


def _opens(label: _Label, speakers: dict[Side, str], headed: bool, speaker: Side | None) -> bool:
    """Whether a label begins a message; in a chat with turn headers, each side speaks once a turn."""
    if label.side is Side.INSTRUCTIONS:
        return not speakers
    if headed and (speaker is Side.ASSISTANT or speaker is label.side):
        return False
    return speakers.setdefault(label.side, label.name) == label.name


def _is_header(line: str, turn: int) -> bool:
    found = _HEADER.fullmatch(line)
    return found is not None and int(found[1]) == turn


def _label(line: str) -> _Label | None:
    found = _LABEL.match(line)
    side = side_of(found[1]) if found else None
    if found is None or side in (None, Side.TOOL_CALL, Side.TOOL_RESULT):
        return None
    return _Label(side, plain(found[1]), line[found.end() :])


_FAMILIES: Mapping[Format, type[Shape]] = {
    Format.MESSAGES: MessageList,
    Format.SHAREGPT: MessageList,
    Format.TURNS: ExchangeList,
    Format.EXCHANGES: ExchangeList,
    Format.PAIRS: PairList,
    Format.FLAT: FlatRecord,
    Format.TRANSCRIPT: Transcript,
    Format.ROWS: RowShape,
}
_MANY = frozenset({"conversations", "dialogs"})


def recognise(value: Any, wanted: Format | None, fields: Fields) -> Shape | None:
    """The shape of `value`, a parsed record, or None if it has no `wanted` shape."""
    family = Shape if wanted is None else _FAMILIES.get(wanted, Shape)
    return next((shape for shape in _shapes(value, fields, family) if isinstance(shape, family)), None)


def _shapes(value: Any, fields: Fields, family: type[Shape]) -> Iterable[Shape]:
    if isinstance(value, RowGroup):
        return (value.shape,)
    if is_object(value):
        return _shapes_of_object(value, fields, family)
    if is_list(value):
        return _shapes_of_list(value, (), family)
    return (Transcript(()),) if isinstance(value, ChatText) else ()


def _shapes_of_object(record: dict[str, Any], fields: Fields, family: type[Shape]) -> Iterator[Shape]:
    flat = flat_record(record, fields)
    # A prompt that is a list of messages, with the reply in another field.
    for key in present((fields.prompt,) if fields.prompt else names.PROMPT, record):
        shape, reply = list_shape(record[key], (key,)), _reply(record, key, fields)
        if isinstance(shape, MessageList) and record[key] and reply is not None:
            yield replace(shape, keys=(key, reply), reply=reply)
    if flat is not None and (flat.history or fields.prompt or fields.response):
        yield flat
    for key in present(names.DIALOGUE, record):
        for shape in _shapes_of_list(record[key], (key,), family):
            is_messages = isinstance(shape, MessageList)
            yield replace(shape, reply=_reply(record, key, fields)) if is_messages else shape
    for key in present(names.TRANSCRIPT, record):
        if isinstance(record[key], str) and (family is Transcript or _is_chat(record[key])):
            yield Transcript((key,))
    if flat is not None:
        yield flat
    for key, value in record.items():
        if value and isinstance(shape := list_shape(value, (key,)), MessageList):
            yield shape


def _reply(record: dict[str, Any], dialogue: str, fields: Fields) -> str | None:
    replies = present((fields.response,) if fields.response else names.RESPONSE, record)
    texts = (key for key in replies if record[key] is None or isinstance(record[key], (str, list)))
    return next((key for key in texts if key != dialogue), None)


def _shapes_of_list(entries: Any, keys: tuple[str, ...], family: type[Shape]) -> Iterator[ListShape]:
    shape = list_shape(entries, keys)
    if shape is None:
        return
    if entries and (not keys or plain(keys[0]) in _MANY):
        # Such a list may contain one conversation or many: an entry with an id, or without speaker fields, is a
        # separate conversation.
        if isinstance(shape, MessageList) and present(names.CONVERSATION_ID, entries[0]):
            return
        if isinstance(shape, ExchangeList) and family is not ExchangeList and _is_conversation(entries[0], shape):
            return
    yield shape


def _is_conversation(exchange: dict[str, Any], shape: ExchangeList) -> bool:
    keys = (shape.user, shape.assistant)
    if any(side_of(key) is None for key in keys):
        return True
    return bool(present((*names.ID, *names.SYSTEM), [key for key in exchange if key not in keys]))


def _is_chat(text: str) -> bool:
    try:
        return bool(read_chat(text).turns)
    except BadRecord:
        return False
