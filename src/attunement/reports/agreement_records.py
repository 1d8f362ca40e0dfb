"""Agreement as plain data for other programs.

The names are those of the results in `attunement.agreement`. A figure that does not exist is `{"undefined": why}`,
never null and never NaN.
"""

from collections.abc import Mapping
from dataclasses import fields
from enum import Enum
from typing import Any, cast

from attunement.agreement.results import Undefined
from attunement.agreement.summary import Agreement
from attunement.reports.agreement_wording import sentence


def agreement_record(agreement: Agreement, *, instrument: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """All that is known, the parts included."""
    record = _plain(agreement)
    for entry, found in zip(record["items"], agreement.items, strict=True):
        for card, made in zip(entry["cards"], found.cards, strict=True):
            del card["item"], card["people"]  # the entry has both
            card["sentence"] = sentence(made)
    record["parts"] = [agreement_record(part) for part in agreement.parts]
    return record if instrument is None else {"instrument": dict(instrument), **record}


def _plain(value: Any) -> Any:
    """Results, their parts and numbers as JSON has them."""
    named: Any = getattr(value, "_asdict", None)
    if named is not None:
        return {name: _plain(part) for name, part in named().items()}
    match value:
        case Undefined():
            return {"undefined": value.reason}
        case Agreement():
            return {part.name: _plain(getattr(value, part.name)) for part in fields(value) if part.name != "parts"}
        case Enum():
            return value.value
        case Mapping():
            return {str(name): _plain(part) for name, part in cast("Mapping[Any, Any]", value).items()}
        case tuple() | list():
            return [_plain(part) for part in cast("list[Any]", value)]
        case _:
            return value
