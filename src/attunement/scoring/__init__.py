"""Ratings become scorecards: categories, weighted score, gate, verdict, panels."""

from attunement.scoring.decision import Cards, decide
from attunement.scoring.panel import PANEL, Flips, flips, panel, rescored
from attunement.scoring.scorecard import (
    Case,
    Range,
    Scorecard,
    Slot,
    SlotFinding,
    Verdict,
    due,
    is_failure,
    is_signals,
    scorecard,
    trips_gate,
)

__all__ = [
    "PANEL",
    "Cards",
    "Case",
    "Flips",
    "Range",
    "Scorecard",
    "Slot",
    "SlotFinding",
    "Verdict",
    "decide",
    "due",
    "flips",
    "is_failure",
    "is_signals",
    "panel",
    "rescored",
    "scorecard",
    "trips_gate",
]
