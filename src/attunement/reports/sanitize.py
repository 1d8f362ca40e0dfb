"""Show text that others wrote without letting it control a terminal or a Markdown page.

Transcripts, reasons and names are untrusted. Their control characters are drawn as signs, and what could turn the
direction of a line or pass for our own marks is replaced. Every character becomes one character, so that a place in
the text stays the same place.

Ids, reasons and quotations are untrusted: they may hold HTML, Markdown, formulas, mentions of people and links. Each
sign that could mean something is escaped or written as an entity, so that a reader sees what was said and nothing else
happens.
"""

import re
from collections.abc import Iterable, Sequence

MARKS = "⟦⟧"
"""What stands around quoted evidence; the same signs inside a text are shown as square brackets."""

_WINDOWS_BREAK = re.compile("\r(?=\n)")
_REPLACED = (
    {ord("\t"): " ", 0x2028: "\n", 0x2029: "\n"}
    | dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)], "\ufffd")  # these turn a line around
    | dict.fromkeys(range(0xD800, 0xE000), "\ufffd")  # lone surrogates, which no terminal can be sent
    | dict(zip(map(ord, MARKS), "[]", strict=True))
)


def visible(text: str) -> str:
    """`text` with its control characters drawn as signs, so that a file cannot steer the terminal or page it is on."""
    return text.translate(_CONTROLS)


# Unicode has a picture for each of the first 32 characters and for DEL; line breaks and tabs stay what they are. The
# second row of controls has no pictures.
_CONTROLS = (
    {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"}
    | {0x7F: "\u2421"}
    | dict.fromkeys(range(0x80, 0xA0), "\ufffd")
)


def legible(text: str) -> str:
    """`text` as it can be shown, as long as it was."""
    return visible(_WINDOWS_BREAK.sub(" ", text)).translate(_REPLACED)


def in_a_line(text: str, longest: int = 200) -> str:
    """`text` on one line, shortened where it is longer than `longest`."""
    line = " ".join(legible(text).split())
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"


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
