"""Which conversations does a correction rest on: who could have been drawn, who was, and what did people say?

Without a sample that was drawn at random nothing can be corrected: people who choose what they rate choose what they
find. Where the sample is split, only `certify` counts, because a judge that was tuned on `develop` is better there
than elsewhere.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from attunement.agreement.comparison_measures import Measure
from attunement.agreement.comparison_versions import Versions, differing
from attunement.agreement.correction import (
    Case,
    Corrected,
    by_system,
    correct,
    corrected_measures,
    judge_scores,
    labelled_pairs,
)
from attunement.agreement.correction_calibrators import Applied, Curve, apply_curve, fit_curve
from attunement.agreement.results import Undefined
from attunement.errors import StudyError
from attunement.instruments import Instrument
from attunement.ratings import RaterKind
from attunement.reports.comparison_scope import Sheet, read_sheet, versions_of
from attunement.reports.wording import counted
from attunement.scoring import Scorecard
from attunement.study import Study, judged
from attunement.study.calibrators import Kept, keep_calibrator
from attunement.study.samples import Drawn, Sample, latest_sample, waiting

_SILENT = 0.1
"""Strata without a rating that stand for more than this share of all leave too much unknown."""


class Correction(NamedTuple):
    """Every system's estimates, and what they rest on."""

    sheet: Sheet
    judges: tuple[str, ...]
    people: tuple[str, ...]
    sample: Sample
    rows: list[Corrected]
    cases: Sequence[Case]
    notes: list[str]


class Calibrated(NamedTuple):
    """One measure of one system, as the judge has it and on people's scale."""

    measure: Measure
    system: str | None
    applied: Applied | Undefined


class Calibration(NamedTuple):
    """What a calibrator says of a study."""

    instrument: Instrument
    judges: tuple[str, ...]
    calibrator: Kept
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
            f"no person has rated any of the {counted(len(used), 'conversation')} that {sample.name} drew in "
            f"{study.place}, so there is nothing to correct with"
        )
    probabilities = _answered(sample.name, used, {key for key, given in cards.items() if given})
    frame = _frame(study, sample)
    cases = [
        Case(
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


def save_calibrator(study: Study, found: Correction, name: str) -> Kept:
    """Fit a calibrator for each measure on all systems together, and keep it as the next version of `name`.

    Raises:
        StudyError: People and judge rated too few conversations.
    """
    instrument = found.sheet.instrument
    curves: dict[str, Curve] = {}
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
    return keep_calibrator(study, name, content)


def curves_of(kept: Kept) -> dict[str, Curve]:
    """The curves of a calibrator, by the name of their measure."""
    return {measure: Curve.of_record(record) for measure, record in kept.content["curves"].items()}


def apply_calibrator(study: Study, kept: Kept, instrument: str | None = None, rater: str | None = None) -> Calibration:
    """Put a judge's scores on people's scale in a study that people did not rate.

    Raises:
        StudyError: The study was judged with another instrument, prompt or judge than the calibrator was fitted on.
    """
    sheet, judges = _judged_sheet(study, instrument, rater)
    there = Versions.of_record(kept.content["versions"])
    if found := differing(versions_of(study, sheet), there):
        raise StudyError(f"the calibrator {kept} does not fit {study.place}: {found}")
    cases = [Case(found.summary.identity.system, found.card) for found in sheet.complete.found]
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
        for entry in judged(study, instrument)
        if entry.conversation.key in drawn
    }


def _answered(name: str, used: Mapping[int, Drawn], rated: Collection[int]) -> dict[int, float]:
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
        number = counted(sum(drawn[stratum] for stratum in silent), "conversation")
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
    others = waiting(study, sample)
    if not others and any(drawn.probability < 1 for drawn in sample.units.values()):
        return None
    return {*sample.units, *others}


def _notes(sample: Sample, used: int, rated: int, outside: int) -> list[str]:
    notes: list[str] = []
    if used < len(sample.units):
        notes.append(
            f"Of {sample.name} only the {counted(used, 'conversation')} of `certify` count: a judge that was tuned on "
            "`develop` is better there than elsewhere."
        )
    if rated < used:
        notes.append(
            f"People rated {rated:,} of {counted(used, 'drawn conversation')}. The estimates hold if in each "
            "stratum the rest was left out by chance."
        )
    if outside:
        notes.append(f"{counted(outside, 'conversation')} could not have been drawn, and no estimate is about them.")
    return notes
