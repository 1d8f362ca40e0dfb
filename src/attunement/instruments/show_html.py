"""How does an instrument look on paper and in a browser? One HTML file that carries its style and needs no network."""

from collections.abc import Iterator
from html import escape
from pathlib import Path

from attunement.instruments.show import (
    Block,
    Dialogue,
    Label,
    Page,
    Points,
    Rows,
    Section,
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
