"""How does an instrument read as Markdown? Plain CommonMark that a wiki or a repository shows as it is meant."""

import re
from collections.abc import Iterator

from attunement.instruments.show import (
    Block,
    Dialogue,
    Page,
    Points,
    Rows,
    Section,
    Text,
    Verbatim,
    visible,
)


def markdown(page: Page) -> str:
    """`page` as Markdown. What looks like markup in the instrument's text is escaped and shows as text."""
    parts = [f"# {_inline(page.title)}", _inline(page.facts)]
    if page.about:
        parts.append(_paragraph(page.about))
    for section in page.sections:
        parts.extend(_section(section, depth=2))
    return "\n\n".join(parts) + "\n"


def _section(section: Section, depth: int) -> Iterator[str]:
    name = f"{_inline(section.id)}: {_inline(section.title)}" if section.id is not None else _inline(section.title)
    yield f"{'#' * depth} {name}"
    if section.labels:
        yield ", ".join(f"**{_inline(label.words)}**" for label in section.labels)
    for block in section.blocks:
        yield _block(block)
    for inner in section.sections:
        yield from _section(inner, depth + 1)


def _block(block: Block) -> str:
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
            return _dialogue(block)


def _dialogue(dialogue: Dialogue) -> str:
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
