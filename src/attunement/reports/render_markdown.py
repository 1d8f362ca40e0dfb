"""Write blocks as Markdown. What looks like markup in anybody's text is escaped and shows as text."""

import re
from collections.abc import Iterator, Sequence

from attunement.reports.blocks import (
    Block,
    Bullets,
    Chart,
    Dialogue,
    Document,
    LabelRows,
    Section,
    Table,
    Text,
    Tone,
    Verbatim,
    chart_table,
    joined,
)
from attunement.reports.sanitize import for_terminal, plain

_LONGEST = 100_000
_INDENT = "\u00a0\u00a0"
_LINE_START = re.compile(r"^(\d{1,9})([.)])|^([+=>-])")
_LOUD = {Tone.STRONG, Tone.MET, Tone.NOT_MET, Tone.OPEN, Tone.UNSAFE}


def markdown(document: Document, *, level: int = 1) -> str:
    """A document whose title is a heading of this level."""
    title = f"{'#' * level} {_inline(document.title)}" if document.title else ""
    parts = filter(None, [title, _inline(document.subtitle)])
    return "\n\n".join([*parts, *_blocks(document.blocks, level + 1)]) + "\n"


def _blocks(blocks: Sequence[Block], level: int) -> Iterator[str]:
    for block in blocks:
        if isinstance(block, Section):
            name = _inline(f"{block.id}: {block.title}" if block.id is not None else block.title)
            yield f"{'#' * min(level, 6)} {name}"
            if block.labels:
                yield ", ".join(f"**{_inline(label.words)}**" for label in block.labels)
            yield from _blocks(block.blocks, level + 1)
        elif text := _block(block):
            yield text


def _block(block: Block) -> str:
    match block:
        case Text(text, tone):
            return _paragraphs(text, "**" if tone in _LOUD else "")
        case Verbatim(text):
            # A fence must be longer than any run of its marks inside.
            fence = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`+", text)), 3)
            return f"{fence}text\n{for_terminal(text)}\n{fence}"
        case Bullets(points):
            return "\n".join(f"- {_inline(joined(point))}" for point in points)
        case LabelRows(rows):
            return "\n".join(
                f"- **{plain(joined(row.label), _LONGEST)}** – {plain(joined(row.text), _LONGEST)}"
                + (f" ({plain(row.technical, _LONGEST)})" if row.technical else "")
                for row in rows
            )
        case Table():
            return _table(block)
        case Chart(chart):
            return _table(chart_table(chart))
        case Dialogue():
            return _dialogue(block)
        case Section():
            raise AssertionError("sections are written with their content")


def _table(table: Table) -> str:
    lines = [
        f"**{_inline(table.title)}**\n" if table.title else "",
        _row([plain(column.title) for column in table.columns]),
        _row(["---:" if column.numeric else "---" for column in table.columns]),
    ]
    for row in table.rows:
        cells = [plain(joined(cell), _LONGEST) for cell in row.cells]
        lines.append(_row([f"{_INDENT * row.indent}{cells[0]}", *cells[1:]]))
    return "\n".join(filter(None, lines))


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _dialogue(dialogue: Dialogue) -> str:
    answer = _inline(dialogue.answer.words) + (", borderline" if dialogue.borderline else "")
    messages = [
        f"> **{who}:** {_inline(words)}"
        for turn in dialogue.turns
        for who, words in zip(("Person", "Assistant"), turn, strict=True)
        if words
    ]
    return "\n\n".join([f"**Answer: {answer}**", "\n>\n".join(messages), *filter(None, [_paragraphs(dialogue.why)])])


def _paragraphs(text: str, around: str = "") -> str:
    return "\n\n".join(f"{around}{_inline(part)}{around}" for part in text.split("\n\n") if part.strip())


def _inline(text: str) -> str:
    """One line of text in which nothing is markup any more."""
    # At the start of a line these would begin a list, a quotation or a rule; `plain` escapes the others.
    return _LINE_START.sub(lambda found: f"{found[1] or ''}\\{found[2] or found[3]}", plain(text, _LONGEST))
