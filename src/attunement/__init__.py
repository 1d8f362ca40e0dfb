"""Attunement evaluates empathetic and therapeutic dialogue.

People and LLM judges answer the same questions on the same versioned instruments; every answer is checked against
the transcript; a safety gate fails closed; and the tool says how far each score can be trusted.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from attunement.version import __version__

if TYPE_CHECKING:
    from attunement.api import Result, Settings, judge, judge_async, scorecards
    from attunement.store import Study

__all__ = ["Result", "Settings", "Study", "__version__", "judge", "judge_async", "scorecards"]

_HOMES = {
    "Result": "attunement.api",
    "Settings": "attunement.api",
    "Study": "attunement.store",
    "judge": "attunement.api",
    "judge_async": "attunement.api",
    "scorecards": "attunement.api",
}


def __getattr__(name: str) -> Any:
    """Load the public names when they are first used, so that `attune --help` need not."""
    if name not in _HOMES:
        raise AttributeError(f"module 'attunement' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
