"""A report as a whole: the lines at its top, its tables and charts, ready for the templates.

Nothing is marked as resting on people's ratings unless there are some.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from attunement.agreement.summary import Agreement
from attunement.instruments import Instrument
from attunement.ratings import RaterKind
from attunement.reports.cautions import about_raters
from attunement.reports.choosing import reworded
from attunement.reports.html import charts, examples
from attunement.reports.html.figures import Figures, Who
from attunement.reports.html.gathering import gather
from attunement.reports.html.histograms import Distribution, distributions
from attunement.reports.html.listing import Listing
from attunement.reports.html.reading import Costs, costs
from attunement.reports.html.sections import Checked, Section
from attunement.reports.html.statuses import (
    FAIL,
    FLAGGED,
    HELD_BACK,
    NO_FLAG,
    PASS,
    STATUSES,
    UNJUDGED,
    UNSAFE,
    Status,
    low_limit,
    mask,
    not_met,
    possible,
)
from attunement.reports.html.text import Hiding, drawn
from attunement.reports.html.top import Top, top_lines
from attunement.reports.tally import Tally
from attunement.reports.wording import rater_words, reworded_words
from attunement.scoring import Verdict
from attunement.study import Study

_MOST_SYSTEMS, _MOST_SCENARIOS = 500, 300


class VerdictRow(NamedTuple):
    """A system's conversations by status."""

    system: charts.System | None
    """None for all together."""
    total: int
    counts: list[int]
    segments: list[tuple[str, float, float]]
    """Class, place and width of each part of the bar."""
    label: str


class RaterRow(NamedTuple):
    """What one rater came to."""

    who: str
    person: bool
    rated: int
    counts: list[int]
    passed: int


class Repeats(NamedTuple):
    """How often answers differed."""

    who: str
    same: str
    worst: str


class Choices(NamedTuple):
    """What a reader can choose among."""

    systems: list[str]
    scenarios: list[str]
    statuses: list[Status]
    answers: list[tuple[str, int]]
    """The answers to an item, each with its bits."""


class Report(NamedTuple):
    """Everything but the conversations themselves."""

    title: str
    made: str
    instrument: Instrument
    figures: Figures
    top: Top
    statuses: list[Status]
    verdicts: list[VerdictRow]
    first: list[examples.Example]
    mend: list[examples.Mended]
    systems: list[charts.System]
    heat: list[charts.HeatGroup]
    intervals: list[charts.IntervalChart]
    distributions: list[Distribution]
    levels: list[charts.Levels]
    raters: list[RaterRow]
    repeats: list[Repeats]
    cautions: list[str]
    sections: Sequence[Section]
    costs: list[Costs]
    failing: int
    """The bits of the answers that count against a reply."""
    alarm: str
    """The word of the status that this instrument has for what is unsafe."""
    low: int | None
    """For an instrument of scores: the highest score that is low."""
    hiding: Hiding
    agreement: Agreement | None = None
    """How far people and judges agree, in full; None where nobody looked or no person rated."""


def report(
    study: Study,
    instrument: Instrument,
    listing: Listing,
    hiding: Hiding,
    *,
    checked: Checked | None = None,
    sign_off: str = "",
    sections: Sequence[Section] = (),
    agreement: Agreement | None = None,
    pace: Callable[[], None] | None = None,
) -> Report:
    """Count the study, fill the list, and make everything that stands before the conversations.

    `checked`, `sign_off`, `sections` and `agreement` come from analyses of people's ratings, where there are any.
    `pace` is called before each conversation.
    """
    figures = gather(study, instrument, listing, hiding, pace=pace)
    systems = charts.systems_of(figures)
    # A system that nobody judged with this instrument is counted, but there is nothing to draw.
    judged = [system for system in systems if figures.systems[system.name].passed.whole] or systems
    statuses = [status for status in STATUSES if figures.total.statuses[status] or status in _always(instrument)]
    raters = [rater for rater in study.raters() if any(who.rater == rater.name for who in figures.judges)]
    drawn_charts = (
        charts.pass_rates(figures, judged), charts.item_means(figures, judged), charts.by_length(figures, judged),
    )  # fmt: skip
    cautions = [*about_raters(study, raters, figures.systems)]
    if figures.judges and (never := reworded(study, instrument)):
        cautions.append(reworded_words(never))
    return Report(
        title=hiding.text(title_of(study)),
        made=datetime.now(UTC).strftime("%d %B %Y").lstrip("0"),
        instrument=instrument,
        figures=figures,
        top=top_lines(figures, systems, listing, hiding, checked, sign_off),
        statuses=statuses,
        verdicts=_verdicts(figures, systems, statuses),
        first=examples.read_first(study, figures, listing, hiding),
        mend=examples.what_to_mend(study, figures, listing, judged, hiding),
        systems=judged,
        heat=charts.heat_map(figures, judged) if figures.judges else [],
        intervals=[chart for chart in drawn_charts if chart],
        distributions=distributions(figures, judged),
        levels=charts.safety_levels(figures, judged) if figures.judges else [],
        raters=_raters(figures, statuses, hiding),
        repeats=_repeats(figures, hiding),
        cautions=[hiding.text(caution) for caution in cautions],
        sections=sections,
        costs=costs(study),
        failing=failing(instrument),
        alarm=(FLAGGED if instrument.scoring.threshold is None else UNSAFE).word,
        low=low_limit(instrument),
        hiding=hiding,
        agreement=agreement,
    )


def with_rates(made: Report, rates: Mapping[str, charts.Rate]) -> Report:
    """The report with the pass rates, by system, as people's ratings correct them."""
    chart = charts.pass_rates(made.figures, made.systems, rates)
    if not rates or chart is None:
        return made
    return made._replace(intervals=[chart if one.id == chart.id else one for one in made.intervals])


def choices(instrument: Instrument, listing: Listing) -> Choices:
    """What there is to choose among in this list."""
    there = listing.names("status", len(STATUSES))
    return Choices(
        listing.names("system", _MOST_SYSTEMS),
        listing.names("scenario", _MOST_SCENARIOS),
        [status for status in STATUSES if status.word in there or status in _always(instrument)],
        _answers(instrument),
    )


def _answers(instrument: Instrument) -> list[tuple[str, int]]:
    every = [
        (f"score {one}" if isinstance(one, int) else one.removeprefix("– "), 1 << number)
        for number, one in enumerate(possible(instrument))
    ]
    limit = low_limit(instrument)
    return every if limit is None else [(f"{limit} or less", failing(instrument)), *every]


def failing(instrument: Instrument) -> int:
    """The answers that count against a reply, as bits."""
    every = possible(instrument)
    return mask(every, [one for one in every if not_met(instrument, one)])


def _always(instrument: Instrument) -> tuple[Status, ...]:
    """The columns that stand in a table of verdicts even where they are 0."""
    if instrument.scoring.threshold is None:
        return FLAGGED, UNJUDGED, NO_FLAG
    return UNSAFE, UNJUDGED, FAIL, PASS


def title_of(study: Study) -> str:
    """What a study is called on its pages: the name of its file or database."""
    name = study.place.rpartition("/")[2]
    for ending in (".db", ".study"):
        name = name.removesuffix(ending)
    return drawn(name)


def _verdicts(figures: Figures, systems: Sequence[charts.System], statuses: Sequence[Status]) -> list[VerdictRow]:
    rows = [_verdict_row(system, figures.systems[system.name].statuses, statuses) for system in systems]
    if len(systems) != 1:
        rows.append(_verdict_row(None, figures.total.statuses, statuses))
    return rows


def _verdict_row(system: charts.System | None, counts: dict[Status, int], statuses: Sequence[Status]) -> VerdictRow:
    total = sum(counts.values())
    segments: list[tuple[str, float, float]] = []
    start = 0.0
    for status in statuses:
        width = 100 * counts[status] / total if total else 0.0
        if width:
            # Half a per cent between the parts, unless a part is hardly wider than that.
            gap = min(0.5, width / 3)
            segments.append((status.tone.split()[0], start + gap / 2, width - gap))
        start += width
    words = ", ".join(f"{status.word} {counts[status]}" for status in statuses)
    name = system.name if system else "All"
    return VerdictRow(system, total, [counts[status] for status in statuses], segments, f"{name}: {words}")


_ORDER = {RaterKind.MODEL: 0, RaterKind.PERSON: 1, RaterKind.SIMULATION: 2}


def _raters(figures: Figures, statuses: Sequence[Status], hiding: Hiding) -> list[RaterRow]:
    if len(figures.judges) < 2:
        return []
    repeated = {who.rater for who in figures.judges if who.repeat}
    return [
        RaterRow(
            who=hiding.text(_rater(who, repeated=who.rater in repeated)),
            person=who.kind is RaterKind.PERSON,
            rated=tally.conversations,
            counts=[_count(tally, status) for status in statuses],
            passed=tally.passed,
        )
        for who, tally in sorted(figures.judges.items(), key=lambda entry: _ORDER[entry[0].kind])
    ]


def _rater(who: Who, *, repeated: bool) -> str:
    return rater_words(who.rater, repeat=who.repeat if repeated else None, kind=who.kind)


def _count(tally: Tally, status: Status) -> int:
    if status is PASS:
        return tally.passed
    if status is HELD_BACK:
        return tally.verdicts[Verdict.PASS] - tally.passed
    if status is UNJUDGED:
        return tally.safety_not_judged
    return tally.verdicts[Verdict("REJECTED: unsafe" if status.word == "unsafe" else status.word.upper())]


def _repeats(figures: Figures, hiding: Hiding) -> list[Repeats]:
    found = [(f"{rater}, asked again", items) for rater, items in figures.again.items()]
    if figures.between:
        found.append(("Between the judges", figures.between))
    rows: list[Repeats] = []
    for who, items in found:
        compared = sum(flips.compared for flips in items.values())
        differing = sum(flips.differing for flips in items.values())
        worst = max(items, key=lambda item: items[item].differing / items[item].compared, default="")
        words = ""
        if worst and items[worst].differing:
            words = f"{worst}: {items[worst].differing:,} of {items[worst].compared:,} differ"
        rows.append(Repeats(hiding.text(who), f"{compared - differing:,} of {compared:,}", words))
    return rows
