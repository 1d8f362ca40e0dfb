"""Read a Markdown document as sections of blocks, and keep track of which of its lines have found a place.

markdown-it finds the blocks; their text is that of the document to the character, and inline marks such as ** are
text. `Document.unplaced` lists every line that no reader placed, so no part of a document can get lost silently.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import groupby, pairwise, takewhile
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from attunement.errors import InstrumentError

# No setext headings and link definitions: "---" separates sections here, and a line "[x]: y" is text.
_MARKDOWN = MarkdownIt("zero").enable(["blockquote", "code", "fence", "heading", "hr", "list", "table"])
_ENTRY_MARK = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]*")
_QUOTE_MARK = re.compile(r" {0,3}> ?")
_UNESCAPED_PIPE = re.compile(r"(?<!\\)\|")


class Kind(StrEnum):
    HEADING = "heading_open"
    PARAGRAPH = "paragraph_open"
    BULLETS = "bullet_list_open"
    NUMBERS = "ordered_list_open"
    TABLE = "table_open"
    QUOTE = "blockquote_open"
    FENCE = "fence"
    RULE = "hr"


LISTS = frozenset({Kind.BULLETS, Kind.NUMBERS})


class Block(NamedTuple):
    """Consecutive lines of one kind. `line` counts from 1; only headings have a `level`.

    `parts` are the title of a heading, the entries of a list, the lines of a quote without their marks, or the lines
    inside a fence.
    """

    kind: Kind
    line: int
    lines: tuple[str, ...]
    level: int
    parts: tuple[str, ...] = ()

    @property
    def numbers(self) -> range:
        return range(self.line, self.line + len(self.lines))

    @property
    def text(self) -> str:
        """Its lines as they are in the document."""
        return "\n".join(self.lines)

    @property
    def content(self) -> str:
        return "\n".join(self.parts)


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


class Unplaced(NamedTuple):
    """Lines of a document that have no place in the instrument. `line` is the first of them, counted from 1."""

    line: int
    text: str
    reason: str


class Record(NamedTuple):
    """A row of a table by the names of its columns."""

    line: int
    cells: dict[str, str]


class Document:
    """The sections of a document, and which of its lines were placed.

    Attributes:
        root: What comes before the first heading, with all sections as its children.
        remarks: What was filled in or decided although the document does not say it: one sentence each.
    """

    def __init__(self, text: str, name: str) -> None:
        self.name = name
        self.remarks: list[str] = []
        self.root = Section(None, 0, "")
        self._lines = lines_of(text)
        self._placed: set[int] = set()
        self._refused: dict[int, str] = {}
        path = [self.root]
        for block in self._blocks(_MARKDOWN.parse(text)):
            if block.level:
                while path[-1].level >= block.level:
                    path.pop()
                path.append(Section(block, block.level, block.content))
                path[-2].children.append(path[-1])
            else:
                path[-1].blocks.append(block)

    def _blocks(self, tokens: list[Token]) -> Iterator[Block]:
        for number, token in enumerate(tokens):
            if token.level or token.map is None:
                continue
            start, end = token.map
            while not self._lines[end - 1].strip(" \t"):  # a list may end with blank lines
                end -= 1
            kind = Kind.PARAGRAPH if token.type == "code_block" else Kind(token.type)
            inside = list(takewhile(lambda inner: inner.level, tokens[number + 1 :]))
            level = int(token.tag[1]) if kind is Kind.HEADING else 0
            block = Block(kind, start + 1, tuple(self._lines[start:end]), level)
            yield block._replace(parts=self._parts(block, token, inside))

    def _parts(self, block: Block, token: Token, inside: list[Token]) -> tuple[str, ...]:
        match block.kind:
            case Kind.HEADING:
                return (inside[0].content,)
            case Kind.BULLETS | Kind.NUMBERS:
                items = (item for item in inside if item.type == "list_item_open" and item.level == 1)
                spans = pairwise([*(item.map[0] for item in items if item.map), block.numbers.stop - 1])
                return tuple(_entry(self._lines[start:end]) for start, end in spans)
            case Kind.QUOTE:
                return tuple(_QUOTE_MARK.sub("", line, count=1) for line in block.lines)
            case Kind.FENCE:
                first, *inner = block.lines
                closing = re.compile(rf" {{0,3}}{token.markup[0]}{{{len(token.markup)},}}[ \t]*")
                if not inner or not closing.fullmatch(inner.pop()):
                    raise self.error(block.line, "this fence is never closed; close it with the same marks")
                return tuple(_outdented(line, _indent(first)) for line in inner)
            case _:
                return ()

    def error(self, line: int, problem: str) -> InstrumentError:
        """An error about a line of this document."""
        return InstrumentError(f"{self.name}, line {line}: {problem}")

    def remark(self, sentence: str) -> None:
        self.remarks.append(sentence)

    def place(self, block: Block | None) -> str:
        """Note that these lines have their place, and give their text."""
        if block is None:
            return ""
        self._placed.update(block.numbers)
        return block.text

    def refuse(self, line: int, reason: str) -> None:
        """Say why a line, or a part of it, has no place. It is listed even if the rest of it was placed."""
        self._refused[line] = reason

    def between(self, first: Block, last: Block) -> str:
        """The document from one block to another, to the character."""
        return "\n".join(self._lines[first.line - 1 : last.numbers.stop - 1])

    def title_section(self) -> Section:
        """The section of the document's title; if it has none, what comes before the first heading."""
        return next((section for section in self.root.walk() if section.level == 1), self.root)

    def records(self, table: Block, columns: dict[str, str], optional: tuple[str, ...] = ()) -> list[Record] | None:
        """Place a table whose columns are headed as the patterns say; None, and nothing placed, if one is missing.

        A row with too few or too many cells, or without a text that is not optional, is refused. So is, row by row, a
        column that no pattern knows.
        """
        header, _, *body = (_cells(line) for line in table.lines)
        names: list[str | None] = []
        for cell in header:
            name = _column(cell, columns)
            names.append(None if name in names else name)  # a second column for one thing is an unknown one
        if not (columns.keys() - set(optional)) <= set(names):
            return None
        self.place(table)
        found: list[Record] = []
        for line, row in enumerate(body, start=table.line + 2):
            if len(row) != len(names):
                cells = "1 cell" if len(row) == 1 else f"{len(row)} cells"
                self.refuse(line, f"the row has {cells}, the table has {len(names)}")
                continue
            record = {name: cell for name, cell in zip(names, row, strict=True) if name}
            empty = [name for name in columns if name not in optional and not record.get(name)]
            if empty:
                self.refuse(line, f"the cell for the {empty[0]} is empty")
                continue
            for title, name, cell in zip(header, names, row, strict=True):
                if name is None and cell:
                    self.refuse(line, f"the column {title!r} has no place in an instrument")
            found.append(Record(line, record))
        return found

    def unplaced(self) -> list[Unplaced]:
        """Everything that was refused or not placed, in the order of the document, but for rules between parts."""

        def state(numbered: tuple[int, str]) -> int | None:
            number = numbered[0]
            return number if number in self._refused else None if number in self._placed else 0

        found: list[Unplaced] = []
        for section in self.root.walk():
            for block in (section.heading, *section.blocks):
                if block is None or block.kind is Kind.RULE:
                    continue
                for group, numbered in groupby(enumerate(block.lines, start=block.line), state):
                    if group is not None:
                        numbers, texts = zip(*numbered, strict=True)
                        reason = self._refused.get(group) or self._reason(section)
                        found.append(Unplaced(numbers[0], "\n".join(texts), reason))
        return found

    def _reason(self, section: Section) -> str:
        if section.heading is None:
            return "it comes before the title"
        if section.heading.line in self._placed:
            return f"the section {section.title!r} has no place for it"
        return f"the section {section.title!r} is not one that an import knows here"


def lines_of(text: str) -> list[str]:
    """The lines of a document; only the line ends of text files count, not the others of Unicode."""
    return re.split(r"\r\n|\n|\r", text)


def lead(text: str) -> tuple[str, str] | None:
    """The bold words and the rest of a text such as `**Definition**: ...`; None if it does not begin like that."""
    match = re.match(r"\*\*(?P<key>[^*\n]+?)[ \t]*(?::\*\*|\*\*[ \t]*:)\s*", text)
    return (match["key"].strip(), text[match.end() :]) if match else None


def _entry(lines: list[str]) -> str:
    """An entry of a list without its mark. What is indented below it, including an inner list, is part of its text."""
    first, *rest = lines
    text = _ENTRY_MARK.sub("", first, count=1)
    return "\n".join([text, *(_outdented(line, len(first) - len(text)) for line in rest)]).rstrip()


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" \t"))


def _outdented(line: str, width: int) -> str:
    return line[min(width, _indent(line)) :]


def _cells(row: str) -> list[str]:
    r"""The cells of a row. `\|` in a cell is a pipe."""
    parts = _UNESCAPED_PIPE.split(row.strip(" \t").removeprefix("|"))
    if len(parts) > 1 and not parts[-1].strip(" \t"):
        parts.pop()
    return [part.replace(r"\|", "|").strip(" \t") for part in parts]


def _column(cell: str, columns: dict[str, str]) -> str | None:
    title = cell.strip("*` ")
    return next((name for name, pattern in columns.items() if re.fullmatch(pattern, title, re.IGNORECASE)), None)
