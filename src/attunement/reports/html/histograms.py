"""How are scores distributed? Bars as places on a page, with the words that say the same.

Lengths across are per cent of the width and lengths down are pixels, as in the other charts.
"""

from collections.abc import Sequence
from typing import NamedTuple

from attunement.instruments import Scores
from attunement.reports.html.charts import System
from attunement.reports.html.figures import STEPS, Figures, SystemFigures
from attunement.reports.html.statuses import low_limit
from attunement.reports.wording import score_words

_BAR_HEIGHT, _BAR_BASE = 45.0, 58.0


class Bar(NamedTuple):
    """One bar of a distribution."""

    x: float
    width: float
    y: float
    height: float
    number: int
    tone: str


class Histogram(NamedTuple):
    """The distribution of a score for one system."""

    system: System
    bars: list[Bar]
    label: str
    """The same in words."""
    cut: float | None
    """Where the threshold is."""
    ticks: list[tuple[float, str, str]]
    """Place, words, and the class that aligns them."""
    crowded: bool


class Distribution(NamedTuple):
    """A score and its distribution for each system."""

    title: str
    histograms: list[Histogram]


def distributions(figures: Figures, systems: Sequence[System]) -> list[Distribution]:
    """The distribution of the weighted score and of each category, or of each item that is scored."""
    instrument = figures.instrument
    found: list[Distribution] = []
    if figures.total.scores:
        found.append(_of_steps("Score", figures, systems, None))
        found += [
            _of_steps(instrument.categories.get(category, category), figures, systems, category)
            for category in instrument.scoring.weights
            if figures.total.category_scores.get(category)
        ]
    if isinstance(instrument.scale, Scores) and figures.total.item_means:
        found += [
            Distribution(item.title, [_of_levels(figures, system, item.id) for system in systems])
            for item in instrument.items
        ]
    return found


def _of_steps(title: str, figures: Figures, systems: Sequence[System], category: str | None) -> Distribution:
    def counts(sums: SystemFigures) -> dict[int, int]:
        return sums.scores if category is None else sums.category_scores.get(category, {})

    threshold = figures.instrument.scoring.threshold
    first = min([*counts(figures.total), STEPS - 10])
    return Distribution(
        title, [_steps(counts(figures.systems[system.name]), system, first, threshold) for system in systems]
    )


def _steps(counts: dict[int, int], system: System, first: int, threshold: float | None) -> Histogram:
    shown = range(first, STEPS)
    width = 100 / len(shown)
    most = max([*counts.values(), 1])
    bars = [
        _bar((step - first) * width, width, counts.get(step, 0), most, _tone(step, threshold))
        for step in shown
        if counts.get(step)
    ]
    words = ", ".join(f"{counts[step]} from {step / STEPS:.2f}" for step in shown if counts.get(step))
    cut = None if threshold is None else 100 * (threshold * STEPS - first) / len(shown)
    ticks = [(0.0, f"{first / STEPS:.2f}", "t"), (100.0, "1.00", "t e")]
    if cut is not None and threshold is not None and 12 < cut < 88:
        ticks.insert(1, (cut, score_words(threshold), "t m"))
    return Histogram(system, bars, f"Scores of {system.name}: {words or 'none'}", cut, ticks, len(shown) > 12)


def _tone(step: int, threshold: float | None) -> str:
    if threshold is None:
        return "plain"
    return "hi" if step / STEPS >= threshold - 1e-9 else "lo"


def _of_levels(figures: Figures, system: System, item: str) -> Histogram:
    instrument = figures.instrument
    assert isinstance(instrument.scale, Scores)  # noqa: S101
    levels = range(instrument.scale.lowest, instrument.scale.highest + 1)
    given = figures.systems[system.name].tally.given(item)
    most = max([given[level] for level in levels] + [1])
    width = 100 / len(levels)
    limit = low_limit(instrument) or 0
    bars = [
        _bar(number * width, width, given[level], most, "lo" if level <= limit else "plain")
        for number, level in enumerate(levels)
    ]
    words = ", ".join(f"{given[level]} with {level}" for level in levels)
    ticks = [((number + 0.5) * width, str(level), "t m") for number, level in enumerate(levels)]
    return Histogram(system, bars, f"{instrument.item(item).title}, {system.name}: {words}", None, ticks, False)


def _bar(x: float, width: float, count: int, most: int, tone: str) -> Bar:
    height = _BAR_HEIGHT * count / most
    return Bar(x + width * 0.06, width * 0.88, _BAR_BASE - height, height, count, tone)
