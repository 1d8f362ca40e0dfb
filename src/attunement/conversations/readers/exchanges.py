"""Records that hold a list of exchanges: objects with the person's words in one field and the reply in another.

Under the name `turns` or `exchanges`, or any other name that holds talk. Fields of an exchange beside these two, such
as a number, are not kept; their order in the list is their order in time.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from attunement.conversations.readers import names
from attunement.conversations.readers.content import read_content
from attunement.conversations.readers.names import Side
from attunement.conversations.readers.record import BadRecord, is_object, listed
from attunement.conversations.readers.talk import Talk, join, plain_talk, weave


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
    users = names.present(names.EXCHANGE_USER, exchange)
    replies = names.present(names.EXCHANGE_ASSISTANT, exchange)
    return (users[0], replies[0]) if users and replies else None
