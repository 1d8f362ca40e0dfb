"""Draw charts as standalone SVG files in the look of the pages, and PNG files where the extra for them is installed."""

import re
from collections.abc import Sequence
from html import escape
from pathlib import Path
from textwrap import wrap
from typing import NamedTuple

from attunement.conversations.writer import replacing
from attunement.errors import InputError
from attunement.styling import style_sheet

WIDTH = 420
"""Pixels of the part of a chart that has an axis."""
_MARGIN, _ROW, _LETTER = 16, 26, 6.6
"""Pixels around a chart, of a row, and of a letter, about, in the font size below."""
_SIZE, _TITLE = 12, 15
_NOTE_LETTERS = 100
_SCALE = 2.0
"""Pixels of a PNG for each of the chart, so that it is sharp in print."""
_SHAPES = {
    "circle": "M-5 0a5 5 0 1 0 10 0a5 5 0 1 0-10 0z",
    "diamond": "M0-5.5 5.5 0 0 5.5-5.5 0z",
    "square": "M-4.5-4.5h9v9h-9z",
    "triangle": "M0-5.5 5 4.5h-10z",
    "cross": "M-5-2h3v-3h4v3h3v4h-3v3h-4v-3h-3z",
}


_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that no XML file may hold."""
_REPLACEMENT = "\ufffd"


def colours() -> dict[str, str]:
    """The colours of the style sheet by name, as they are in light."""
    found: dict[str, str] = {}
    for name, colour in re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{3,6})\b", style_sheet()):
        found.setdefault(name, colour)  # the dark ones come later
    return found


class Mark(NamedTuple):
    """A value with its interval, placed from 0 to 1 along the axis."""

    x: float
    low: float | None = None
    high: float | None = None
    shape: str = "circle"
    hollow: bool = False
    colour: str = "ink"
    note: str = ""
    """Words to the right of the axis."""


class Row(NamedTuple):
    """One line of a chart of intervals; its marks are drawn below each other."""

    label: str
    marks: Sequence[Mark]


Tick = tuple[float, str]
"""A place along the axis from 0 to 1, and its words."""


class Key(NamedTuple):
    """An entry of a legend."""

    words: str
    shape: str = "square"
    hollow: bool = False
    colour: str = "ink"


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
            self.reach(x + len(words) * _LETTER * size / _SIZE)

    def line(self, x1: float, y1: float, x2: float, y2: float, colour: str, width: float = 1) -> None:
        self._parts.append(
            f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{self.ink[colour]}" '
            f'stroke-width="{width:g}"/>'
        )

    def rect(self, x: float, y: float, width: float, height: float, fill: str) -> None:
        self._parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, 0):.1f}" height="{max(height, 0):.1f}" fill="{fill}"/>'
        )
        self.reach(x + width)

    def shape(self, x: float, y: float, shape: str, colour: str, *, hollow: bool) -> None:
        fill = self.ink["surface"] if hollow else self.ink[colour]
        self._parts.append(
            f'<path d="{_SHAPES[shape]}" transform="translate({x:.1f} {y:.1f})" fill="{fill}" '
            f'stroke="{self.ink[colour]}" stroke-width="2"/>'
        )

    def reach(self, x: float) -> None:
        self._right = max(self._right, x)

    def axis(self, left: float, top: float, ticks: Sequence[Tick]) -> None:
        """Lines down to here at each tick, and their words below."""
        for place, _ in ticks:
            self.line(left + place * WIDTH, top, left + place * WIDTH, self.y, "line")
        self.y += 16
        for place, words in ticks:
            self.text(left + place * WIDTH, words, colour="ink-2", anchor="middle")
        self.reach(left + WIDTH + 20)

    def legend(self, keys: Sequence[Key]) -> None:
        self.y += 22
        x = float(_MARGIN)
        for key in keys:
            self.shape(x + 6, self.y - 4, key.shape, key.colour, hollow=key.hollow)
            self.text(x + 18, key.words, colour="ink-2")
            x += 18 + len(key.words) * _LETTER + 20

    def svg(self) -> str:
        width, height = self._right + _MARGIN, self.y + _MARGIN
        body = "\n".join(self._parts)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="system-ui, Segoe UI, Noto Sans, DejaVu Sans, '
            f'sans-serif">\n<rect width="100%" height="100%" fill="{self.ink["surface"]}"/>\n{body}\n</svg>\n'
        )


def _label_width(labels: Sequence[str]) -> float:
    return _MARGIN + max((len(label) for label in labels), default=0) * _LETTER + 12


def intervals(title: str, rows: Sequence[Row], ticks: Sequence[Tick], keys: Sequence[Key] = (), note: str = "") -> str:
    """A chart of values with intervals."""
    canvas = _Canvas(title, note)
    left, top = _label_width([row.label for row in rows]), canvas.y
    height = sum(max(_ROW, 20 * len(row.marks) + 8) for row in rows)
    canvas.y = top + height
    canvas.axis(left, top, ticks)  # below the marks, so it is drawn first
    bottom = canvas.y
    canvas.y = top
    for row in rows:
        tall = max(_ROW, 20 * len(row.marks) + 8)
        middle = canvas.y + tall / 2
        canvas.y = middle + 4
        canvas.text(_MARGIN, row.label)
        for number, mark in enumerate(row.marks):
            y = middle + 20 * (number - (len(row.marks) - 1) / 2)
            if mark.low is not None and mark.high is not None:
                canvas.line(left + mark.low * WIDTH, y, left + mark.high * WIDTH, y, mark.colour, 2)
            canvas.shape(left + mark.x * WIDTH, y, mark.shape, mark.colour, hollow=mark.hollow)
            if mark.note:
                canvas.y = y + 4
                canvas.text(left + WIDTH + 14, mark.note, colour="ink-2")
        canvas.y = middle + tall / 2
    canvas.y = bottom
    if keys:
        canvas.legend(keys)
    return canvas.svg()


def stacked_bars(
    title: str, rows: Sequence[tuple[str, Sequence[int]]], keys: Sequence[Key], ticks: Sequence[Tick]
) -> str:
    """Bars of parts that add up to the whole width."""
    canvas = _Canvas(title)
    left, top = _label_width([label for label, _ in rows]), canvas.y
    canvas.y += _ROW * len(rows) + 4
    canvas.axis(left, top, ticks)
    bottom = canvas.y
    canvas.y = top
    for label, counts in rows:
        x, whole = left, sum(counts) or 1
        for key, count in zip(keys, counts, strict=True):
            width = WIDTH * count / whole
            canvas.rect(x, canvas.y + 4, width, 18, canvas.ink[key.colour])
            x += width
        canvas.y += 17
        canvas.text(_MARGIN, label)
        canvas.y += _ROW - 17
    canvas.y = bottom
    canvas.legend(keys)
    return canvas.svg()


def grid(title: str, columns: Sequence[str], rows: Sequence[tuple[str, Sequence[tuple[str, float | None]]]]) -> str:
    """A table of cells with words and a shade from 0 to 1; None has no shade."""
    canvas = _Canvas(title)
    left = _label_width([label for label, _ in rows])
    wide = max([90.0, *(len(column) * _LETTER + 16 for column in columns)])
    canvas.y += 14
    for number, column in enumerate(columns):
        canvas.text(left + (number + 0.5) * wide, column, colour="ink-2", anchor="middle")
    canvas.y += 6
    for label, cells in rows:
        for number, (_, shade) in enumerate(cells):
            fill = canvas.ink["surface"] if shade is None else mixed(canvas.ink["surface"], canvas.ink["heat"], shade)
            canvas.rect(left + number * wide + 1, canvas.y + 1, wide - 2, _ROW - 2, fill)
        canvas.y += 17
        canvas.text(_MARGIN, label)
        for number, (words, _) in enumerate(cells):
            canvas.text(left + (number + 0.5) * wide, words, anchor="middle")
        canvas.y += _ROW - 17
    return canvas.svg()


class Bar(NamedTuple):
    """A bar of a histogram, placed from 0 to 1 along the axis."""

    start: float
    end: float
    number: int
    colour: str


def histograms(title: str, rows: Sequence[tuple[str, Sequence[Bar]]], ticks: Sequence[Tick]) -> str:
    """A histogram for each row, all on one scale."""
    canvas = _Canvas(title)
    left = _label_width([label for label, _ in rows])
    most = max((bar.number for _, bars in rows for bar in bars), default=0) or 1
    for label, bars in rows:
        top, tall = canvas.y, 80
        canvas.y = top + tall
        for bar in bars:
            height = tall * bar.number / most
            x, width = left + bar.start * WIDTH, (bar.end - bar.start) * WIDTH
            canvas.rect(x + 0.5, canvas.y - height, width - 1, height, canvas.ink[bar.colour])
        canvas.line(left, canvas.y, left + WIDTH, canvas.y, "line-strong")
        canvas.text(_MARGIN, label)
        canvas.axis(left, canvas.y, ticks)
        canvas.y += 14
    return canvas.svg()


def mixed(ground: str, colour: str, share: float) -> str:
    """`share` of `colour` mixed into `ground`."""
    ends = [[int(_long(each)[at : at + 2], 16) for at in (1, 3, 5)] for each in (ground, colour)]
    parts = [round(start + share * (end - start)) for start, end in zip(*ends, strict=True)]
    return "#" + "".join(f"{part:02x}" for part in parts)


def _long(colour: str) -> str:
    return colour if len(colour) == 7 else "#" + "".join(part * 2 for part in colour[1:])


def can_write_png() -> bool:
    """Whether the extra for PNG files is installed."""
    from importlib.util import find_spec

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
