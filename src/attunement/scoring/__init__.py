"""Ratings become scorecards: categories, weighted score, gate, verdict, panels."""

from attunement.scoring.gate import is_failure, trips_gate
from attunement.scoring.panel import PANEL, Flips, flips, panel
from attunement.scoring.scorecard import SIGNALS, Case, Range, Scorecard, Slot, Spoken, Verdict, due, scorecard

__all__ = [
    "PANEL",
    "SIGNALS",
    "Case",
    "Flips",
    "Range",
    "Scorecard",
    "Slot",
    "Spoken",
    "Verdict",
    "due",
    "flips",
    "is_failure",
    "panel",
    "scorecard",
    "trips_gate",
]
