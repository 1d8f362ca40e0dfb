"""What was measured about the embedded judge, on which data, and what follows for each item?

The figures stand in `validity.json`, which `make validate-signals` writes from the public data; nothing here computes
any. The judge reads the verdicts and does not answer what failed its measurement.
"""

from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

FILE = Path(__file__).with_name("validity.json")


class Verdict(StrEnum):
    """What the measurements of an item come to."""

    VALID = "valid"
    """Its interval lies above the best trivial judge and reaches what one person reaches with another."""
    WEAK = "weak"
    """Its interval lies above the best trivial judge only."""
    NOT_VALID = "not valid"
    """Its interval does not lie above the best trivial judge."""
    NOT_MEASURED = "not measured"
    """There are no people's ratings of it."""


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Figure(_Record):
    """A figure with its n and its 95 % interval."""

    value: float | None
    n: int
    low: float | None = None
    high: float | None = None
    why: str = ""
    """Why there is no value, or no interval."""


class Rater(_Record):
    """How far somebody agrees with single people, by kappa and by order."""

    who: str
    kind: Literal["judge", "people", "crowd", "llm", "trivial"]
    kappa: Figure | None = None
    order: Figure | None = None
    median: Figure | None = None
    """Kappa with the median of people, as the paper counts it; not comparable with person against person."""


class Count(_Record):
    """How many of how many, with an interval."""

    what: str
    hits: int | None
    """None where the figure is no share, such as an AUC."""
    share: Figure


class Agreement(_Record):
    """One dimension that people rated, with everybody who rated it held against them."""

    id: str
    source: str
    """The data, and who rated."""
    asked: str
    """What people rated, in our words."""
    reads: str
    """What of the judge was held against it."""
    items: tuple[str, ...]
    """The items it is about, as instrument/item; empty where no item uses what was measured."""
    decides: bool = True
    """Whether the verdict on these items rests on it."""
    by: Literal["kappa", "order"]
    """The figure that decides."""
    raters: tuple[Rater, ...]
    verdict: Verdict
    best_trivial: str = ""
    ahead: Figure | None = None
    """The judge minus the best trivial judge, or minus chance."""
    gap: Figure | None = None
    """The judge minus person with person."""
    flags: tuple[Count, ...] = ()
    """For flags: how many failures were flagged, and how much else."""
    note: str = ""


class Counts(_Record):
    """What a detector did on one set."""

    id: str
    source: str
    items: tuple[str, ...]
    counts: tuple[Count, ...]
    note: str = ""


class ItemVerdict(_Record):
    """What the measurements come to for one item."""

    verdict: Verdict
    why: str


class Validity(_Record):
    """All that was measured, and with which rules and weights."""

    rules: str
    scorer: str
    """The mark of the trained scorer's weights; empty where they were not there."""
    reader: str = ""
    """The same of the trained reader's."""
    items: dict[str, ItemVerdict]
    agreements: tuple[Agreement, ...]
    counts: tuple[Counts, ...]


@cache
def measured() -> Validity:
    """The committed figures."""
    return Validity.model_validate_json(FILE.read_bytes())


@cache
def verdict_on(instrument: str, item: str) -> Verdict:
    """The verdict on an item; one that nobody measured has none but that."""
    found = measured().items.get(f"{instrument}/{item}")
    return found.verdict if found else Verdict.NOT_MEASURED
