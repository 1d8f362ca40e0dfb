"""Correct a judge's scores with people's ratings of a random sample.

For each system and measure there are three estimates: the judge's, which is precise and may be wrong; the people's,
which is right and imprecise; and the corrected one, which uses both. All are about the conversations that could have
been drawn: the judge rated them all, so its own mean has no interval, and with all of them rated by people the others
would have none either.
"""

from collections.abc import Sequence
from typing import NamedTuple

from attunement.analysis.measures import (
    Basis,
    Measure,
    RatedConversation,
    RatedStudy,
    estimate,
    main_measures,
    rated_study,
    with_sample,
)
from attunement.errors import StudyError
from attunement.instruments import Instrument
from attunement.ratings import RaterKind
from attunement.statistics.ppi import Estimate
from attunement.statistics.results import Undefined
from attunement.store import ScoredConversation, Study


class CorrectedMeasure(NamedTuple):
    measure: Measure
    system: str | None  # None for all systems together
    judge: Estimate | Undefined
    people: Estimate | Undefined
    corrected: Estimate | Undefined
    conversations: int
    judged: int  # conversations with a value of the judge
    drawn: int
    labelled: int  # conversations with a value of people and of the judge

    @property
    def gain(self) -> float | None:
        """How many times as many conversations people would have to rate for the same precision without the judge."""
        if isinstance(self.people, Undefined) or isinstance(self.corrected, Undefined):
            return None
        alone, both = self.people.interval, self.corrected.interval
        if isinstance(alone, Undefined) or isinstance(both, Undefined) or both.high == both.low:
            return None
        return ((alone.high - alone.low) / (both.high - both.low)) ** 2


def correct(instrument: Instrument, conversations: Sequence[RatedConversation]) -> list[CorrectedMeasure]:
    """The three estimates of each measure, for each system and, where there are several, for all together.

    Args:
        instrument: What was asked.
        conversations: All that could have been drawn, drawn or not.

    Returns:
        Where people or the judge have no value, an estimate is `Undefined`; below 10 conversations that people rated
        it has no interval.
    """
    systems: list[str | None] = list(dict.fromkeys(each.identity.system for each in conversations))
    groups = [*systems, None] if len(systems) > 1 else systems
    rows: list[CorrectedMeasure] = []
    for measure in main_measures(instrument):
        for system in groups:
            chosen = [each for each in conversations if system in {None, each.identity.system}]
            judge = estimate(instrument, measure, chosen, Basis.JUDGE)
            people = estimate(instrument, measure, chosen, Basis.CORRECTED, finite=True, trust=0.0)
            corrected = estimate(instrument, measure, chosen, Basis.CORRECTED, finite=True)
            judged, labelled = (
                0 if isinstance(found, Undefined) else int(found.labelled.sum()) for found in (judge, corrected)
            )
            drawn = sum(each.probability is not None for each in chosen)
            rows.append(
                CorrectedMeasure(measure, system, judge, people, corrected, len(chosen), judged, drawn, labelled)
            )
    return rows


class Correction(NamedTuple):
    rated: RatedStudy
    people: tuple[str, ...]
    rows: list[CorrectedMeasure]


def correct_study(
    study: Study,
    instrument: Instrument,
    rater: str | None = None,
    scored: Sequence[ScoredConversation] | None = None,
) -> Correction:
    """Correct the judge's scores with the newest sample that people rated.

    `scored` are all conversations of the study, where they were read already.

    Raises:
        StudyError: There is no sample, no judge, or nobody rated what was drawn.
    """
    rated = rated_study(study, instrument, rater, scored)
    kinds = {known.name: known.kind for known in study.raters()}
    if not rated.by or any(kinds[name] is not RaterKind.MODEL for name, _ in rated.by):
        who = f"{rater} is a person" if kinds.get(rater or "") is RaterKind.PERSON else "no judge has rated"
        raise StudyError(f"{who} in {study.place}: only judges are corrected; run attune judge, or name one (--rater)")
    rated = with_sample(study, rated.complete)
    people = dict.fromkeys(card.rater for each in rated.conversations for card in each.people)
    return Correction(rated, tuple(people), correct(instrument, rated.conversations))
