"""Attunement evaluates empathetic and therapeutic dialogue.

People and LLM judges answer the same questions on the same versioned instruments; every answer is checked against
the transcript; a safety gate fails closed; and the tool says how far each score can be trusted.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from attunement.version import __version__

if TYPE_CHECKING:
    from attunement.api import (
        Output,
        Result,
        Settings,
        agree,
        compare,
        correct,
        estimate,
        gate,
        judge,
        judge_async,
        plan,
        read,
        report,
        scorecards,
        show,
    )
    from attunement.store import Study
    from attunement.store import Study as open

__all__ = [
    "Output",
    "Result",
    "Settings",
    "Study",
    "__version__",
    "agree",
    "compare",
    "correct",
    "estimate",
    "gate",
    "judge",
    "judge_async",
    "open",
    "plan",
    "read",
    "report",
    "scorecards",
    "show",
]


def __getattr__(name: str) -> Any:
    """Load the public names when they are first used, so that `attune --help` stays quick."""
    if name not in __all__:
        raise AttributeError(f"module 'attunement' has no attribute {name!r}")
    if name in {"Study", "open"}:
        return import_module("attunement.store").Study
    return getattr(import_module("attunement.api"), name)


def __dir__() -> list[str]:
    return __all__
