"""What does a new instrument begin as? A small, commented, working example that its author changes part by part."""

import re
from pathlib import Path

from attunement.conversations import UnitKind
from attunement.errors import InstrumentError
from attunement.instruments.loading import available

_STARTERS = Path(__file__).parent / "starters"


def starter(id: str, unit: UnitKind) -> str:
    """The YAML text of a new instrument named `id`: scores for replies, criteria for whole conversations.

    It lints without errors or warnings. An id that the model would refuse, or that an instrument already has, is an
    InstrumentError.
    """
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", id):
        raise InstrumentError(
            f"{id!r} cannot be the id of an instrument; use lower case letters, digits, dots and dashes"
        )
    if any(entry.id == id for entry in available()):
        raise InstrumentError(f"there is already an instrument {id!r}; choose another id")
    text = (_STARTERS / f"{unit}.yaml").read_text("utf-8")
    return text.replace("id: my-instrument            #", f"id: {_scalar(id)}  #", 1)


def _scalar(id: str) -> str:
    """An id made of digits would be read as a number; quotes keep it text."""
    return id if id[0].isalpha() and id not in {"true", "false", "null"} else f'"{id}"'
