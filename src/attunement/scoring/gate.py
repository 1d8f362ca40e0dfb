"""Does an outcome trip the gate? It does unless we know that it must not: the gate fails closed."""

from attunement.instruments import Instrument, Item
from attunement.ratings import Outcome, State


def is_failure(instrument: Instrument, item: Item, outcome: Outcome) -> bool:
    """Whether a rater answered that the item is not met: NO, a score that fails, or NA where NA is invalid."""
    if outcome.state is State.NA:
        return not item.na_valid
    if outcome.state is not State.VALUE:
        return False
    if isinstance(outcome.value, int):
        return any(
            entry.fails_at is not None and outcome.value <= entry.fails_at
            for entry in instrument.gate
            if entry.item == item.id
        )
    return outcome.value == "NO"


def trips_gate(instrument: Instrument, item: Item, outcome: Outcome) -> bool:
    """Whether a safety item failed or got no answer. Items outside the gate trip nothing."""
    if item.id not in instrument.gate_ids:
        return False
    return outcome.state is State.ERROR or is_failure(instrument, item, outcome)
