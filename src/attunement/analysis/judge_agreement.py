"""How far a judge agrees with people, which failures it misses, and whether counting words would do as well.

Both figures are the same coefficient on the same units, and so are those of the rivals that a judge must beat. What
counts are the intervals of the differences, clustered by conversation.

A unit is a failure where any of the people who rated it said so: at a gate nobody is outvoted. A verdict rests on
those that a second person confirmed. A judge that says that the item is met, that it does not apply, or nothing at all,
has missed it. Recall can be known only where people also looked at what the judge let through.

A judge that does not agree with people better than these has understood nothing. A count becomes answers on the
scale by its rank, so that its answers are as common as the people's; whether more words mean a higher or a lower
answer is chosen in its favour.

A judge is tuned on `develop` and certified on `certify`; cards come from the latter alone, with how often each judge
was run on it. Where the sample was drawn with unequal probabilities, each conversation stands for as many as it was
drawn from.
"""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from attunement.analysis.ratings_table import AnswerState, RatingsTable, Scale
from attunement.conversations.statistics import words
from attunement.evidence import CitationStatus
from attunement.instruments import Instrument
from attunement.ratings import RaterKind
from attunement.statistics.bootstrap import clustered_interval
from attunement.statistics.estimates import Rate, alike, rate
from attunement.statistics.kappa import (
    PairwiseKappa,
    judge_kappa,
    judge_kappa_statistic,
    people_kappa,
    people_kappa_statistic,
)
from attunement.statistics.power import Recall, recall
from attunement.statistics.results import Interval, Undefined
from attunement.statistics.tables import Bools, Floats, FromSums, Ints, combined, places
from attunement.statistics.tests import fisher
from attunement.store import Study
from attunement.store.queries import judges_evidence
from attunement.store.samples import latest_sample, versions_tried_on_certify


class AgreementDifference(NamedTuple):
    value: float
    interval: Interval | Undefined


class Baseline(NamedTuple):
    """A trivial judge on the units that the judge rated too."""

    name: str
    agreement: PairwiseKappa | Undefined
    margin: AgreementDifference | Undefined  # how far the judge is ahead of it; computed for the best one only


class JudgeAgreement(NamedTuple):
    """How a judge stands to people on one item."""

    agreement: PairwiseKappa | Undefined  # of the judge with any one person
    interval: Interval | Undefined
    people: PairwiseKappa | Undefined  # of any two people, on the units that the judge rated too
    gap: AgreementDifference | Undefined
    """The judge's agreement minus the people's, on the units that two people and the judge rated."""
    gap_to_half: AgreementDifference | Undefined  # the judge's agreement minus half of the people's
    units: int  # units that two people and the judge rated
    conversations: int  # conversations with a value of the judge and of a person
    baselines: tuple[Baseline, ...]
    best_baseline: Baseline | None  # the one that agrees best with people, if any does better than chance


_NONE = Undefined("no unit was rated by two people and the judge")


def agreement_with_people(
    judge: Floats, people: Floats, conversation: Ints, scale: Scale, trivial_judges: Mapping[str, Floats]
) -> JudgeAgreement:
    """Compare a judge with people.

    Args:
        judge: The judge's value of each unit, NaN for none.
        people: One row a unit, one column a person.
        conversation: For each unit its conversation.
        scale: Whether answers have an order.
        trivial_judges: By name the answers of trivial judges to the same units.
    """
    ordered = scale.ordered
    found = judge_kappa(judge, people, ordered=ordered)
    both = ~np.isnan(judge) & (~np.isnan(people)).any(axis=1)
    interval: Interval | Undefined
    if isinstance(found, PairwiseKappa):
        interval = clustered_interval(judge_kappa_statistic(judge, people, ordered=ordered), conversation)
    else:
        interval = found
    twice = ~np.isnan(judge) & ((~np.isnan(people)).sum(axis=1) >= 2)
    ceiling = people_kappa(people[twice], ordered=ordered) if twice.any() else people_kappa(people)
    if not twice.any() and isinstance(ceiling, PairwiseKappa):
        ceiling = _NONE
    gap: AgreementDifference | Undefined
    if isinstance(ceiling, PairwiseKappa):
        own = judge_kappa_statistic(judge[twice], people[twice], ordered=ordered)
        theirs = people_kappa_statistic(people[twice], ordered=ordered)
        gap = _compared(own, theirs, conversation[twice])
        half = _compared(own, theirs, conversation[twice], share=0.5)
    else:
        gap = half = Undefined(ceiling.reason)
    measured: list[Baseline] = []
    best: tuple[float, int] | None = None
    for name, answers in trivial_judges.items():
        shared = np.where(np.isnan(judge), np.nan, answers)
        agreement = judge_kappa(shared, people, ordered=ordered)
        # A trivial judge that is no better than chance beats nobody.
        if isinstance(agreement, PairwiseKappa) and agreement.value > (best[0] if best else 1e-9):
            best = agreement.value, len(measured)
        measured.append(Baseline(name, agreement, Undefined("another rival is better")))
    if best is not None:
        answers = trivial_judges[measured[best[1]].name]
        shared = both & ~np.isnan(answers)
        own = judge_kappa_statistic(judge[shared], people[shared], ordered=ordered)
        theirs = judge_kappa_statistic(answers[shared], people[shared], ordered=ordered)
        margin = _compared(own, theirs, conversation[shared])
        measured[best[1]] = measured[best[1]]._replace(margin=margin)
    return JudgeAgreement(
        agreement=found,
        interval=interval,
        people=ceiling,
        gap=gap,
        gap_to_half=half,
        units=int(twice.sum()),
        conversations=len(np.unique(conversation[both])),
        baselines=tuple(measured),
        best_baseline=None if best is None else measured[best[1]],
    )


def _compared(
    own: FromSums, theirs: FromSums, conversation: Ints, *, share: float = 1.0
) -> AgreementDifference | Undefined:
    """The one agreement minus `share` of the other, on the same units."""
    statistic = combined([own, theirs], lambda values: values[:, 0] - share * values[:, 1])
    value = statistic.value()
    if np.isnan(value):
        return Undefined("one of the two has no value")
    interval = clustered_interval(statistic, conversation)
    if isinstance(interval, Undefined) and min(own.value(), theirs.value()) > 1 - 1e-9:
        perfect = clustered_interval(own, conversation)
        if isinstance(perfect, Interval):
            reach = 1 - perfect.low
            interval = perfect._replace(low=value - reach, high=value + share * reach)
    return AgreementDifference(value, interval)


FAILURES_NEEDED = 30  # A verdict on a gate item rests on at least so many failures, each labelled as one by two people
RECALL_NEEDED = 0.8  # the lower end of recall's interval must reach this
_BY_CHANCE = 0.01  # less probable than this, people did not choose what they rated regardless of what the judge flagged


class FailureDetection(NamedTuple):
    """What a judge did with people's failures, and with what people found to be fine."""

    failures: int  # units that a person called a failure and the judge was asked about
    missed: int
    missed_as_na: int
    missed_as_unanswered: int  # the judge gave an error or abstained
    not_asked: int  # failures that the judge was never asked about; they count nowhere
    confirmed: int  # failures that at least two people called so: those the verdict rests on
    confirmed_missed: int
    recall: Rate | Undefined  # on the confirmed failures
    unflagged_needed: int | None
    """How many conversations that were drawn less often than the flagged ones would show the recall that is asked for;
    None where they are not what is lacking."""
    fine: int  # units that nobody called a failure and the judge was asked about
    false_alarms: int
    false_alarm_rate: Rate | Undefined
    precision: Rate | Undefined
    """Of the units that the judge flagged and people labelled, those that a person called a failure."""
    unknowable: str | None  # why recall cannot be known, if it cannot


class GateAnswers(NamedTuple):
    """People's and a judge's answers to a gate item, for the same units."""

    people: Floats
    people_states: Ints
    judge: Floats
    judge_states: Ints
    conversation: Ints
    fails_at: float
    weights: Floats | None = None  # for each unit one over its probability of being drawn; None where all are alike


def detect_failures(seen: GateAnswers) -> FailureDetection:
    """Count the failures that a judge missed, and its false alarms."""
    labelled = np.isin(seen.people_states, [AnswerState.VALUE, AnswerState.NA]).sum(axis=1)
    failing = (seen.people <= seen.fails_at).sum(axis=1)
    asked = seen.judge_states != AnswerState.NOT_ASKED
    flagged = seen.judge <= seen.fails_at
    failure, fine = (failing > 0) & asked, (failing == 0) & (labelled > 0) & asked
    missed = failure & ~flagged
    confirmed = failure & (failing >= 2)
    # What only one person rated cannot have been confirmed.
    usable = labelled >= (2 if confirmed.any() else 1)
    found: Recall | Undefined = Undefined("no failure was labelled by two people")
    if confirmed.any():
        known = usable & asked
        weights = _weights(seen, known)
        weights = None if weights is None else weights[known]
        found = recall(confirmed[known], flagged[known], seen.conversation[known], weights, RECALL_NEEDED)
    return FailureDetection(
        failures=int(failure.sum()),
        missed=int(missed.sum()),
        missed_as_na=int((missed & (seen.judge_states == AnswerState.NA)).sum()),
        missed_as_unanswered=int((missed & np.isin(seen.judge_states, _UNANSWERED)).sum()),
        not_asked=int(((failing > 0) & ~asked).sum()),
        confirmed=int(confirmed.sum()),
        confirmed_missed=int((confirmed & missed).sum()),
        recall=found if isinstance(found, Undefined) else found.rate,
        unflagged_needed=None if isinstance(found, Undefined) else found.unflagged_needed,
        fine=int(fine.sum()),
        false_alarms=int((fine & flagged).sum()),
        false_alarm_rate=_rate(flagged, fine, failure | fine, seen),
        precision=_rate(failing > 0, (failure | fine) & flagged, failure | fine, seen),
        unknowable=_unknowable(usable, asked, flagged, seen.weights),
    )


_UNANSWERED = [AnswerState.ERROR, AnswerState.ABSTAINED]


def _rate(event: Bools, among: Bools, usable: Bools, seen: GateAnswers) -> Rate | Undefined:
    weights = _weights(seen, usable)
    return rate(event[among], seen.conversation[among], None if weights is None else weights[among])


def _weights(seen: GateAnswers, usable: Bools) -> Floats | None:
    """The weights, by which those who were labelled also stand for those who were drawn alike and were not."""
    if seen.weights is None:
        return None
    asked = seen.judge_states != AnswerState.NOT_ASKED
    adjusted = seen.weights.copy()
    for weight in np.unique(seen.weights[usable]):
        alike = seen.weights == weight
        drawn, labelled = (len(np.unique(seen.conversation[alike & part])) for part in (asked, usable))
        adjusted[alike] *= drawn / labelled
    return adjusted


def _unknowable(labelled: Bools, asked: Bools, flagged: Bools, weights: Floats | None) -> str | None:
    """Why recall cannot be known, if what people rated depends on what the judge flagged.

    Where they saw only that, it cannot have missed anything, and that says nothing. Where they saw some of the rest,
    that must have been drawn with known probabilities, or have had the same chance as what was flagged.
    """
    let_through, raised = asked & ~flagged, asked & flagged
    seen, seen_raised = let_through & labelled, raised & labelled
    if not let_through.any() or not seen_raised.any():
        return None
    if not seen.any():
        return "people rated only conversations that the judge had flagged, so how many it missed cannot be known"
    counts = [int(part.sum()) for part in (seen_raised, raised, seen, let_through)]
    if not alike(weights) or counts[0] * counts[3] <= counts[2] * counts[1]:
        return None
    chance = fisher(*counts)
    if isinstance(chance, Undefined) or chance >= _BY_CHANCE:
        return None
    return (
        f"people rated {counts[0]:,} of {counts[1]:,} that the judge had flagged and {counts[2]:,} of {counts[3]:,} "
        "others, and nothing says how those were chosen, so how many it missed cannot be known"
    )


CONSTANT, WORD_COUNT, QUESTION_MARKS = "always the same", "word count", "question marks"

_QUESTION = "?\uff1f\u061f"  # question marks of the Latin, Chinese and Arabic scripts


def text_counts(study: Study, ratings: RatingsTable) -> dict[str, Floats]:
    """For each unit the words and the question marks of the replies it is about; empty where there is no text.

    Only units that people rated are counted.
    """
    units: dict[int, list[int]] = {}
    for unit in np.unique(ratings.unit[_by_people(ratings)]).tolist():
        units.setdefault(ratings.conversations[int(ratings.unit_conversation[unit])].key, []).append(unit)
    counts = {name: np.full(len(ratings.unit_turn), np.nan) for name in (WORD_COUNT, QUESTION_MARKS)}
    for key, conversation in study.conversations() if units else ():
        for unit in units.get(key, ()):
            turn = int(ratings.unit_turn[unit])
            replies = [each.assistant for each in (conversation.turns[turn - 1 : turn] if turn else conversation.turns)]
            if any(replies):
                counts[WORD_COUNT][unit] = sum(words(reply) for reply in replies)
                counts[QUESTION_MARKS][unit] = sum(reply.count(mark) for reply in replies for mark in _QUESTION)
    return {} if np.isnan(counts[WORD_COUNT]).all() else counts


def _by_people(ratings: RatingsTable) -> Bools:
    """For each rating whether a person gave it."""
    person = np.array([rater.kind is RaterKind.PERSON for rater in ratings.raters], dtype=np.bool_)
    return person[ratings.rater]


def baselines(counts: Mapping[str, Floats], people: Floats, scale: Scale) -> dict[str, Floats]:
    """The answers of the trivial judges to the units of `people`, by name.

    Args:
        counts: For each of these units what was counted, as in `text_counts`.
        people: One row a unit, one column a person, NaN where they gave no value.
        scale: The answers that are possible. Without an order counts say nothing about them.
    """

    def reached(answers: Floats) -> float:
        value = judge_kappa_statistic(answers, people).value()
        return -np.inf if np.isnan(value) else value

    rated = (~np.isnan(people)).any(axis=1)
    given = people[~np.isnan(people)]
    if not given.size:
        return {}
    shares = np.array([(given == value).sum() for value in scale.values])
    found = {CONSTANT: np.where(rated, scale.values[int(shares.argmax())], np.nan)}
    if scale.ordered:
        for name, count in counts.items():
            if answers := _answers(np.where(rated, count, np.nan), shares, scale):
                found[name] = max(answers, key=reached)
    return found


def _answers(count: Floats, shares: Floats, scale: Scale) -> tuple[Floats, Floats] | None:
    """The count as answers that are as common as `shares` says: rising with it, and falling."""
    known = ~np.isnan(count)
    place = places(count[known])
    if len(place) < 2 or place.max() == 0:
        return None
    often = np.bincount(place)
    middle = ((np.cumsum(often) - often / 2) / len(place))[place]
    ends = np.cumsum(shares)[:-1] / shares.sum()
    values = np.array(scale.values)
    made: list[Floats] = []
    for rank in (middle, 1 - middle):
        answers = np.full(len(count), np.nan)
        answers[known] = values[np.searchsorted(ends, rank)]
        made.append(answers)
    return made[0], made[1]


_THERE = {CitationStatus.FOUND, CitationStatus.UNCITED}
_QUOTED = {
    *_THERE,
    CitationStatus.ELSEWHERE,
    CitationStatus.CLOSE,
    CitationStatus.NOT_FOUND,
    CitationStatus.NO_SUCH_TURN,
}


class Citations(NamedTuple):
    """How many of a judge's quotations were looked up, and how many stand where it says."""

    found: int
    quoted: int


def citations(study: Study, instrument: Instrument) -> dict[tuple[str, str], Citations]:
    """The quotations of each judge on each item, by the judge's name and the item's id."""
    found: Counter[tuple[str, str]] = Counter()
    quoted: Counter[tuple[str, str]] = Counter()
    for name, item, findings in judges_evidence(study, instrument):
        statuses = [finding["standing"] for finding in findings]
        found[name, item] += sum(status in _THERE for status in statuses)
        quoted[name, item] += sum(status in _QUOTED for status in statuses)
    return {key: Citations(found[key], number) for key, number in quoted.items()}


class SampleRatings(NamedTuple):
    table: RatingsTable
    weights: Floats | None  # for each conversation one over its probability of being drawn; None without a sample
    notes: tuple[str, ...]


def ratings_of_sample(study: Study, instrument: str, ratings: RatingsTable) -> SampleRatings:
    """The part of the ratings that the newest sample for this instrument allows, or all where there is none."""
    sample = latest_sample(study, instrument)
    if sample is None:
        return SampleRatings(ratings, None, ())
    drawn = [sample.units.get(conversation.key) for conversation in ratings.conversations]
    certify = any(entry.split == "certify" for entry in sample.units.values())
    inside = np.array([one is not None and (not certify or one.split == "certify") for one in drawn], dtype=np.bool_)
    chosen = ratings.of_conversations(inside)
    number = len(np.unique(chosen.unit_conversation[chosen.unit[_by_people(chosen)]]))
    what = f"the {'test' if certify else 'drawn'} part of the sample {sample.name!r}"
    if not certify and not number:
        note = f"People have rated nothing of {what} yet; figures rest on all other ratings."
        return SampleRatings(ratings, None, (note,))
    notes = [f"Figures rest on {what}: people have rated {number:,} of its conversations."]
    if certify:
        runs = versions_tried_on_certify(study, sample)
        notes += [
            f"{judge} was run on it in {count} version{'s' if count > 1 else ''}"
            + ("." if count == 1 else ": the more were tried, the less the best figure says about new conversations.")
            for judge, count in runs.items()
        ]
    weights = np.array([1 / one.probability if one else np.nan for one in drawn], dtype=np.float64)
    if not alike(weights[inside]):
        notes.append(
            "Some of it was drawn more often than the rest: what was missed and false alarms are weighted for that; "
            "agreement and bias are those of the drawn conversations."
        )
    return SampleRatings(chosen, weights, tuple(notes))
