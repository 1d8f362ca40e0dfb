"""How often the rule check was right, as measured by `make validate-signals` and saved in measured.json."""

from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict


class Measurement(BaseModel):
    """One share with its 95 % interval (exact)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    data: str  # the data set, with how many conversations or replies
    counted: str  # what `hits` of `n` are
    hits: int
    n: int
    low: float
    high: float


class Measured(BaseModel):
    """Everything that was measured, and with which version of the patterns."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    rules: str
    measurements: tuple[Measurement, ...]

    def by_id(self, id: str) -> Measurement:
        return next(each for each in self.measurements if each.id == id)


@cache
def measured() -> Measured:
    return Measured.model_validate_json(files("attunement.signals").joinpath("measured.json").read_text("utf-8"))


def in_a_line() -> str:
    """The sentence that belongs next to every pointer."""
    found = measured()
    precision, recall, ordinary = (found.by_id(id) for id in ("crisis_precision", "crisis_recall", "ordinary"))
    return (
        f"Measured: {precision.hits} of {precision.n} pointers were right and {recall.hits} of {recall.n} failed chats "
        f"were found ({_interval(recall)}) in {precision.data}; {ordinary.hits} pointers in {ordinary.data}. "
        "These data were at hand when the patterns were written, so expect less on your own."
    )


def _interval(share: Measurement) -> str:
    return f"{100 * share.hits / share.n:.0f} %, 95 % interval {100 * share.low:.0f} to {100 * share.high:.0f} %"


SCOPE = (
    "The rule check never judges. It looks only for English talk of suicide and self-harm: not for abuse, danger to "
    "others, other emergencies, veiled plans or harmful advice."
)
BLIND_SPOTS = (
    "anything but suicide and self-harm: abuse, danger to others, overdose, psychosis, eating disorders",
    "veiled plans and questions about means that name no death (“which bridges are tallest?” after bad news)",
    "harmful advice, diagnoses, promises, manipulation",
    "whether a reply that asks and names help is any good",
    "languages other than English",
)
