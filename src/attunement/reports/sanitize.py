"""Show text by others without letting it control a terminal or a Markdown page.

Transcripts, reasons and names are untrusted: they may hold control characters, HTML, Markdown, formulas, mentions and
links. Each sign that could mean something is replaced, escaped or written as an entity. On a terminal every character
becomes one character, so that a place in the text stays the same place.
"""

import re
from collections.abc import Iterable, Sequence

MARKS = "⟦⟧"  # around quoted evidence; the same signs inside a text are shown as square brackets

WINDOWS_BREAK = re.compile("\r(?=\n)")
REPLACED = (
    {0x2028: "\n", 0x2029: "\n"}
    | dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)], "\ufffd")  # these turn a line around
    | dict.fromkeys(range(0xD800, 0xE000), "\ufffd")  # lone surrogates, which cannot be encoded
)
_ON_TERMINAL = REPLACED | {ord("\t"): " "} | dict(zip(map(ord, MARKS), "[]", strict=True))


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


def for_terminal(text: str) -> str:
    """`text` as a terminal can show it, as long as it was."""
    return visible(WINDOWS_BREAK.sub(" ", text)).translate(_ON_TERMINAL)


def in_a_line(text: str, longest: int = 200) -> str:
    """`text` on one line, shortened where it is longer than `longest`."""
    line = " ".join(for_terminal(text).split())
    return line if len(line) <= longest else line[: longest - 1].rstrip() + "…"


# Not every renderer takes a backslash before the signs that become entities.
_SIGNS = {ord(sign): f"\\{sign}" for sign in "\\`*_{}[]#!"} | {
    ord(sign): entity for sign, entity in {"|": "&#124;", "~": "&#126;", "$": "&#36;"}.items()
}
# These mean something only before a name, so that prose such as "p < 0.05" and "A & B" stays as it is.
_ENTITY, _TAG = re.compile(r"&(?=#?\w+;)"), re.compile(r"<(?=[A-Za-z/!?]|$)")
# GitHub makes links of these, of the first two also after rendering: an empty character keeps sign and name apart.
_LINKS = (
    (re.compile(r"@(?=\w)"), "&#64;&#8203;"),
    (re.compile(r"\\#(?=\w)"), "&#35;&#8203;"),
    (re.compile(r"://"), "&#58;//"),
    (re.compile(r"(?i)\b(www)\."), r"\1&#46;"),
)
_NUMBER = re.compile(r"[\d–−+-]|$")


def plain(text: str, longest: int = 400) -> str:
    """Text by others on one line, without a meaning in Markdown, as long as it does not begin a line."""
    escaped = _TAG.sub("&lt;", _ENTITY.sub("&amp;", in_a_line(text, longest))).translate(_SIGNS)
    for link, instead in _LINKS:
        escaped = link.sub(instead, escaped)
    return escaped


def code(text: str, longest: int = 80) -> str:
    """A name as code. HTML's element takes entities, and no renderer reads links or mentions in it."""
    return f"<code>{plain(text, longest)}</code>"


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are Markdown already; columns of numbers are aligned right, except the first."""
    body = [list(row) for row in rows]
    numbers = [bool(body) and all(_NUMBER.match(row[place]) for row in body) for place in range(1, len(columns))]
    lines = [columns, ["---", *("---:" if right else "---" for right in numbers)], *body]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
