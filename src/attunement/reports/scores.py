"""The scores of each system with their intervals, as a paper prints them.

Pass rates and shares of conversations have exact intervals, means have cluster-robust ones over conversations; below
ten conversations there is none. A safety score has no mean: what counts is the share of low ones.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from attunement.agreement.proportions import proportion
from attunement.agreement.results import FEWEST_CLUSTERS, Interval, Undefined
from attunement.conversations import UnitKind
from attunement.instruments import Instrument, Item, Scores
from attunement.reports.deciding import Decided
from attunement.reports.html.figures import Share, answered
from attunement.reports.html.gathering import OTHERS
from attunement.reports.html.moments import Moments
from attunement.reports.html.statuses import low_limit
from attunement.reports.html.text import SHOW_ALL, Hiding
from attunement.reports.tally import Tally
from attunement.reports.wording import Answer, answer
from attunement.scoring import Scorecard

PASSED, SCORE = "passed", "score"


class Measure(NamedTuple):
    """Something that is measured for each system."""

    id: str
    title: str
    is_share: bool
    """Whether its values are shares, from 0 to 1."""


class Estimate(NamedTuple):
    """A value with its interval, where there is one."""

    value: float | None
    interval: Interval | None
    values: int
    """How many values it rests on."""


class SystemScores(NamedTuple):
    """What one system came to."""

    name: str
    conversations: int
    judged: int
    unsafe: int
    safety_not_judged: int
    """Those that nobody judged are among them."""
    estimates: dict[str, Estimate]
    """By the id of the measure."""


def measures(instrument: Instrument) -> list[Measure]:
    """What is measured with this instrument: the whole, its categories, its items."""
    found: list[Measure] = []
    if instrument.scoring.threshold is not None:
        found.append(Measure(PASSED, "Passed", True))
    if instrument.scoring.weights:
        found.append(Measure(SCORE, "Weighted score", False))
    weighted = instrument.scoring.weights
    found += [Measure(f"category_{id}", instrument.categories.get(id, id), False) for id in weighted]
    return [*found, *(_item_measure(instrument, item) for item in instrument.items)]


def _item_measure(instrument: Instrument, item: Item) -> Measure:
    if not isinstance(instrument.scale, Scores):
        return Measure(item.id, f"{item.id} {item.title}", True)
    if item.id in instrument.gate_ids:
        return Measure(item.id, f"{item.title}: {low_limit(instrument)} or less", True)
    return Measure(item.id, item.title, False)


@dataclass
class _Sums:
    tally: Tally = field(default_factory=Tally)
    judged: int = 0
    shares: dict[str, Share] = field(default_factory=dict[str, Share])
    means: dict[str, Moments] = field(default_factory=dict[str, Moments])

    def add(self, instrument: Instrument, card: Scorecard | None) -> None:
        self.tally.add(instrument, card, answers=False)
        if card is None or not answered(card):
            return
        self.judged += 1
        if instrument.scoring.threshold is not None:
            self.shares.setdefault(PASSED, Share()).add(card.passed)
        if card.score is not None:
            self.means.setdefault(SCORE, Moments()).add([card.score])
        for category, mean in card.categories.items():
            if mean is not None:
                self.means.setdefault(f"category_{category}", Moments()).add([mean])
        for item, values in _values(instrument, card):
            if instrument.unit is UnitKind.CONVERSATION and not isinstance(instrument.scale, Scores):
                self.shares.setdefault(item, Share()).add(bool(values[0]))
            else:
                self.means.setdefault(item, Moments()).add(values)


def _values(instrument: Instrument, card: Scorecard) -> Iterator[tuple[str, list[float]]]:
    """The values of each item that were judged: 1 for met, the score, or for a safety score 1 where it is low."""
    low = low_limit(instrument)
    found: dict[str, list[float]] = {}
    for slot, outcome in card.outcomes.items():
        given = answer(instrument, instrument.item(slot.item), outcome)
        if isinstance(given, int):
            counts_low = slot.item in instrument.gate_ids and low is not None
            found.setdefault(slot.item, []).append(float(given <= low) if counts_low and low else float(given))
        elif given in {Answer.MET, Answer.NOT_MET}:
            found.setdefault(slot.item, []).append(float(given is Answer.MET))
    yield from found.items()


def scores(
    instrument: Instrument, entries: Iterable[Decided], systems: Sequence[str], hiding: Hiding = SHOW_ALL
) -> list[SystemScores]:
    """The scores of each of these systems, which are named as they may be shown; all others are counted together."""
    sums = {name: _Sums() for name in systems if name != OTHERS}
    for entry in entries:
        name = hiding.name(entry.summary.identity.system)
        sums.setdefault(name if name in sums else OTHERS, _Sums()).add(instrument, entry.card)
    return [_system(name, found) for name, found in sums.items()]


def _system(name: str, sums: _Sums) -> SystemScores:
    shares = {measure: _share(share) for measure, share in sums.shares.items()}
    means = {measure: _mean(moments) for measure, moments in sums.means.items()}
    tally = sums.tally
    open_ = tally.safety_not_judged + tally.absent
    return SystemScores(name, tally.conversations, sums.judged, tally.unsafe, open_, shares | means)


def _share(share: Share) -> Estimate:
    found = proportion(share.part, share.whole)
    if isinstance(found, Undefined):
        return Estimate(None, None, 0)
    return Estimate(found.value, found.interval if share.whole >= FEWEST_CLUSTERS else None, share.whole)


def _mean(moments: Moments) -> Estimate:
    interval = moments.interval()
    return Estimate(moments.mean, None if isinstance(interval, Undefined) else interval, moments.values)


def estimate_words(measure: Measure, found: Estimate | None, *, between: str = " to ") -> str:
    """The value with its interval: a share in a hundred, or of few the counts; a mean in points; else a dash."""
    if found is None or found.value is None:
        return "–"
    if measure.is_share and found.values < FEWEST_CLUSTERS:
        return f"{round(found.value * found.values)} of {found.values}"
    if measure.is_share:
        value = f"{100 * found.value:.0f} %"
        ends = [f"{100 * end:.0f}" for end in (found.interval.low, found.interval.high)] if found.interval else []
    else:
        value = f"{found.value:.2f}"
        ends = [f"{end:.2f}" for end in (found.interval.low, found.interval.high)] if found.interval else []
    return f"{value} ({between.join(ends)})" if ends else value
