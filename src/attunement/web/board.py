"""How do the figures of a project become the rows and charts of the coordinator's page?

Lengths across are per cent of a chart's width. Where there is too little to draw, the row says why.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

from attunement.agreement.alpha import Alpha
from attunement.agreement.comparing import Difference
from attunement.agreement.means import Mean
from attunement.agreement.reliability import Standing
from attunement.agreement.results import Interval, Undefined
from attunement.agreement.summary import ItemAgreement
from attunement.instruments import Instrument, Scores
from attunement.people.coordinating import Figures, RaterFigures, UnitFigures
from attunement.reports.agreement_wording import STANDINGS, figure, span
from attunement.web.catalogue import Catalogue

MOST_UNITS = 100
_STATUS = {
    Standing.RELIABLE: "person",
    Standing.DISAGREE: "notmet",
    Standing.NOT_ENOUGH: "open",
    Standing.LITTLE_VARIATION: "open",
}
_MIDDLE = 50.0


class Dot(NamedTuple):
    """A line of a chart: where its dot and interval are, and the words that say the same."""

    label: str
    x: float | None
    low: float | None
    high: float | None
    words: str
    range: str
    status: str = ""
    """The class and the words of a chip, where there is one."""
    chip: str = ""
    note: str = ""


class Chart(NamedTuple):
    """Lines on one scale."""

    dots: list[Dot]
    ticks: list[tuple[float, str]]


class Counts(NamedTuple):
    """Numbers for the sentences at the top."""

    done: int
    total: int
    full: int
    units: int
    day: int
    week: int
    days_left: int | None
    agree: int
    disagree: int
    items: int
    held: int
    lacking: int
    flagged: int


def counts(figures: Figures) -> Counts:
    """What the sentences at the top of the page say."""
    standings = [rater.standing for rater in figures.raters]
    done = sum(each.submitted for each in standings)
    left = sum(each.open for each in standings)
    week = sum(rater.last_week for rater in figures.raters)
    found = [entry.people.standing for entry in figures.agreement]
    return Counts(
        done=done,
        total=done + left + sum(each.skipped for each in standings),
        full=sum(unit.handed_in >= unit.wanted for unit in figures.units),
        units=len(figures.units),
        day=sum(rater.last_day for rater in figures.raters),
        week=week,
        days_left=math.ceil(7 * left / week) if week and left else None,
        agree=found.count(Standing.RELIABLE),
        disagree=found.count(Standing.DISAGREE),
        items=len(found),
        held=sum(rater.member.state == "held" for rater in figures.raters),
        lacking=sum(bool(unit.skipped) and unit.handed_in + unit.open < unit.wanted for unit in figures.units),
        flagged=sum(bool(unit.flagged) for unit in figures.units),
    )


def agreement_chart(agreement: Sequence[ItemAgreement]) -> Chart:
    """Alpha of each item, from 0 to 1; what is below 0 stands at the edge and says so in words."""
    return Chart([_agreement(entry) for entry in agreement], [(100 * at, f"{at:g}") for at in (0, 0.25, 0.5, 0.75, 1)])


def severity_chart(words: Catalogue, raters: Sequence[RaterFigures], instrument: Instrument) -> Chart:
    """How far each rater lies from the others; the middle is no difference."""
    spoken = [rater for rater in raters if isinstance(rater.severity.mean, Mean)]
    ends = [_furthest(rater.severity.mean) for rater in spoken]
    least = 1.0 if isinstance(instrument.scale, Scores) else 0.5
    reach = max([least, *(math.ceil(2 * end) / 2 for end in ends)])
    # Half of an odd number of halves ends in 25 or 75 hundredths, which one digit would misplace.
    digits = 1 if (2 * reach) % 2 == 0 else 2
    ticks = [(_MIDDLE + 50 * part, _signed(part * reach, digits)) for part in (-1, -0.5, 0, 0.5, 1)]
    return Chart([_severity(words, rater, reach) for rater in spoken], ticks)


def units_shown(units: Sequence[UnitFigures]) -> tuple[Sequence[UnitFigures], int]:
    """The units that the page shows, and how many more there are."""
    return units[:MOST_UNITS], max(0, len(units) - MOST_UNITS)


def _agreement(entry: ItemAgreement) -> Dot:
    found = entry.people
    chip, status = STANDINGS[found.standing].words, _STATUS[found.standing]
    interval = found.interval
    if not isinstance(found.alpha, Alpha) or isinstance(interval, Undefined):
        return Dot(entry.item.title, None, None, None, "–", "", status, chip, found.rule)
    x, low, high = (_within(100 * value) for value in (found.alpha.value, interval.low, interval.high))
    return Dot(entry.item.title, x, low, high, figure(found.alpha.value), span(interval), status, chip, found.rule)


def _severity(words: Catalogue, rater: RaterFigures, reach: float) -> Dot:
    found, drift = rater.severity
    label = str(words("coordinate.rater_number", number=rater.number))
    # A mean without an interval would be believed, so there is none.
    interval = found if isinstance(found, Undefined) else found.interval
    if isinstance(found, Undefined) or isinstance(interval, Undefined):
        return Dot(label, None, None, None, "–", "", "open", str(words("coordinate.too_few")), str(interval))
    x, low, high = (_place(value, reach) for value in (found.value, interval.low, interval.high))
    return Dot(label, x, low, high, _signed(found.value, 2), span(interval), note=_drift(words, drift))


def _drift(words: Catalogue, drift: Difference | Undefined) -> str:
    if isinstance(drift, Undefined) or isinstance(drift.interval, Undefined):
        return str(words("coordinate.drift_unknown"))
    return str(words("coordinate.drift", value=_signed(drift.value, 2), range=span(drift.interval)))


def _furthest(found: Mean | Undefined) -> float:
    if isinstance(found, Undefined):
        return 0.0
    ends = (found.interval.low, found.interval.high) if isinstance(found.interval, Interval) else (found.value,)
    return max(abs(end) for end in ends)


def _place(value: float, reach: float) -> float:
    return _within(_MIDDLE + 50 * value / reach)


def _within(place: float) -> float:
    return min(100.0, max(0.0, place))


def _signed(value: float, digits: int = 1) -> str:
    text = figure(value, digits)
    return f"+{text}" if float(f"{value:.{digits}f}") > 0 else text
