"""Where is the style sheet that all pages share, and how does a page's policy name what the page itself carries?

It stands outside the layers, as `version` does: the page of an instrument, the reports and the served pages use it.
"""

import base64
import hashlib
from pathlib import Path

LOOK = Path(__file__).parent / "look"
"""The folder of the style sheet. It holds nothing that may not be served."""


def style_sheet() -> str:
    """The style of all pages, as text that a page of one file can carry."""
    return (LOOK / "attunement.css").read_text("utf-8")


def policy_source(text: str) -> str:
    """What a content security policy calls the style or script `text`, so that nothing but it is applied."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
