"""Which blocks is a Markdown document made of, and on which lines do they stand?

A small reader for the Markdown that rubrics and templates use: headings, paragraphs, lists, tables, quotes, fences and
rules. Every line that is not blank belongs to exactly one block and is kept as it stands, so that whoever reads the
blocks can say of each line where it went. Inline marks such as ** are text here.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple


class Kind(StrEnum):
    """What a block is."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST = "list"
    TABLE = "table"
    QUOTE = "quote"
    FENCE = "fence"
    RULE = "rule"


class Block(NamedTuple):
    """Consecutive lines of one kind. `line` counts from 1."""

    kind: Kind
    line: int
    lines: tuple[str, ...]

    @property
    def end(self) -> int:
        """The number of its last line."""
        return self.line + len(self.lines) - 1

    @property
    def text(self) -> str:
        """Its lines as they stand."""
        return "\n".join(self.lines)


class Row(NamedTuple):
    """One row of a table."""

    line: int
    cells: tuple[str, ...]


class UnclosedFence(Exception):
    """A fence is opened on line `line` and never closed."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


@dataclass
class Section:
    """A heading with the blocks below it, and the sections with a lower heading inside it."""

    heading: Block | None
    level: int
    title: str
    blocks: list[Block] = field(default_factory=list[Block])
    children: list["Section"] = field(default_factory=list["Section"])

    def walk(self) -> Iterator["Section"]:
        """This section and all inside it, in the order of the document."""
        yield self
        for child in self.children:
            yield from child.walk()


_HEADING = re.compile(r" {0,3}(?P<marks>#{1,6})(?:[ \t]+(?P<title>.*))?")
_FENCE = re.compile(r"(?P<indent> {0,3})(?P<fence>`{3,}(?=[^`]*$)|~{3,}).*")
_RULE = re.compile(r" {0,3}(?P<mark>[-*_])(?:[ \t]*(?P=mark)){2,}[ \t]*")
_QUOTE = re.compile(r"(?P<mark> {0,3}> ?).*")
_TABLE = re.compile(r" {0,3}\|.*")
_ENTRY = re.compile(r"(?P<mark>[ \t]{0,3}(?P<bullet>[-*+]|\d{1,9}[.)])[ \t]+)\S.*")
# The order matters: a rule of stars or dashes would also do as a list.
_PATTERNS = {
    Kind.HEADING: _HEADING,
    Kind.FENCE: _FENCE,
    Kind.RULE: _RULE,
    Kind.QUOTE: _QUOTE,
    Kind.TABLE: _TABLE,
    Kind.LIST: _ENTRY,
}
_SEPARATOR = re.compile(r"[ \t]*\|[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*")
_UNESCAPED_PIPE = re.compile(r"(?<!\\)\|")


def lines(text: str) -> list[str]:
    """The lines of a document; only the line ends of text files count, whatever else Unicode takes for one."""
    return re.split(r"\r\n|\n|\r", text)


def blocks(document: list[str]) -> Iterator[Block]:
    """The blocks of a document given as its lines.

    Raises:
        UnclosedFence: The rest of the document stands in a fence.
    """
    start = 0
    while start < len(document):
        if not document[start].strip():
            start += 1
            continue
        kind = _kind(document[start])
        end = start + 1
        if kind is Kind.FENCE:
            end = _after_fence(document, start)
        elif kind not in {Kind.HEADING, Kind.RULE}:
            while end < len(document) and _goes_on(kind, document[end]):
                end += 1
        yield Block(kind, start + 1, tuple(document[start:end]))
        start = end


def outline(all_blocks: Iterator[Block]) -> Section:
    """The blocks as a tree of sections. The root has no heading and holds what stands before the first one."""
    root = Section(None, 0, "")
    open_sections = [root]
    for block in all_blocks:
        if block.kind is not Kind.HEADING:
            open_sections[-1].blocks.append(block)
            continue
        match = _match(_HEADING, block.lines[0])
        level = len(match["marks"])
        while open_sections[-1].level >= level:
            open_sections.pop()
        section = Section(block, level, re.sub(r"(?:^|[ \t]+)#*[ \t]*$", "", match["title"] or ""))
        open_sections[-1].children.append(section)
        open_sections.append(section)
    return root


def entries(block: Block) -> list[str]:
    """The entries of a list without their marks. What is indented below an entry, also a list, is part of its text."""
    first = len(_match(_ENTRY, block.lines[0])["mark"])
    starts = [n for n, line in enumerate(block.lines) if _ENTRY.fullmatch(line) and _indent(line) < first]
    found: list[str] = []
    for start, end in pairwise([*starts, len(block.lines)]):
        width = len(_match(_ENTRY, block.lines[start])["mark"])
        rest = (_outdented(line, width) for line in block.lines[start + 1 : end])
        found.append("\n".join([block.lines[start][width:], *rest]).rstrip(" \t"))
    return found


def rows(block: Block) -> list[Row]:
    r"""The rows of a table, the header first, without the line that separates it. `\|` in a cell is a pipe."""
    return [
        Row(block.line + number, _cells(line))
        for number, line in enumerate(block.lines)
        if number != 1 or not _SEPARATOR.fullmatch(line)
    ]


def quoted(block: Block) -> list[str]:
    """The lines of a quote without the marks."""
    return [line[len(_match(_QUOTE, line)["mark"]) :] for line in block.lines]


def fenced(block: Block) -> str:
    """The text between the fences, to the character."""
    width = len(_match(_FENCE, block.lines[0])["indent"])
    return "\n".join(_outdented(line, width) for line in block.lines[1:-1])


def _kind(line: str) -> Kind:
    for kind, pattern in _PATTERNS.items():
        if pattern.fullmatch(line):
            return kind
    return Kind.PARAGRAPH


def _goes_on(kind: Kind, line: str) -> bool:
    """Whether `line` belongs to the block of `kind` above it."""
    if not line.strip():
        return False
    own = _kind(line)
    if kind is Kind.LIST:
        return own in {Kind.LIST, Kind.PARAGRAPH}
    if kind is Kind.PARAGRAPH and own is Kind.LIST:
        # A line of prose may happen to begin with a number and a full stop; only a list that begins at 1 cuts in.
        bullet = _match(_ENTRY, line)["bullet"]
        return bullet[0].isdigit() and bullet[:-1] != "1"
    return own is kind


def _after_fence(document: list[str], start: int) -> int:
    fence = _match(_FENCE, document[start])["fence"]
    closing = re.compile(rf" {{0,3}}{fence[0]}{{{len(fence)},}}[ \t]*")
    for number in range(start + 1, len(document)):
        if closing.fullmatch(document[number]):
            return number + 1
    raise UnclosedFence(start + 1)


def _match(pattern: re.Pattern[str], line: str) -> re.Match[str]:
    """The match of a line with the pattern that told its kind."""
    match = pattern.fullmatch(line)
    assert match is not None, line  # noqa: S101 - a block has its kind from this very match
    return match


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _outdented(line: str, width: int) -> str:
    return line[min(width, _indent(line)) :]


def _cells(line: str) -> tuple[str, ...]:
    parts = _UNESCAPED_PIPE.split(line.strip(" \t").removeprefix("|"))
    if len(parts) > 1 and not parts[-1].strip(" \t"):
        parts.pop()
    return tuple(part.replace(r"\|", "|").strip(" \t") for part in parts)
