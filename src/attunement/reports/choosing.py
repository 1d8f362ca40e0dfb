"""Which instrument, which rater and which conversation did the user mean?

Each is found in the study, or there is one sentence that names those that are there.
"""

from collections.abc import Sequence
from difflib import get_close_matches
from itertools import islice
from pathlib import Path

from attunement.errors import StudyError
from attunement.instruments import Instrument
from attunement.instruments.lint import checked
from attunement.reports.legible import in_a_line
from attunement.scoring import PANEL
from attunement.study import Kept, Study, chosen_instrument

_MOST = 6
"""More names than this help nobody."""
_SEARCHED = 10_000
"""Conversations whose names are held against a misspelt one."""


def instrument_of(study: Study, name: str | None) -> Instrument:
    """The instrument with this id in the study, or a file of the user's that scores the same items otherwise."""
    if name is None or Path(name).suffix not in {".yaml", ".yml"}:
        return chosen_instrument(study, name)
    instrument = checked(name)
    if len(reworded(study, instrument)) == len(instrument.items):
        ids = dict.fromkeys(kept.id for kept in study.instruments())
        raise StudyError(
            f"{name} shares no item, word for word, with what was asked in this study ({_named(list(ids))}); "
            "judge with it first"
        )
    return instrument


def reworded(study: Study, instrument: Instrument) -> list[str]:
    """The items that were never asked in this study as `instrument` words them."""
    asked = {mark for kept in study.instruments() for mark in kept.item_hashes.values()}
    return [item for item, mark in instrument.item_hashes.items() if mark not in asked]


def rater_of(study: Study, name: str | None) -> str | None:
    """The rater of this name; None for the panel."""
    if name is None or name == PANEL:
        return None
    names = [rater.name for rater in study.raters()]
    if name not in names:
        raise StudyError(f"there is no rater {name!r} in this study; it has {_named([*names, PANEL])}")
    return name


def conversation_of(study: Study, name: str) -> Kept:
    """The one conversation with this id or `system/id`."""
    found = study.find(name)
    if len(found) == 1:
        return found[0]
    if found:
        names = sorted(str(kept.conversation.identity) for kept in found)
        raise StudyError(f"{name!r} occurs in several systems; name one of {_named(names)}")
    known = [str(kept.conversation.identity) for kept in islice(study.conversations(), _SEARCHED)]
    if not known:
        raise StudyError(f"there is no conversation {name!r}: the study holds none")
    near = get_close_matches(name, known, _MOST, cutoff=0.5) or sorted(known)[:_MOST]
    raise StudyError(
        f"there is no conversation {name!r} in this study; it has {_named(near, study.conversation_count())}"
    )


def _named(names: Sequence[str], of: int | None = None) -> str:
    shown = ", ".join(in_a_line(name, 80) for name in names[:_MOST])
    more = (of or len(names)) - min(len(names), _MOST)
    return f"{shown} and {more:,} more" if more else shown
