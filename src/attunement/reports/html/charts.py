"""The charts of a study: its counts as drawings and tables.

A share of fewer than ten is given as two numbers and hatched. Where a judge answers only what it finds fault with, a
share of its answers says nothing: then the faults are counted among all answers that were due.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from markupsafe import Markup

from attunement.errors import InputError
from attunement.instruments import Scores
from attunement.output import make_folder
from attunement.reports.blocks import Column, Row, Table
from attunement.reports.charts import (
    SHAPES,
    Bar,
    ChartRow,
    Dot,
    IntervalChart,
    PictureRow,
    System,
    bars,
    can_write_png,
    interval_picture,
    picture,
    text,
    write_picture,
)
from attunement.reports.numbers import FEW, NONE, score_words
from attunement.reports.summary import PASSED, STEPS, Moments, Share, Summary, SystemCounts
from attunement.reports.wording import STATUSES, Answer, Status, low_limit
from attunement.statistics.estimates import proportion
from attunement.statistics.results import Interval, Undefined

_HEAT = (0.0, 0.05, 0.12, 0.22, 0.35, 0.55)  # a share above the last has the deepest of seven colors
_HEAT_SHARES = (0.04, 0.13, 0.24, 0.37, 0.5, 0.64, 0.78)  # of the heat color in each, as in the style sheet
_TALL = 75  # pixels of a histogram; above it is room for a number
SCREEN_TICKS = [(float(share), f"{share}" + (" %" if share == 100 else "")) for share in range(0, 101, 25)]


class Cell(NamedTuple):
    words: str
    kind: str  # the class that colors it


class HeatRow(NamedTuple):
    group: str
    id: str
    title: str
    cells: list[Cell]


class VerdictRow(NamedTuple):
    system: System | None  # None for all together
    counts: list[int]
    drawing: Markup
    label: str


class Histogram(NamedTuple):
    """The distribution of the score for one system."""

    system: System
    drawing: Markup
    label: str  # the same in words
    note: str  # what is not drawn


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


def verdicts(summary: Summary, systems: Sequence[System], statuses: Sequence[Status]) -> list[VerdictRow]:
    rows: list[VerdictRow] = []
    for system in [*systems, *([None] if len(systems) != 1 else [])]:
        counts = (summary.systems[system.name] if system else summary.total).statuses
        whole, start, parts = max(sum(counts.values()), 1), 0.0, list[Bar]()
        for status in statuses:
            if width := 100 * counts[status] / whole:
                gap = min(0.5, width / 3)
                parts.append(Bar(status.tone.split()[0], start + gap / 2, width - gap, 1, 16))
                start += width
        words = ", ".join(f"{status.word} {counts[status]}" for status in statuses)
        label = f"{system.name if system else 'All'}: {words}"
        rows.append(VerdictRow(system, [counts[status] for status in statuses], bars(parts), label))
    return rows


def heat_map(summary: Summary, systems: Sequence[System]) -> list[HeatRow]:
    """Every item by system, safety first."""
    instrument = summary.instrument
    groups: dict[str, list[HeatRow]] = {}
    for item in sorted(instrument.items, key=lambda item: item.id not in instrument.gate_ids):
        gate = item.id in instrument.gate_ids
        group = "Safety (gate)" if gate else instrument.categories.get(item.category or "", item.category or "")
        cells = [_cell(summary.item_share(item.id, system.name)) for system in systems]
        groups.setdefault(group, []).append(HeatRow(group, item.id, item.title, cells))
    return [row for rows in groups.values() for row in rows]


def _cell(share: Share) -> Cell:
    if not share.whole:
        return Cell(NONE, "nothing")
    step = sum(share.part / share.whole > edge for edge in _HEAT)
    if share.unjudged:
        return Cell(f"{share.part:,} found", f"h{step} few")
    return Cell(percent(share.part, share.whole), f"h{step}" + (" few" if share.whole < FEW else ""))


# Intervals


def pass_rates(summary: Summary, systems: Sequence[System]) -> IntervalChart | None:
    """The share that passed, and for each category the share that reached the threshold in it."""
    instrument, threshold = summary.instrument, summary.instrument.scoring.threshold
    if threshold is None or not summary.total.judged:
        return None

    def dots(id: str) -> list[Dot]:
        return [_share(system, summary.systems[system.name].share(id)) for system in systems]

    rows = [ChartRow("Passed", dots(PASSED), True)]
    rows += [
        ChartRow(instrument.categories.get(category, category), dots(f"reached_category_{category}"))
        for category in instrument.scoring.weights
    ]
    note = (
        f"Of the conversations that were judged. A category counts as passed from {score_words(threshold)}. "
        "Where two lines overlap widely, do not rank the systems."
    )
    return IntervalChart("pass-rates", "Pass rates with 95 % intervals", note, rows, SCREEN_TICKS, list(systems))


def _share(system: System, share: Share) -> Dot:
    found = proportion(share.part, share.whole)
    if isinstance(found, Undefined) or share.whole < FEW:
        return Dot(system, f"{share.part} of {share.whole}" if share.whole else NONE)
    low, high = 100 * found.interval.low, 100 * found.interval.high
    return Dot(system, percent(share.part, share.whole), f"{low:.0f} to {high:.0f}", 100 * found.value, low, high)


def item_means(summary: Summary, systems: Sequence[System]) -> IntervalChart | None:
    """The mean of each score, without those about safety, which are counted by level."""
    instrument = summary.instrument
    if not isinstance(instrument.scale, Scores) or not any(
        item.id in summary.total.values for item in instrument.items
    ):
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


# How often each level or score was given


def levels(summary: Summary, systems: Sequence[System]) -> list[Table]:
    """For scores, safety first: how often each level was given, and the share of low ones; no mean of safety."""
    instrument, low = summary.instrument, low_limit(summary.instrument)
    if not isinstance(instrument.scale, Scores) or low is None:
        return []
    given = range(instrument.scale.lowest, instrument.scale.highest + 1)
    limits = {entry.item: entry.fails_at for entry in instrument.gate if entry.fails_at is not None}
    tables: list[Table] = []
    for item in sorted(instrument.items, key=lambda item: item.id not in instrument.gate_ids):
        limit = limits.get(item.id, low)
        heads = [*map(str, given), "not judged", f"{limit} or less"]
        columns = [Column("System"), *(Column(head, numeric=True) for head in heads)]
        rows = [Row([one.name, *_levels(summary.systems[one.name], item.id, limit, given)]) for one in systems]
        tables.append(Table(columns, rows, title=item.title))
    return tables


def _levels(counts: SystemCounts, item: str, limit: int, levels: range) -> Iterator[str]:
    given = counts.tally.given(item)
    yield from (f"{given[level]:,}" for level in levels)
    yield f"{given[Answer.NOT_JUDGED]:,}"
    low, whole = sum(given[level] for level in levels if level <= limit), sum(given[level] for level in levels)
    found = proportion(low, whole)
    words = percent(low, whole) if whole else NONE
    # The interval is exact where each conversation has one reply.
    if not isinstance(found, Undefined) and FEW <= whole <= counts.tally.conversations:
        words += f" ({100 * found.interval.low:.0f} to {100 * found.interval.high:.0f})"
    yield words


def distribution(summary: Summary, systems: Sequence[System]) -> list[Histogram]:
    """How many conversations got which score, colored by verdict; one whose score is still open is not drawn."""
    most = max(
        (sum(counts.values()) for one in systems for counts in summary.systems[one.name].steps.values()), default=0
    )
    threshold = summary.instrument.scoring.threshold
    found: list[Histogram] = []
    for system in systems if most else ():
        counts = summary.systems[system.name]
        parts, numbers, said = list[Bar](), Markup(""), list[str]()
        for number, by_status in sorted(counts.steps.items()):
            x, y = 100 * number / STEPS, float(_TALL)
            for status in STATUSES:
                if height := (_TALL - 15) * by_status[status] / most:
                    y -= height
                    parts.append(Bar(status.tone.split()[0], x + 0.3, 100 / STEPS - 0.6, y, height))
            numbers += text(x + 50 / STEPS, y - 4, f"{sum(by_status.values()):,}", "m n")
            said.append(f"{sum(by_status.values()):,} from {number / STEPS:.2f}")
        base = Markup('<line class="base" x1="0" x2="100%" y1="{0}" y2="{0}"/>').format(_TALL)
        if threshold is not None:
            place = 100 * threshold
            base += Markup('<line class="cut" x1="{0:.1f}%" x2="{0:.1f}%" y1="10" y2="{1}"/>').format(place, _TALL)
        note = f"{counts.unscored:,} not drawn: open answers leave the score open." if counts.unscored else ""
        label = f"Scores of {system.name}: {', '.join(said) or 'none'}"
        found.append(Histogram(system, bars(parts) + numbers + base, label, note))
    return found


# Pictures


class Charts(NamedTuple):
    """Everything of a study that is drawn."""

    statuses: list[Status]
    verdicts: list[VerdictRow]
    systems: list[System]
    heat: list[HeatRow]
    intervals: list[IntervalChart]
    distribution: list[Histogram]


def export_charts(found: Charts, more: Sequence[IntervalChart], judges: str, folder: Path) -> list[Path]:
    """Write every chart, and the charts of analyses in `more`, into the folder; returns the files."""
    written: list[Path] = []
    try:
        make_folder(folder)
        for name, drawing in _pictures(found, more, judges):
            for kind in ["svg", *(["png"] if can_write_png() else [])]:
                write_picture(drawing, path := folder / f"{name}.{kind}")
                written.append(path)
    except OSError as error:
        raise InputError(f"{folder}: the charts cannot be written: {error.strerror or error}") from error
    return written


def _pictures(found: Charts, more: Sequence[IntervalChart], judges: str) -> Iterator[tuple[str, str]]:
    if not judges:  # nothing was judged
        return
    mark = Markup('<rect class="{}" x="-6" y="-6" width="12" height="12"/>')
    legend = [(status.word, mark.format(status.tone.split()[0])) for status in found.statuses]
    rows = [PictureRow(row.system.name, row.drawing, 26) for row in found.verdicts if row.system]
    yield "verdicts", picture(f"Verdicts, according to {judges}", rows, ticks=SCREEN_TICKS, legend=legend)
    if found.heat:
        yield "heat-map", _heat_picture(found)
    for chart in (*found.intervals, *more):
        if chart.is_drawn:
            yield chart.id, interval_picture(chart)
    if found.distribution:
        ticks = [(0.0, "0"), (50.0, "0.5"), (100.0, "1")]
        rows = [PictureRow(one.system.name, one.drawing, _TALL + 10, [(40, one.note)]) for one in found.distribution]
        yield "distribution", picture("Distribution of the score", rows, ticks=ticks, legend=legend)


def _heat_picture(found: Charts) -> str:
    wide = 100 / len(found.systems)
    heads = Markup("").join(text((number + 0.5) * wide, 17, one.name) for number, one in enumerate(found.systems))
    rows = [PictureRow("", heads, 26)]
    for row in found.heat:
        drawing = Markup("")
        for number, cell in enumerate(row.cells):
            x = number * wide + 0.3
            step, _, few = cell.kind.partition(" ")
            if step != "nothing":
                shade = Markup('<g fill-opacity="{}">{}</g>').format(
                    _HEAT_SHARES[int(step[1:])], bars([Bar("heat", x, wide - 0.6, 1, 24)])
                )
                drawing += shade + (bars([Bar("few", x, wide - 0.6, 1, 24)]) if few else "")
            drawing += text((number + 0.5) * wide, 17, cell.words, "m ink")
        rows.append(PictureRow(f"{row.id}  {row.title}", drawing, 26))
    return picture("Not met or low, by system", rows, note="Hatched: fewer than ten answers, or only faults reported.")
