"""Which worked examples of an instrument do raters practise on, and which test their attention?

An example has a known answer for one item. Those on a boundary teach the most, so they come first into the
calibration; clear ones that are left over stand unmarked among a rater's units later.
"""

from itertools import zip_longest
from random import Random
from typing import NamedTuple

from attunement.conversations import Conversation, Origin, Turn, Unit, UnitKind
from attunement.errors import StudyError
from attunement.instruments import Instrument, Item
from attunement.instruments.model import Example

_PER_ITEM, _AT_MOST = 2, 20
"""By default two examples an item are enough to learn its scale, and twenty are an hour's work at most."""
_UNITS_PER_CHECK = 25


class Worked(NamedTuple):
    """A worked example and where it stands in the instrument."""

    item: Item
    place: int
    example: Example

    @property
    def name(self) -> str:
        """The name under which a project keeps it."""
        return f"{self.item.id}/{self.place}"


def calibration_examples(instrument: Instrument, wanted: int | None, *, seed: str) -> list[Worked]:
    """The examples of the calibration round, in the order in which everybody gets them.

    The items take turns, and each gives its boundary cases first.
    """
    taught = [item for item in instrument.items if item.examples]
    count = min(_PER_ITEM * len(taught), _AT_MOST) if wanted is None else wanted
    by_item = [sorted(_examples(item), key=lambda worked: worked.example.kind == "clear") for item in taught]
    in_turn = [worked for row in zip_longest(*by_item) for worked in row if worked is not None]
    chosen = in_turn[:count]
    Random(seed).shuffle(chosen)  # noqa: S311 - guards nothing
    return chosen


def attention_examples(
    instrument: Instrument, wanted: int | None, units: int, practised: list[Worked], *, seed: str
) -> list[Worked]:
    """Clear examples that nobody practised on, for a list of `units`."""
    seen = {words_of(worked.example) for worked in practised}
    free = [
        worked
        for item in instrument.items
        for worked in _examples(item)
        if worked.example.kind == "clear" and words_of(worked.example) not in seen
    ]
    count = round(units / _UNITS_PER_CHECK) if wanted is None else wanted
    return Random(seed).sample(free, min(count, len(free)))  # noqa: S311 - guards nothing


def example_named(instrument: Instrument, name: str) -> Worked:
    """The example with this name."""
    item_id, _, place = name.rpartition("/")
    examples = instrument.item(item_id).examples
    if not place.isdigit() or int(place) >= len(examples):
        raise StudyError(f"{instrument.id} has no worked example {name}: the study was changed from outside")
    return Worked(instrument.item(item_id), int(place), examples[int(place)])


def example_unit(instrument: Instrument, worked: Worked) -> Unit:
    """The example as a rater reads it."""
    turns = tuple(Turn(message.user, message.assistant) for message in worked.example.turns)
    # The words of the example were written for the instrument: nobody in them is real.
    talk = Conversation(id=worked.name, system="", turns=turns, origin=Origin.WRITTEN)
    return Unit(talk, len(turns) if UnitKind(instrument.unit) is UnitKind.RESPONSE else None)


def words_of(example: Example) -> tuple[tuple[str, str], ...]:
    """What is said in an example, turn by turn."""
    return tuple((message.user, message.assistant) for message in example.turns)


def _examples(item: Item) -> list[Worked]:
    return [Worked(item, place, example) for place, example in enumerate(item.examples)]
