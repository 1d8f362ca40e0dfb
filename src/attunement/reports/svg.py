"""The charts of a report as files for papers and slides: SVG in the look of the pages, and PNG with the extra for it.

A page stretches its charts and draws them with its style sheet; a file has a fixed size and its own colours.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from importlib.util import find_spec
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

from attunement.errors import InputError
from attunement.output import make_folder, replacing
from attunement.reports.html.charts import Distribution, IntervalChart, System
from attunement.styling import style_sheet

if TYPE_CHECKING:
    from attunement.reports.study_report import Report

# Pixels: the part of a chart with an axis, one per cent of it, the margin, a row, and about a letter in the size below
WIDTH = 420
_PER_CENT, _MARGIN, _ROW, _LETTER = WIDTH / 100, 16, 26, 6.6
_SIZE, _TITLE = 12, 15
_NOTE_LETTERS = 100
_SCALE = 2.0  # pixels of a PNG for each of the chart, so that it is sharp in print
_CIRCLE = "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z"
_DIAMOND = "M0-5.5 5.5 0 0 5.5-5.5 0z"
_SQUARE = "M-4.5-4.5h9v9h-9z"
_TRIANGLE = "M0-5.5 5 4.5h-10z"
_SHAPES = {
    **dict(zip("abcdefgh", (_CIRCLE, _DIAMOND, _SQUARE, _TRIANGLE) * 2, strict=True)),
    "x": "M-5-2h3v-3h4v3h3v4h-3v3h-4v-3h-3z",
    "person": _CIRCLE,
}
_HOLLOW = "bdeg"
# How much of the heat colour is in each of the seven steps, as in the style sheet
_HEAT_SHARES = (0.04, 0.13, 0.24, 0.37, 0.5, 0.64, 0.78)
_TONES = {"hi": "met", "lo": "notmet", "plain": "ink-3"}
# Characters that no XML file may hold, and what takes their place
_REPLACEMENT = "\ufffd"
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def colours() -> dict[str, str]:
    """The colours of the style sheet by name, as they are in light."""
    found: dict[str, str] = {}
    for name, colour in re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{3,6})\b", style_sheet()):
        found.setdefault(name, colour)  # the dark ones come later
    return found


class _Canvas:
    """Elements from top to bottom; its width grows with what is drawn."""

    def __init__(self, title: str, note: str = "") -> None:
        self.ink = colours()
        self._parts: list[str] = []
        self._right = 0.0
        self.y = float(_MARGIN + _TITLE)
        self.text(_MARGIN, title, size=_TITLE, weight="600")
        for line in wrap(note, _NOTE_LETTERS):
            self.y += 18
            self.text(_MARGIN, line, colour="ink-2")
        self.y += 14

    def text(
        self, x: float, words: str, *, size: int = _SIZE, colour: str = "ink", anchor: str = "start", weight: str = ""
    ) -> None:
        bold = f' font-weight="{weight}"' if weight else ""
        self._parts.append(
            f'<text x="{x:.1f}" y="{self.y:.1f}" font-size="{size}" fill="{self.ink[colour]}" '
            f'text-anchor="{anchor}"{bold}>{escape(_NOT_XML.sub(_REPLACEMENT, words))}</text>'
        )
        if anchor == "start":
            self._right = max(self._right, x + len(words) * _LETTER * size / _SIZE)

    def line(self, x1: float, y1: float, x2: float, y2: float, colour: str, width: float = 1) -> None:
        self._parts.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{self.ink[colour]}" '
            f'stroke-width="{width:g}"/>'
        )

    def rect(self, x: float, y: float, width: float, height: float, fill: str) -> None:
        self._parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{max(height, 0):.1f}" fill="{fill}"/>'
        )
        self._right = max(self._right, x + width)

    def shape(self, x: float, y: float, shape: str, colour: str) -> None:
        fill = self.ink["surface"] if shape in _HOLLOW else self.ink[colour]
        self._parts.append(
            f'<path d="{_SHAPES[shape]}" transform="translate({x:.1f} {y:.1f})" fill="{fill}" '
            f'stroke="{self.ink[colour]}" stroke-width="2"/>'
        )

    def axis(self, left: float, top: float, ticks: Sequence[tuple[float, str]]) -> None:
        """Lines down to here at each tick, and their words below; a tick has its place in per cent."""
        for place, _ in ticks:
            self.line(left + place * _PER_CENT, top, left + place * _PER_CENT, self.y, "line")
        self.y += 16
        for place, words in ticks:
            self.text(left + place * _PER_CENT, words, colour="ink-2", anchor="middle")
        self._right = max(self._right, left + WIDTH + 20)

    def legend(self, keys: Sequence[tuple[str, str, str]]) -> None:
        """Words, shape and colour of each kind of mark."""
        self.y += 22
        x = float(_MARGIN)
        for words, shape, colour in keys:
            self.shape(x + 6, self.y - 4, shape, colour)
            self.text(x + 18, words, colour="ink-2")
            x += 18 + len(words) * _LETTER + 20

    def svg(self) -> str:
        width, height = self._right + _MARGIN, self.y + _MARGIN
        body = "\n".join(self._parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="system-ui, Segoe UI, Noto Sans, DejaVu Sans, '
            f'sans-serif">\n<rect width="100%" height="100%" fill="{self.ink["surface"]}"/>\n{body}\n</svg>\n'
        )


def export_charts(report: "Report", folder: Path) -> list[Path]:
    """Write every chart of the report into the folder; returns the files that were written."""
    written: list[Path] = []
    kinds = ["svg", *(["png"] if can_write_png() else [])]
    try:
        make_folder(folder)
        for name, drawing in _charts(report):
            for kind in kinds:
                write_picture(drawing, path := folder / f"{name}.{kind}")
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
    canvas = _Canvas(chart.title, chart.note)
    left, top = _label_width([row.label for row in chart.rows]), canvas.y
    drawn = [(row.label, [(dot, dot.x) for dot in row.dots if dot.x is not None]) for row in chart.rows]
    heights = [max(_ROW, 20 * len(dots) + 8) for _, dots in drawn]
    canvas.y = top + sum(heights)
    canvas.axis(left, top, chart.ticks)  # below the marks, so it is drawn first
    bottom, canvas.y = canvas.y, top
    for (label, dots), height in zip(drawn, heights, strict=True):
        middle = canvas.y + height / 2
        canvas.y = middle + 4
        canvas.text(_MARGIN, label)
        for number, (dot, x) in enumerate(dots):
            y = middle + 20 * (number - (len(dots) - 1) / 2)
            if dot.low is not None and dot.high is not None:
                colour = _colour(dot.system, dot.person)
                canvas.line(left + dot.low * _PER_CENT, y, left + dot.high * _PER_CENT, y, colour, 2)
            canvas.shape(left + x * _PER_CENT, y, dot.system.shape, _colour(dot.system, dot.person))
            if note := notes.get((label, dot.system.name)):
                canvas.y = y + 4
                canvas.text(left + WIDTH + 14, note, colour="ink-2")
        canvas.y = middle + height / 2
    canvas.y = bottom
    keys = [(system.name, system.shape, _colour(system)) for system in chart.systems]
    corrected = dict.fromkeys(dot.system for row in chart.rows for dot in row.dots if dot.person)
    keys += [(f"{system.name}, corrected", system.shape, "person") for system in corrected]
    if keys:
        canvas.legend(keys)
    return canvas.svg()


def _colour(system: System, person: bool = False) -> str:
    return "person" if person or system.shape == "person" else "ink"


def _verdicts(report: "Report") -> str:
    """Bars of parts that add up to the whole width."""
    colours = [status.tone.split()[0] for status in report.statuses]
    rows = [(row.system.name, row.counts) for row in report.verdicts if row.system]
    canvas = _Canvas(f"Verdicts, according to {report.top.judges}")
    left, top = _label_width([label for label, _ in rows]), canvas.y
    canvas.y += _ROW * len(rows) + 4
    canvas.axis(left, top, [(share, f"{share} %") for share in (0, 25, 50, 75, 100)])
    bottom, canvas.y = canvas.y, top
    for label, counts in rows:
        x, whole = left, sum(counts) or 1
        for colour, count in zip(colours, counts, strict=True):
            width = WIDTH * count / whole
            canvas.rect(x, canvas.y + 4, width, 18, canvas.ink[colour])
            x += width
        canvas.y += 17
        canvas.text(_MARGIN, label)
        canvas.y += _ROW - 17
    canvas.y = bottom
    canvas.legend([(status.word, "c", colour) for status, colour in zip(report.statuses, colours, strict=True)])
    return canvas.svg()


def _heat_map(report: "Report") -> str:
    """A table of cells with words and a shade; a cell with too little for a share has none."""
    canvas = _Canvas(f"{report.low} or less, share by system" if report.low else "Not met, share by system")
    rows = [(f"{row.id}  {row.title}", row.cells) for group in report.heat for row in group.rows]
    left = _label_width([label for label, _ in rows])
    wide = max([90.0, *(len(system.name) * _LETTER + 16 for system in report.systems)])
    canvas.y += 14
    for number, system in enumerate(report.systems):
        canvas.text(left + (number + 0.5) * wide, system.name, colour="ink-2", anchor="middle")
    canvas.y += 6
    ground, heat = canvas.ink["surface"], canvas.ink["heat"]
    for label, cells in rows:
        for number, cell in enumerate(cells):
            fill = ground if cell.share is None else _mixed(ground, heat, _HEAT_SHARES[cell.step])
            canvas.rect(left + number * wide + 1, canvas.y + 1, wide - 2, _ROW - 2, fill)
        canvas.y += 17
        canvas.text(_MARGIN, label)
        for number, cell in enumerate(cells):
            canvas.text(left + (number + 0.5) * wide, cell.words, anchor="middle")
        canvas.y += _ROW - 17
    return canvas.svg()


def _distribution(one: Distribution) -> str:
    canvas, tall = _Canvas(f"Distribution: {one.title}"), 80
    left = _label_width([drawn.system.name for drawn in one.histograms])
    most = max((bar.number for drawn in one.histograms for bar in drawn.bars), default=0) or 1
    ticks = [(place, words) for place, words, _ in one.histograms[0].ticks]
    for drawn in one.histograms:
        canvas.y += tall
        for bar in drawn.bars:
            height = tall * bar.number / most
            x, width = left + bar.x * _PER_CENT, bar.width * _PER_CENT
            canvas.rect(x + 0.5, canvas.y - height, width - 1, height, canvas.ink[_TONES[bar.tone]])
        canvas.line(left, canvas.y, left + WIDTH, canvas.y, "line-strong")
        canvas.text(_MARGIN, drawn.system.name)
        canvas.axis(left, canvas.y, ticks)
        canvas.y += 14
    return canvas.svg()


def _label_width(labels: Sequence[str]) -> float:
    return _MARGIN + max((len(label) for label in labels), default=0) * _LETTER + 12


def _mixed(ground: str, colour: str, share: float) -> str:
    """`share` of `colour` mixed into `ground`."""
    ends = [
        bytes.fromhex(each[1:] if len(each) == 7 else "".join(part * 2 for part in each[1:]))
        for each in (ground, colour)
    ]
    return "#" + "".join(f"{round(start + share * (end - start)):02x}" for start, end in zip(*ends, strict=True))


def can_write_png() -> bool:
    return find_spec("resvg_py") is not None


def check_format(path: Path) -> None:
    """Raise an InputError unless the name of a picture ends with .svg or .png."""
    if path.suffix.lower() not in {".svg", ".png"}:
        raise InputError(f"{path}: a picture is written as .svg or .png")


def write_picture(svg: str, path: Path) -> None:
    """Write a drawing as SVG or PNG, as the name of the file says.

    Raises:
        InputError: The name is neither, or PNG files need the extra.
    """
    check_format(path)
    if path.suffix.lower() == ".svg":
        made = svg.encode()
    elif not can_write_png():
        raise InputError(f"{path}: PNG files need an extra: pip install 'attunement[png]' (SVG works without)")
    else:
        import resvg_py

        made = bytes(resvg_py.svg_to_bytes(svg_string=svg, zoom=_SCALE, sans_serif_family="DejaVu Sans"))
    with replacing(path) as stream:
        stream.write(made)
