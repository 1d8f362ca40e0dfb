"""What the user asks for, answered: the agreement in a study, or in a table of ratings.

`agreement_in` and `agreement_of` are what the command line, the reports and Python programs call.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from attunement.agreement.baselines import text_counts
from attunement.agreement.citations import citations
from attunement.agreement.drawn import basis
from attunement.agreement.gathered import Gathered
from attunement.agreement.gathering import gather
from attunement.agreement.ratings_file import Reading, read_ratings
from attunement.agreement.summary import Agreement, Beside, chosen, parts, summarise
from attunement.errors import InputError
from attunement.instruments import Instrument
from attunement.study import Study


class Wish(NamedTuple):
    """Whom and what to look at; without a choice all of it."""

    judges: tuple[str, ...] = ()
    people: tuple[str, ...] = ()
    """By name, or by anything that is known of them, such as a profession."""
    items: tuple[str, ...] = ()
    by: str | None = None
    """Also for each part: `system`, or a name in the conversations' metadata."""
    full: bool = False
    """Whether to compute what only a full report shows."""


def agreement_in(study: Study, instrument: Instrument, wish: Wish | None = None) -> Agreement:
    """How far people and judges agree in a study, on the items of one instrument.

    Where a sample was drawn for people, figures rest on it, and on its `certify` part where it was split.

    Raises:
        InstrumentError: There is no such item.
        InputError: Nobody fits the wish, or no conversation has the column.
    """
    wish = wish or Wish()
    for name in wish.items:
        instrument.item(name)
    rests = basis(study, instrument.id, gather(study, instrument))
    quoted = citations(study, instrument) if wish.full else None
    beside = Beside(text_counts(study, rests.gathered), quoted, rests.weights)
    found = _summarised(rests.gathered, wish, beside)
    return replace(found, notes=(*rests.notes, *found.notes))


def agreement_of(path: Path, reading: Reading, wish: Wish | None = None) -> Agreement:
    """How far raters agree in a table of ratings.

    Raises:
        InputError: The table cannot be read as `reading` says, or nobody fits the wish.
    """
    wish = wish or Wish()
    gathered = read_ratings(path, reading)
    known = [each.id for each in gathered.items]
    for name in wish.items:
        if name not in known:
            raise InputError(f"{path} has no item {name!r}; it has {', '.join(known[:12])}")
    return _summarised(gathered, wish, Beside())


def _summarised(gathered: Gathered, wish: Wish, beside: Beside) -> Agreement:
    people, judges = chosen(gathered, wish.people, wish.judges)
    pieces: Mapping[str, Gathered] = parts(gathered, wish.by) if wish.by else {}
    found, *made = (
        summarise(piece, people, judges, items=wish.items, beside=beside, full=wish.full)
        for piece in (gathered, *pieces.values())
    )
    return replace(found, parts=tuple(replace(part, part=name) for name, part in zip(pieces, made, strict=True)))
