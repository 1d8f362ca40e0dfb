"""Show an instrument as HTML, as Markdown, and on a terminal."""

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

from rich import box
from rich.console import Console, ConsoleRenderable, Group
from rich.padding import Padding
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text as Line

from attunement.instruments.page import (
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
from attunement.styling import policy_source, style_sheet

_OWN_STYLE = Path(__file__).with_name("show.css")


def html(page: Page) -> str:
    """`page` as one self-contained file, light and dark, made to be printed.

    Every word of the instrument is escaped; the file's own policy lets a browser load nothing and run nothing, and
    apply no style but the one inside.
    """
    style = f"\n{style_sheet()}{_OWN_STYLE.read_text('utf-8')}"
    policy = f"default-src 'none'; style-src {policy_source(style)}; img-src data:"
    about = f'<p class="about">{_text(page.about)}</p>\n' if page.about else ""
    sections = "\n".join(_section(section, number) for number, section in enumerate(page.sections))
    return f"""<!doctype html>
<html lang="{_text(page.language)}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{_text(page.title)} · Attunement</title>
<style>{style}</style>
</head>
<body>
<a class="skip" href="#top">Skip to the instrument</a>
<div class="page">
<nav class="rail" aria-label="Instrument">
<a class="brand icon" href="#top">Attunement</a>
<ol>
{"".join(_links(page))}</ol>
<footer>This tool analyses recorded conversations. It does not monitor anyone or replace a clinician.</footer>
</nav>
<main id="top">
<header class="masthead">
<h1>{_text(page.title)}</h1>
<p>{_text(page.facts)}</p>
{about}</header>
{sections}
</main>
</div>
</body>
</html>
"""


def _links(page: Page) -> Iterator[str]:
    for number, section in enumerate(page.sections):
        items = section.sections if section.id is None else ()
        inner = "".join(f'<li><a href="#{_anchor(item)}">{_name(item)}</a></li>\n' for item in items)
        below = f"\n<ol>\n{inner}</ol>" if inner else ""
        yield f'<li><a href="#part-{number}">{_text(section.title)}</a>{below}</li>\n'


def _name(item: Section) -> str:
    return f'<span class="id">{_text(item.id or "")}</span> {_text(item.title)}'


def _anchor(item: Section) -> str:
    return f"item-{_text(item.id or '')}"


def _section(section: Section, number: int) -> str:
    """A part of the page: an item by itself, a card of sentences, or a heading with its items below."""
    if section.id is not None:
        return f'<section id="part-{number}">\n{_item(section)}\n</section>'
    card = f'<div class="card">\n{_blocks(section)}</div>\n' if section.blocks else ""
    items = "\n".join(_item(item) for item in section.sections)
    return f'<section id="part-{number}">\n<h2>{_text(section.title)}</h2>\n{card}{items}\n</section>'


def _item(item: Section) -> str:
    labels = "".join(_label(label) for label in item.labels)
    parts = "".join(f"<h4>{_text(part.title)}</h4>\n{_blocks(part)}" for part in item.sections)
    return (
        f'<article class="card asked" id="{_anchor(item)}">\n'
        f"<h3>{_name(item)}</h3>\n"
        + (f'<p class="labels">{labels}</p>\n' if labels else "")
        + f"{_blocks(item)}{parts}</article>"
    )


def _blocks(section: Section) -> str:
    return "".join(f"{_block(block)}\n" for block in section.blocks)


def _block(block: Block) -> str:
    match block:
        case Text(text):
            return "\n".join(f"<p>{_text(part)}</p>" for part in text.split("\n\n") if part.strip())
        case Verbatim(text):
            return f"<pre>{_text(text)}</pre>"
        case Points(points):
            inner = "".join(f"<li>{_text(point)}</li>\n" for point in points)
            return f'<ul class="points">\n{inner}</ul>'
        case Rows(rows):
            inner = "".join(
                f"<div><dt>{_label(row.label) if row.label.status else _text(row.label.words)}</dt>"
                f"<dd>{_text(row.text)}</dd></div>\n"
                for row in rows
            )
            return f'<dl class="rows">\n{inner}</dl>'
        case Dialogue():
            return _dialogue(block)


def _dialogue(dialogue: Dialogue) -> str:
    turns = "".join(
        f'<div class="turn">{_message("user", "Person", user)}{_message("bot", "Assistant", assistant)}</div>\n'
        for user, assistant in dialogue.turns
    )
    borderline = "<span>borderline</span>" if dialogue.borderline else ""
    why = f'<p class="why">{_text(dialogue.why)}</p>\n' if dialogue.why else ""
    return (
        f'<figure class="example">\n<figcaption>{_label(dialogue.answer)}{borderline}</figcaption>\n'
        f"{turns}{why}</figure>"
    )


def _message(side: str, who: str, words: str) -> str:
    if not words:
        return ""
    return f'<div class="msg {side}"><p class="who">{who}</p><p class="said" dir="auto">{_text(words)}</p></div>'


def _label(label: Label) -> str:
    return f'<span class="st {label.status or "plain"}">{_text(label.words)}</span>'


def _text(text: str) -> str:
    return escape(visible(text))


def markdown(page: Page) -> str:
    """`page` as Markdown. What looks like markup in the instrument's text is escaped and shows as text."""
    parts = [f"# {_inline(page.title)}", _inline(page.facts)]
    if page.about:
        parts.append(_paragraph(page.about))
    for section in page.sections:
        parts.extend(_markdown_section(section, depth=2))
    return "\n\n".join(parts) + "\n"


def _markdown_section(section: Section, depth: int) -> Iterator[str]:
    name = f"{_inline(section.id)}: {_inline(section.title)}" if section.id is not None else _inline(section.title)
    yield f"{'#' * depth} {name}"
    if section.labels:
        yield ", ".join(f"**{_inline(label.words)}**" for label in section.labels)
    for block in section.blocks:
        yield _markdown_block(block)
    for inner in section.sections:
        yield from _markdown_section(inner, depth + 1)


def _markdown_block(block: Block) -> str:
    match block:
        case Text(text):
            return _paragraph(text)
        case Verbatim(text):
            # A fence must be longer than any run of its marks inside.
            fence = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`+", text)), 3)
            return f"{fence}text\n{visible(text)}\n{fence}"
        case Points(points):
            return "\n".join(f"- {_inline(point)}" for point in points)
        case Rows(rows):
            return "\n".join(f"- **{_inline(row.label.words)}** – {_inline(row.text)}" for row in rows)
        case Dialogue():
            return _markdown_dialogue(block)


def _markdown_dialogue(dialogue: Dialogue) -> str:
    answer = _inline(dialogue.answer.words) + (", borderline" if dialogue.borderline else "")
    said = [
        f"> **{who}:** {_inline(words)}"
        for turn in dialogue.turns
        for who, words in zip(("Person", "Assistant"), turn, strict=True)
        if words
    ]
    why = [_paragraph(dialogue.why)] if dialogue.why else []
    return "\n\n".join([f"**Answer: {answer}**", "\n>\n".join(said), *why])


def _paragraph(text: str) -> str:
    return "\n\n".join(_inline(part) for part in text.split("\n\n") if part.strip())


def _inline(text: str) -> str:
    """One line of text in which nothing is markup any more."""
    line = " ".join(visible(text).split())
    line = re.sub(r"([\\`*_\[\]<>|~&])", r"\\\1", line)
    # At the start of a line these would begin a heading, a list, a quotation or a rule.
    return re.sub(r"^(\d{1,9})([.)])|^([#+=-])", lambda found: f"{found[1] or ''}\\{found[2] or found[3]}", line)


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
        console.print(Group(*_draw_section(section)), width=width)


def _draw_section(section: Section) -> Iterator[ConsoleRenderable]:
    yield Line("")
    if section.id is None:
        yield Rule(_line(section.title, "bold"), align="left", style="bright_black", characters="─")
        yield from (Padding(_draw_block(block), (1, 0, 0, 0)) for block in section.blocks)
    else:
        yield Line.assemble(_line(section.id, "bright_black"), "  ", _line(section.title, "bold"))
        if section.labels:
            yield Line("   ").join(_draw_label(label) for label in section.labels)
        yield from (Padding(_draw_block(block), (1, 0, 0, 2)) for block in section.blocks)
    for inner in section.sections:
        if inner.id is not None:
            yield from _draw_section(inner)
        else:
            yield Padding(_line(inner.title, "italic"), (1, 0, 0, 2))
            yield from (Padding(_draw_block(block), (0, 0, 0, 2)) for block in inner.blocks)


def _draw_block(block: Block) -> ConsoleRenderable:
    match block:
        case Text(text) | Verbatim(text):
            return _line(text)
        case Points(points):
            return _grid((Line("•"), _line(point)) for point in points)
        case Rows(rows):
            return _grid((_draw_label(row.label), _line(row.text)) for row in rows)
        case Dialogue():
            return _draw_dialogue(block)


def _draw_dialogue(dialogue: Dialogue) -> ConsoleRenderable:
    said = _grid(
        (Line(who, style="bright_black"), _line(words))
        for turn in dialogue.turns
        for who, words in zip(("Person", "Assistant"), turn, strict=True)
        if words
    )
    answer = _draw_label(dialogue.answer)
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


def _draw_label(label: Label) -> Line:
    sign, style = _SIGNS[label.status] if label.status else ("", "bold")
    return _line(f"{sign}{label.words}", style)


def _line(text: str, style: str = "") -> Line:
    return Line(visible(text), style=style)
