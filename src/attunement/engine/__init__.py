"""The engine: plan what is missing, ask it once within limits and budget, and save the results."""

from attunement.engine.budget import Price, price_of
from attunement.engine.estimate import Estimate, estimate
from attunement.engine.planner import NOT_FINAL, Filter, Scope, Selection
from attunement.engine.progress import Progress
from attunement.engine.retry import RetryPolicy
from attunement.engine.runner import JudgeConfig, Run, RunPolicy, RunResult, rater_settings, run_in_loop

__all__ = [
    "NOT_FINAL",
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
    "estimate",
    "price_of",
    "rater_settings",
    "run_in_loop",
]
