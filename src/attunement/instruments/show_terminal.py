"""How does an instrument look on a terminal? Drawn with rich, for 80 columns and more, with colour or without."""

from collections.abc import Iterator

from rich import box
from rich.console import Console, ConsoleRenderable, Group
from rich.padding import Padding
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text as Line

from attunement.instruments.show import (
    Block,
    Dialogue,
    Label,
    Page,
    Points,
    Rows,
    Section,
    Status,
    Text,
    Verbatim,
    visible,
)

WIDEST = 100
"""Longer lines of prose are hard to read, however wide the terminal is."""

# A sign and a colour for each status; the words always stand beside them. Colour belongs to answers.
_SIGNS = {
    Status.MET: ("✓ ", "blue"),
    Status.NOT_MET: ("✗ ", "dark_orange3"),
    Status.NA: ("∅ ", "bright_black"),
    Status.SCORE: ("", "bold"),
    Status.SAFETY: ("■ ", "bold"),
    Status.CONTESTED: ("◇ ", "bold"),
    Status.UNCHECKED: ("? ", "magenta"),
}


def draw(page: Page, console: Console) -> None:
    """Print `page` on `console`. Nothing in the instrument's text is read as markup or as a terminal command."""
    width = min(console.width, WIDEST)
    head = [_line(page.title, "bold"), _line(page.facts, "bright_black")]
    if page.about:
        head.append(_line(f"\n{page.about}"))
    console.print(Group(*head), width=width)
    for section in page.sections:
        console.print(Group(*_section(section)), width=width)


def _section(section: Section) -> Iterator[ConsoleRenderable]:
    yield Line("")
    if section.id is None:
        yield Rule(_line(section.title, "bold"), align="left", style="bright_black", characters="─")
        yield from (Padding(_block(block), (1, 0, 0, 0)) for block in section.blocks)
    else:
        yield Line.assemble(_line(section.id, "bright_black"), "  ", _line(section.title, "bold"))
        if section.labels:
            yield Line("   ").join(_label(label) for label in section.labels)
        yield from (Padding(_block(block), (1, 0, 0, 2)) for block in section.blocks)
    for inner in section.sections:
        if inner.id is not None:
            yield from _section(inner)
        else:
            yield Padding(_line(inner.title, "italic"), (1, 0, 0, 2))
            yield from (Padding(_block(block), (0, 0, 0, 2)) for block in inner.blocks)


def _block(block: Block) -> ConsoleRenderable:
    match block:
        case Text(text) | Verbatim(text):
            return _line(text)
        case Points(points):
            return _grid((Line("•"), _line(point)) for point in points)
        case Rows(rows):
            return _grid((_label(row.label), _line(row.text)) for row in rows)
        case Dialogue():
            return _dialogue(block)


def _dialogue(dialogue: Dialogue) -> ConsoleRenderable:
    said = _grid(
        (Line(who, style="bright_black"), _line(words))
        for turn in dialogue.turns
        for who, words in zip(("Person", "Assistant"), turn, strict=True)
        if words
    )
    answer = _label(dialogue.answer)
    if dialogue.borderline:
        answer.append(", borderline")
    content = [said, Padding(_line(dialogue.why, "italic"), (1, 0, 0, 0))] if dialogue.why else [said]
    return Panel(Group(*content), title=answer, title_align="left", box=box.ROUNDED, border_style="bright_black")


def _grid(rows: Iterator[tuple[Line, Line]]) -> Table:
    grid = Table.grid(padding=(0, 2, 0, 0))
    # A long label wraps; a short one must not be squeezed by the text beside it.
    grid.add_column(max_width=24)
    grid.add_column(ratio=1)
    for label, text in rows:
        grid.add_row(label, text)
    return grid


def _label(label: Label) -> Line:
    sign, style = _SIGNS[label.status] if label.status else ("", "bold")
    return _line(f"{sign}{label.words}", style)


def _line(text: str, style: str = "") -> Line:
    return Line(visible(text), style=style)
