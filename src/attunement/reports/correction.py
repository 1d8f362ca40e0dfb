"""A corrected score: which conversations it rests on, and how it reads.

Without a sample that was drawn at random nothing can be corrected: people who choose what they rate choose what they
find. Where the sample is split, only `certify` counts, because a judge that was tuned on `develop` is better there
than elsewhere.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

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
from attunement.reports.blocks import Block, Cell, Column, Document, Row, Table, Tone, texts
from attunement.reports.comparison import scale_words
from attunement.reports.comparison_groups import JudgedStudy, judged_study, versions_of
from attunement.reports.numbers import NONE, pluralize
from attunement.reports.records import instrument_record, interval_record, number_or_reason
from attunement.reports.sanitize import in_a_line
from attunement.statistics.estimates import Mean
from attunement.statistics.ppi import PredictionPowered
from attunement.statistics.results import Undefined
from attunement.store import ScoredConversation, Study, scored_conversations
from attunement.store.samples import Sample, SampledConversation, StoredCalibrator, latest_sample, not_drawn
from attunement.store.samples import save_calibrator as store_calibrator

_SILENT = 0.1  # strata without a rating that stand for more than this share of all leave too much unknown


class Correction(NamedTuple):
    judged: JudgedStudy
    judges: tuple[str, ...]
    people: tuple[str, ...]
    sample: Sample
    rows: list[CorrectedMeasure]
    cases: Sequence[CorrectionCase]
    notes: list[str]


class Calibrated(NamedTuple):
    measure: Measure
    system: str | None
    applied: CalibratedMean | Undefined


class Calibration(NamedTuple):
    instrument: Instrument
    judges: tuple[str, ...]
    calibrator: StoredCalibrator
    rows: list[Calibrated]


def correct_study(
    study: Study,
    instrument: str | None = None,
    rater: str | None = None,
    scored: Sequence[ScoredConversation] | None = None,
) -> Correction:
    """Correct the judge's scores with the newest sample that people rated.

    `scored` are all conversations of the study, where they were read already.

    Raises:
        StudyError: There is no sample, no judge, or nobody rated what was drawn.
    """
    judged, judges = _judged(study, instrument, rater, scored)
    sample = latest_sample(study, judged.instrument.id)
    if sample is None:
        raise StudyError(
            f"{study.place} has no random sample for people to rate with {judged.instrument.id}, and what people chose "
            f"themselves corrects nothing: draw one with: attune plan {study.place} --draw 50"
        )
    used = {key: drawn for key, drawn in sample.units.items() if drawn.split != "develop"}
    people = {known.name for known in study.raters() if known.kind is RaterKind.PERSON}
    cards = {
        entry.conversation.key: tuple(card for card in entry.cards.all if card.rater in people)
        for entry in (scored_conversations(study, judged.instrument) if scored is None else scored)
        if entry.conversation.key in used
    }
    rated = {key for key, given in cards.items() if given}
    if not rated:
        raise StudyError(
            f"no person has rated any of the {pluralize(len(used), 'conversation')} that {sample.name} drew in "
            f"{study.place}, so there is nothing to correct with"
        )
    probabilities = _answered(sample.name, used, rated)
    # A sample that was drawn with probabilities but does not name who else could have been drawn is of all.
    others = not_drawn(study, sample)
    anybody = not others and any(drawn.probability < 1 for drawn in sample.units.values())
    frame = {*sample.units, *others}
    cases = [
        CorrectionCase(
            system=found.summary.identity.system,
            judge=found.card,
            probability=probabilities.get(found.summary.key),
            people=cards.get(found.summary.key, ()),
        )
        for found in judged.complete.conversations
        if anybody or found.summary.key in frame
    ]
    notes: list[str] = []
    if len(used) < len(sample.units):
        notes.append(
            f"Of {sample.name} only the {pluralize(len(used), 'conversation')} of the test split count: a judge that "
            "was tuned on the dev split is better there than elsewhere."
        )
    if len(rated) < len(used):
        notes.append(
            f"People rated {len(rated):,} of {pluralize(len(used), 'drawn conversation')}. The estimates hold if in "
            "each stratum the rest was left out by chance."
        )
    if outside := len(judged.conversations) - len(cases):
        notes.append(f"{pluralize(outside, 'conversation')} could not have been drawn, and no estimate is about them.")
    names = tuple(dict.fromkeys(card.rater for given in cards.values() for card in given))
    return Correction(judged, judges, names, sample, correct(judged.instrument, cases), cases, notes)


def save_calibrator(study: Study, found: Correction, name: str) -> StoredCalibrator:
    """Fit a calibrator for each measure on all systems together, and save it as the next version of `name`.

    Raises:
        StudyError: People and judge rated too few conversations.
    """
    instrument = found.judged.instrument
    curves: dict[str, Any] = {}
    for measure in corrected_measures(instrument):
        fitted = fit_curve(labelled_pairs(instrument, measure, found.cases))
        if isinstance(fitted, Undefined):
            raise StudyError(f"no calibrator was made, because of {measure.title!r}: {fitted.reason}")
        curves[measure.name] = fitted._asdict()
    content = {
        "versions": versions_of(study, found.judged).record(),
        "sample": found.sample.name,
        "people": list(found.people),
        "curves": curves,
    }
    return store_calibrator(study, name, content)


def curves_of(calibrator: StoredCalibrator) -> dict[str, CalibrationCurve]:
    return {measure: CalibrationCurve.of_record(record) for measure, record in calibrator.content["curves"].items()}


def apply_calibrator(
    study: Study, calibrator: StoredCalibrator, instrument: str | None = None, rater: str | None = None
) -> Calibration:
    """Put a judge's scores on people's scale in a study that people did not rate.

    Raises:
        StudyError: The study was judged with another instrument, prompt or judge than the calibrator was fitted on.
    """
    judged, judges = _judged(study, instrument, rater)
    there = Versions.of_record(calibrator.content["versions"])
    if found := version_difference(versions_of(study, judged), there):
        raise StudyError(f"the calibrator {calibrator} does not fit {study.place}: {found}")
    cases = [CorrectionCase(found.summary.identity.system, found.card) for found in judged.complete.conversations]
    curves, rows = curves_of(calibrator), list[Calibrated]()
    for measure in corrected_measures(judged.instrument):
        for system, chosen in by_system(cases):
            scores, conversations = judge_scores(judged.instrument, measure, chosen)
            rows.append(Calibrated(measure, system, apply_curve(curves[measure.name], scores, conversations)))
    return Calibration(judged.instrument, judges, calibrator, rows)


def _judged(
    study: Study, instrument: str | None, rater: str | None, scored: Sequence[ScoredConversation] | None = None
) -> tuple[JudgedStudy, tuple[str, ...]]:
    judged = judged_study(study, instrument, rater, scored)
    kinds = {known.name: known.kind for known in study.raters()}
    judges = tuple(sorted({name for name, _ in judged.judges}))
    if not judges or any(kinds[name] is not RaterKind.MODEL for name in judges):
        who = f"{rater} is a person" if rater in kinds else "no judge has rated"
        raise StudyError(f"{who} in {study.place}: a judge is what is corrected; judge something first, or name one")
    return judged, judges


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


def correction_document(found: Correction, saved: StoredCalibrator | None = None) -> Document:
    """A correction, with the calibrator that was saved with it."""
    judged = sum(case.judge is not None for case in found.cases)
    basis = (
        f"{pluralize(len(found.people), 'person', 'people')} rated conversations of {found.sample.name}, which was "
        f"drawn at random; the judge rated {judged:,} of {pluralize(len(found.cases), 'conversation')}."
    )
    rows: list[tuple[Measure, Row]] = []
    missing: list[str] = []
    for row in found.rows:
        name, counts, estimate = _name(row.system), f"{row.labelled:,} of {row.conversations:,}", row.estimate
        missing += _no_estimate(row.system, estimate)
        if isinstance(estimate, Undefined):
            rows.append((row.measure, Row((name, counts, NONE, NONE, NONE, NONE))))
        else:
            cells = [_cell(row.measure, each) for each in (estimate.judge_only, estimate.people_only, estimate)]
            gain = NONE if isinstance(estimate.interval, Undefined) else f"{estimate.gain:.1f}x"
            rows.append((row.measure, Row((name, counts, *cells, gain))))
    notes = [
        "Corrected: the judge's mean over all conversations, corrected by how far it is off where people rated too. "
        "Gain: how many times as many conversations people would have to rate for the same precision without the "
        "judge.",
        *dict.fromkeys(missing),
        *found.notes,
    ]
    if saved:
        notes.append(f"Saved as calibrator {saved}.")
        notes += [
            f"{measure}: the judge is typically {curve.error_before:.2f} away from people; calibrated, by fits that "
            f"did not see the conversation, {curve.error_after:.2f} ({pluralize(curve.conversations, 'conversation')})."
            for measure, curve in curves_of(saved).items()
        ]
    heads = ("People rated", "Judge alone", "People alone", "Corrected", "Gain")
    instrument = found.judged.instrument
    return _document(instrument, f"{', '.join(found.judges)} corrected by people", basis, heads, rows, notes)


def calibration_document(found: Calibration) -> Document:
    """A judge's scores on people's scale."""
    calibrator = found.calibrator
    basis = f"By the calibrator {calibrator} of {calibrator.at[:10]}; it rests on the judge's scores alone."
    notes = [
        "Calibrated scores hold as long as the conversations are of the kind that the calibrator was made on. To know, "
        "let people rate a sample of these as well."
    ]
    rows: list[tuple[Measure, Row]] = []
    for row in found.rows:
        applied, missing = row.applied, list(_no_estimate(row.system, row.applied))
        cells = [NONE, NONE]
        if not isinstance(applied, Undefined):
            cells = [_cell(row.measure, applied.judge), _cell(row.measure, applied)]
        rows.append((row.measure, Row((_name(row.system), *cells))))
        notes += missing
        if not missing and isinstance(applied, CalibratedMean) and applied.beyond:
            share = f"{100 * applied.beyond:.0f} %"
            notes.append(f"{_name(row.system)}: {share} of the scores are outside those that the calibrator has seen.")
    title = f"{', '.join(found.judges)} on people's scale"
    return _document(found.instrument, title, basis, ("Judge alone", "Calibrated"), rows, notes)


def _document(
    instrument: Instrument,
    title: str,
    basis: str,
    heads: Sequence[str],
    rows: Sequence[tuple[Measure, Row]],
    notes: Sequence[str],
) -> Document:
    """A table for each measure, between what it rests on and the notes."""
    columns = [Column("System"), *(Column(head, numeric=True) for head in heads)]
    tables = [
        Table(columns, [row for measure, row in rows if measure == each], measure_words(instrument, each))
        for each in dict.fromkeys(measure for measure, _ in rows)
    ]
    blocks: list[Block] = [*texts([basis], Tone.QUIET), *tables, *texts(notes, Tone.QUIET)]
    return Document(f"{title} ({instrument.title}, {instrument.id} {instrument.version})", blocks)


def measure_words(instrument: Instrument, measure: Measure) -> str:
    if measure.above is not None:
        return f"{measure.id}: replies of {measure.above + 1} or more, in a hundred"
    if measure.is_share:
        return f"{measure.title}, in a hundred"
    name = f"{measure.id}: {measure.title}" if measure.kind is MeasureKind.ITEM else measure.title
    return f"{name} ({scale_words(instrument)})"


def _name(system: str | None) -> str:
    return in_a_line(system or "all systems", 40)


def _cell(measure: Measure, found: Mean | PredictionPowered | CalibratedMean | Undefined) -> Cell:
    """An estimate, and below it the interval where there is one."""

    def number(each: float) -> str:
        # A share cannot leave the range from none to all, whatever the interval's arithmetic says.
        return f"{100 * min(max(each, 0), 1):.0f}" if measure.is_share else f"{each:.2f}"

    if isinstance(found, Undefined):
        return NONE
    if isinstance(found.interval, Undefined):
        return number(found.value)
    return number(found.value), f"({number(found.interval.low)} to {number(found.interval.high)})"


def _no_estimate(system: str | None, found: PredictionPowered | CalibratedMean | Undefined) -> Iterator[str]:
    name = system or "all systems"
    if isinstance(found, Undefined):
        yield f"{name}: no estimate ({found.reason})."
    elif isinstance(found.interval, Undefined):
        yield f"{name}: no interval ({found.interval.reason})."


def correction_record(found: Correction, saved: StoredCalibrator | None = None) -> dict[str, Any]:
    """A correction as plain data, for `--json`."""
    rows: list[dict[str, Any]] = []
    for row in found.rows:
        estimate = row.estimate
        record: dict[str, Any] = {
            **_names(row.measure, row.system),
            "conversations": row.conversations,
            "judged": row.judged,
            "drawn": row.drawn,
            "rated_by_people": row.labelled,
        }
        if isinstance(estimate, Undefined):
            record["undefined"] = estimate.reason
        else:
            record["judge_only"] = _mean_record(estimate.judge_only)
            record["people_only"] = _mean_record(estimate.people_only)
            interval = interval_record(estimate.interval)
            record["corrected"] = {"value": estimate.value, "se": estimate.se, "interval": interval}
            record |= {"trust_in_judge": estimate.trust, "gain": estimate.gain}
        rows.append(record)
    return {
        "instrument": instrument_record(found.judged.instrument),
        "judges": list(found.judges),
        "people": list(found.people),
        "sample": found.sample.name,
        "rows": rows,
        "notes": found.notes,
        "calibrator": saved and _calibrator_record(saved),
    }


def _calibrator_record(calibrator: StoredCalibrator) -> dict[str, Any]:
    return {"name": calibrator.name, "version": calibrator.version, "at": calibrator.at}


def _mean_record(found: Mean | Undefined) -> dict[str, Any]:
    if isinstance(found, Undefined):
        return {"undefined": found.reason}
    return {"value": found.value, "se": number_or_reason(found.se), "interval": interval_record(found.interval)}


def _names(measure: Measure, system: str | None) -> dict[str, Any]:
    return {"measure": measure.name, "title": measure.title, "is_share": measure.is_share, "system": system}


def calibration_record(found: Calibration) -> dict[str, Any]:
    """A calibration as plain data, for `--json`."""
    rows: list[dict[str, Any]] = []
    for row in found.rows:
        record, applied = _names(row.measure, row.system), row.applied
        if isinstance(applied, Undefined):
            record["undefined"] = applied.reason
        else:
            record["judge_only"] = _mean_record(applied.judge)
            record["calibrated"] = {"value": applied.value, "interval": interval_record(applied.interval)}
            record["beyond"] = applied.beyond
        rows.append(record)
    return {
        "instrument": instrument_record(found.instrument),
        "judges": list(found.judges),
        "calibrator": _calibrator_record(found.calibrator),
        "rows": rows,
    }
