"""The engine: plan what is missing, ask it once within limits and budget, and save the results."""

from attunement.engine.budget import Price, price_of
from attunement.engine.estimate import Estimate, estimate
from attunement.engine.multiprocess import MultiprocessRun, check_processes
from attunement.engine.planner import NOT_FINAL, Filter, Scope, Selection
from attunement.engine.progress import Progress
from attunement.engine.retry import RetryPolicy
from attunement.engine.runner import JudgeConfig, Run, RunPolicy, RunResult, rater_settings, run_in_loop

__all__ = [
    "NOT_FINAL",
    "Estimate",
    "Filter",
    "JudgeConfig",
    "MultiprocessRun",
    "Price",
    "Progress",
    "RetryPolicy",
    "Run",
    "RunPolicy",
    "RunResult",
    "Scope",
    "Selection",
    "check_processes",
    "estimate",
    "price_of",
    "rater_settings",
    "run_in_loop",
]
