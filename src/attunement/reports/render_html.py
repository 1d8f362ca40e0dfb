"""Write blocks as HTML: as parts of a report, or as one self-contained page.

Every word is escaped. A page has a policy that lets a browser load and run nothing and apply no style but its own.
"""

from collections.abc import Callable, Iterator, Sequence
from html import escape
from pathlib import Path

from attunement.reports.blocks import (
    Block,
    Bullets,
    Cell,
    Chart,
    Dialogue,
    Document,
    LabelRows,
    Phrase,
    Section,
    Table,
    Text,
    Tone,
    Verbatim,
    Words,
    words_of,
)
from attunement.reports.sanitize import visible
from attunement.styling import policy_source, style_sheet

_CLASSES = {Tone.QUIET: "quiet small", Tone.NOT_MET: "why-person", Tone.STRONG: "strong"}
"""The classes of paragraphs."""


def html_blocks(blocks: Sequence[Block], clean: Callable[[str], str] = visible, level: int = 3) -> str:
    """Blocks as part of a page; `clean` makes anybody's text harmless, and may redact it.

    Args:
        blocks: What is shown.
        clean: Applied to every text before it is escaped.
        level: The level of the headings of sections.
    """
    return _Html(clean).blocks(blocks, level)


def html_page(document: Document, *, what: str) -> str:
    """A document as one self-contained file, light and dark, made to be printed; `what` names its kind."""
    made = _Html(visible)
    style = f"\n{style_sheet()}{Path(__file__).with_name('document.css').read_text('utf-8')}"
    policy = f"default-src 'none'; style-src {policy_source(style)}; img-src data:"
    title = made.text(document.title)
    sections = [block for block in document.blocks if isinstance(block, Section)]
    about = [block for block in document.blocks if isinstance(block, Text)]
    lead = "".join(f'<p class="about">{made.text(block.text)}</p>\n' for block in about)
    parts = "\n".join(_part(made, section, number) for number, section in enumerate(sections))
    return f"""<!doctype html>
<html lang="{made.text(document.language)}">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · Attunement</title>
<style>{style}</style>
</head>
<body>
<a class="skip" href="#top">Skip to the {what}</a>
<div class="page">
<nav class="rail" aria-label="{what.capitalize()}">
<a class="brand icon" href="#top">Attunement</a>
<ol>
{"".join(_links(made, sections))}</ol>
<footer>This tool analyses recorded conversations. It does not monitor anyone or replace a clinician.</footer>
</nav>
<main id="top">
<header class="masthead">
<h1>{title}</h1>
<p>{made.text(document.subtitle)}</p>
{lead}</header>
{parts}
</main>
</div>
</body>
</html>
"""


def _links(made: "_Html", sections: Sequence[Section]) -> Iterator[str]:
    for number, section in enumerate(sections):
        items = [block for block in section.blocks if isinstance(block, Section) and block.id is not None]
        inner = "".join(f'<li><a href="#{made.anchor(item)}">{made.name(item)}</a></li>\n' for item in items)
        below = f"\n<ol>\n{inner}</ol>" if inner and section.id is None else ""
        yield f'<li><a href="#part-{number}">{made.text(section.title)}</a>{below}</li>\n'


def _part(made: "_Html", section: Section, number: int) -> str:
    """A part of the page: an item by itself, or a heading with a card of blocks and the items."""
    if section.id is not None:
        return f'<section id="part-{number}">\n{made.item(section)}\n</section>'
    own = [block for block in section.blocks if not isinstance(block, Section)]
    card = f'<div class="card">\n{made.blocks(own, 3)}</div>\n' if own else ""
    items = "\n".join(made.item(block) for block in section.blocks if isinstance(block, Section))
    return f'<section id="part-{number}">\n<h2>{made.text(section.title)}</h2>\n{card}{items}\n</section>'


class _Html:
    def __init__(self, clean: Callable[[str], str]) -> None:
        self._clean = clean

    def text(self, text: str) -> str:
        return escape(self._clean(text))

    def name(self, section: Section) -> str:
        return f'<span class="id">{self.text(section.id or "")}</span> {self.text(section.title)}'

    def anchor(self, item: Section) -> str:
        return f"item-{self.text(item.id or '')}"

    def item(self, item: Section) -> str:
        labels = "".join(map(self.phrase, item.labels))
        return (
            f'<article class="card asked" id="{self.anchor(item)}">\n<h3>{self.name(item)}</h3>\n'
            + (f'<p class="labels">{labels}</p>\n' if labels else "")
            + f"{self.blocks(item.blocks, 4)}</article>"
        )

    def blocks(self, blocks: Sequence[Block], level: int) -> str:
        return "".join(f"{self._block(block, level)}\n" for block in blocks)

    def _block(self, block: Block, level: int) -> str:
        match block:
            case Text(text, tone):
                marked = f' class="{_CLASSES[tone]}"' if tone in _CLASSES else ""
                return "\n".join(f"<p{marked}>{self.text(part)}</p>" for part in text.split("\n\n") if part.strip())
            case Verbatim(text):
                return f"<pre>{self.text(text)}</pre>"
            case Bullets(points):
                inner = "".join(f"<li>{self._cell(point)}</li>\n" for point in points)
                return f'<ul class="points">\n{inner}</ul>'
            case LabelRows():
                return self._label_rows(block)
            case Table():
                return self._table(block)
            case Chart(chart):
                from attunement.reports.html.conversation_page import environment  # only reports have charts

                module = environment().get_template("parts.html.j2").module
                return str(module.interval_chart(chart, f"h{level}"))  # pyright: ignore[reportAttributeAccessIssue, reportUnknownArgumentType, reportUnknownMemberType]
            case Dialogue():
                return self._dialogue(block)
            case Section():
                return self._section(block, level)

    def phrase(self, phrase: Phrase) -> str:
        tone = "plain" if phrase.tone is Tone.NONE else phrase.tone
        return f'<span class="st {tone}">{self.text(phrase.words)}</span>'

    def words(self, words: Words) -> str:
        """Words, as a chip where they have a tone of an answer."""
        if isinstance(words, str) or words.tone in {Tone.NONE, Tone.STRONG, Tone.QUIET, Tone.PERSON}:
            return self.text(words if isinstance(words, str) else words.words)
        return self.phrase(words)

    def _section(self, section: Section, level: int) -> str:
        inner = self.blocks(section.blocks, level + 1)
        if section.folded:
            return f'<details class="figures"><summary>{self.text(section.title)}</summary>\n{inner}</details>'
        id = f"<code>{self.text(section.id)}</code> " if section.id is not None else ""
        return f"<h{level}>{id}{self.text(section.title)}</h{level}>\n{inner}"

    def _label_rows(self, rows: LabelRows) -> str:
        if any(row.technical for row in rows.rows):
            inner = "".join(
                f'<tr><th scope="row">{self.words(row.label)}</th><td>{self._cell(row.text)}</td>'
                f'<td class="quiet">{self.text(row.technical)}</td></tr>\n'
                for row in rows.rows
            )
            return f"<table><tbody>\n{inner}</tbody></table>"
        inner = "".join(
            f"<div><dt>{self.words(row.label)}</dt><dd>{self._cell(row.text)}</dd></div>\n" for row in rows.rows
        )
        return f'<dl class="rows">\n{inner}</dl>'

    def _table(self, table: Table) -> str:
        caption = f'<caption class="gap">{self.text(table.title)}</caption>' if table.title else ""
        heads = [self.text(" ".join(column.title.split())) for column in table.columns]
        sides = [' class="num"' if column.numeric else "" for column in table.columns]
        head = "".join(f'<th scope="col"{side}>{title}</th>' for title, side in zip(heads, sides, strict=True))
        lines: list[str] = []
        for row in table.rows:
            name, *cells = map(self._cell, row.cells)
            inner = "".join(
                f'<td{side} data-label="{title}">{cell}</td>'
                for cell, title, side in zip(cells, heads[1:], sides[1:], strict=True)
            )
            lines.append(f'<tr><th scope="row">{"&nbsp;&nbsp;" * row.indent}{name}</th>{inner}</tr>\n')
        return (
            f'<div class="across"><table class="levels">{caption}<thead><tr>{head}</tr></thead>'
            f"<tbody>\n{''.join(lines)}</tbody></table></div>"
        )

    def _cell(self, cell: Cell) -> str:
        return "<br>".join(map(self.words, words_of(cell)))

    def _dialogue(self, dialogue: Dialogue) -> str:
        turns = "".join(
            f'<div class="turn">{self._message("user", "Person", user)}'
            f"{self._message('bot', 'Assistant', assistant)}</div>\n"
            for user, assistant in dialogue.turns
        )
        borderline = "<span>borderline</span>" if dialogue.borderline else ""
        why = f'<p class="why">{self.text(dialogue.why)}</p>\n' if dialogue.why else ""
        return (
            f'<figure class="example">\n<figcaption>{self.phrase(dialogue.answer)}{borderline}</figcaption>\n'
            f"{turns}{why}</figure>"
        )

    def _message(self, side: str, who: str, words: str) -> str:
        if not words:
            return ""
        return (
            f'<div class="msg {side}"><p class="who">{who}</p><p class="said" dir="auto">{self.text(words)}</p></div>'
        )
