"""Which lines of a document have found their place in an instrument, and which have not?

Reading a document means taking lines from its page. What nobody took is unplaced, so forgetting a line is not
possible: a part of a document that the readers do not know shows up with its line number.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from attunement.errors import InstrumentError
from attunement.instruments.importing.markdown import (
    Block,
    Kind,
    Section,
    UnclosedFence,
    blocks,
    lines,
    outline,
    rows,
)
from attunement.instruments.model import Instrument


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
