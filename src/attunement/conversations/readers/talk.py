"""How single messages become turns of one person's message and one reply."""

from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

from attunement.conversations.model import Turn
from attunement.conversations.readers.names import Side

_as_turn = partial(tuple[str, str].__new__, Turn)


class Talk(NamedTuple):
    """What was said in one record."""

    turns: tuple[Turn, ...]
    unanswered: bool  # a last message of the person had no reply and was left out
    instructions: str | None = None


def plain_talk(users: list[Any], replies: list[Any]) -> Talk | None:
    """The talk where each message has its reply and all of them are plain texts; None where some are not."""
    if set(map(type, users)) == set(map(type, replies)) == {str}:
        # `Turn` itself would check its arguments once more, which takes longer than all the rest.
        return Talk(tuple(map(_as_turn, zip(users, replies, strict=True))), unanswered=False)
    return None


def weave(messages: Iterable[tuple[Side, str]]) -> Talk:
    """Put messages together into turns.

    Messages of one side that follow each other are joined with a blank line. A reply that no message precedes opens
    the conversation, with an empty `user`. An empty message is a message: a reply of no words stays a reply.
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
    return Talk(tuple(turns), user is not None, instructions)


def join(first: str, second: str) -> str:
    """Two texts with a blank line between them, or the one of them that is not empty."""
    return f"{first}\n\n{second}" if first and second else first or second
