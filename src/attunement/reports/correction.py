"""How does a correction read: the judge alone, people alone, and both together, for each system?"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from rich.console import Console

from attunement.agreement.comparison_measures import Kind, Measure
from attunement.agreement.correction import Corrected
from attunement.agreement.correction_calibrators import Applied
from attunement.agreement.means import Mean
from attunement.agreement.prediction_powered import PredictionPowered
from attunement.agreement.results import Interval, Undefined
from attunement.instruments import Instrument
from attunement.reports.comparison_markdown import bullets
from attunement.reports.comparison_record import interval_record, number_or_reason
from attunement.reports.comparison_wording import EMPTY, scale_words
from attunement.reports.correction_scope import Calibrated, Calibration, Correction, curves_of
from attunement.reports.legible import in_a_line
from attunement.reports.markdown_text import plain, text_table
from attunement.reports.records import instrument_record
from attunement.reports.terminal import QUIET, line, plain_table
from attunement.reports.wording import counted
from attunement.study.calibrators import Kept

_WIDE = 100
"""From this width on an estimate and its interval stand on one line."""


class Grid(NamedTuple):
    """A table as text; the first column names the system."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]


class Page(NamedTuple):
    """What a correction says, ready to be drawn or kept."""

    sentences: list[str]
    """The first is the title."""
    grids: list[Grid]
    notes: list[str]
    record: dict[str, Any]
    """The same as plain data, for `--json`."""


def correction_page(found: Correction, saved: Kept | None = None) -> Page:
    """A correction, with the calibrator that was kept of it."""
    notes = [*_correction_notes(found), *(_saved(saved) if saved else ())]
    return Page(_correction_sentences(found), list(_correction_grids(found)), notes, _correction_record(found, saved))


def calibration_page(found: Calibration) -> Page:
    """What a calibrator says of a study."""
    grids, notes = list(_calibration_grids(found)), list(_calibration_notes(found))
    return Page(_calibration_sentences(found), grids, notes, _calibration_record(found))


def measure_words(instrument: Instrument, measure: Measure) -> str:
    """What is estimated, and on which scale."""
    if measure.above is not None:
        return f"{measure.id}: replies of {measure.above + 1} or more, in a hundred"
    if measure.is_share:
        return f"{measure.title}, in a hundred"
    name = f"{measure.id}: {measure.title}" if measure.kind is Kind.ITEM else measure.title
    return f"{name} ({scale_words(instrument)})"


def estimate_words(measure: Measure, value: float, interval: Interval | Undefined) -> str:
    """An estimate with its interval, or alone where it has none."""
    numbers = [value] if isinstance(interval, Undefined) else [value, interval.low, interval.high]
    # A share cannot leave the range from none to all, whatever the interval's arithmetic says.
    texts = [f"{100 * min(max(each, 0), 1):.0f}" if measure.is_share else f"{each:.2f}" for each in numbers]
    return f"{texts[0]} ({texts[1]} to {texts[2]})" if len(texts) > 1 else texts[0]


def _mean_words(measure: Measure, found: Mean | Undefined) -> str:
    return EMPTY if isinstance(found, Undefined) else estimate_words(measure, found.value, found.interval)


def _correction_grids(found: Correction) -> Iterator[Grid]:
    """One table for each measure."""
    columns = ("People rated", "Judge alone", "People alone", "Corrected", "Gain")
    for measure in dict.fromkeys(row.measure for row in found.rows):
        rows = [_row(row) for row in found.rows if row.measure == measure]
        yield Grid(measure_words(found.sheet.instrument, measure), columns, rows)


def _row(row: Corrected) -> tuple[str, ...]:
    name = in_a_line(row.system or "all systems", 40)
    counts = f"{row.labelled:,} of {row.conversations:,}"
    estimate = row.estimate
    if isinstance(estimate, Undefined):
        return name, counts, EMPTY, EMPTY, EMPTY, EMPTY
    return (
        name,
        counts,
        _mean_words(row.measure, estimate.judge_only),
        _mean_words(row.measure, estimate.people_only),
        estimate_words(row.measure, estimate.value, estimate.interval),
        EMPTY if isinstance(estimate.interval, Undefined) else f"{estimate.gain:.1f}x",
    )


def _correction_sentences(found: Correction) -> list[str]:
    """What was corrected, with what."""
    instrument = found.sheet.instrument
    judged = sum(case.judge is not None for case in found.cases)
    return [
        f"{', '.join(found.judges)} corrected by people ({instrument.title}, {instrument.id} {instrument.version})",
        f"{counted(len(found.people), 'person', 'people')} rated conversations of {found.sample.name}, which was drawn "
        f"at random; the judge rated {judged:,} of {counted(len(found.cases), 'conversation')}.",
    ]


def _correction_notes(found: Correction) -> Iterator[str]:
    """How to read the tables, and what they rest on."""
    yield (
        "Corrected: the judge's mean over all conversations, corrected by how far it is off where people rated too. "
        "Gain: how many times as many conversations people would have to rate for the same precision without the judge."
    )
    reasons = dict.fromkeys(reason for row in found.rows if (reason := _reason(row)))
    yield from reasons
    yield from found.notes


def _reason(row: Corrected) -> str | None:
    name = row.system or "all systems"
    if isinstance(row.estimate, Undefined):
        return f"{name}: no estimate ({row.estimate.reason})."
    if isinstance(row.estimate.interval, Undefined):
        return f"{name}: no interval ({row.estimate.interval.reason})."
    return None


def _calibration_grids(found: Calibration) -> Iterator[Grid]:
    """One table for each measure: the judge as it is, and on people's scale."""
    for measure in dict.fromkeys(row.measure for row in found.rows):
        rows = [_calibrated(row) for row in found.rows if row.measure == measure]
        yield Grid(measure_words(found.instrument, measure), ("Judge alone", "Calibrated"), rows)


def _calibrated(row: Calibrated) -> tuple[str, ...]:
    name = in_a_line(row.system or "all systems", 40)
    if isinstance(row.applied, Undefined):
        return name, EMPTY, EMPTY
    applied = row.applied
    return name, _mean_words(row.measure, applied.judge), estimate_words(row.measure, applied.value, applied.interval)


def _calibration_sentences(found: Calibration) -> list[str]:
    """What was calibrated, with what."""
    instrument = found.instrument
    return [
        f"{', '.join(found.judges)} on people's scale ({instrument.title}, {instrument.id} {instrument.version})",
        f"By the calibrator {found.calibrator} of {found.calibrator.at[:10]}; it rests on the judge's scores alone.",
    ]


def _calibration_notes(found: Calibration) -> Iterator[str]:
    """What a calibrated score rests on."""
    yield (
        "Calibrated scores hold as long as the conversations are of the kind that the calibrator was made on. To know, "
        "let people rate a sample of these as well."
    )
    for row in found.rows:
        name = row.system or "all systems"
        if isinstance(row.applied, Undefined):
            yield f"{name}: no estimate ({row.applied.reason})."
        elif isinstance(row.applied.interval, Undefined):
            yield f"{name}: no interval ({row.applied.interval.reason})."
        elif row.applied.beyond:
            share = f"{100 * row.applied.beyond:.0f} %"
            yield f"{name}: {share} of the scores lie outside those that the calibrator has seen."


def _saved(kept: Kept) -> Iterator[str]:
    """That a calibrator was kept, and how good it is out of fold."""
    yield f"Kept as calibrator {kept}."
    for measure, curve in curves_of(kept).items():
        yield (
            f"{measure}: the judge is typically {curve.error_before:.2f} away from people; calibrated, by fits that "
            f"did not see the conversation, {curve.error_after:.2f} ({counted(curve.conversations, 'conversation')})."
        )


def draw(page: Page, console: Console) -> None:
    """Print it on a terminal."""
    title, *rest = page.sentences
    console.print(line(title, "bold"))
    for sentence in rest:
        console.print(line(sentence, QUIET))
    for grid in page.grids:
        drawn = plain_table()
        drawn.add_column("System", overflow="fold")
        for column in grid.columns:
            drawn.add_column(column, justify="right", no_wrap=True)
        for row in grid.rows:
            # On a narrow terminal an interval stands below its estimate.
            texts = row[1:] if console.width >= _WIDE else [text.replace(" (", "\n(") for text in row[1:]]
            drawn.add_row(*map(line, (row[0], *texts)))
        console.print()
        console.print(line(grid.title, "bold"))
        console.print(drawn)
    console.print()
    for note in page.notes:
        console.print(line(note, QUIET))


def markdown(page: Page) -> str:
    """The same as Markdown."""
    title, *rest = page.sentences
    tables = [text_table([grid.title, *grid.columns], grid.rows) for grid in page.grids]
    return "\n\n".join([f"## {plain(title)}", " ".join(map(plain, rest)), *tables, bullets(page.notes)]) + "\n"


def _correction_record(found: Correction, saved: Kept | None) -> dict[str, Any]:
    return {
        "instrument": instrument_record(found.sheet.instrument),
        "judges": list(found.judges),
        "people": list(found.people),
        "sample": found.sample.name,
        "rows": [_corrected_record(row) for row in found.rows],
        "notes": found.notes,
        "calibrator": saved and _calibrator_record(saved),
    }


def _calibrator_record(kept: Kept) -> dict[str, Any]:
    return {"name": kept.name, "version": kept.version, "at": kept.at}


def _corrected_record(row: Corrected) -> dict[str, Any]:
    return {
        **_names(row.measure, row.system),
        "conversations": row.conversations,
        "judged": row.judged,
        "drawn": row.drawn,
        "rated_by_people": row.labelled,
        **_estimates(row.estimate),
    }


def _estimates(estimate: PredictionPowered | Undefined) -> dict[str, Any]:
    if isinstance(estimate, Undefined):
        return {"undefined": estimate.reason}
    return {
        "judge_only": _mean_record(estimate.judge_only),
        "people_only": _mean_record(estimate.people_only),
        "corrected": {"value": estimate.value, "se": estimate.se, "interval": interval_record(estimate.interval)},
        "trust_in_judge": estimate.trust,
        "gain": estimate.gain,
    }


def _mean_record(found: Mean | Undefined) -> dict[str, Any]:
    if isinstance(found, Undefined):
        return {"undefined": found.reason}
    return {"value": found.value, "se": number_or_reason(found.se), "interval": interval_record(found.interval)}


def _names(measure: Measure, system: str | None) -> dict[str, Any]:
    return {"measure": measure.name, "title": measure.title, "is_share": measure.is_share, "system": system}


def _calibration_record(found: Calibration) -> dict[str, Any]:
    return {
        "instrument": instrument_record(found.instrument),
        "judges": list(found.judges),
        "calibrator": _calibrator_record(found.calibrator),
        "rows": [{**_names(row.measure, row.system), **_applied_record(row.applied)} for row in found.rows],
    }


def _applied_record(applied: Applied | Undefined) -> dict[str, Any]:
    if isinstance(applied, Undefined):
        return {"undefined": applied.reason}
    return {
        "judge_only": _mean_record(applied.judge),
        "calibrated": {"value": applied.value, "interval": interval_record(applied.interval)},
        "beyond": applied.beyond,
    }
