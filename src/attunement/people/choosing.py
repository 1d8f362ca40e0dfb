"""Which units do people rate: those of a drawn sample, those of a list, or some at random?"""

from collections.abc import Collection, Iterable, Iterator
from random import Random
from typing import NamedTuple

from attunement.conversations import Responses, UnitKind
from attunement.errors import InputError
from attunement.instruments import Instrument
from attunement.people.projects import Wanted
from attunement.study import Study
from attunement.study.samples import latest_sample

DEFAULT = 100
"""Units that are drawn where nobody says how many."""
_BATCH = 500


class Chosen(NamedTuple):
    """Units and where they come from, in words."""

    units: list[Wanted]
    source: str


def choose(study: Study, instrument: Instrument, count: int | None, *, seed: int) -> Chosen:
    """The units of the newest sample for this instrument, or `count` at random from the whole study.

    Of a sample all units are taken; where `count` is smaller, so many of them at random.

    Raises:
        InputError: There are none, or fewer than asked for.
    """
    sample = latest_sample(study, instrument.id)
    units = _possible(study, instrument, None if sample is None else set(sample.units))
    if not units:
        raise InputError(f"{study.place} holds nothing to rate: add conversations with --conversations")
    number = count or (min(DEFAULT, len(units)) if sample is None else len(units))
    if number > len(units):
        raise InputError(f"there are {len(units)} units to choose from, and {number} were asked for")
    chance = Random(f"{seed}/units")  # noqa: S311 - a sample that can be drawn again
    drawn = chance.sample(units, number)
    if sample is None:
        return Chosen(drawn, f"{number} drawn at random from {len(units)}")
    return Chosen(drawn, f"{number} of the {len(units)} units of {sample.name}")


def listed(study: Study, instrument: Instrument, names: Iterable[str]) -> Chosen:
    """The units with these names: the id of a conversation, or `system/id`, and for one reply `#` with its turn.

    Raises:
        InputError: A name leads to no unit, or to several.
    """
    units = [unit for name in names for unit in named(study, instrument, name)]
    return Chosen(list(dict.fromkeys(units)), "from the list")


def named(study: Study, instrument: Instrument, name: str) -> list[Wanted]:
    """The units that a name means: one reply, or all that the instrument asks about in a conversation."""
    id, mark, turn = name.rpartition("#")
    found = study.find(id) if mark and turn.isdecimal() else []
    number = int(turn) if found else None
    found = found or study.find(name)
    if len(found) != 1:
        what = "several conversations: say which, as system/id" if found else "no conversation of the study"
        raise InputError(f"{name!r} means {what}")
    turns = len(found[0].conversation.turns)
    if number is None:
        return list(_units(instrument, study.responses(instrument.id), found[0].key, turns))
    if UnitKind(instrument.unit) is UnitKind.CONVERSATION or not 1 <= number <= turns:
        raise InputError(f"{name!r} is no unit of {instrument.id}: leave the number of the turn out, or correct it")
    return [Wanted(found[0].key, number)]


def choose_more(
    study: Study, instrument: Instrument, there: Collection[Wanted], count: int, *, seed: str
) -> list[Wanted]:
    """So many units at random that are not `there` yet: of the newest sample as long as it has some, then of the study.

    Raises:
        InputError: The study holds fewer.
    """
    sample = latest_sample(study, instrument.id)
    known = set(there)
    left = [unit for unit in _possible(study, instrument, None) if unit not in known]
    if count > len(left):
        raise InputError(f"the study holds {len(left)} more units, and {count} were asked for: ask for fewer")
    Random(seed).shuffle(left)  # noqa: S311 - a sample that can be drawn again
    return sorted(left, key=lambda unit: sample is None or unit.conversation not in sample.units)[:count]


def _possible(study: Study, instrument: Instrument, conversations: Collection[int] | None) -> list[Wanted]:
    """Every unit that the instrument asks about, in all conversations or in these."""
    responses = study.responses(instrument.id)
    return [
        unit
        for key, turns in _lengths(study)
        if conversations is None or key in conversations
        for unit in _units(instrument, responses, key, turns)
    ]


def _lengths(study: Study) -> Iterator[tuple[int, int]]:
    for batch in study.summaries(_BATCH):
        for summary in batch:
            yield summary.key, summary.turns


def _units(instrument: Instrument, responses: Responses, key: int, turns: int) -> Iterator[Wanted]:
    if UnitKind(instrument.unit) is UnitKind.CONVERSATION:
        yield Wanted(key)
        return
    first = turns if responses is Responses.LAST else 1
    for turn in range(first, turns + 1):
        yield Wanted(key, turn)
