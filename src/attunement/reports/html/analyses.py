"""Which analyses does a study allow, beside counting: agreement with people, a comparison, a correction?

Agreement needs people's ratings, a correction needs a random sample that people rated, a comparison needs two systems
that the same judges rated. Where a study does not allow an analysis, its page says what is missing.
"""

from collections.abc import Mapping
from contextlib import suppress
from itertools import combinations
from typing import NamedTuple

import numpy as np

from attunement.agreement.asking import Wish, agreement_in
from attunement.agreement.comparison_measures import Kind
from attunement.agreement.drawn import basis
from attunement.agreement.gathered import Gathered
from attunement.agreement.gathering import gather
from attunement.agreement.means import Mean, mean
from attunement.agreement.results import Interval, Undefined
from attunement.agreement.summary import Agreement
from attunement.agreement.tables import Bools, Floats
from attunement.errors import AttunementError
from attunement.instruments import Instrument
from attunement.ratings import RaterKind
from attunement.reports.comparison_scope import Compared, compare_groups, read_sheet
from attunement.reports.correction_scope import Correction, correct_study
from attunement.reports.gate_reviews import sign_off_line
from attunement.reports.html.charts import FEW, ChartRow, Dot, IntervalChart, Rate, System, line_of
from attunement.reports.html.sections import (
    Checked,
    Section,
    agreement_section,
    checked_by,
    comparison_section,
    correction_section,
    judge_systems,
    missing_section,
)
from attunement.reports.html.text import Hiding
from attunement.study import Study

MOST_COMPARED = 5_000
"""Conversations up to which a report compares: it scores them once more, a millisecond each, and holds them all."""
_MOST_SYSTEMS = 3
"""Systems of which each pair is compared; more pairs would bury what matters."""


class Analysed(NamedTuple):
    """What was found beside the counts."""

    checked: Checked | None = None
    sign_off: str = ""
    """Who took responsibility, in words; empty where nobody signed."""
    sections: tuple[Section, ...] = ()
    """The pages of trust, of the corrected score and of the comparison, in this order."""
    agreement: Agreement | None = None
    """In full; None where no person rated."""
    rates: Mapping[str, Rate] = {}
    """The share that passes by system, as people's ratings correct it."""


def analysed(study: Study, instrument: Instrument, hiding: Hiding) -> Analysed:
    """Every analysis that the study allows under this instrument; for the others, a page that says what is missing."""
    checked: Checked | None = None
    agreement: Agreement | None = None
    trust, corrected = missing_section("trust"), missing_section("corrected")
    rates: dict[str, Rate] = {}
    people = [rater for rater in study.raters() if rater.kind is RaterKind.PERSON]
    if people:
        agreement = agreement_in(study, instrument, Wish(full=True))
        if any(entry.people.people for entry in agreement.items):
            professions = [str(rater.settings.get("profession") or "") for rater in people]
            checked = checked_by(agreement, professions, hiding)
            charts = calibration_charts(basis(study, instrument.id, gather(study, instrument)).gathered, hiding)
            trust = agreement_section(agreement, hiding, charts)
        with suppress(AttunementError):  # there is no random sample, or nobody rated it
            correction = correct_study(study, instrument.hash)
            corrected, rates = correction_section(correction, hiding), _rates(correction, hiding)
    sections = (trust, corrected, _compared(study, instrument, hiding))
    return Analysed(checked, hiding.text(sign_off_line(study, instrument)), sections, agreement, rates)


def _rates(found: Correction, hiding: Hiding) -> dict[str, Rate]:
    return {
        hiding.name(row.system): Rate(
            row.estimate.value, row.estimate.interval if isinstance(row.estimate.interval, Interval) else None
        )
        for row in found.rows
        if row.system is not None and row.measure.kind is Kind.PASSED and not isinstance(row.estimate, Undefined)
    }


def _compared(study: Study, instrument: Instrument, hiding: Hiding) -> Section:
    """Each pair of the systems that the same judges rated, or why there is none."""
    count = study.conversation_count()
    if count > MOST_COMPARED:
        return missing_section(
            "compare",
            f"A report compares up to {MOST_COMPARED:,} conversations, and there are {count:,}; attune compare takes "
            "as many as there are.",
        )
    try:
        sheet = read_sheet(study, instrument.hash, None)
    except AttunementError:  # only people rated
        return missing_section("compare")
    systems = list(dict.fromkeys(found.summary.identity.system for found in sheet.found))
    if len(systems) > _MOST_SYSTEMS:
        return missing_section(
            "compare", f"There are {len(systems):,} systems; attune compare sets two of them side by side: name them."
        )
    found: dict[tuple[str, str], Compared] = {}
    pairs = list(combinations(systems, 2))
    for pair in pairs:
        with suppress(AttunementError):  # they were not judged alike
            compared = compare_groups(sheet, "system", pair)
            if any(row.first.units and row.second.units for row in compared.comparison.rows):
                found[pair] = compared
    if not found:
        return missing_section("compare")
    return comparison_section(list(found.values()), hiding, [pair for pair in pairs if pair not in found])


def calibration_charts(gathered: Gathered, hiding: Hiding) -> dict[str, IntervalChart]:
    """By item: what people say, on average, where a judge gives each of its answers.

    A judge that can be taken at its word has its dots on a rising line from one end to the other.
    """
    charts: dict[str, IntervalChart] = {}
    systems = judge_systems(gathered.judges, hiding)
    for number, item in enumerate(gathered.items):
        if not item.scale.ordered or len(item.scale.values) < 2:
            continue
        sheet = gathered.sheet(number)
        people = sheet.columns(gathered.people).values
        given = ~np.isnan(people)
        told = given.any(axis=1)
        mean_of_people = np.where(told, np.nansum(people, axis=1) / np.maximum(given.sum(axis=1), 1), np.nan)
        rows = [
            ChartRow(
                f"Judge says {word}",
                [
                    _dot(
                        system, place, mean_of_people,
                        told & (sheet.values[:, sheet.of(judge)] == value), sheet.conversation, item.scale.values,
                    )
                    for place, (system, judge) in enumerate(zip(systems, gathered.judges, strict=True))
                ],
            )
            for value, word in zip(item.scale.values, item.scale.words, strict=True)
        ]  # fmt: skip
        if any(dot.x is not None for row in rows for dot in row.dots):
            charts[item.id] = IntervalChart(
                f"calibration-{item.id}",
                f"{item.id}: what people say where the judge says so",
                "The mean of people's answers. The further apart the dots, the more the judge's answer tells.",
                rows,
                _ticks(item.scale.values, item.scale.words),
                systems,
            )
    return charts


def _ticks(values: tuple[float, ...], words: tuple[str, ...]) -> list[tuple[float, str]]:
    return [(_place(value, values), word) for value, word in zip(values, words, strict=True)]


def _place(value: float, values: tuple[float, ...]) -> float:
    return 100 * min(max((value - values[0]) / (values[-1] - values[0]), 0.0), 1.0)


def _dot(
    system: System, number: int, people: Floats, chosen: Bools, conversation: object, values: tuple[float, ...]
) -> Dot:
    count = int(chosen.sum())
    if count < FEW:
        return Dot(system, line_of(number), None, None, None, "–", f"only {count}" if count else "")
    found = mean(people[chosen], np.asarray(conversation)[chosen])
    if not isinstance(found, Mean):
        return Dot(system, line_of(number), None, None, None, "–", "")
    text, span, low, high = f"{found.value:.2f}", f"of {count}", None, None
    if isinstance(found.interval, Interval):
        low, high = _place(found.interval.low, values), _place(found.interval.high, values)
        span = f"{found.interval.low:.2f} to {found.interval.high:.2f}"
    return Dot(system, line_of(number), _place(found.value, values), low, high, text, span)
