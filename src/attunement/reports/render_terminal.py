"""Show blocks on a terminal.

Words always accompany signs and colors, so that nothing is lost without them, and nothing in anybody's text is read
as markup or as a command to the terminal.
"""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from io import TextIOWrapper

from rich import box
from rich.console import Console, ConsoleRenderable, Group
from rich.padding import Padding
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table as RichTable
from rich.text import Text as Line

from attunement.reports.blocks import (
    Block,
    Bullets,
    Cell,
    Chart,
    Dialogue,
    Document,
    LabelRows,
    Phrase,
    Row,
    Section,
    Table,
    Text,
    Tone,
    Verbatim,
    Words,
    chart_table,
    words_of,
)
from attunement.reports.sanitize import for_terminal, in_a_line

# Color belongs to answers; blue is met, because green is for what people rated.
STYLES = {
    Tone.MET: "blue",
    Tone.NOT_MET: "dark_orange3",
    Tone.NA: "bright_black",
    Tone.OPEN: "magenta",
    Tone.UNSAFE: "bold red",
    Tone.NONE: "",
    Tone.SCORE: "bold",
    Tone.SAFETY: "bold",
    Tone.CONTESTED: "bold",
    Tone.PERSON: "green",
    Tone.STRONG: "bold",
    Tone.QUIET: "bright_black",
}
SIGNS = {
    Tone.MET: "✓",
    Tone.NOT_MET: "✗",
    Tone.NA: "∅",
    Tone.OPEN: "◌",
    Tone.UNSAFE: "■",
    Tone.SAFETY: "■",
    Tone.CONTESTED: "◇",
}
QUIET = STYLES[Tone.QUIET]

WIDEST = 100
"""Longer lines of prose are hard to read, however wide the terminal is."""
WIDE = 110
"""From this width on a table shows all its columns, as wide as their content."""
_LABEL = 24
_LONGEST_HEAD = 40


class _Output(Console):
    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def open_console() -> Console:
    """A console on standard output that never fails for a character which the terminal does not have."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # pyright: ignore[reportUnknownMemberType]
    return _Output(highlight=False, markup=False, emoji=False)


def line(text: str, style: str = "") -> Line:
    """Anybody's text, made harmless. Words that are too long for a line are broken, not cut off."""
    return Line(for_terminal(text), style=style, overflow="fold")


def phrase(words: Phrase) -> Line:
    """Words with their sign, in their color."""
    sign = f"{SIGNS[words.tone]} " if words.tone in SIGNS else ""
    return line(f"{sign}{words.words}", STYLES[words.tone])


def heading(title: str) -> Rule:
    return Rule(line(title, "bold"), align="left", style=QUIET, characters="─")


def plain_table() -> RichTable:
    """A table with a line under its head and none elsewhere."""
    return RichTable(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", show_edge=False)


def draw(document: Document, console: Console) -> None:
    width = min(console.width, WIDEST)
    if document.title:
        console.print(line(document.title, "bold"), width=width)
    if document.subtitle:
        console.print(line(document.subtitle, QUIET), width=width)
    draw_blocks(document.blocks, console, after=_before(document))


def _before(document: Document) -> Block | None:
    if document.subtitle:
        return Verbatim("")
    return Text(document.title) if document.title else None


def draw_blocks(blocks: Sequence[Block], console: Console, *, after: Block | None = None) -> None:
    """Print blocks that follow the block `after`."""
    for part, prose in _drawn(blocks, console.width, depth=0, indent=0, after=after):
        console.print(part, width=min(console.width, WIDEST) if prose else None)


def _drawn(
    blocks: Sequence[Block], width: int, *, depth: int, indent: int, after: Block | None
) -> Iterator[tuple[ConsoleRenderable, bool]]:
    """Each block, and whether it is prose, which has a greatest width."""
    for block in blocks:
        if _needs_gap(after, block):
            yield Line(""), True
        if isinstance(block, Section):
            yield _section_head(block, depth, indent), True
            inner = indent if depth == 0 and block.id is None else 2
            first = Text(":") if depth else None
            yield from _drawn(block.blocks, width, depth=depth + 1, indent=inner, after=first)
        else:
            drawn = _draw(block, width - indent)
            # Padding fills its lines with spaces, so that it is used only where it indents.
            shown = Padding(drawn, (0, 0, 0, indent)) if indent else drawn
            yield shown, not isinstance(block, Table | Chart)
        after = block


def _needs_gap(before: Block | None, block: Block) -> bool:
    """A blank line sets blocks apart, but not paragraphs, and not a list from the words that announce it."""
    if before is None:
        return isinstance(block, Section)
    if isinstance(block, Text) and block.tone is Tone.STRONG and block.text.endswith(":"):
        return True
    if isinstance(before, Text) and isinstance(block, Text | Bullets | LabelRows | Table | Verbatim):
        return not isinstance(block, Text) and not before.text.endswith(":")
    return True


def _section_head(section: Section, depth: int, indent: int) -> ConsoleRenderable:
    if section.id is None:
        return heading(section.title) if depth == 0 else Padding(line(section.title, "italic"), (0, 0, 0, indent))
    head = Line.assemble(line(section.id, QUIET), "  ", line(section.title, "bold"))
    return Group(head, Line("   ").join(map(phrase, section.labels))) if section.labels else head


def _draw(block: Block, width: int) -> ConsoleRenderable:
    match block:
        case Text(text, tone):
            return phrase(Phrase(text, tone))
        case Verbatim(text):
            return line(text)
        case Bullets(points):
            return _grid(map(_point, points), padding=1)
        case LabelRows(rows):
            drawn: list[tuple[Line, Line]] = []
            for row in rows:
                text = _lines(row.text)
                if row.technical:
                    text.append_text(line(f"\n{row.technical}", QUIET))
                drawn.append((phrase(_as_phrase(row.label, Tone.STRONG)), text))
            return _grid(drawn, padding=2)
        case Table():
            return _draw_table(block, width)
        case Chart(chart):
            return _draw_table(chart_table(chart), width)
        case Dialogue():
            return _draw_dialogue(block)
        case Section():
            raise AssertionError("sections are drawn with their content")


def _as_phrase(words: Words, tone: Tone = Tone.NONE) -> Phrase:
    return words if isinstance(words, Phrase) else Phrase(words, tone)


def _point(point: Cell) -> tuple[Line, Line]:
    found, *more = words_of(point)
    text = line(found.words, STYLES[found.tone])
    return Line(SIGNS.get(found.tone, "•"), STYLES[found.tone]), Line("\n").join([text, *map(phrase, more)])


def _lines(cell: Cell) -> Line:
    return Line("\n").join(map(phrase, words_of(cell)))


def _grid(rows: Iterable[tuple[Line, Line]], *, padding: int) -> RichTable:
    grid = RichTable.grid(padding=(0, padding, 0, 0))
    # A long label wraps; a short one must not be squeezed by the text next to it.
    grid.add_column(max_width=_LABEL)
    grid.add_column(ratio=1, overflow="fold")
    for label, text in rows:
        grid.add_row(label, text)
    return grid


def _draw_table(table: Table, width: int) -> ConsoleRenderable:
    wide = width >= WIDE
    shown = [place for place, column in enumerate(table.columns) if wide or not column.wide]
    drawn = plain_table()
    # Rich squeezes the other columns then, and fits the whole into the terminal.
    widths = {place: _width(table, place) for place in shown if table.columns[place].width and not wide}
    for place in shown:
        column, column_width = table.columns[place], widths.get(place)
        title = (not wide and column.narrow_title) or "\n".join(_in_lines(column.title))
        drawn.add_column(
            line(_broken(title, column_width)),
            justify="right" if column.numeric else "left",
            overflow="fold",
            width=column_width,
        )
    for row in table.rows:
        cells = [_draw_cell(row, place, widths.get(place)) for place in shown]
        drawn.add_row(*cells, end_section=row.line_below)
    return Group(line(table.title, "bold"), drawn) if table.title else drawn


def _in_lines(title: str) -> list[str]:
    return [in_a_line(part, _LONGEST_HEAD) for part in title.split("\n")]


# What a word may be broken after: the parts of a name such as openai:gpt-5.2-mini.
_PIECE = re.compile(r"[^\s/:_-]+[/:_-]*|[/:_-]+")


def _width(table: Table, place: int) -> int:
    """The width of a column on a narrow terminal: as wide as its content, but no part of a name is broken."""
    column, title = table.columns[place], line(table.columns[place].title)
    lines, pieces = [title.cell_len], [0]
    for row in table.rows:
        indent = 0 if place else 2 * row.indent
        for words in words_of(row.cells[place]):
            lines.append(phrase(words).cell_len + indent)
            pieces += (line(piece).cell_len + indent for piece in _PIECE.findall(words.words))
    return max(min(max(lines), column.width or _LABEL), min(max(pieces), _LABEL))


def _broken(words: str, width: int | None) -> str:
    """Break what is longer than a line between the parts of a name; Rich would break it anywhere."""
    if width is None:
        return words

    def in_lines(word: re.Match[str]) -> str:
        lines = [""]
        for piece in _PIECE.findall(word[0]):
            if lines[-1] and len(lines[-1]) + len(piece) > width:
                lines.append("")
            lines[-1] += piece
        return "\n".join(lines)

    return re.sub(rf"\S{{{width + 1},}}", in_lines, words)


def _draw_cell(row: Row, place: int, width: int | None) -> Line:
    indent = "" if place else "  " * row.indent
    lines: list[Line] = []
    for each in words_of(row.cells[place]):
        shown = each._replace(words=_broken(each.words, None if width is None else width - len(indent)))
        # The tone of a row colors its words; only words with a tone of their own have its sign.
        drawn = line(shown.words, STYLES[row.tone]) if each.tone is Tone.NONE else phrase(shown)
        lines += [Line.assemble(indent, part) for part in drawn.split(allow_blank=True)] if indent else [drawn]
    return Line("\n").join(lines)


def _draw_dialogue(dialogue: Dialogue) -> ConsoleRenderable:
    said = _grid(
        (
            (Line(who, style=QUIET), line(words))
            for turn in dialogue.turns
            for who, words in zip(("Person", "Assistant"), turn, strict=True)
            if words
        ),
        padding=2,
    )
    answer = phrase(dialogue.answer)
    if dialogue.borderline:
        answer.append(", borderline")
    content = [said, Padding(line(dialogue.why, "italic"), (1, 0, 0, 0))] if dialogue.why else [said]
    return Panel(Group(*content), title=answer, title_align="left", box=box.ROUNDED, border_style=QUIET)
