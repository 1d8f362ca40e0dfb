"""The parts of a report, whatever it is shown on: an analysis makes blocks, and each output form has one renderer.

Text in blocks is anybody's text as it is; the renderers make it harmless for a terminal, Markdown or HTML.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from attunement.reports.charts import IntervalChart


class Tone(StrEnum):
    """How words are shown. Each renderer has its own signs and colors; the words say the same without them."""

    MET = "met"
    NOT_MET = "notmet"
    NA = "na"
    OPEN = "open"
    UNSAFE = "unsafe"
    NONE = "none"
    SCORE = "score"
    SAFETY = "safety"
    CONTESTED = "contested"
    PERSON = "person"  # rests on people's ratings alone; nothing else is green
    STRONG = "strong"
    QUIET = "quiet"


class Phrase(NamedTuple):
    words: str
    tone: Tone = Tone.NONE


Words = str | Phrase
Cell = Words | Sequence[Words]
"""What a table cell or a point holds: words, or several lines of them. In Markdown the lines are joined."""


@dataclass(frozen=True)
class Text:
    """A paragraph, or several with blank lines between them."""

    text: str
    tone: Tone = Tone.NONE


@dataclass(frozen=True)
class Verbatim:
    """Text whose line breaks matter."""

    text: str


@dataclass(frozen=True)
class Bullets:
    """Several short texts; one with a tone has its sign instead of a bullet."""

    points: Sequence[Cell]


class LabelRow(NamedTuple):
    """A label and what there is to say about it, with the technical details."""

    label: Words
    text: Cell
    technical: str = ""


@dataclass(frozen=True)
class LabelRows:
    rows: Sequence[LabelRow]


class Column(NamedTuple):
    title: str
    numeric: bool = False
    width: int | None = None  # on a narrow terminal
    wide: bool = False  # left out on a narrow terminal
    narrow_title: str = ""


class Row(NamedTuple):
    """A row of a table; its tone applies to cells that have none."""

    cells: Sequence[Cell]
    tone: Tone = Tone.NONE
    indent: int = 0
    line_below: bool = False


@dataclass(frozen=True)
class Table:
    """A table; the first column names the rows."""

    columns: Sequence[Column]
    rows: Sequence[Row]
    title: str = ""


@dataclass(frozen=True)
class Dialogue:
    """A worked example: the messages of user and assistant, the known answer and why."""

    answer: Phrase
    borderline: bool
    turns: Sequence[tuple[str, str]]
    why: str


@dataclass(frozen=True)
class Chart:
    """A chart of values with intervals; as text it is a table."""

    chart: "IntervalChart"


@dataclass(frozen=True)
class Section:
    """A heading with its blocks; one about an item has its id and labels."""

    title: str
    blocks: "Sequence[Block]"
    id: str | None = None
    labels: Sequence[Phrase] = ()
    folded: bool = False  # on a page its content is shown on request


Block = Text | Verbatim | Bullets | LabelRows | Table | Dialogue | Chart | Section


@dataclass(frozen=True)
class Document:
    """What one command shows; it may go without a title."""

    title: str
    blocks: Sequence[Block]
    subtitle: str = ""
    language: str = "en"


def texts(sentences: Iterable[str], tone: Tone = Tone.NONE) -> list[Text]:
    return [Text(sentence, tone) for sentence in sentences]


def words_of(cell: Cell) -> list[Phrase]:
    lines = [cell] if isinstance(cell, str | Phrase) else cell
    return [line if isinstance(line, Phrase) else Phrase(line) for line in lines]


def joined(cell: Cell) -> str:
    """The lines of a cell on one line; what is in parentheses belongs to the line before."""
    return "; ".join(line.words for line in words_of(cell) if line.words).replace("; (", " (")


def chart_table(chart: "IntervalChart") -> Table:
    columns = [Column(chart.title), *(Column(system.name, numeric=True) for system in chart.systems)]
    rows: list[Row] = []
    for row in chart.rows:
        by_system = {dot.system: (dot.words, dot.range) for dot in row.dots}
        rows.append(Row([row.label, *(by_system.get(system, "") for system in chart.systems)]))
    return Table(columns, rows)
