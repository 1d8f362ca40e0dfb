"""Chats as plain text: lines such as `user: ...`, our own turn headers, transcripts with times, WhatsApp exports.

A message continues until the next label. Only the first two labels of a chat count as labels, so a reply that quotes a
play ("Therapist: ...") in a chat between `user:` and `chatbot:` stays one reply; names that the user gives always
count. With turn headers, each turn has one message and one reply, and only the next number in order is a header. If the
first line begins with a time, every message does.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from attunement.conversations.json_files import BadRecord
from attunement.conversations.messages import Message, Side, Speakers, plain

_LINE_BREAK = re.compile(r"\r\n|\r|\n")
_HEADER = re.compile(r"\s*--- Turn (\d{1,6}) ---\s*")
_CLOCK = r"\d{1,2}[:.]\d{2}(?:[:.]\d{2})?(?:[ \u00a0\u202f]?[AaPp]\.?[Mm]\.?)?"
_DATE = r"\d{1,4}[./-]\d{1,2}[./-]\d{1,4}"
_TIME = rf"(?:{_DATE}(?:,|T|\.?\s)\s?)?{_CLOCK}"
# `user:`, `Chatbot :`, `**User:**`, `### Human:`, `<user>:`, `[User]:`, `Anna (10:03):`
_LABEL = re.compile(rf"\s*(?:[#*<\[_]+\s*)?([^\W\d_][\w .’'-]{{0,30}}?)\s*[*>\]_]*\s*(?:[(\[]{_TIME}[)\]]\s*)?:[*_]*")
_MARKS = "\u200e\u200f\u202a\u202c"  # WhatsApp writes marks of the direction of text
# In front of each message: `[31.12.23, 21:15:03]` (WhatsApp on iOS), `12/31/23, 9:15 PM -` (on Android), `10:03`
_TIMED = tuple(
    re.compile(rf"[{_MARKS}\s]*{front}(?:\s*[-–—])?\s+[{_MARKS}]*(?P<rest>.*)")
    for front in (rf"\[{_TIME}\]", rf"{_DATE}(?:,|T|\.?\s)\s?{_CLOCK}", _CLOCK)
)
_SPEAKER = re.compile(r"(?P<name>[^:\n]{1,60}?):(?:\s|$)(?P<text>.*)", re.DOTALL)


class ChatText(str):
    """The text of a file that is one chat; a string in JSON is something else."""

    __slots__ = ()


class _Label(NamedTuple):
    side: Side
    name: str
    rest: str  # the text on the line after the label


def begins_like_a_chat(line: str, speakers: Speakers) -> bool:
    """Whether `line` could be the first of a chat: a turn header, a known label or a time and a speaker."""
    return _is_header(line, 1) or _style(line) is not None or _label(line, speakers) is not None


def chat_messages(text: str, speakers: Speakers) -> Iterator[Message]:
    """The messages of the chat in `text`.

    Raises:
        BadRecord: A speaker is not known, or the first line that is not blank has no label; `line` is its number.
    """
    lines = _LINE_BREAK.split(text)
    first = next(filter(str.strip, lines), "")
    if style := _style(first):
        return iter(_timed(lines, style, speakers))
    return iter(_labelled(lines, speakers, headed=_is_header(first, 1)))


def _style(line: str) -> re.Pattern[str] | None:
    """How the times of a transcript with this first line are written; None if it has none."""
    for style in _TIMED:
        found = style.fullmatch(line.rstrip("\r\n"))
        if found and (style is not _TIMED[-1] or _SPEAKER.match(found["rest"])):
            return style
    return None


def _labelled(lines: list[str], speakers: Speakers, *, headed: bool) -> list[Message]:
    first_labels: dict[Side, str] = {}
    messages: list[tuple[Side, list[str]]] = []
    turn, speaker = 0, None
    for number, line in enumerate(lines, 1):
        if headed and _is_header(line, turn + 1):
            turn, speaker = turn + 1, None
            continue
        label = _label(line, speakers)
        if label is not None and _opens(label, first_labels, headed, speaker, speakers):
            speaker = label.side
            messages.append((speaker, [label.rest]))
        elif speaker is not None:
            messages[-1][1].append(line)
        elif line.strip():
            raise BadRecord(_no_label(lines, speakers), number)
    return [(side, "\n".join(words).strip()) for side, words in messages]


def _opens(label: _Label, first: dict[Side, str], headed: bool, speaker: Side | None, speakers: Speakers) -> bool:
    """Whether a label begins a message; in a chat with turn headers, each side speaks once a turn."""
    if label.side is Side.INSTRUCTIONS:
        return not first
    if headed and (speaker is Side.ASSISTANT or speaker is label.side):
        return False
    return first.setdefault(label.side, label.name) == label.name or label.name in speakers.given


def _no_label(lines: list[str], speakers: Speakers) -> str:
    counts = Counter(found[1] for line in lines if (found := _LABEL.match(line)))
    named = [name for name, count in counts.items() if count > 1 and not speakers.side(name)]
    if not named:
        return (
            "this text has no label such as 'user:' or 'assistant:' in front; label each message, or give the type of "
            "the file with --format"
        )
    return _who(named)


def _who(named: list[str]) -> str:
    listed = " and ".join([", ".join(named[:-1]), named[-1]] if named[1:] else named)
    speak = "speaks" if len(named) == 1 else "speak"
    return f"{listed} {speak} here: say who is who with --person-name NAME and --assistant-name NAME"


def _timed(lines: list[str], style: re.Pattern[str], speakers: Speakers) -> list[Message]:
    """The messages of a transcript in which each message begins with a time; entries without a speaker are notices."""
    entries: list[list[str]] = []
    for line in lines:
        found = style.fullmatch(line)
        # "10:30 works for me" goes on with a message.
        if found and (style is not _TIMED[-1] or _SPEAKER.match(found["rest"])):
            entries.append([found["rest"]])
        elif entries:
            entries[-1].append(line)
    messages: list[Message] = []
    unknown: dict[str, None] = {}
    for entry in entries:
        found = _SPEAKER.match("\n".join(entry).strip())
        if found is None:
            messages.append((Side.NOTICE, "\n".join(entry)))
            continue
        name = found["name"].strip(f"{_MARKS} ~*")
        side = speakers.side(name)
        if side in (Side.USER, Side.ASSISTANT, Side.INSTRUCTIONS):
            messages.append((side, found["text"].strip(f"{_MARKS} \n")))
        else:
            unknown[name] = None
    if unknown:
        raise BadRecord(_who(list(unknown)))
    return messages


def _is_header(line: str, turn: int) -> bool:
    found = _HEADER.fullmatch(line)
    return found is not None and int(found[1]) == turn


def _label(line: str, speakers: Speakers) -> _Label | None:
    found = _LABEL.match(line)
    side = speakers.side(found[1]) if found else None
    if found is None or side in (None, Side.TOOL_CALL, Side.TOOL_RESULT):
        return None
    return _Label(side, plain(found[1]), line[found.end() :])
