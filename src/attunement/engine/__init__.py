"""Asks what is missing, once, and keeps what it got: plan, limits, workers, budget, progress."""

from attunement.engine.budget import Price, price_of
from attunement.engine.estimate import Estimate, estimate
from attunement.engine.multiprocess import Team, refuse_unshareable
from attunement.engine.planner import ASK_AGAIN, Filter, Scope, Selection
from attunement.engine.progress import Progress
from attunement.engine.retry import RetryPolicy
from attunement.engine.runner import JudgeConfig, Run, RunPolicy, RunResult, rater_settings, run_in_loop

__all__ = [
    "ASK_AGAIN",
    "Estimate",
    "Filter",
    "JudgeConfig",
    "Price",
    "Progress",
    "RetryPolicy",
    "Run",
    "RunPolicy",
    "RunResult",
    "Scope",
    "Selection",
    "Team",
    "estimate",
    "price_of",
    "rater_settings",
    "refuse_unshareable",
    "run_in_loop",
]
