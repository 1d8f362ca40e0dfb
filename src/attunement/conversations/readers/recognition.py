"""In which shape does a record hold its conversation?

The shape is found from the names of the fields and the kind of their values, once for all records of a file that
have the same fields. `--format` leaves only one family of shapes to look for.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from attunement.conversations.readers import names
from attunement.conversations.readers.chat import ChatText, Transcript, WholeText, read_chat
from attunement.conversations.readers.exchanges import ExchangeList
from attunement.conversations.readers.fields import Fields
from attunement.conversations.readers.flat import FlatRecord, flat_record
from attunement.conversations.readers.formats import Format
from attunement.conversations.readers.lists import ListShape, list_shape
from attunement.conversations.readers.messages import MessageList
from attunement.conversations.readers.pairs import PairList
from attunement.conversations.readers.record import BadRecord, is_list, is_object
from attunement.conversations.readers.rows import RowGroup, RowShape
from attunement.conversations.readers.talk import Talk


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
    for key in names.present(names.TALK, record):
        for shape in _shapes_of_list(record[key], (key,), family):
            yield shape._replace(reply=_reply(record, key, fields)) if isinstance(shape, MessageList) else shape
    for key in names.present(names.TRANSCRIPT, record):
        if isinstance(record[key], str) and (family is Transcript or _is_chat(record[key])):
            yield Transcript((key,))
    if flat is not None:
        yield flat
    for key, value in record.items():
        if (shape := list_shape(value, (key,))) and isinstance(shape, MessageList) and value:
            yield shape


def _shapes_of_prompts(record: dict[str, Any], fields: Fields) -> Iterator[Shape]:
    """A prompt that is a list of messages, with the reply in another field."""
    for key in names.present((fields.prompt,) if fields.prompt else names.PROMPT, record):
        shape, reply = list_shape(record[key], (key,)), _reply(record, key, fields)
        if isinstance(shape, MessageList) and record[key] and reply is not None:
            yield shape._replace(keys=(key, reply), reply=reply)


def _reply(record: dict[str, Any], talk: str, fields: Fields) -> str | None:
    replies = names.present((fields.response,) if fields.response else names.RESPONSE, record)
    texts = (key for key in replies if record[key] is None or isinstance(record[key], (str, list)))
    return next((key for key in texts if key != talk), None)


def _shapes_of_list(talk: Any, keys: tuple[str, ...], family: type[Shape] | None) -> Iterator[ListShape]:
    shape = list_shape(talk, keys)
    if shape is None:
        return
    if talk and (not keys or names.plain(keys[0]) in _MANY):
        # Here stand many conversations as often as one: what has an id, or fields that name no speakers, is a
        # conversation of its own and not a part of one.
        if isinstance(shape, MessageList) and names.present(names.CONVERSATION_ID, talk[0]):
            return
        if isinstance(shape, ExchangeList) and family is not ExchangeList and _stands_alone(talk[0], shape):
            return
    yield shape


def _stands_alone(exchange: dict[str, Any], shape: ExchangeList) -> bool:
    keys = (shape.user, shape.assistant)
    if any(names.side_of(key) is None for key in keys):
        return True
    return bool(names.present((*names.ID, *names.SYSTEM), [key for key in exchange if key not in keys]))


def _is_chat(text: str) -> bool:
    try:
        return bool(read_chat(text).turns)
    except BadRecord:
        return False
