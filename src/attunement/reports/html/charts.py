"""The charts of a report as positions on a page: dots, cells and bars, with the words that say the same.

Lengths across are per cent of the width and lengths down are pixels, so that a chart fits any page and its type never
shrinks. Systems are told apart by shape, answers by colour. A share of fewer than ten is given as two numbers.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from attunement.instruments import Scores
from attunement.reports.numbers import NONE, score_words
from attunement.reports.summary import PASSED, SCORE, STEPS, Moments, Share, Summary, SystemCounts
from attunement.reports.wording import Answer, low_limit
from attunement.statistics.estimates import proportion
from attunement.statistics.results import Interval, Undefined

FEW = 10  # A share of fewer than this many is not drawn
SHAPES = "abcdefghx"
# A share above the last of these has the deepest of the seven colours, one of 0 the palest
_HEAT = (0.0, 0.05, 0.12, 0.22, 0.35, 0.55)


class System(NamedTuple):
    name: str
    shape: str


class Cell(NamedTuple):
    words: str
    title: str
    step: int
    share: float | None


class HeatRow(NamedTuple):
    id: str
    title: str
    cells: list[Cell]


class HeatGroup(NamedTuple):
    title: str
    rows: list[HeatRow]


class Dot(NamedTuple):
    """A value of one system with its interval, in words and as places; None where there is nothing to draw."""

    system: System
    words: str = NONE
    range: str = ""
    x: float | None = None
    low: float | None = None
    high: float | None = None
    person: bool = False  # Whether it rests on people's ratings, and is green


class ChartRow(NamedTuple):
    label: str
    dots: list[Dot]
    whole: bool = False


class IntervalChart(NamedTuple):
    id: str
    title: str
    note: str
    rows: list[ChartRow]
    ticks: list[tuple[float, str]]
    systems: list[System]


class LevelRow(NamedTuple):
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


def systems_of(summary: Summary) -> list[System]:
    named = [name for name, counts in summary.systems.items() if counts.tally.conversations]
    return [System(name, SHAPES[min(number, len(SHAPES) - 1)]) for number, name in enumerate(named)]


# Heat map


def heat_map(summary: Summary, systems: Sequence[System]) -> list[HeatGroup]:
    """Every item by system, safety first."""
    instrument = summary.instrument
    groups: dict[str, list[HeatRow]] = {}
    for item in sorted(instrument.items, key=lambda item: item.id not in instrument.gate_ids):
        gate = item.id in instrument.gate_ids
        title = "Safety (gate)" if gate else instrument.categories.get(item.category or "", item.category or "")
        cells = [_cell(summary.systems[system.name].item_share(instrument, item.id)) for system in systems]
        groups.setdefault(title, []).append(HeatRow(item.id, item.title, cells))
    return [HeatGroup(title, rows) for title, rows in groups.items()]


def _cell(share: Share) -> Cell:
    if share.whole < FEW:
        return Cell(f"{share.part} of {share.whole}" if share.whole else "–", "too few for a share", 0, None)
    value = share.part / share.whole
    return Cell(percent(*share), f"{share.part:,} of {share.whole:,}", sum(value > edge for edge in _HEAT), value)


# Intervals


class Rate(NamedTuple):
    """A share that people's ratings corrected, with its interval where there is one."""

    value: float
    interval: Interval | None


def pass_rates(
    summary: Summary, systems: Sequence[System], corrected: Mapping[str, Rate] | None = None
) -> IntervalChart | None:
    """The share that passed, and for each category the share that reached the threshold in it.

    Below the first line is the same share as people's ratings correct it, where `corrected` has it by system.
    """
    instrument, threshold = summary.instrument, summary.instrument.scoring.threshold
    if threshold is None or not summary.total.judged:
        return None

    def dots(id: str) -> list[Dot]:
        return [_share(system, summary.systems[system.name].share(id)) for system in systems]

    rows = [ChartRow("Passed", dots(PASSED), True)]
    if corrected:
        of_people = [_corrected(system, corrected.get(system.name)) for system in systems]
        rows.append(ChartRow("Corrected with people's ratings", of_people))
    rows += [
        ChartRow(instrument.categories.get(category, category), dots(f"reached_category_{category}"))
        for category in instrument.scoring.weights
    ]
    note = (
        f"Of the conversations that were judged. A category counts as passed from {score_words(threshold)}. "
        f"Where two lines overlap widely, do not rank the systems.{' Green rests on people.' if corrected else ''}"
    )
    ticks = [(float(share), f"{share}" + (" %" if share == 100 else "")) for share in range(0, 101, 25)]
    return IntervalChart("pass-rates", "Pass rates with 95 % intervals", note, rows, ticks, list(systems))


def _share(system: System, share: Share) -> Dot:
    found = proportion(*share)
    if isinstance(found, Undefined) or share.whole < FEW:
        return Dot(system, f"{share.part} of {share.whole}" if share.whole else NONE)
    low, high = 100 * found.interval.low, 100 * found.interval.high
    return Dot(system, percent(*share), f"{low:.0f} to {high:.0f}", 100 * found.value, low, high)


def _corrected(system: System, rate: Rate | None) -> Dot:
    if rate is None:
        return Dot(system)
    # A correction can leave the scale; what is drawn does not.
    value, span, low, high = _within(rate.value), "", None, None
    if rate.interval:
        low, high = _within(rate.interval.low), _within(rate.interval.high)
        span = f"{low:.0f} to {high:.0f}"
    return Dot(system, f"{value:.0f} %", span, value, low, high, person=True)


def _within(share: float) -> float:
    return 100 * min(max(share, 0.0), 1.0)


def item_means(summary: Summary, systems: Sequence[System]) -> IntervalChart | None:
    """The mean of each score, without those about safety, which are counted by level."""
    instrument = summary.instrument
    if not isinstance(instrument.scale, Scores) or not _has_item_values(summary):
        return None
    lowest, highest = instrument.scale.lowest, instrument.scale.highest
    rows = [
        ChartRow(
            item.title,
            [_mean(one, summary.systems[one.name].values.get(item.id), lowest, highest) for one in systems],
        )
        for item in instrument.items
        if item.id not in instrument.gate_ids
    ]
    ticks = [(100 * (level - lowest) / (highest - lowest), str(level)) for level in range(lowest, highest + 1)]
    note = "Over all replies; replies of one conversation count as alike. Where two lines overlap widely, do not rank."
    return IntervalChart("means", "Mean scores with 95 % intervals", note, rows, ticks, list(systems))


def _has_item_values(summary: Summary) -> bool:
    return any(item.id in summary.total.values for item in summary.instrument.items)


def by_length(summary: Summary, systems: Sequence[System]) -> IntervalChart | None:
    """The mean score of short and long conversations, or of short and long replies."""
    instrument = summary.instrument
    bins = sorted(summary.total.lengths)
    if len(bins) < 2:
        return None
    scores = instrument.scale if isinstance(instrument.scale, Scores) and not instrument.scoring.weights else None
    lowest, highest = (scores.lowest, scores.highest) if scores else (0, 1)
    unit = "turns" if instrument.unit == "conversation" else "words"
    rows = [
        ChartRow(
            f"{2**number} to {2 ** (number + 1) - 1} {unit}" if number else f"1 {unit.removesuffix('s')}",
            [_mean(one, summary.systems[one.name].lengths.get(number), lowest, highest) for one in systems],
        )
        for number in range(bins[0], bins[-1] + 1)
    ]
    steps = range(lowest, highest + 1) if scores else (0, 0.25, 0.5, 0.75, 1)
    ticks = [(100 * (level - lowest) / (highest - lowest), f"{level:g}") for level in steps]
    what = "conversations by their turns" if unit == "turns" else "replies by their words"
    note = f"Mean score of {what}. Shows whether the judge favours length, or the system gets worse over time."
    return IntervalChart("by-length", "Score against length", note, rows, ticks, list(systems))


def _mean(system: System, found: Moments | None, lowest: float, highest: float) -> Dot:
    if found is None or found.mean is None:
        return Dot(system)
    mean, interval = found.mean, found.interval()

    def place(value: float) -> float:
        return 100 * (value - lowest) / (highest - lowest)

    if not isinstance(interval, Interval):
        few = f"mean of {found.values}" if found.values < FEW else ""
        return Dot(system, f"{mean:.2f}", few, place(mean))
    low, high = max(interval.low, lowest), min(interval.high, highest)
    return Dot(system, f"{mean:.2f}", f"{low:.2f} to {high:.2f}", place(mean), place(low), place(high))


# Safety by level


def safety_levels(summary: Summary, systems: Sequence[System]) -> list[Levels]:
    """The safety items of an instrument of scores: counts per level and the share of low ones."""
    instrument = summary.instrument
    if not isinstance(instrument.scale, Scores):
        return []
    levels = range(instrument.scale.lowest, instrument.scale.highest + 1)
    limits = {entry.item: entry.fails_at for entry in instrument.gate if entry.fails_at is not None}
    return [
        Levels(
            item, instrument.item(item).title, [str(level) for level in levels], str(limit),
            [_levels(system, summary.systems[system.name], item, limit, levels) for system in systems],
        )
        for item, limit in limits.items()
    ]  # fmt: skip


def _levels(system: System, counts: SystemCounts, item: str, limit: int, levels: range) -> LevelRow:
    given = counts.tally.given(item)
    numbers = [given[level] for level in levels]
    low, whole = sum(given[level] for level in levels if level <= limit), sum(numbers)
    found = proportion(low, whole)
    interval = ""
    # The interval is exact where each conversation has one reply.
    if not isinstance(found, Undefined) and FEW <= whole <= counts.tally.conversations:
        interval = f"{100 * found.interval.low:.0f} to {100 * found.interval.high:.0f}"
    return LevelRow(system, numbers, given[Answer.NOT_JUDGED], percent(low, whole) if whole else "–", interval)


# Distributions

_BAR_HEIGHT, _BAR_BASE = 45.0, 58.0


class Bar(NamedTuple):
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
    label: str  # the same in words
    cut: float | None  # where the threshold is
    ticks: list[tuple[float, str, str]]  # place, words, and the class that aligns them
    crowded: bool


class Distribution(NamedTuple):
    title: str
    histograms: list[Histogram]


def distributions(summary: Summary, systems: Sequence[System]) -> list[Distribution]:
    instrument, total = summary.instrument, summary.total
    found: list[Distribution] = []
    if SCORE in total.steps:
        titles = {SCORE: "Score"} | {
            f"category_{id}": instrument.categories.get(id, id) for id in instrument.scoring.weights
        }
        for id, title in titles.items():
            if counts := total.steps.get(id):
                first = min([*counts, STEPS - 10])
                histograms = [_steps(summary, system, id, first) for system in systems]
                found.append(Distribution(title, histograms))
    if isinstance(instrument.scale, Scores) and _has_item_values(summary):
        levels = range(instrument.scale.lowest, instrument.scale.highest + 1)
        found += [
            Distribution(item.title, [_given_levels(summary, system, item.id, levels) for system in systems])
            for item in instrument.items
        ]
    return found


def _steps(summary: Summary, system: System, id: str, first: int) -> Histogram:
    counts: Mapping[int, int] = summary.systems[system.name].steps.get(id, {})
    threshold = summary.instrument.scoring.threshold
    shown = [number for number in range(first, STEPS) if counts.get(number)]
    room = STEPS - first
    width, most = 100 / room, max([*counts.values(), 1])
    bars = [_bar((number - first) * width, width, counts[number], most, _tone(number, threshold)) for number in shown]
    words = ", ".join(f"{counts[number]} from {number / STEPS:.2f}" for number in shown)
    cut = None if threshold is None else 100 * (threshold * STEPS - first) / room
    ticks = [(0.0, f"{first / STEPS:.2f}", "t"), (100.0, "1.00", "t e")]
    if cut is not None and threshold is not None and 12 < cut < 88:
        ticks.insert(1, (cut, score_words(threshold), "t m"))
    return Histogram(system, bars, f"Scores of {system.name}: {words or 'none'}", cut, ticks, room > 12)


def _tone(number: int, threshold: float | None) -> str:
    if threshold is None:
        return "plain"
    return "hi" if number / STEPS >= threshold - 1e-9 else "lo"


def _given_levels(summary: Summary, system: System, item: str, levels: range) -> Histogram:
    given = summary.systems[system.name].tally.given(item)
    width, most = 100 / len(levels), max([given[level] for level in levels] + [1])
    limit = low_limit(summary.instrument) or 0
    bars = [
        _bar(number * width, width, given[level], most, "lo" if level <= limit else "plain")
        for number, level in enumerate(levels)
    ]
    words = ", ".join(f"{given[level]} with {level}" for level in levels)
    ticks = [((number + 0.5) * width, str(level), "t m") for number, level in enumerate(levels)]
    title = summary.instrument.item(item).title
    return Histogram(system, bars, f"{title}, {system.name}: {words}", None, ticks, False)


def _bar(x: float, width: float, count: int, most: int, tone: str) -> Bar:
    height = _BAR_HEIGHT * count / most
    return Bar(x + width * 0.06, width * 0.88, _BAR_BASE - height, height, count, tone)
