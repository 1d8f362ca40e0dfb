"""What is asked: the model of an instrument, loading, linting, importing; the built-in ones lie in `library/`."""

from attunement.instruments.loader import available, load, load_file
from attunement.instruments.model import (
    Anchor,
    Boundary,
    Criteria,
    Example,
    Instrument,
    Item,
    NaPolicy,
    Prompt,
    Rule,
    SafetyRepeats,
    Scores,
    Scoring,
    Validity,
    Value,
)

__all__ = [
    "Anchor",
    "Boundary",
    "Criteria",
    "Example",
    "Instrument",
    "Item",
    "NaPolicy",
    "Prompt",
    "Rule",
    "SafetyRepeats",
    "Scores",
    "Scoring",
    "Validity",
    "Value",
    "available",
    "load",
    "load_file",
]
