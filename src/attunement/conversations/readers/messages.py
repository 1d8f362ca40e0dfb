"""Records that hold a list of messages, each with its speaker and its words.

OpenAI's and TRL's `messages` (also with the last reply in a field of its own), ShareGPT's `conversations` with `from`
and `value`, and lists of the same kind under other names. What a message carries beside its words, such as a time or
a name, is not kept.
"""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any, NamedTuple

from attunement.conversations.readers import names
from attunement.conversations.readers.content import read_content, tool_call, tool_result
from attunement.conversations.readers.names import SPOKEN, Side, side_of
from attunement.conversations.readers.record import BadRecord, is_list, is_object, listed
from attunement.conversations.readers.talk import Talk, join, plain_talk, weave

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
