"""How does anybody's text stand in Markdown as text, on GitHub and in any other renderer?

Ids, reasons and quotations are untrusted: they may hold HTML, Markdown, formulas, mentions of people and links. Each
sign that could mean something is escaped or written as an entity, so that a reader sees what was said and nothing else
happens.
"""

import re
from collections.abc import Iterable, Sequence

from attunement.reports.legible import in_a_line

_SIGNS = {ord(sign): f"\\{sign}" for sign in "\\`*_{}[]#!"} | {
    # Not every renderer takes a backslash before these.
    ord(sign): entity
    for sign, entity in {"&": "&amp;", "<": "&lt;", ">": "&gt;", "|": "&#124;", "~": "&#126;", "$": "&#36;"}.items()
}
# GitHub makes links of these, of the first two also after rendering: an empty character keeps sign and name apart.
_LINKS = (
    (re.compile(r"@(?=\w)"), "&#64;&#8203;"),
    (re.compile(r"\\#(?=\w)"), "&#35;&#8203;"),
    (re.compile(r"://"), "&#58;//"),
    (re.compile(r"(?i)\b(www)\."), r"\1&#46;"),
)
_FIGURE = re.compile(r"[\d–−+-]|$")


def plain(text: str, longest: int = 400) -> str:
    """Anybody's text on one line, without a meaning in Markdown, as long as it does not begin a line."""
    escaped = in_a_line(text, longest).translate(_SIGNS)
    for link, instead in _LINKS:
        escaped = link.sub(instead, escaped)
    return escaped


def code(text: str, longest: int = 80) -> str:
    """A name as code. HTML's element takes entities, and no renderer reads links or mentions in it."""
    return f"<code>{plain(text, longest)}</code>"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are Markdown already; columns of figures stand to the right, but for the first."""
    body = [list(row) for row in rows]
    figures = [bool(body) and all(_FIGURE.match(row[place]) for row in body) for place in range(1, len(columns))]
    lines = [columns, ["---", *("---:" if right else "---" for right in figures)], *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def text_table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of anybody's texts."""
    return table([*map(plain, columns)], ([*map(plain, row)] for row in rows))
