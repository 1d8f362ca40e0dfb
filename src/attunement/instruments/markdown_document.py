"""The blocks of a Markdown document, its title and version, and which of its lines have found a place.

Reading a document means taking lines from its page. What nobody took is unplaced, so forgetting a line is not
possible: a part of a document that the readers do not know shows up with its line number.

A small reader for the Markdown that rubrics and templates use: headings, paragraphs, lists, tables, quotes, fences and
rules. Every line that is not blank belongs to exactly one block and is kept as it stands, so that whoever reads the
blocks can say of each line where it went. Inline marks such as ** are text here.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from attunement.errors import InstrumentError
from attunement.instruments.loader import available
from attunement.instruments.model import Instrument


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


class Unplaced(NamedTuple):
    """Lines of a document that have no place in the instrument. `line` is the first of them, counted from 1."""

    line: int
    text: str
    reason: str


class Imported(NamedTuple):
    """What became of a document."""

    instrument: Instrument
    unplaced: list[Unplaced]
    remarks: list[str]
    """What was filled in or decided although the document does not say it: one sentence each."""


class Record(NamedTuple):
    """A row of a table by the names of its columns."""

    line: int
    cells: dict[str, str]


class Page:
    """A document, and which of its lines were taken."""

    def __init__(self, text: str, name: str) -> None:
        """Read the blocks of a document; `name` stands in errors."""
        self.name = name
        self.remarks: list[str] = []
        self._lines = lines(text)
        self._taken: set[int] = set()
        self._refused: dict[int, str] = {}
        try:
            self.root = outline(blocks(self._lines))
        except UnclosedFence as error:
            raise self.error(error.line, "this fence is never closed; close it with the same marks") from error

    def error(self, line: int, problem: str) -> InstrumentError:
        """An error about a line of this document."""
        return InstrumentError(f"{self.name}, line {line}: {problem}")

    def remark(self, sentence: str) -> None:
        """Tell the user what was decided for them."""
        self.remarks.append(sentence)

    def take(self, *taken: Block | None) -> None:
        """Say that these lines have their place. The root of a document has no heading to take."""
        for block in taken:
            if block is not None:
                self._taken.update(range(block.line, block.end + 1))

    def refuse(self, line: int, reason: str) -> None:
        """Say why a line, or a part of it, has no place. It is listed even where the rest of it was taken."""
        self._refused[line] = reason

    def source(self, first: Block, last: Block) -> str:
        """The document from one block to another, to the character."""
        return "\n".join(self._lines[first.line - 1 : last.end])

    def records(self, table: Block, columns: dict[str, str], optional: tuple[str, ...] = ()) -> list[Record] | None:
        """Take a table whose columns are headed as the patterns say; None, and nothing taken, where one is absent.

        A row with too few or too many cells, or without a text that is not optional, is refused. So is a column that
        no pattern knows, row by row, because its cells have no place.
        """
        header, *body = rows(table)
        names: list[str | None] = []
        for cell in header.cells:
            name = _column(cell, columns)
            names.append(None if name in names else name)  # of two columns for one thing, the second is not known
        if not (columns.keys() - set(optional)) <= set(names):
            return None
        self.take(table)
        found: list[Record] = []
        for row in body:
            if len(row.cells) != len(names):
                self.refuse(row.line, f"the row has {_count(len(row.cells), 'cell')}, the table has {len(names)}")
                continue
            cells = {name: cell for name, cell in zip(names, row.cells, strict=True) if name}
            empty = [name for name in columns if name in cells and name not in optional and not cells[name]]
            if empty:
                self.refuse(row.line, f"the cell for the {empty[0]} is empty")
                continue
            for title, name, cell in zip(header.cells, names, row.cells, strict=True):
                if name is None and cell:
                    self.refuse(row.line, f"the column {title!r} has no place in an instrument")
            found.append(Record(row.line, cells))
        return found

    def unplaced(self) -> list[Unplaced]:
        """Everything that was refused or not taken, in the order of the document. Rules between parts say nothing."""
        found: list[Unplaced] = []
        for section in self.root.walk():
            reason = self._reason(section)
            for block in [section.heading, *section.blocks]:
                if block is not None and block.kind is not Kind.RULE:
                    found += self._unplaced_in(block, reason)
        return found

    def _unplaced_in(self, block: Block, reason: str) -> Iterator[Unplaced]:
        waiting: list[str] = []
        start = block.line
        for number, line in enumerate(block.lines, start=block.line):
            if number in self._refused or number in self._taken:
                if waiting:
                    yield Unplaced(start, "\n".join(waiting), reason)
                waiting = []
                if number in self._refused:
                    yield Unplaced(number, line, self._refused[number])
                continue
            if not waiting:
                start = number
            waiting.append(line)
        if waiting:
            yield Unplaced(start, "\n".join(waiting), reason)

    def _reason(self, section: Section) -> str:
        if section.heading is None:
            return "it stands before the title"
        if section.heading.line in self._taken:
            return f"the section {section.title!r} has no place for it"
        return f"the section {section.title!r} is not one that an import knows here"


def lead(text: str) -> tuple[str, str] | None:
    """The bold words and the rest of a text such as `**Definition**: ...`; None where it does not begin so."""
    match = re.match(r"\*\*(?P<key>[^*\n]+?)[ \t]*(?::\*\*|\*\*[ \t]*:)\s*", text)
    return (match["key"].strip(), text[match.end() :]) if match else None


def _column(cell: str, columns: dict[str, str]) -> str | None:
    for name, pattern in columns.items():
        if re.fullmatch(pattern, cell.strip("*` "), re.IGNORECASE):
            return name
    return None


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


_VERSION = re.compile(r"[\s,:(–—-]+(?:version\s*|(?=v\d))(?P<version>v?\d[\w.]*)\)?$", re.IGNORECASE)
_HISTORY = re.compile(r"(?:version|revision) history|change ?log", re.IGNORECASE)
_HISTORY_COLUMNS = {"version": "version", "date": "date", "changes": "changes?"}


class Name(NamedTuple):
    """What an instrument is known by, and the notes its history gives."""

    id: str
    version: str
    title: str
    history: tuple[str, ...]


def name(page: Page, file_stem: str) -> Name:
    """Take the title and the version history of a document.

    The version is that of the heading, else the last one of the history, else "1". The id is made of the heading, or
    of the file's name where the heading has no Latin letters.
    """
    page.take(opening(page).heading)
    heading = opening(page).title
    match = _VERSION.search(heading)
    history = _history(page)
    last = history[-1].cells["version"] if history else None
    version = match["version"] if match else last or "1"
    if not match and not last:
        page.remark('The document gives no version; "1" is used.')
    if match and last and last.removeprefix("v") != version.removeprefix("v"):
        page.remark(f"The title says {version}, the last line of the history {last}; {version} is used.")
    if not heading:
        page.remark(f"The document has no title; it is called {file_stem!r} after the file.")
    title = heading[: match.start()] if match else heading
    id = slug(heading) if slug(title) else slug(file_stem) or "imported"
    if any(entry.built_in and entry.id == id for entry in available()):
        page.remark(f"There is a built-in instrument {id}; give this one another id before you use it.")
    return Name(id, version, title or file_stem, tuple(_note(record) for record in history))


def slug(text: str) -> str:
    """`text` as an id: lower case, plain letters and digits, dashes between the words; empty where none is left."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode().lower()
    return re.sub(r"[^a-z0-9._]+", "-", plain).strip("-._")


def opening(page: Page) -> Section:
    """The section of the document's title; where it has none, what stands before the first heading."""
    return next((section for section in page.root.walk() if section.level == 1), page.root)


def _history(page: Page) -> list[Record]:
    found: list[Record] = []
    for section in page.root.walk():
        if _HISTORY.fullmatch(section.title):
            page.take(section.heading)
            for block in section.blocks:
                if block.kind is Kind.TABLE:
                    found += page.records(block, _HISTORY_COLUMNS, optional=("date",)) or []
    return found


def _note(record: Record) -> str:
    date = record.cells.get("date")
    return f"{record.cells['version']}{f', {date}' if date else ''}: {record.cells['changes']}"
