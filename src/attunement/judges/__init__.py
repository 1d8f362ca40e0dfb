"""Judges: their protocol, the ones behind services and in this process, and how replies are read."""

from attunement.judges.base import (
    Abstention,
    Answer,
    Exchange,
    Failure,
    Judge,
    JudgeOptions,
    Request,
    UnitJudge,
    Usage,
    hosted,
    is_dated,
    model_family,
    shared_family,
)
from attunement.judges.registry import judge_kinds, make_judge

__all__ = [
    "Abstention",
    "Answer",
    "Exchange",
    "Failure",
    "Judge",
    "JudgeOptions",
    "Request",
    "UnitJudge",
    "Usage",
    "hosted",
    "is_dated",
    "judge_kinds",
    "make_judge",
    "model_family",
    "shared_family",
]
