"""Which items of an instrument does the embedded judge know?

It knows an item by its wording. On an instrument of a user's own it may know all, some or none of them; where it knows
none, its abstaining says nothing about the conversations, and it must not read as if somebody had looked.
"""

from collections.abc import Iterator

from attunement.errors import JudgeError
from attunement.instruments import Instrument
from attunement.signals import judging


def known(instrument: Instrument) -> list[str]:
    """The ids of the items whose wording it knows; of some of these it knows that it cannot tell."""
    return [id for id, hash in instrument.item_hashes.items() if judging.way(hash)]


def looked_at(instrument: Instrument) -> frozenset[str]:
    """The ids of the items that it has a way to answer: where it abstains from these, it looked and saw nothing."""
    ways = {id: judging.way(hash) for id, hash in instrument.item_hashes.items()}
    return frozenset(id for id, way in ways.items() if way and way.is_answered)


def refuse_unknown(instrument: Instrument) -> None:
    """Raise a JudgeError where it knows no item of `instrument`."""
    if not known(instrument):
        built_in = " and ".join(sorted({way.instrument for way in judging.WAYS}))
        raise JudgeError(
            f"signals can answer none of the items of {instrument.id}: it knows those of {built_in}, by their exact "
            "wording; name another judge"
        )


def what_is_known(instrument: Instrument) -> Iterator[str]:
    """A sentence or two where it knows only some items of `instrument`; nothing where it knows all."""
    ids = known(instrument)
    if len(ids) == len(instrument.items):
        return
    yield (
        f"signals knows {len(ids)} of the {len(instrument.items)} items of {instrument.id} "
        f"({', '.join(ids)}) and abstains from the others."
    )
    if unseen := sorted(instrument.gate_ids - looked_at(instrument)):
        yield f"It does not look at {', '.join(unseen)}: what it alone has judged is not screened for safety."
