"""Plain text chats: lines that begin with a speaker's label, or the `--- Turn 1 ---` format of our own prompts.

A message goes on until the next label. Only the two labels that a chat begins with count as labels, so that a reply
which quotes a play ("Therapist: ...") in a chat between `user:` and `chatbot:` stays one reply. With turn headers,
each turn has one message of the person and one reply, and only the next number in order is a header.
"""

import re
from typing import Any, NamedTuple

from attunement.conversations.readers.names import Side, plain, side_of
from attunement.conversations.readers.record import BadRecord
from attunement.conversations.readers.talk import Talk, weave

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
