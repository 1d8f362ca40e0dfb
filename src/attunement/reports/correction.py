"""A corrected score: which conversations it rests on, and how it reads.

Without a sample that was drawn at random nothing can be corrected: people who choose what they rate choose what they
find. Where the sample is split, only `certify` counts, because a judge that was tuned on `develop` is better there
than elsewhere.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rich.console import Console

from attunement.analysis.compare import Measure, MeasureKind
from attunement.analysis.correct import (
    CalibratedMean,
    CalibrationCurve,
    CorrectedMeasure,
    CorrectionCase,
    apply_curve,
    by_system,
    correct,
    corrected_measures,
    fit_curve,
    judge_scores,
    labelled_pairs,
)
from attunement.analysis.versions import Versions, version_difference
from attunement.errors import StudyError
from attunement.instruments import Instrument
from attunement.ratings import RaterKind
from attunement.reports.comparison import bullets, interval_record, number_or_reason
from attunement.reports.comparison_scope import Sheet, read_sheet, versions_of
from attunement.reports.comparison_wording import EMPTY, scale_words
from attunement.reports.numbers import pluralize
from attunement.reports.records import instrument_record
from attunement.reports.render_terminal import QUIET, line, plain_table
from attunement.reports.sanitize import in_a_line, plain, text_table
from attunement.scoring import Scorecard
from attunement.statistics.estimates import Mean
from attunement.statistics.ppi import PredictionPowered
from attunement.statistics.results import Interval, Undefined
from attunement.store import Study, scored_conversations
from attunement.store.samples import Sample, SampledConversation, StoredCalibrator, latest_sample, not_drawn
from attunement.store.samples import save_calibrator as store_calibrator

_SILENT = 0.1
"""Strata without a rating that stand for more than this share of all leave too much unknown."""


class Correction(NamedTuple):
    """Every system's estimates, and what they rest on."""

    sheet: Sheet
    judges: tuple[str, ...]
    people: tuple[str, ...]
    sample: Sample
    rows: list[CorrectedMeasure]
    cases: Sequence[CorrectionCase]
    notes: list[str]


class Calibrated(NamedTuple):
    """One measure of one system, as the judge has it and on people's scale."""

    measure: Measure
    system: str | None
    applied: CalibratedMean | Undefined


class Calibration(NamedTuple):
    """What a calibrator says of a study."""

    instrument: Instrument
    judges: tuple[str, ...]
    calibrator: StoredCalibrator
    rows: list[Calibrated]


def correct_study(study: Study, instrument: str | None = None, rater: str | None = None) -> Correction:
    """Correct the judge's scores with the newest sample that people rated.

    Raises:
        StudyError: There is no sample, no judge, or nobody rated what was drawn.
    """
    sheet, judges = _judged_sheet(study, instrument, rater)
    sample = latest_sample(study, sheet.instrument.id)
    if sample is None:
        raise StudyError(
            f"{study.place} has no random sample for people to rate with {sheet.instrument.id}, and what people chose "
            f"themselves corrects nothing: draw one with: attune plan {study.place} --draw 50"
        )
    used = {key: drawn for key, drawn in sample.units.items() if drawn.split != "develop"}
    cards = _people_cards(study, sheet.instrument, set(used))
    if not any(cards.values()):
        raise StudyError(
            f"no person has rated any of the {pluralize(len(used), 'conversation')} that {sample.name} drew in "
            f"{study.place}, so there is nothing to correct with"
        )
    probabilities = _answered(sample.name, used, {key for key, given in cards.items() if given})
    frame = _frame(study, sample)
    cases = [
        CorrectionCase(
            system=found.summary.identity.system,
            judge=found.card,
            probability=probabilities.get(found.summary.key),
            people=cards.get(found.summary.key, ()),
        )
        for found in sheet.complete.found
        if frame is None or found.summary.key in frame
    ]
    people = tuple(dict.fromkeys(card.rater for given in cards.values() for card in given))
    notes = _notes(sample, len(used), sum(bool(given) for given in cards.values()), len(sheet.found) - len(cases))
    return Correction(sheet, judges, people, sample, correct(sheet.instrument, cases), cases, notes)


def save_calibrator(study: Study, found: Correction, name: str) -> StoredCalibrator:
    """Fit a calibrator for each measure on all systems together, and keep it as the next version of `name`.

    Raises:
        StudyError: People and judge rated too few conversations.
    """
    instrument = found.sheet.instrument
    curves: dict[str, CalibrationCurve] = {}
    for measure in corrected_measures(instrument):
        fitted = fit_curve(labelled_pairs(instrument, measure, found.cases))
        if isinstance(fitted, Undefined):
            raise StudyError(f"no calibrator was made, because of {measure.title!r}: {fitted.reason}")
        curves[measure.name] = fitted
    content = {
        "versions": versions_of(study, found.sheet).record(),
        "sample": found.sample.name,
        "people": list(found.people),
        "curves": {measure: curve.record() for measure, curve in curves.items()},
    }
    return store_calibrator(study, name, content)


def curves_of(kept: StoredCalibrator) -> dict[str, CalibrationCurve]:
    """The curves of a calibrator, by the name of their measure."""
    return {measure: CalibrationCurve.of_record(record) for measure, record in kept.content["curves"].items()}


def apply_calibrator(
    study: Study, kept: StoredCalibrator, instrument: str | None = None, rater: str | None = None
) -> Calibration:
    """Put a judge's scores on people's scale in a study that people did not rate.

    Raises:
        StudyError: The study was judged with another instrument, prompt or judge than the calibrator was fitted on.
    """
    sheet, judges = _judged_sheet(study, instrument, rater)
    there = Versions.of_record(kept.content["versions"])
    if found := version_difference(versions_of(study, sheet), there):
        raise StudyError(f"the calibrator {kept} does not fit {study.place}: {found}")
    cases = [CorrectionCase(found.summary.identity.system, found.card) for found in sheet.complete.found]
    curves, rows = curves_of(kept), list[Calibrated]()
    for measure in corrected_measures(sheet.instrument):
        for system, chosen in by_system(cases):
            scores, conversations = judge_scores(sheet.instrument, measure, chosen)
            rows.append(Calibrated(measure, system, apply_curve(curves[measure.name], scores, conversations)))
    return Calibration(sheet.instrument, judges, kept, rows)


def _judged_sheet(study: Study, instrument: str | None, rater: str | None) -> tuple[Sheet, tuple[str, ...]]:
    sheet = read_sheet(study, instrument, rater)
    kinds = {known.name: known.kind for known in study.raters()}
    judges = tuple(sorted({name for name, _ in sheet.judges}))
    if not judges or any(kinds[name] is not RaterKind.MODEL for name in judges):
        who = f"{rater} is a person" if rater in kinds else "no judge has rated"
        raise StudyError(f"{who} in {study.place}: a judge is what is corrected; judge something first, or name one")
    return sheet, judges


def _people_cards(study: Study, instrument: Instrument, drawn: set[int]) -> dict[int, tuple[Scorecard, ...]]:
    people = {rater.name for rater in study.raters() if rater.kind is RaterKind.PERSON}
    return {
        entry.conversation.key: tuple(card for card in entry.cards.all if card.rater in people)
        for entry in scored_conversations(study, instrument)
        if entry.conversation.key in drawn
    }


def _answered(name: str, used: Mapping[int, SampledConversation], rated: Collection[int]) -> dict[int, float]:
    """The probability of having been drawn and rated: in each stratum those who were rated stand for all drawn.

    Raises:
        StudyError: Of strata that stand for a good part of all, people rated nothing.
    """
    drawn = Counter(entry.stratum for entry in used.values())
    answered = Counter(used[key].stratum for key in used if key in rated)
    silent = drawn.keys() - answered.keys()
    weights = [(entry.stratum in silent, 1 / entry.probability) for entry in used.values()]
    if sum(weight for unheard, weight in weights if unheard) > _SILENT * sum(weight for _, weight in weights):
        names = ", ".join(f"{stratum!r}" for stratum in sorted(silent))
        number = pluralize(sum(drawn[stratum] for stratum in silent), "conversation")
        raise StudyError(
            f"people have rated none of the {number} that {name} drew of {names}, so nothing is known of those: rate "
            "some of them first"
        )
    return {
        key: entry.probability * answered[entry.stratum] / drawn[entry.stratum]
        for key, entry in used.items()
        if entry.stratum not in silent
    }


def _frame(study: Study, sample: Sample) -> set[int] | None:
    """Everybody who could have been drawn; None where the sample does not say, so that it was everybody."""
    others = not_drawn(study, sample)
    if not others and any(drawn.probability < 1 for drawn in sample.units.values()):
        return None
    return {*sample.units, *others}


def _notes(sample: Sample, used: int, rated: int, outside: int) -> list[str]:
    notes: list[str] = []
    if used < len(sample.units):
        notes.append(
            f"Of {sample.name} only the {pluralize(used, 'conversation')} of `certify` count: a judge that was tuned "
            "on "
            "`develop` is better there than elsewhere."
        )
    if rated < used:
        notes.append(
            f"People rated {rated:,} of {pluralize(used, 'drawn conversation')}. The estimates hold if in each "
            "stratum the rest was left out by chance."
        )
    if outside:
        notes.append(f"{pluralize(outside, 'conversation')} could not have been drawn, and no estimate is about them.")
    return notes


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


def correction_page(found: Correction, saved: StoredCalibrator | None = None) -> Page:
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
    name = f"{measure.id}: {measure.title}" if measure.kind is MeasureKind.ITEM else measure.title
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


def _row(row: CorrectedMeasure) -> tuple[str, ...]:
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
        f"{pluralize(len(found.people), 'person', 'people')} rated conversations of {found.sample.name}, which was "
        "drawn "
        f"at random; the judge rated {judged:,} of {pluralize(len(found.cases), 'conversation')}.",
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


def _reason(row: CorrectedMeasure) -> str | None:
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


def _saved(kept: StoredCalibrator) -> Iterator[str]:
    """That a calibrator was kept, and how good it is out of fold."""
    yield f"Kept as calibrator {kept}."
    for measure, curve in curves_of(kept).items():
        yield (
            f"{measure}: the judge is typically {curve.error_before:.2f} away from people; calibrated, by fits that "
            f"did not see the conversation, {curve.error_after:.2f} ({pluralize(curve.conversations, 'conversation')})."
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


def _correction_record(found: Correction, saved: StoredCalibrator | None) -> dict[str, Any]:
    return {
        "instrument": instrument_record(found.sheet.instrument),
        "judges": list(found.judges),
        "people": list(found.people),
        "sample": found.sample.name,
        "rows": [_corrected_record(row) for row in found.rows],
        "notes": found.notes,
        "calibrator": saved and _calibrator_record(saved),
    }


def _calibrator_record(kept: StoredCalibrator) -> dict[str, Any]:
    return {"name": kept.name, "version": kept.version, "at": kept.at}


def _corrected_record(row: CorrectedMeasure) -> dict[str, Any]:
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


def _applied_record(applied: CalibratedMean | Undefined) -> dict[str, Any]:
    if isinstance(applied, Undefined):
        return {"undefined": applied.reason}
    return {
        "judge_only": _mean_record(applied.judge),
        "calibrated": {"value": applied.value, "interval": interval_record(applied.interval)},
        "beyond": applied.beyond,
    }
