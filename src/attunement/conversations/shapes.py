"""The shapes in which records hold a conversation: messages, exchanges, pairs, one row a message, plain chats.

The shape is found from the names of the fields and the kind of their values, once for all records of a file that
have the same fields. `--format` leaves only one family of shapes to look for.

OpenAI's and TRL's `messages` (also with the last reply in a field of its own), ShareGPT's `conversations` with `from`
and `value`, and lists of the same kind under other names. What a message carries beside its words, such as a time or
a name, is not kept.

Under the name `turns` or `exchanges`, or any other name that holds talk. Fields of an exchange beside these two, such
as a number, are not kept; their order in the list is their order in time.

Where Alpaca's `instruction` and `input` both stand, both are the person's message. A `history` beside them holds the
turns that came before.

Rows that belong together follow each other: they have the same conversation id and name no two systems. A column with
a turn number puts them in order. A table of messages without a conversation id is one conversation.

A message goes on until the next label. Only the two labels that a chat begins with count as labels, so that a reply
which quotes a play ("Therapist: ...") in a chat between `user:` and `chatbot:` stays one reply. With turn headers,
each turn has one message of the person and one reply, and only the next number in order is a header.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple, Protocol

from attunement.conversations import messages
from attunement.conversations import messages as names
from attunement.conversations.json_files import parse_exactly
from attunement.conversations.messages import (
    SPOKEN,
    BadRecord,
    Fields,
    Format,
    Record,
    Side,
    Talk,
    is_list,
    is_object,
    join,
    listed,
    plain,
    plain_talk,
    read_content,
    side_of,
    surely_exact,
    tool_call,
    tool_result,
    weave,
)

# Only a message with one of these needs more than a look at its speaker and its words.
_SPECIAL = frozenset({"tool_calls", "function_call", "type"})


class MessageList(NamedTuple):
    """A list of messages under the first of `keys`, or the record itself.

    The field `reply`, where there is one, holds the last reply. If it is not one of `keys`, it may also hold something
    else, and counts only where the last message of the list is the person's.
    """

    keys: tuple[str, ...]
    role: str
    content: str
    reply: str | None = None

    def talk(self, record: Any, exact: bool) -> Talk:
        """What was said in `record`; `exact` says that no number in there was rounded."""
        messages = listed(record, self.keys[0] if self.keys else None)
        talk = _alternating(messages, self.role, self.content) or weave(self.said(messages, exact))
        if self.reply is None or not record[self.reply] or not (talk.unanswered or self.reply in self.keys):
            return talk
        reply = record[self.reply]
        last = [(Side.ASSISTANT, reply)] if isinstance(reply, str) else self.said(listed(record, self.reply), exact)
        return weave(chain(self.said(messages, exact), last))

    def said(self, messages: list[Any], exact: bool) -> Iterator[tuple[Side, str]]:
        """The messages of the list in order, with those of tools marked."""
        role, content = self.role, self.content
        for number, message in enumerate(messages, 1):
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
            raise BadRecord(f"message {number} is not an object with a speaker and words")
        if message.get("type") in ("function_call", "function_call_output"):
            # OpenAI's newer format puts calls and results between the messages, without a role.
            yield Side.ASSISTANT, join(*read_content([message], exact))
            return
        side = side_of(message.get(self.role))
        if side is None:
            raise BadRecord(
                f"message {number} has the {self.role} {message.get(self.role)!r}, which names neither the person "
                "(such as 'user') nor the assistant (such as 'assistant')"
            )
        try:
            yield from _sides(side, message, message.get(self.content), exact)
        except BadRecord as error:
            raise BadRecord(f"message {number}: {error.reason}") from None


def _alternating(messages: list[Any], role: str, content: str) -> Talk | None:
    """What was said, if `messages` are no more than a text of the user and one of the assistant in turn.

    Most are, and this takes a fraction of the time. None leaves them to the way that knows everything.
    """
    try:
        roles = [message[role] for message in messages]
        texts = [message[content] for message in messages]
        in_turn = SPOKEN[roles[0]] is Side.USER and SPOKEN[roles[1]] is Side.ASSISTANT
    except (KeyError, TypeError, IndexError):
        return None
    if in_turn and roles == roles[:2] * (len(roles) // 2) and set(map(len, messages)) == {2}:
        return plain_talk(texts[0::2], texts[1::2])
    return None


def _sides(side: Side, message: Mapping[str, Any], content: Any, exact: bool) -> Iterator[tuple[Side, str]]:
    if side is Side.TOOL_RESULT:
        yield Side.ASSISTANT, tool_result(content, message.get("name"), exact)
        return
    text, results = read_content(content, exact)
    if side is Side.TOOL_CALL:
        yield Side.ASSISTANT, f"[tool call: {text}]"
        return
    if results:
        # Anthropic's format hands tool results back inside a message of the user.
        yield Side.ASSISTANT, results
        if not text:
            return
    calls: Any = message.get("tool_calls")
    both = [*(calls if is_list(calls) else [calls]), message.get("function_call")]
    marks = [tool_call(call, exact) for call in both if is_object(call)]
    yield side, join(text, "\n".join(marks))


def message_keys(message: object) -> tuple[str, str] | None:
    """The fields of the speaker and of the words in `message`, or None where it has not both."""
    if not is_object(message):
        return None
    roles = names.present(names.ROLE, message)
    contents = [key for key in names.present(names.CONTENT, message) if key not in roles]
    if not roles or not (contents or "tool_calls" in message):
        return None
    return roles[0], contents[0] if contents else "content"


class ExchangeList(NamedTuple):
    """A list of exchanges under `keys` (one name), or the record itself."""

    keys: tuple[str, ...]
    user: str
    assistant: str

    def talk(self, record: Any, exact: bool) -> Talk:
        """What was said in `record`; `exact` says that no number in there was rounded."""
        exchanges = listed(record, self.keys[0] if self.keys else None)
        return self._plain_talk(exchanges) or weave(self.said(exchanges, exact))

    def _plain_talk(self, exchanges: list[Any]) -> Talk | None:
        try:
            users = [exchange[self.user] for exchange in exchanges]
            return plain_talk(users, [exchange[self.assistant] for exchange in exchanges])
        except (KeyError, TypeError):
            return None

    def said(self, exchanges: list[Any], exact: bool) -> Iterator[tuple[Side, str]]:
        """The messages of the exchanges in order; a side that is missing or `null` said nothing."""
        for number, exchange in enumerate(exchanges, 1):
            if not is_object(exchange):
                raise BadRecord(f"exchange {number} is not an object")
            user, reply = exchange.get(self.user), exchange.get(self.assistant)
            if user is None and reply is None:
                raise BadRecord(f"exchange {number} has neither the field '{self.user}' nor '{self.assistant}'")
            try:
                if user is not None:
                    yield Side.USER, spoken(user, exact)
                if reply is not None:
                    yield Side.ASSISTANT, spoken(reply, exact)
            except BadRecord as error:
                raise BadRecord(f"exchange {number}: {error.reason}") from None


def spoken(content: Any, exact: bool) -> str:
    """The words of `content` where nothing but text is expected; parts and marked tool calls are joined."""
    return content if type(content) is str else join(*read_content(content, exact))


def exchange_keys(exchange: object) -> tuple[str, str] | None:
    """The fields of the person's words and of the reply in `exchange`, or None where it has not both."""
    if not is_object(exchange):
        return None
    users = messages.present(messages.EXCHANGE_USER, exchange)
    replies = messages.present(messages.EXCHANGE_ASSISTANT, exchange)
    return (users[0], replies[0]) if users and replies else None


class PairList(NamedTuple):
    """A list of pairs under `keys` (one name), or the record itself."""

    keys: tuple[str, ...]

    def talk(self, record: Any, exact: bool) -> Talk:
        """What was said in `record`; `exact` says that no number in there was rounded."""
        return weave(self.said(listed(record, self.keys[0] if self.keys else None), exact))

    def said(self, pairs: list[Any], exact: bool) -> Iterator[tuple[Side, str]]:
        """The messages of `pairs` in order; `null` on one side of a pair means that this side said nothing."""
        for number, pair in enumerate(pairs, 1):
            if not is_pair(pair):
                raise BadRecord(f"pair {number} is not a list of two messages, the person's and the reply")
            for side, content in zip((Side.USER, Side.ASSISTANT), pair, strict=True):
                if content is not None:
                    yield side, spoken(content, exact)


def is_pair(value: object) -> bool:
    """Whether `value` looks like one message of the person and one reply."""
    return is_list(value) and len(value) == 2 and all(each is None or isinstance(each, (str, list)) for each in value)


ListShape = MessageList | ExchangeList | PairList


def list_shape(talk: Any, keys: tuple[str, ...]) -> ListShape | None:
    """The shape of the list `talk`, which stands under `keys`, or None where it is no list of anything said."""
    if not is_list(talk):
        return None
    if not talk:
        # Nothing was said, in whatever shape: reading it as the most common one will tell.
        return MessageList(keys, "role", "content")
    if found := message_keys(talk[0]):
        return MessageList(keys, *found)
    if found := exchange_keys(talk[0]):
        return ExchangeList(keys, *found)
    return PairList(keys) if is_pair(talk[0]) else None


class FlatRecord(NamedTuple):
    """Which fields hold what the person said and the reply, and which others might if these are empty."""

    prompts: tuple[str, ...]
    response: str
    other_prompts: tuple[str, ...] = ()
    other_responses: tuple[str, ...] = ()
    history: str | None = None
    history_shape: ListShape | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """The fields that hold the talk."""
        return (*self.prompts, self.response) if self.history is None else (self.history, *self.prompts, self.response)

    def talk(self, record: Any, exact: bool) -> Talk:
        """What was said in `record`; `exact` says that no number in there was rounded."""
        _refuse_if_elsewhere(record, self.prompts, self.other_prompts)
        _refuse_if_elsewhere(record, (self.response,), self.other_responses)
        return weave(self._said(record, exact))

    def _said(self, record: dict[str, Any], exact: bool) -> Iterator[tuple[Side, str]]:
        if self.history is not None and record[self.history]:
            if self.history_shape is None:
                raise BadRecord(f"the turns in the field '{self.history}' are in no known shape")
            yield from self.history_shape.said(listed(record, self.history), exact)
        for key in self.prompts:
            yield Side.USER, spoken(record[key], exact)
        if (reply := record[self.response]) is not None:
            yield Side.ASSISTANT, spoken(reply, exact)


def flat_record(record: dict[str, Any], prompt: str | None = None, response: str | None = None) -> FlatRecord | None:
    """Which fields of `record` hold the person's words and the reply, or None where it has not both.

    A name given for one of them is taken; otherwise the most specific name that holds any words.
    """
    replies = [key for key in _candidates(record, messages.RESPONSE, response) if key != prompt]
    prompts = [key for key in _candidates(record, messages.PROMPT, prompt) if key not in replies[:1]]
    if not replies or not prompts:
        return None
    chosen = prompts[:1]
    if messages.plain(chosen[0]) in ("instruction", "input"):
        chosen = messages.present(("instruction", "input"), prompts)
    history = next(
        (key for key in messages.present(messages.HISTORY, record) if record[key] is None or is_list(record[key])), None
    )
    return FlatRecord(
        prompts=tuple(chosen),
        response=replies[0],
        other_prompts=tuple(key for key in prompts if key not in chosen),
        other_responses=tuple(replies[1:]),
        history=history,
        history_shape=None if history is None else list_shape(record[history], ()),
    )


def _candidates(record: dict[str, Any], wanted: tuple[str, ...], given: str | None) -> list[str]:
    found = messages.present(wanted if given is None else (given,), record)
    texts = [key for key in found if record[key] is None or isinstance(record[key], (str, list))]
    return sorted(texts, key=lambda key: not record[key])


def _refuse_if_elsewhere(record: dict[str, Any], chosen: tuple[str, ...], others: tuple[str, ...]) -> None:
    if not any(record[key] for key in chosen):
        for key in others:
            if record[key]:
                raise BadRecord(f"the field '{chosen[0]}' is empty, but '{key}' is not")


_BLANK = (None, "")


class RowShape(NamedTuple):
    """How one row holds its part of the talk, and which columns put rows together."""

    part: MessageList | ExchangeList
    keys: tuple[str, ...]
    id: str | None
    system: str | None
    number: str | None

    def talk(self, record: Any, exact: bool) -> Talk:
        """What was said in the rows of `record`; `exact` says that no number in there was rounded."""
        return self.part.talk(record.rows, exact)


class RowGroup(dict[str, Any]):
    """The columns of rows that belong together, as one record, with the rows themselves.

    A column that says one thing only, wherever it says anything, says it once; another is the list of what it says.
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
    """How `row` holds its part of a conversation, or None where it is a conversation of its own.

    `forced` also takes a row whose speaker is not known for a message.
    """
    if not is_object(row):
        return None
    conversations = messages.present((fields.id,) if fields.id else messages.CONVERSATION_ID, row)
    numbers = messages.present(messages.TURN_NUMBER, row)[:1]
    systems = messages.present((fields.system,) if fields.system else messages.SYSTEM, row)
    part: MessageList | ExchangeList
    if (keys := message_keys(row)) and (forced or messages.side_of(row[keys[0]])):
        part = MessageList((), *keys)
        conversations = conversations or messages.present(messages.ID, row)
    elif conversations and numbers and (flat := flat_record(row, fields.prompt, fields.response)) and not flat.history:
        keys = (flat.prompts[0], flat.response)
        part = ExchangeList((), *keys)
    else:
        return None
    spare = [system for system in systems if system not in keys]
    return RowShape(part, keys, _first(conversations), _first(spare), _first(numbers))


def grouped(records: Iterable[Record], shape: RowShape) -> Iterator[Record]:
    """Put the rows of `records` together, so that each record is one conversation."""
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
    value: RowGroup | BadRecord
    try:
        value = RowGroup(shape, _in_order([row.value for row in rows], shape.number))
    except (KeyError, TypeError, ValueError):
        value = BadRecord(f"the turns of this conversation are not numbered in the column '{shape.number}'")
    whole = [row.raw if isinstance(row.raw, str) else row.raw.decode("utf-8", "surrogateescape") for row in rows]
    return Record(rows[0].line, value, "".join(whole))


def _in_order(rows: list[dict[str, Any]], number: str | None) -> list[dict[str, Any]]:
    # Sorting keeps rows with one number in the order of the file, as where both messages of a turn have it.
    return rows if number is None or len(rows) == 1 else sorted(rows, key=lambda row: float(row[number]))


def _first(keys: list[str]) -> str | None:
    return keys[0] if keys else None


_HEADER = re.compile(r"\s*--- Turn (\d{1,6}) ---\s*")
# `user:`, `Chatbot :`, `**User:**`, `### Human:`, `<user>:`, `[User]:`
_LABEL = re.compile(r"\s*(?:[#*<\[_]+\s*)?([^\W\d_][\w \-]{0,30}?)\s*[*>\]_]*\s*:[*_]*")
_LINE_BREAK = re.compile(r"\r\n|\r|\n")


class _Label(NamedTuple):
    side: Side
    name: str
    rest: str  # what stands on the line behind the label


class ChatText(str):
    """The text of a file that is one chat. A string in JSON is none."""

    __slots__ = ()


class WholeText(NamedTuple):
    """How a file that is one chat holds it."""

    keys: tuple[str, ...] = ()

    def talk(self, record: Any, exact: bool) -> Talk:
        """What was said in `record`; there are no numbers in a text, so `exact` changes nothing."""
        return read_chat(record)


class Transcript(NamedTuple):
    """A record that holds a whole chat as text in the field `keys` names."""

    keys: tuple[str]

    def talk(self, record: Any, exact: bool) -> Talk:
        """What was said in `record`; there are no numbers in a text, so `exact` changes nothing."""
        text = record[self.keys[0]]
        if not isinstance(text, str):
            raise BadRecord(f"the field '{self.keys[0]}' holds no text")
        try:
            return read_chat(text)
        except BadRecord as error:
            raise BadRecord(f"{error.reason} (line {error.line} of the field '{self.keys[0]}')") from None


def read_chat(text: str) -> Talk:
    """Read the chat in `text`.

    Raises:
        BadRecord: The first line that is not blank begins with no known label; `line` says which it is.
    """
    lines = _LINE_BREAK.split(text)
    headed = _is_header(next(filter(str.strip, lines), ""), 1)
    names: dict[Side, str] = {}
    messages: list[tuple[Side, list[str]]] = []
    turn, speaker = 0, None
    for number, line in enumerate(lines, 1):
        if headed and _is_header(line, turn + 1):
            turn, speaker = turn + 1, None
            continue
        label = _label(line)
        if label is not None and _opens(label, names, headed, speaker):
            speaker = label.side
            messages.append((speaker, [label.rest]))
        elif speaker is not None:
            messages[-1][1].append(line)
        elif line.strip():
            raise BadRecord("no label such as 'user:' or 'assistant:' stands before these words", number)
    return weave((side, "\n".join(said).strip()) for side, said in messages)


def begins_like_a_chat(line: str) -> bool:
    """Whether `line` could be the first of a chat: a turn header or a known label."""
    return _is_header(line, 1) or _label(line) is not None


def _opens(label: _Label, names: dict[Side, str], headed: bool, speaker: Side | None) -> bool:
    if label.side is Side.INSTRUCTIONS:
        return not names
    if headed and (speaker is Side.ASSISTANT or speaker is label.side):
        return False
    return names.setdefault(label.side, label.name) == label.name


def _is_header(line: str, turn: int) -> bool:
    found = _HEADER.fullmatch(line)
    return found is not None and int(found[1]) == turn


def _label(line: str) -> _Label | None:
    found = _LABEL.match(line)
    side = side_of(found[1]) if found else None
    if found is None or side in (None, Side.TOOL_CALL, Side.TOOL_RESULT):
        return None
    return _Label(side, plain(found[1]), line[found.end() :])


class Shape(Protocol):
    """How to get the talk out of a record."""

    @property
    def keys(self) -> tuple[str, ...]:
        """The fields that hold the talk; none where the record is a bare list or a text."""
        ...

    def talk(self, record: Any, exact: bool) -> Talk:
        """What was said in `record`; `exact` says that no number in there was rounded."""
        ...


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
    """The shape of `value`, a record as it was parsed, or None where it has none that is `wanted`."""
    family = None if wanted is None else _FAMILIES.get(wanted)
    for shape in _shapes(value, fields, family):
        if family is None or isinstance(shape, family) or (family is Transcript and isinstance(shape, WholeText)):
            return shape
    return None


def _shapes(value: Any, fields: Fields, family: type[Shape] | None) -> Iterator[Shape]:
    if isinstance(value, RowGroup):
        yield value.shape
    elif is_object(value):
        yield from _shapes_of_object(value, fields, family)
    elif is_list(value):
        yield from _shapes_of_list(value, (), family)
    elif isinstance(value, ChatText):
        yield WholeText()


def _shapes_of_object(record: dict[str, Any], fields: Fields, family: type[Shape] | None) -> Iterator[Shape]:
    flat = flat_record(record, fields.prompt, fields.response)
    yield from _shapes_of_prompts(record, fields)
    if flat is not None and (flat.history or fields.prompt or fields.response):
        yield flat
    for key in messages.present(messages.TALK, record):
        for shape in _shapes_of_list(record[key], (key,), family):
            yield shape._replace(reply=_reply(record, key, fields)) if isinstance(shape, MessageList) else shape
    for key in messages.present(messages.TRANSCRIPT, record):
        if isinstance(record[key], str) and (family is Transcript or _is_chat(record[key])):
            yield Transcript((key,))
    if flat is not None:
        yield flat
    for key, value in record.items():
        if (shape := list_shape(value, (key,))) and isinstance(shape, MessageList) and value:
            yield shape


def _shapes_of_prompts(record: dict[str, Any], fields: Fields) -> Iterator[Shape]:
    """A prompt that is a list of messages, with the reply in another field."""
    for key in messages.present((fields.prompt,) if fields.prompt else messages.PROMPT, record):
        shape, reply = list_shape(record[key], (key,)), _reply(record, key, fields)
        if isinstance(shape, MessageList) and record[key] and reply is not None:
            yield shape._replace(keys=(key, reply), reply=reply)


def _reply(record: dict[str, Any], talk: str, fields: Fields) -> str | None:
    replies = messages.present((fields.response,) if fields.response else messages.RESPONSE, record)
    texts = (key for key in replies if record[key] is None or isinstance(record[key], (str, list)))
    return next((key for key in texts if key != talk), None)


def _shapes_of_list(talk: Any, keys: tuple[str, ...], family: type[Shape] | None) -> Iterator[ListShape]:
    shape = list_shape(talk, keys)
    if shape is None:
        return
    if talk and (not keys or messages.plain(keys[0]) in _MANY):
        # Here stand many conversations as often as one: what has an id, or fields that name no speakers, is a
        # conversation of its own and not a part of one.
        if isinstance(shape, MessageList) and messages.present(messages.CONVERSATION_ID, talk[0]):
            return
        if isinstance(shape, ExchangeList) and family is not ExchangeList and _stands_alone(talk[0], shape):
            return
    yield shape


def _stands_alone(exchange: dict[str, Any], shape: ExchangeList) -> bool:
    keys = (shape.user, shape.assistant)
    if any(messages.side_of(key) is None for key in keys):
        return True
    return bool(messages.present((*messages.ID, *messages.SYSTEM), [key for key in exchange if key not in keys]))


def _is_chat(text: str) -> bool:
    try:
        return bool(read_chat(text).turns)
    except BadRecord:
        return False
