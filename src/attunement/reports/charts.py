"""Charts: what they show, and how they are drawn on pages and in picture files.

The drawing of a row is SVG in which lengths across are per cent and lengths down are pixels, so that a page can stretch
it and its type never shrinks. A page puts the drawings into a table, whose words say the same; a picture file stacks
them, with a fixed size and its own colors. Systems are told apart by shape, answers by color.
"""

import re
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from textwrap import wrap
from typing import NamedTuple

from markupsafe import Markup

from attunement.errors import InputError
from attunement.output import replacing
from attunement.reports.numbers import NONE
from attunement.styling import style_sheet

_CIRCLE = "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z"
_DIAMOND = "M0-5.5 5.5 0 0 5.5-5.5 0z"
_SQUARE = "M-4.5-4.5h9v9h-9z"
_TRIANGLE = "M0-5.5 5 4.5h-10z"
_SHAPES = {
    **dict(zip("abcdefgh", (_CIRCLE, _DIAMOND, _SQUARE, _TRIANGLE) * 2, strict=True)),
    "x": "M-5-2h10v4h-10z",
    "person": _CIRCLE,
}
_HOLLOW = "bdeg"
SHAPES = "abcdefghx"  # of the systems, in order; the last is for all others


class System(NamedTuple):
    name: str
    shape: str


class Dot(NamedTuple):
    """A value of one system with its interval, in words and as places in per cent; None where nothing is drawn."""

    system: System
    words: str = NONE
    range: str = ""
    x: float | None = None
    low: float | None = None
    high: float | None = None


class ChartRow(NamedTuple):
    label: str
    dots: Sequence[Dot]
    whole: bool = False  # whether it is about everything, and in bold

    @property
    def height(self) -> int:
        return 20 + 20 * len(self.dots)

    @property
    def drawing(self) -> Markup:
        return Markup("").join(_dot(dot, 20 + 20 * number) for number, dot in enumerate(self.dots))


class IntervalChart(NamedTuple):
    id: str
    title: str
    note: str
    rows: Sequence[ChartRow]
    ticks: Sequence[tuple[float, str]]  # places in per cent, and words
    systems: Sequence[System]

    @property
    def is_drawn(self) -> bool:
        """Whether there is anything to draw: an axis without data shows nothing."""
        return any(dot.x is not None for row in self.rows for dot in row.dots)


class Bar(NamedTuple):
    """A part of a row or a column of a histogram: the class that colors it, and its place and size."""

    tone: str
    x: float
    width: float
    y: float
    height: float


class PictureRow(NamedTuple):
    label: str
    drawing: Markup
    height: int
    notes: Sequence[tuple[float, str]] = ()  # to the right of the drawing, each at its height


def bars(found: Iterable[Bar]) -> Markup:
    drawn = '<rect class="{0.tone}" x="{0.x:.2f}%" y="{0.y:.1f}" width="{0.width:.2f}%" height="{0.height:.1f}"/>'
    return Markup("").join(Markup(drawn).format(bar) for bar in found)  # noqa: S704 - escaped by the format


def text(place: float, y: float, words: str, kind: str = "m") -> Markup:
    """Words at a place in per cent; `kind` is their class: t begins there, m has its middle there, e ends there."""
    return Markup('<text class="{}" x="{:.1f}%" y="{:.1f}">{}</text>').format(kind, place, y, words)


def _dot(dot: Dot, y: float) -> Markup:
    line = Markup("")
    person = " person" if dot.system.shape == "person" else ""
    if dot.low is not None and dot.high is not None:
        line = Markup('<line class="w{}" x1="{:.1f}%" x2="{:.1f}%" y1="{}" y2="{}"/>').format(
            person, dot.low, dot.high, y, y
        )
    return line if dot.x is None else line + _shape(f"{dot.x:.1f}%", y, dot.system.shape)


def _shape(x: str, y: float, shape: str) -> Markup:
    """The mark of a system; people, and nothing else, are green."""
    kind = "p person" if shape == "person" else f"p{' hollow' if shape in _HOLLOW else ''}"
    path = Markup('<path class="{}" d="{}"/>').format(kind, _SHAPES[shape])
    return Markup('<svg x="{}" y="{}" overflow="visible">{}</svg>').format(x, y, path)


# Picture files

WIDTH = 420  # pixels of a drawing, one per cent of it, the margin, and about a letter of its type
_PER_CENT, _MARGIN, _LETTER, _NOTE_LETTERS = WIDTH / 100, 16, 6.6, 100
_SCALE = 2.0  # pixels of a PNG for each of the chart, so that it is sharp in print
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # what no XML file may hold
_HATCHES = "".join(
    f'<pattern id="{id}" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    f'<path class="{id}-line" d="M0 0v5" stroke-width="2.5"/></pattern>'
    for id in ("hatch", "few")
)


def _style() -> str:
    """The style of pictures; its colors are those of the pages in light."""
    colors: dict[str, str] = {}
    for name, color in re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{3,6})\b", style_sheet()):
        colors.setdefault(name, color)  # the dark ones come later
    style = Path(__file__).with_name("picture.css").read_text("utf-8")
    return re.sub(r"var\(--([a-z0-9-]+)\)", lambda found: colors[found[1]], style)


def picture(
    title: str,
    rows: Sequence[PictureRow],
    *,
    note: str = "",
    ticks: Sequence[tuple[float, str]] = (),
    legend: Sequence[tuple[str, Markup]] = (),
) -> str:
    """Rows of labels and drawings as one SVG file; `legend` are words and the mark of each."""
    lines = wrap(note, _NOTE_LETTERS)
    left = _MARGIN + max((len(row.label) for row in rows), default=0) * _LETTER + 12
    parts = [_words(_MARGIN, _MARGIN + 15, title, "title")]
    parts += [_words(_MARGIN, _MARGIN + 33 + 18 * number, line) for number, line in enumerate(lines)]
    top = y = _MARGIN + 29 + 18 * len(lines)
    body: list[Markup] = []
    for row in rows:
        body.append(_words(_MARGIN, y + row.height / 2 + 4, row.label, "ink"))
        drawing = Markup('<svg x="{:.1f}" y="{}" width="{}" height="{}" overflow="visible">{}</svg>')
        body.append(drawing.format(left, y, WIDTH, row.height, row.drawing))
        body += [_words(left + WIDTH + 14, y + at + 4, words) for at, words in row.notes]
        y += row.height
    for place, words in ticks:
        x = left + place * _PER_CENT
        parts.append(Markup('<line class="grid" x1="{0:.1f}" x2="{0:.1f}" y1="{1}" y2="{2}"/>').format(x, top, y))
        body.append(_words(x, y + 16, words, "m"))
    y, x = y + 22 + 16 * bool(ticks), float(_MARGIN)
    for words, mark in legend:
        body.append(Markup('<svg x="{:.1f}" y="{}" overflow="visible">{}</svg>').format(x + 6, y - 4, mark))
        body.append(_words(x + 18, y, words))
        x += 38 + len(words) * _LETTER
    notes = max((len(words) for row in rows for _, words in row.notes), default=0)
    longest = max(len(title) * 1.25, *(len(line) for line in lines), 0) * _LETTER
    width, height = max(left + WIDTH + 20 + notes * _LETTER, longest + _MARGIN, x) + _MARGIN, y + _MARGIN
    shown = _NOT_XML.sub("\ufffd", "\n".join([*parts, *body]))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}">\n<style>{_style()}</style>\n<defs>{_HATCHES}</defs>\n'
        f'<rect class="ground" width="100%" height="100%"/>\n{shown}\n</svg>\n'
    )


def _words(x: float, y: float, words: str, kind: str = "") -> Markup:
    return Markup('<text class="{}" x="{:.1f}" y="{:.1f}">{}</text>').format(kind, x, y, words) if words else Markup("")


def interval_picture(chart: IntervalChart, notes: dict[tuple[str, str], str] | None = None) -> str:
    """A chart of intervals; `notes` are to the right of its rows, by row and system."""
    rows: list[PictureRow] = []
    for row in chart.rows:
        drawn = row._replace(dots=[dot for dot in row.dots if dot.x is not None])
        own = [(notes or {}).get((row.label, dot.system.name), "") for dot in drawn.dots]
        places = [(20.0 + 20 * number, words) for number, words in enumerate(own)]
        rows.append(PictureRow(row.label, drawn.drawing, drawn.height, places))
    legend = [(system.name, _shape("0", 0, system.shape)) for system in chart.systems]
    return picture(chart.title, rows, note=chart.note, ticks=chart.ticks, legend=legend)


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
