"""In which shape does a record hold its conversation?

The shape is found from the names of the fields and the kind of their values, once for all records of a file that
have the same fields. `--format` leaves only one family of shapes to look for.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Protocol

from attunement.conversations.readers import names
from attunement.conversations.readers.chat import Transcript, WholeText, read_chat
from attunement.conversations.readers.exchanges import ExchangeList, exchange_keys
from attunement.conversations.readers.fields import Fields
from attunement.conversations.readers.flat import FlatRecord, flat_record
from attunement.conversations.readers.formats import Format
from attunement.conversations.readers.messages import MessageList, message_keys
from attunement.conversations.readers.pairs import PairList, is_pair
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


_FAMILIES: Mapping[Format, type] = {
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
        if family is None or isinstance(shape, family):
            return shape
    return None


def _shapes(value: Any, fields: Fields, family: type | None) -> Iterator[Shape]:
    if isinstance(value, RowGroup):
        yield value.shape
    elif is_object(value):
        yield from _shapes_of_object(value, fields, family)
    elif is_list(value):
        yield from _shapes_of_list(value, (), family)
    elif isinstance(value, str):
        yield WholeText()


def _shapes_of_object(record: dict[str, Any], fields: Fields, family: type | None) -> Iterator[Shape]:
    flat = flat_record(record, fields.prompt, fields.response)
    if flat is not None and (flat.history or fields.prompt or fields.response):
        yield flat
    prompted = names.present(("prompt", "completion"), record)
    if len(prompted) == 2 and (keys := _keys_of_messages(record[prompted[0]])):
        yield MessageList(tuple(prompted), *keys)
    for key in names.present(names.TALK, record):
        yield from _shapes_of_list(record[key], (key,), family)
    for key in names.present(names.TRANSCRIPT, record):
        if isinstance(record[key], str) and (family is Transcript or _is_chat(record[key])):
            yield Transcript((key,))
    if flat is not None:
        yield flat
    for key, value in record.items():
        if keys := _keys_of_messages(value):
            yield MessageList((key,), *keys)


def _shapes_of_list(talk: Any, keys: tuple[str, ...], family: type | None) -> Iterator[Shape]:
    if not is_list(talk):
        return
    if not talk:
        # Nothing was said, in whatever shape: reading it as the most common one will tell.
        yield MessageList(keys, "role", "content")
        return
    first = talk[0]
    # Under these names stand many conversations as often as one: what has an id, or fields that name no speakers,
    # is a conversation of its own and not a part of one.
    many = not keys or names.plain(keys[0]) in _MANY
    if found := message_keys(first):
        if not (many and names.present(names.CONVERSATION_ID, first)):
            yield MessageList(keys, *found)
    elif found := exchange_keys(first):
        if family is ExchangeList or not (many and _stands_alone(first, found)):
            yield ExchangeList(keys, *found)
    elif is_pair(first):
        yield PairList(keys)


def _stands_alone(exchange: dict[str, Any], keys: tuple[str, str]) -> bool:
    if any(names.side_of(key) is None for key in keys):
        return True
    return bool(names.present((*names.ID, *names.SYSTEM), [key for key in exchange if key not in keys]))


def _keys_of_messages(talk: Any) -> tuple[str, str] | None:
    return message_keys(talk[0]) if is_list(talk) and talk else None


def _is_chat(text: str) -> bool:
    try:
        return bool(read_chat(text).turns)
    except BadRecord:
        return False
