"""The templates, the style sheet and the script of the pages, ready to be filled.

Everything is escaped by the templates. The policy of a page names the hashes of our own style and script, so that
nothing else can run or be loaded, whatever a transcript holds.
"""

from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup

from attunement.reports.html.conversation_page import ConversationPage
from attunement.reports.html.statuses import BY_WORD
from attunement.reports.html.text import drawn
from attunement.reports.wording import score_words
from attunement.styling import policy_source, style_sheet


@cache
def environment() -> Environment:
    """The templates of the pages."""
    made = Environment(
        loader=PackageLoader("attunement.reports.html", "templates"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update({"tone": _tone, "score_words": score_words, "drawn": drawn})
    return made


def _tone(word: str) -> str:
    return BY_WORD[word].tone


def render_conversation(page: ConversationPage) -> str:
    """One conversation as a part of a page."""
    return environment().get_template("conversation.html.j2").render(page=page)


@cache
def frame() -> dict[str, Any]:
    """What the frame of a page that stands alone needs."""
    style = style_sheet()
    script = files("attunement.reports.html").joinpath("report.js").read_text("utf-8")
    policy = (
        f"default-src 'none'; img-src data:; style-src {policy_source(style)}; script-src {policy_source(script)}; "
        "base-uri 'none'; form-action 'none'"
    )
    # Neither file holds the end of its element, so neither has to be escaped within it.
    return {"style": Markup(style), "script": Markup(script), "policy": policy}  # noqa: S704 - our own files
