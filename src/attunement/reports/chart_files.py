"""Each chart of a report as a file, for papers and slides: SVG, and PNG where the extra for it is installed."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from attunement.errors import InputError
from attunement.reports import svg
from attunement.reports.html.charts import Distribution, Dot, IntervalChart

if TYPE_CHECKING:
    from attunement.reports.study_report import Report

_SHAPES = {
    **dict(zip("abcdefgh", ("circle", "diamond", "square", "triangle") * 2, strict=True)),
    "x": "cross",
    "person": "circle",
}
_HOLLOW = "bdeg"
# How much of the heat colour is in each of the seven steps, as in the style sheet.
_HEAT_SHARES = (0.04, 0.13, 0.24, 0.37, 0.5, 0.64, 0.78)
_TONES = {"hi": "met", "lo": "notmet", "plain": "ink-3"}
_PERCENT = [(share / 100, f"{share} %") for share in (0, 25, 50, 75, 100)]


def export_charts(report: "Report", folder: Path) -> list[Path]:
    """Write every chart of the report into the folder; returns the files that were written."""
    written: list[Path] = []
    kinds = ["svg", *(["png"] if svg.can_write_png() else [])]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, drawing in _charts(report):
            for kind in kinds:
                svg.write_picture(drawing, path := folder / f"{name}.{kind}")
                written.append(path)
    except OSError as error:
        raise InputError(f"{folder}: the charts cannot be written: {error.strerror or error}") from error
    return written


def _charts(report: "Report") -> Iterator[tuple[str, str]]:
    if not report.top.verdict:
        return
    yield "verdicts", _verdicts(report)
    yield "heat-map", _heat_map(report)
    for chart in (*report.intervals, *(chart for section in report.sections for chart in section.charts)):
        yield chart.id, interval_svg(chart)
    for number, one in enumerate(report.distributions, start=1):
        yield f"distribution-{number:02}", _distribution(one)


def interval_svg(chart: IntervalChart, notes: Mapping[tuple[str, str], str] = {}) -> str:
    """A chart of intervals, with notes to the right of the axis by row and system."""
    rows = [
        svg.Row(
            row.label,
            [_mark(dot, notes.get((row.label, dot.system.name), "")) for dot in row.dots if dot.x is not None],
        )
        for row in chart.rows
    ]
    keys = [_key(system.name, system.shape, person=system.shape == "person") for system in chart.systems]
    corrected = dict.fromkeys(dot.system for row in chart.rows for dot in row.dots if dot.person)
    keys += [_key(f"{system.name}, corrected", system.shape, person=True) for system in corrected]
    ticks = [(place / 100, words) for place, words in chart.ticks]
    return svg.intervals(chart.title, rows, ticks, keys, chart.note)


def _mark(dot: Dot, note: str) -> svg.Mark:
    shape = dot.system.shape
    low, high = (None if end is None else end / 100 for end in (dot.low, dot.high))
    colour = "person" if dot.person or shape == "person" else "ink"
    return svg.Mark((dot.x or 0) / 100, low, high, _SHAPES[shape], shape in _HOLLOW, colour, note)


def _key(words: str, shape: str, *, person: bool) -> svg.Key:
    return svg.Key(words, _SHAPES[shape], shape in _HOLLOW, "person" if person else "ink")


def _heat_map(report: "Report") -> str:
    rows = [
        (
            f"{row.id}  {row.title}",
            [(cell.words, None if cell.share is None else _HEAT_SHARES[cell.step]) for cell in row.cells],
        )
        for group in report.heat
        for row in group.rows
    ]
    title = f"{report.low} or less, share by system" if report.low else "Not met, share by system"
    return svg.grid(title, [system.name for system in report.systems], rows)


def _distribution(one: Distribution) -> str:
    rows = [
        (
            drawn.system.name,
            [svg.Bar(bar.x / 100, (bar.x + bar.width) / 100, bar.number, _TONES[bar.tone]) for bar in drawn.bars],
        )
        for drawn in one.histograms
    ]
    ticks = [(place / 100, words) for place, words, _ in one.histograms[0].ticks]
    return svg.histograms(f"Distribution: {one.title}", rows, ticks)


def _verdicts(report: "Report") -> str:
    keys = [svg.Key(status.word, colour=status.tone.split()[0]) for status in report.statuses]
    rows = [(row.system.name, row.counts) for row in report.verdicts if row.system]
    return svg.stacked_bars(f"Verdicts, according to {report.top.judges}", rows, keys, _PERCENT)
