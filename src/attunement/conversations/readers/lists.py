"""In which of its shapes is a list of messages, exchanges or pairs? Its first element shows it."""

from typing import Any

from attunement.conversations.readers.exchanges import ExchangeList, exchange_keys
from attunement.conversations.readers.messages import MessageList, message_keys
from attunement.conversations.readers.pairs import PairList, is_pair
from attunement.conversations.readers.record import is_list

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
