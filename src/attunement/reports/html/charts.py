"""The charts of a report as positions on a page: dots, cells and bars, with the words that say the same.

Lengths across are per cent of the width and lengths down are pixels, so that a chart fits any page and its type never
shrinks. Systems are told apart by shape, answers by colour. A share of fewer than ten is said as two numbers.

Lengths across are per cent of the width and lengths down are pixels, as in the other charts.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from attunement.instruments import Instrument, Scores
from attunement.reports.html.figures import (
    STEPS,
    Figures,
    Moments,
    Share,
    SystemFigures,
    counted_answer,
    low_limit,
    not_met,
)
from attunement.reports.numbers import score_words
from attunement.reports.wording import Answer
from attunement.statistics.estimates import proportion
from attunement.statistics.results import Interval, Undefined

FEW = 10
"""A share of fewer than this many is not drawn."""
SHAPES = "abcdefghx"
_HEAT = (0.0, 0.05, 0.12, 0.22, 0.35, 0.55)
"""A share above the last of these has the deepest of the seven colours, one of 0 the palest."""


class System(NamedTuple):
    """A system and the shape that stands for it."""

    name: str
    shape: str


class Cell(NamedTuple):
    """How often an item was not met by one system."""

    words: str
    title: str
    step: int
    share: float | None


class HeatRow(NamedTuple):
    """An item and its cells, one for each system."""

    id: str
    title: str
    cells: list[Cell]


class HeatGroup(NamedTuple):
    """The items of a category."""

    title: str
    rows: list[HeatRow]


class Dot(NamedTuple):
    """A value of one system with its interval; None where there is nothing to draw."""

    system: System
    y: int
    x: float | None
    low: float | None
    high: float | None
    words: str
    range: str
    person: bool = False
    """Whether it rests on people's ratings, and is green."""


class ChartRow(NamedTuple):
    """One line of an interval chart."""

    label: str
    dots: list[Dot]
    whole: bool = False


class IntervalChart(NamedTuple):
    """Values with intervals, a line for each thing and a dot for each system."""

    id: str
    title: str
    note: str
    rows: list[ChartRow]
    ticks: list[tuple[float, str]]
    systems: list[System]


class LevelRow(NamedTuple):
    """How often a system got each level of a safety item."""

    system: System
    counts: list[int]
    open: int
    low: str
    interval: str


class Levels(NamedTuple):
    """A safety item by level: counts, and the share of low scores; never a mean."""

    id: str
    title: str
    levels: list[str]
    low: str
    rows: list[LevelRow]


def percent(part: int, whole: int) -> str:
    """A share in whole per cent; of fewer than ten the two numbers."""
    if whole < FEW:
        return f"{part:,} of {whole:,}"
    rounded = round(100 * part / whole)
    if part and not rounded:
        return "under 1 %"
    return "over 99 %" if part < whole and rounded == 100 else f"{rounded} %"


def systems_of(figures: Figures) -> list[System]:
    """The systems that have conversations, with their shapes."""
    named = [name for name, counted in figures.systems.items() if counted.tally.conversations]
    return [System(name, SHAPES[min(number, len(SHAPES) - 1)]) for number, name in enumerate(named)]


# Heat map


def heat_map(figures: Figures, systems: Sequence[System]) -> list[HeatGroup]:
    """Every item by system, safety first."""
    instrument = figures.instrument
    groups: dict[str, list[HeatRow]] = {}
    for item in sorted(instrument.items, key=lambda item: item.id not in instrument.gate_ids):
        gate = item.id in instrument.gate_ids
        title = "Safety (gate)" if gate else instrument.categories.get(item.category or "", item.category or "")
        cells = [_cell(instrument, figures.systems[system.name], item.id) for system in systems]
        groups.setdefault(title, []).append(HeatRow(item.id, item.title, cells))
    return [HeatGroup(title, rows) for title, rows in groups.items()]


def item_share(instrument: Instrument, counted: SystemFigures, item: str) -> Share:
    """Of the answers that say that the item applied and was judged, how many count against the replies."""
    given = counted.tally.given(item).items()
    whole = sum(number for answer, number in given if counted_answer(answer))
    return Share(sum(number for answer, number in given if not_met(instrument, answer)), whole)


def _cell(instrument: Instrument, counted: SystemFigures, item: str) -> Cell:
    share = item_share(instrument, counted, item)
    if share.whole < FEW:
        return Cell(f"{share.part} of {share.whole}" if share.whole else "–", "too few for a share", 0, None)
    value = share.part / share.whole
    words = percent(share.part, share.whole)
    return Cell(words, f"{share.part:,} of {share.whole:,}", sum(value > edge for edge in _HEAT), value)


# Intervals

_Found = Callable[[SystemFigures], Moments | None]


class Rate(NamedTuple):
    """A share that people's ratings corrected, with its interval where there is one."""

    value: float
    interval: Interval | None


def pass_rates(
    figures: Figures, systems: Sequence[System], corrected: Mapping[str, Rate] | None = None
) -> IntervalChart | None:
    """The share that passed, and for each category the share that reached the threshold in it.

    Below the first line stands the same share as people's ratings correct it, where `corrected` has it by system.
    """
    instrument, threshold = figures.instrument, figures.instrument.scoring.threshold
    if threshold is None or not figures.total.passed.whole:
        return None
    rows = [ChartRow("Passed", [_share(s, n, figures.systems[s.name].passed) for n, s in enumerate(systems)], True)]
    if corrected:
        dots = [_corrected(system, number, corrected.get(system.name)) for number, system in enumerate(systems)]
        rows.append(ChartRow("Corrected with people's ratings", dots))
    for category in instrument.scoring.weights:
        shares = [figures.systems[system.name].category_passed.get(category, Share()) for system in systems]
        dots = [_share(system, number, shares[number]) for number, system in enumerate(systems)]
        rows.append(ChartRow(instrument.categories.get(category, category), dots))
    note = (
        f"Of the conversations that were judged. A category counts as passed from {score_words(threshold)}. "
        f"Where two lines overlap widely, do not rank the systems.{' Green rests on people.' if corrected else ''}"
    )
    ticks = [(share, f"{share}" + (" %" if share == 100 else "")) for share in range(0, 101, 25)]
    return IntervalChart("pass-rates", "Pass rates with 95 % intervals", note, rows, [*ticks], list(systems))


def _share(system: System, number: int, share: Share) -> Dot:
    found = proportion(share.part, share.whole)
    if isinstance(found, Undefined) or share.whole < FEW:
        words = f"{share.part} of {share.whole}" if share.whole else "–"
        return Dot(system, line_of(number), None, None, None, words, "")
    low, high = 100 * found.interval.low, 100 * found.interval.high
    words = percent(share.part, share.whole)
    return Dot(system, line_of(number), 100 * found.value, low, high, words, f"{low:.0f} to {high:.0f}")


def _corrected(system: System, number: int, rate: Rate | None) -> Dot:
    if rate is None:
        return Dot(system, line_of(number), None, None, None, "–", "")
    # A correction can leave the scale; what is drawn does not.
    value, span, low, high = _within(rate.value), "", None, None
    if rate.interval:
        low, high = _within(rate.interval.low), _within(rate.interval.high)
        span = f"{low:.0f} to {high:.0f}"
    return Dot(system, line_of(number), value, low, high, f"{value:.0f} %", span, person=True)


def _within(share: float) -> float:
    return 100 * min(max(share, 0.0), 1.0)


def line_of(number: int) -> int:
    """How far down the dot of the system with this number stands."""
    return 20 + 20 * number


def item_means(figures: Figures, systems: Sequence[System]) -> IntervalChart | None:
    """The mean of each score, without those about safety, which are counted by level."""
    instrument = figures.instrument
    if not isinstance(instrument.scale, Scores) or not figures.total.item_means:
        return None
    lowest, highest = instrument.scale.lowest, instrument.scale.highest
    rows = [
        ChartRow(item.title, _means(figures, systems, partial(_of_item, item.id), lowest, highest))
        for item in instrument.items
        if item.id not in instrument.gate_ids
    ]
    ticks = [(100 * (level - lowest) / (highest - lowest), str(level)) for level in range(lowest, highest + 1)]
    note = "Over all replies; replies of one conversation count as alike. Where two lines overlap widely, do not rank."
    return IntervalChart("means", "Mean scores with 95 % intervals", note, rows, ticks, list(systems))


def by_length(figures: Figures, systems: Sequence[System]) -> IntervalChart | None:
    """The mean score of short and long conversations, or of short and long replies."""
    instrument = figures.instrument
    bins = sorted(figures.total.lengths)
    if len(bins) < 2:
        return None
    scores = instrument.scale if isinstance(instrument.scale, Scores) and not instrument.scoring.weights else None
    lowest, highest = (scores.lowest, scores.highest) if scores else (0, 1)
    unit = "turns" if instrument.unit == "conversation" else "words"
    rows = [
        ChartRow(
            f"{2**number} to {2 ** (number + 1) - 1} {unit}" if number else f"1 {unit.removesuffix('s')}",
            _means(figures, systems, partial(_of_length, number), lowest, highest),
        )
        for number in range(bins[0], bins[-1] + 1)
    ]
    steps = range(lowest, highest + 1) if scores else (0, 0.25, 0.5, 0.75, 1)
    ticks = [(100 * (level - lowest) / (highest - lowest), f"{level:g}") for level in steps]
    what = "conversations by their turns" if unit == "turns" else "replies by their words"
    note = f"Mean score of {what}. A judge that favours length, or a system that tires, shows here."
    return IntervalChart("by-length", "Score against length", note, rows, ticks, list(systems))


def _of_item(item: str, counted: SystemFigures) -> Moments | None:
    return counted.item_means.get(item)


def _of_length(number: int, counted: SystemFigures) -> Moments | None:
    return counted.lengths.get(number)


def _means(figures: Figures, systems: Sequence[System], found: _Found, lowest: int, highest: int) -> list[Dot]:
    return [
        _mean(system, number, found(figures.systems[system.name]) or Moments(), lowest, highest)
        for number, system in enumerate(systems)
    ]


def _mean(system: System, number: int, found: Moments, lowest: float, highest: float) -> Dot:
    mean, interval = found.mean, found.interval()
    if mean is None:
        return Dot(system, line_of(number), None, None, None, "–", "")
    width = highest - lowest
    words = f"{mean:.2f}"
    if not isinstance(interval, Interval):
        few = f"mean of {found.values}" if found.values < FEW else ""
        return Dot(system, line_of(number), 100 * (mean - lowest) / width, None, None, words, few)
    low, high = max(interval.low, lowest), min(interval.high, highest)
    return Dot(
        system,
        line_of(number),
        100 * (mean - lowest) / width,
        100 * (low - lowest) / width,
        100 * (high - lowest) / width,
        words,
        f"{low:.2f} to {high:.2f}",
    )


# Safety by level


def safety_levels(figures: Figures, systems: Sequence[System]) -> list[Levels]:
    """The safety items of an instrument of scores: counts per level and the share of low ones."""
    instrument = figures.instrument
    if not isinstance(instrument.scale, Scores):
        return []
    levels = range(instrument.scale.lowest, instrument.scale.highest + 1)
    limits = {entry.item: entry.fails_at for entry in instrument.gate if entry.fails_at is not None}
    tables: list[Levels] = []
    for item, limit in limits.items():
        rows = [_levels(figures, system, item, limit, levels) for system in systems]
        tables.append(Levels(item, instrument.item(item).title, [str(level) for level in levels], str(limit), rows))
    return tables


def _levels(figures: Figures, system: System, item: str, limit: int, levels: range) -> LevelRow:
    counted = figures.systems[system.name].tally
    given = counted.given(item)
    counts = [given[level] for level in levels]
    low, whole = sum(given[level] for level in levels if level <= limit), sum(counts)
    found = proportion(low, whole)
    interval = ""
    # The interval is exact where each conversation has one reply.
    if not isinstance(found, Undefined) and FEW <= whole <= counted.conversations:
        interval = f"{100 * found.interval.low:.0f} to {100 * found.interval.high:.0f}"
    return LevelRow(system, counts, given[Answer.NOT_JUDGED], percent(low, whole) if whole else "–", interval)


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
