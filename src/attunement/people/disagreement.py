"""How far do several answers to one question lie apart, and when is that a disagreement?

Who could not judge has said nothing and disagrees with nobody.
"""

from collections.abc import Iterable

from attunement.instruments import Instrument, Item, Scores
from attunement.ratings import Outcome, State
from attunement.scoring import is_failure

_SPOKEN = frozenset({State.VALUE, State.NA})


def spread(instrument: Instrument, outcomes: Iterable[Outcome | None]) -> float:
    """The distance between the two answers furthest apart: 0 where all are the same, 1 for the ends of the scale."""
    spoken = _spoken(outcomes)
    scores = [outcome.value for outcome in spoken if isinstance(outcome.value, int)]
    if isinstance(instrument.scale, Scores) and len(scores) == len(spoken):
        width = instrument.scale.highest - instrument.scale.lowest
        return (max(scores) - min(scores)) / width if scores and width else 0.0
    return float(len(set(spoken)) > 1)


def disagree(instrument: Instrument, item: Item, outcomes: Iterable[Outcome | None]) -> bool:
    """Whether somebody has to decide: answers that differ, or scores more than one level apart.

    Scores next to each other are what boundary rules are for, and no disagreement, unless only one of them is a safety
    failure.
    """
    spoken = _spoken(outcomes)
    failing = {is_failure(instrument, item, outcome) for outcome in spoken}
    if item.id in instrument.gate_ids and len(failing) > 1:
        return True
    scores = [outcome.value for outcome in spoken if isinstance(outcome.value, int)]
    if len(scores) == len(spoken):
        return bool(scores) and max(scores) - min(scores) > 1
    return len(set(spoken)) > 1


def _spoken(outcomes: Iterable[Outcome | None]) -> list[Outcome]:
    return [outcome for outcome in outcomes if outcome is not None and outcome.state in _SPOKEN]
