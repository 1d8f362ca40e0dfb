"""Asks what is missing, once, and keeps what it got: plan, limits, workers, budget, progress."""

from attunement.engine.asking import Wishes
from attunement.engine.budget import Price
from attunement.engine.estimate import Estimate, estimate
from attunement.engine.loop import run_in_loop
from attunement.engine.plan import ASK_AGAIN, Scope
from attunement.engine.pricing import price_of
from attunement.engine.progress import Progress
from attunement.engine.run import Conduct, Ending, Participant, Run, rater_settings
from attunement.engine.selection import Filter, Selection
from attunement.engine.team import Team, refuse_unshareable

__all__ = [
    "ASK_AGAIN",
    "Conduct",
    "Ending",
    "Estimate",
    "Filter",
    "Participant",
    "Price",
    "Progress",
    "Run",
    "Scope",
    "Selection",
    "Team",
    "Wishes",
    "estimate",
    "price_of",
    "rater_settings",
    "refuse_unshareable",
    "run_in_loop",
]
