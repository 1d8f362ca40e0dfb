"""Each chart of a report as a PNG and an SVG file, for papers and slides, in the look of the pages."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from textwrap import wrap
from typing import Any, NamedTuple

import altair as alt
import vl_convert

from attunement.errors import InputError
from attunement.reports.html.charts import Dot, IntervalChart
from attunement.reports.html.histograms import Distribution
from attunement.reports.html.page import Report
from attunement.styling import style_sheet

_SCALE = 2.0
"""Pixels of a PNG for each of the chart, so that it is sharp in print."""
_SHAPES = {
    "a": "circle",
    "b": "diamond",
    "c": "square",
    "d": "triangle-up",
    "e": "circle",
    "f": "diamond",
    "g": "square",
    "h": "triangle-up",
    "x": "cross",
    "person": "circle",
}
_HOLLOW = "bdeg"
_NOTE_WIDTH = 100
"""Letters of a line below a title."""
_HEAT_SHARES = (0.04, 0.13, 0.24, 0.37, 0.5, 0.64, 0.78)
"""How much of the heat colour is in each of the seven steps, as in the style sheet."""


class Drawn(NamedTuple):
    """A chart and the name of its files."""

    name: str
    chart: alt.TopLevelMixin


def export_charts(report: Report, folder: Path) -> list[Path]:
    """Write every chart of the report into the folder and say which files there are now."""
    written: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, chart in _charts(report):
            spec = chart.to_dict()
            png, svg = folder / f"{name}.png", folder / f"{name}.svg"
            png.write_bytes(vl_convert.vegalite_to_png(spec, scale=_SCALE))
            svg.write_text(vl_convert.vegalite_to_svg(spec), encoding="utf-8")
            written += [png, svg]
    except OSError as error:
        raise InputError(f"{folder}: the charts cannot be written: {error.strerror or error}") from error
    return written


def _charts(report: Report) -> Iterator[Drawn]:
    if not report.top.verdict:
        return
    tokens = _tokens()
    yield Drawn("verdicts", _verdicts(report, tokens))
    yield Drawn("heat-map", _heat_map(report, tokens))
    for chart in (*report.intervals, *(chart for section in report.sections for chart in section.charts)):
        yield Drawn(chart.id, _intervals(chart, tokens))
    for number, one in enumerate(report.distributions):
        yield Drawn(f"distribution-{number + 1:02}", _distribution(one, tokens))


def _tokens() -> dict[str, str]:
    """The colours of the style sheet, as they are in light."""
    found: dict[str, str] = {}
    for name, colour in re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{3,6})\b", style_sheet()):
        found.setdefault(name, colour)  # the dark ones come later
    return found


def _mixed(tokens: dict[str, str], share: float) -> str:
    """The heat colour mixed into the surface."""
    ends = [[int(colour[at : at + 2], 16) for at in (1, 3, 5)] for colour in (_long(tokens["surface"]), tokens["heat"])]
    mixed = [round(ground + share * (heat - ground)) for ground, heat in zip(*ends, strict=True)]
    return "#" + "".join(f"{part:02x}" for part in mixed)


def _long(colour: str) -> str:
    return colour if len(colour) == 7 else "#" + "".join(part * 2 for part in colour[1:])


def _looking(chart: Any, title: str, tokens: dict[str, str], note: str = "") -> alt.TopLevelMixin:
    """The chart in the look of the pages; `note` says below the title what must be known to read it."""
    quiet = {"labelColor": tokens["ink-2"], "titleColor": tokens["ink-2"], "titleFontWeight": "normal"}
    return (
        chart.properties(title=alt.TitleParams(title, subtitle=wrap(note, _NOTE_WIDTH)))
        .configure(background=tokens["surface"], font="system-ui, Segoe UI, Noto Sans, DejaVu Sans, sans-serif")
        .configure_view(stroke=None)
        .configure_title(
            anchor="start", color=tokens["ink"], fontSize=15, subtitleColor=tokens["ink-2"], subtitleFontSize=12
        )
        .configure_axis(**quiet, labelFontSize=12, gridColor=tokens["line"], domainColor=tokens["line-strong"])
        .configure_legend(**quiet, labelFontSize=12, labelLimit=300)
        .configure_header(**quiet, labelFontSize=12, labelLimit=300)
    )


def _axis(ticks: list[tuple[float, str]]) -> alt.Axis:
    """An axis whose places are per cent of the width, with the words of the page."""
    labels = " : ".join(f"datum.value == {place} ? {json.dumps(words)}" for place, words in ticks) + " : ''"
    return alt.Axis(values=[place for place, _ in ticks], labelExpr=labels)


def _told_apart(chart: IntervalChart, tokens: dict[str, str]) -> tuple[Any, Any, Any]:
    """How systems are told apart: shape, and filled or hollow; in ink, and what rests on people in green."""
    corrected = [dot for row in chart.rows for dot in row.dots if dot.person]
    known = {system.name: (system.shape, system.shape == "person") for system in chart.systems}
    known |= {_key(dot): (dot.system.shape, True) for dot in corrected}
    inks = [tokens["person" if person else "ink"] for _, person in known.values()]
    shapes = [shape for shape, _ in known.values()]
    fills = [tokens["surface"] if shape in _HOLLOW else ink for shape, ink in zip(shapes, inks, strict=True)]
    ranges = (
        (alt.Shape, [_SHAPES[shape] for shape in shapes]),
        (alt.Fill, fills),
        (alt.Stroke, inks),
    )
    shape, fill, stroke = (
        channel("key:N", title=None, scale=alt.Scale(domain=list(known), range=values)) for channel, values in ranges
    )
    return shape, fill, stroke


def _key(dot: Dot) -> str:
    return f"{dot.system.name}, corrected" if dot.person else dot.system.name


def _intervals(chart: IntervalChart, tokens: dict[str, str]) -> alt.TopLevelMixin:
    values = [
        {
            "line": row.label,
            "system": dot.system.name,
            "key": _key(dot),
            "x": dot.x,
            "low": dot.low,
            "high": dot.high,
        }
        for row in chart.rows
        for dot in row.dots
        if dot.x is not None
    ]
    shape, fill, stroke = _told_apart(chart, tokens)
    y = alt.Y("line:N", sort=[row.label for row in chart.rows], title=None, axis=alt.Axis(labelLimit=460))
    offset = alt.YOffset("system:N", sort=[system.name for system in chart.systems])
    axis = _axis(chart.ticks)
    scale = alt.Scale(domain=[0, 100])
    base = alt.Chart(alt.Data(values=values))
    lines = base.mark_rule(strokeWidth=2).encode(
        stroke=stroke, x=alt.X("low:Q", scale=scale, title=None, axis=axis), x2="high:Q", y=y, yOffset=offset
    )
    points = base.mark_point(size=70, strokeWidth=2, opacity=1).encode(
        x=alt.X("x:Q", scale=scale, title=None, axis=axis), y=y, yOffset=offset, shape=shape, fill=fill, stroke=stroke
    )
    size = {"width": 420, "height": alt.Step(max(28, 18 * len(chart.systems)) / len(chart.systems))}
    return _looking(alt.layer(lines, points).properties(**size), chart.title, tokens, chart.note)


def _heat_map(report: Report, tokens: dict[str, str]) -> alt.TopLevelMixin:
    rows = [row for group in report.heat for row in group.rows]
    values = [
        {"item": f"{row.id}  {row.title}", "system": system.name, "step": cell.step, "words": cell.words}
        for row in rows
        for system, cell in zip(report.systems, row.cells, strict=True)
    ]
    order = [f"{row.id}  {row.title}" for row in rows]
    colour = alt.Scale(domain=list(range(7)), range=[_mixed(tokens, share) for share in _HEAT_SHARES])
    base = alt.Chart(alt.Data(values=values)).encode(
        x=alt.X(
            "system:N",
            sort=[system.name for system in report.systems],
            title=None,
            axis=alt.Axis(orient="top", labelAngle=0),
        ),
        y=alt.Y("item:N", sort=order, title=None, axis=alt.Axis(labelLimit=420)),
    )
    cells = base.mark_rect(stroke=tokens["surface"], strokeWidth=2).encode(
        color=alt.Color("step:O", scale=colour, legend=None)
    )
    words = base.mark_text(color=tokens["ink"], fontSize=12).encode(text="words:N")
    title = f"{report.low} or less, share by system" if report.low else "Not met, share by system"
    return _looking(alt.layer(cells, words).properties(width=alt.Step(90), height=alt.Step(26)), title, tokens)


def _distribution(one: Distribution, tokens: dict[str, str]) -> alt.TopLevelMixin:
    colours = {"hi": tokens["met"], "lo": tokens["notmet"], "plain": tokens["ink-3"]}
    values = [
        {"system": drawn.system.name, "from": bar.x, "to": bar.x + bar.width, "number": bar.number, "tone": bar.tone}
        for drawn in one.histograms
        for bar in drawn.bars
    ]
    axis = _axis([(place, words) for place, words, _ in one.histograms[0].ticks])
    bars = (
        alt.Chart(alt.Data(values=values))
        .mark_bar()
        .encode(
            x=alt.X("from:Q", scale=alt.Scale(domain=[0, 100]), title=None, axis=axis),
            x2="to:Q",
            y2=alt.datum(0),
            y=alt.Y("number:Q", title="conversations" if one.histograms[0].cut is not None else "answers"),
            color=alt.Color("tone:N", legend=None, scale=alt.Scale(domain=list(colours), range=list(colours.values()))),
            row=alt.Row("system:N", title=None, sort=[drawn.system.name for drawn in one.histograms]),
        )
        .properties(width=420, height=90)
    )
    return _looking(bars, f"Distribution: {one.title}", tokens)


def _verdicts(report: Report, tokens: dict[str, str]) -> alt.TopLevelMixin:
    values = [
        {"system": row.system.name if row.system else "", "status": status.word, "order": number, "count": count}
        for row in report.verdicts
        if row.system
        for number, (status, count) in enumerate(zip(report.statuses, row.counts, strict=True))
    ]
    colours = [tokens[status.tone.split()[0]] for status in report.statuses]
    words = [status.word for status in report.statuses]
    scale = alt.Scale(domain=words, range=colours)
    bars = (
        alt.Chart(alt.Data(values=values))
        .mark_bar(stroke=tokens["surface"], strokeWidth=1)
        .encode(
            x=alt.X("count:Q", stack="normalize", title="share of the conversations", axis=alt.Axis(format="%")),
            y=alt.Y("system:N", sort=[system.name for system in report.systems], title=None),
            color=alt.Color("status:N", scale=scale, title=None, sort=words),
            order=alt.Order("order:Q"),
        )
        .properties(width=420, height=alt.Step(28))
    )
    return _looking(bars, f"Verdicts, according to {report.top.judges}", tokens)
