"""Write blocks as HTML: as parts of a report, or as one self-contained page.

Every word is escaped. A page has a policy that lets a browser load and run nothing and apply no style but its own.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from markupsafe import Markup

from attunement.reports.blocks import Block, Document, Section, Text, words_of
from attunement.reports.sanitize import visible
from attunement.styling import policy_source, style_sheet


def html_blocks(blocks: Sequence[Block], clean: Callable[[str], str] = visible, level: int = 3) -> str:
    """Blocks as part of a page; `clean` makes anybody's text harmless, and may redact it.

    Args:
        blocks: What is shown.
        clean: Applied to every text before it is escaped.
        level: The level of the headings of sections.
    """
    module: Any = _template("blocks.html.j2").make_module(_context(clean))
    return str(module.show(blocks, level))


def html_page(document: Document, *, what: str) -> str:
    """A document as one self-contained file, light and dark, made to be printed; `what` names its kind."""
    style = f"\n{style_sheet()}{Path(__file__).with_name('document.css').read_text('utf-8')}"
    return _template("document.html.j2").render(
        _context(visible),
        document=document,
        what=what,
        sections=[block for block in document.blocks if isinstance(block, Section)],
        about=[block for block in document.blocks if isinstance(block, Text)],
        style=Markup(style),  # noqa: S704 - our own file
        policy=f"default-src 'none'; style-src {policy_source(style)}; img-src data:",
    )


def _template(name: str) -> Any:
    from attunement.reports.html.conversation_page import environment  # reports import this module

    return environment().get_template(name)


def _context(clean: Callable[[str], str]) -> dict[str, Any]:
    return {"clean": clean, "words_of": words_of, "kind_of": _kind}


def _kind(block: Block) -> str:
    return type(block).__name__
