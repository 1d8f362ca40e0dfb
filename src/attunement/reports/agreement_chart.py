"""Charts of agreement: how far single raters agree, and what people say where a judge gives each of its answers.

People are green and have the circle; judges are told apart by shape.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from attunement.analysis.judge_agreement import row_means
from attunement.analysis.ratings_table import RatingsTable, Scale
from attunement.analysis.summary import Agreement, ItemAgreement
from attunement.errors import InputError
from attunement.reports.charts import (
    SHAPES,
    ChartRow,
    Dot,
    IntervalChart,
    System,
    check_format,
    interval_picture,
    write_picture,
)
from attunement.reports.numbers import FEW, format_interval, format_number
from attunement.reports.sanitize import in_a_line
from attunement.reports.trust_card import VERDICTS
from attunement.statistics.estimates import Mean, mean
from attunement.statistics.kappa import PairwiseKappa
from attunement.statistics.results import Interval, Undefined
from attunement.statistics.tables import Floats, Ints

PEOPLE = System("any two people", "person")
_MOST_LETTERS = 34
Clean = Callable[[str], str]


def write_agreement_picture(agreement: Agreement, path: Path, title: str) -> None:
    """Write the picture as SVG or PNG.

    Raises:
        InputError: There is nothing to draw, or the file cannot be written.
    """
    check_format(path)
    chart = agreement_chart(agreement.items, agreement.judges, lambda text: in_a_line(text, _MOST_LETTERS))
    if chart is None:
        raise InputError(f"{path} was not written: there is no agreement to draw, because nothing was rated by two")
    verdicts: dict[tuple[str, str], str] = {}
    for row, entry in zip(chart.rows, agreement.items, strict=True):
        for card in entry.judges:
            words = VERDICTS[card.ruling.verdict].words
            if card.detection is not None and card.detection.failures and not card.detection.unknowable:
                words += f"; missed failures: {card.detection.missed:,} of {card.detection.failures:,}"
            verdicts[row.label, in_a_line(card.judge, _MOST_LETTERS)] = words
    drawn = [row for row in chart.rows if any(dot.x is not None for dot in row.dots)]
    write_picture(interval_picture(chart._replace(title=title, rows=drawn), verdicts), path)


def agreement_chart(entries: Sequence[ItemAgreement], judges: Sequence[str], clean: Clean) -> IntervalChart | None:
    """How far any two people, and each judge with any one person, agree on each item; None without a number.

    `clean` makes names harmless.
    """
    found: list[list[tuple[PairwiseKappa | Undefined, Interval | Undefined]]] = []
    unknown = Undefined("not asked")
    for entry in entries:
        cards = {card.judge: card.with_people for card in entry.judges}
        of_judges = [
            (cards[judge].agreement, cards[judge].interval) if judge in cards else (unknown, unknown)
            for judge in judges
        ]
        found.append([(entry.people.single, entry.people.single_interval), *of_judges])
    ends = [
        min(value.value, interval.low if isinstance(interval, Interval) else value.value)
        for row in found
        for value, interval in row
        if isinstance(value, PairwiseKappa)
    ]
    if not ends:
        return None
    lowest = min(0.0, *ends)

    def place(value: float) -> float:
        return 100 * (value - lowest) / (1 - lowest)

    def dot(system: System, value: PairwiseKappa | Undefined, interval: Interval | Undefined) -> Dot:
        if isinstance(value, Undefined):
            return Dot(system)
        low, high = (None, None) if isinstance(interval, Undefined) else (place(interval.low), place(interval.high))
        return Dot(system, format_number(value.value), format_interval(interval), place(value.value), low, high)

    systems = [PEOPLE, *_judge_systems(judges, clean)]
    rows: list[ChartRow] = []
    for entry, row in zip(entries, found, strict=True):
        dots = [dot(system, *values) for system, values in zip(systems, row, strict=True)]
        rows.append(ChartRow(clean(f"{entry.item.id} {entry.item.title}".rstrip()), dots))
    ticks = [(place(step / 4), f"{step / 4:g}") for step in range(int(4 * lowest), 5)]
    note = "Agreement beyond chance: 0 is chance, 1 is perfect. Green is people only."
    return IntervalChart("agreement", "How far single raters agree", note, rows, ticks, systems)


def _judge_systems(judges: Sequence[str], clean: Clean) -> list[System]:
    """A shape for each judge; green, and the circle, are left to people."""
    return [System(clean(judge), SHAPES[min(place, len(SHAPES) - 1)]) for place, judge in enumerate(judges, start=1)]


def calibration_charts(table: RatingsTable, clean: Clean) -> dict[str, IntervalChart]:
    """By item: what people say, on average, where a judge gives each of its answers.

    A judge that can be taken at its word has its dots on a rising line from one end to the other.
    """
    charts: dict[str, IntervalChart] = {}
    systems = _judge_systems(table.judges, clean)
    for number, item in enumerate(table.items):
        scale = item.scale
        if not scale.ordered or len(scale.values) < 2:
            continue
        matrix = table.item_matrix(number)
        mean_of_people = row_means(matrix.columns(table.people).values)
        rows: list[ChartRow] = []
        for value, word in zip(scale.values, scale.words, strict=True):
            dots: list[Dot] = []
            for system, judge in zip(systems, table.judges, strict=True):
                chosen = ~np.isnan(mean_of_people) & (matrix.values[:, matrix.column_of(judge)] == value)
                dots.append(_mean_dot(system, mean_of_people[chosen], matrix.conversation[chosen], scale))
            rows.append(ChartRow(f"Judge says {word}", dots))
        if any(dot.x is not None for row in rows for dot in row.dots):
            charts[item.id] = IntervalChart(
                f"calibration-{item.id}",
                f"{item.id}: what people say for each answer of the judge",
                "The mean of people's answers. The further apart the dots, the more the judge's answer tells.",
                rows,
                [(_place_on(value, scale), word) for value, word in zip(scale.values, scale.words, strict=True)],
                systems,
            )
    return charts


def _place_on(value: float, scale: Scale) -> float:
    lowest, highest = scale.values[0], scale.values[-1]
    return 100 * min(max((value - lowest) / (highest - lowest), 0.0), 1.0)


def _mean_dot(system: System, people: Floats, conversation: Ints, scale: Scale) -> Dot:
    count = len(people)
    if count < FEW:
        return Dot(system, range=f"only {count}" if count else "")
    found = mean(people, conversation)
    if not isinstance(found, Mean):
        return Dot(system)
    span, low, high = f"of {count}", None, None
    if isinstance(found.interval, Interval):
        low, high = _place_on(found.interval.low, scale), _place_on(found.interval.high, scale)
        span = f"{found.interval.low:.2f} to {found.interval.high:.2f}"
    return Dot(system, f"{found.value:.2f}", span, _place_on(found.value, scale), low, high)
