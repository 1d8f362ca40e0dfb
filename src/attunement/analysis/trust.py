"""The trust card: how far a judge can be trusted on an item, with the verdict and the rule behind it.

Everything that people's ratings can say about one judge and one item, with the verdict that follows. Figures are
given always; where people do not agree, or too little is known, only the verdict is withheld.

No verdict rests on people who do not agree with each other, on too few conversations, or on the alternative annotator
test alone. A judge that says the same whatever it reads never gets more than "does not agree". For gate items the
failures that were missed come first, whatever the agreement.
"""

from collections.abc import Mapping
from enum import StrEnum
from math import ceil
from typing import NamedTuple

import numpy as np

from attunement.analysis.judge_agreement import (
    FAILURES_NEEDED,
    RECALL_NEEDED,
    AgreementDifference,
    Citations,
    FailureDetection,
    GateAnswers,
    JudgeAgreement,
    agreement_with_people,
    detect_failures,
)
from attunement.analysis.ratings_table import AnswerState, ItemMatrix, RatedItem, RaterRef
from attunement.analysis.reliability import MANY_UNITS, Levels, Reliability, ReliabilityStatus, Retest, levels
from attunement.statistics.correlation import (
    Correlation,
    RangeCompression,
    bias,
    mean_absolute_error,
    range_compression,
    spearman,
)
from attunement.statistics.estimates import Mean, Rate
from attunement.statistics.kappa import Kappa, PairwiseKappa, judge_kappa, kappa, people_kappa
from attunement.statistics.power import conversations_to_reach, failures_needed
from attunement.statistics.results import Interval, Undefined
from attunement.statistics.tables import Bools, Floats, Ints
from attunement.statistics.tests import EPSILON, AlternativeAnnotator, alternative_annotator_test

ABOUT = 0.1  # how far below the people's own agreement still counts as about as good
_NEAR = f"less than {ABOUT:g} below the agreement of people, or above it"

FEWEST_FOR_PRAISE = 30
"""Below so many conversations intervals of agreement are somewhat too narrow: of simulated judges just too far from
people 4 to 9 % looked as good as they at 15 to 25 conversations, and 3 % at 45."""


class Verdict(StrEnum):
    AS_PEOPLE = "agrees with your raters about as well as they agree with each other"
    IN_PART = "agrees in part, check by hand"
    NOT = "does not agree, do not use"
    NOT_ENOUGH = "not enough data"


class Ruling(NamedTuple):
    verdict: Verdict
    rule: str
    needed: str | None = None


def ruling(
    people: Reliability,
    with_people: JudgeAgreement,
    alt_test: AlternativeAnnotator | Undefined,
    detection: FailureDetection | None = None,
) -> Ruling:
    """The verdict on a judge and an item; `detection` is given for gate items alone."""
    if detection is not None:
        return _gate(people, with_people, alt_test, detection)
    if people.status is not ReliabilityStatus.RELIABLE:
        return _withheld(people)
    gap, half = with_people.gap, with_people.gap_to_half
    if isinstance(gap, Undefined) or isinstance(half, Undefined):
        reason = gap.reason if isinstance(gap, Undefined) else "the people's agreement has no value"
        return Ruling(Verdict.NOT_ENOUGH, reason, _rated_by_all(MANY_UNITS))
    if isinstance(half.interval, Undefined):
        return Ruling(Verdict.NOT_ENOUGH, half.interval.reason, _rated_by_all(MANY_UNITS))
    if half.interval.high < 0:
        return Ruling(Verdict.NOT, "its whole interval lies below half of what people reach with each other")
    beaten = _beats_baselines(with_people)
    if beaten is not None:
        return beaten
    if isinstance(alt_test, AlternativeAnnotator) and alt_test.verdict == "fail":
        return Ruling(Verdict.IN_PART, "it beats the trivial judges, but cannot stand in for one rater")
    if not isinstance(gap.interval, Interval) or gap.interval.low < -ABOUT:
        rule = f"it beats the trivial judges, but may be more than {ABOUT:g} below the agreement of people"
        return Ruling(Verdict.IN_PART, rule)
    if (seen := min(people.conversations, with_people.conversations)) < FEWEST_FOR_PRAISE:
        rule = f"it looks as good as your raters, but {seen} conversations are too few to be sure of that"
        return Ruling(Verdict.NOT_ENOUGH, rule, _rated_by_all(FEWEST_FOR_PRAISE))
    return Ruling(Verdict.AS_PEOPLE, f"its whole interval lies {_NEAR}, and it is ahead of the trivial judges")


def _withheld(people: Reliability) -> Ruling:
    needed = None if people.needed is None else _rated_by_two(people.needed)
    if people.status is ReliabilityStatus.DISAGREE:
        rule = f"your raters disagree with each other ({people.rule}), so there is nothing to hold a judge against"
        needed = "not more of the same ratings, but a clearer item or trained raters"
    elif people.status is ReliabilityStatus.LITTLE_VARIATION:
        rule = f"nearly all answers of your raters are the same ({people.rule})"
        needed = needed or "conversations in which the other answers occur"
    else:
        rule = f"whether your raters agree is not known ({people.rule})"
        needed = needed or _rated_by_two(MANY_UNITS)
    return Ruling(Verdict.NOT_ENOUGH, rule, needed)


def _beats_baselines(found: JudgeAgreement) -> Ruling | None:
    """None where the judge beats chance and the best trivial judge; otherwise what follows."""
    value = found.agreement.value if isinstance(found.agreement, PairwiseKappa) else 0.0
    if isinstance(found.interval, Undefined):
        if isinstance(found.agreement, PairwiseKappa) and abs(value) < 1e-9:
            return Ruling(Verdict.NOT, "its agreement is no better than that of a judge that always says the same")
        return Ruling(Verdict.NOT_ENOUGH, found.interval.reason, _rated_by_all(MANY_UNITS))
    contests: list[tuple[str, AgreementDifference | Undefined]] = [
        ("a judge that always says the same", AgreementDifference(value, found.interval))
    ]
    if found.best_baseline is not None:
        contests.append((f"the trivial judge “{found.best_baseline.name}”", found.best_baseline.margin))
    for name, compared in contests:
        if isinstance(compared, Undefined):
            return Ruling(Verdict.NOT_ENOUGH, f"it cannot be held against {name}", _rated_by_all(MANY_UNITS))
        interval = compared.interval
        if isinstance(interval, Interval) and interval.low > 0:
            continue
        sure = isinstance(interval, Interval) and interval.high <= 0
        if sure or (compared.value <= 0 and found.units >= MANY_UNITS):
            return Ruling(Verdict.NOT, f"it does not agree better than {name}")
        needed = max(MANY_UNITS, found.conversations + 1)
        if isinstance(interval, Interval) and compared.value > 0:
            # So many show a difference of this size, its interval narrowing with the root of the number.
            needed = conversations_to_reach(compared.value, interval.low, 0.0, found.conversations)
        return Ruling(Verdict.NOT_ENOUGH, f"it may agree no better than {name}", _rated_by_all(needed))
    return None


def _gate(
    people: Reliability,
    with_people: JudgeAgreement,
    alt_test: AlternativeAnnotator | Undefined,
    detection: FailureDetection,
) -> Ruling:
    if detection.unknowable:
        needed = "people's ratings of a random share of the conversations that it did not flag"
        return Ruling(Verdict.NOT_ENOUGH, detection.unknowable, needed)
    if people.status is ReliabilityStatus.DISAGREE:
        return _withheld(people)
    missing = _enough_failures(people, detection)
    if missing is not None:
        return missing
    if people.status is ReliabilityStatus.NOT_ENOUGH:
        return _withheld(people)
    alarms = _alarms(detection)
    if alarms is not None:
        return alarms
    caught = f"it catches at least {_LEAST} of the failures that two people found (the lower end counts)"
    if detection.missed > (1 - RECALL_NEEDED) * detection.failures:
        rule = f"{caught}, but misses {detection.missed:,} of {detection.failures:,} that at least one person found"
        return Ruling(Verdict.IN_PART, rule)
    gap = None if isinstance(with_people.gap, Undefined) else with_people.gap.interval
    failed = isinstance(alt_test, AlternativeAnnotator) and alt_test.verdict == "fail"
    if isinstance(gap, Interval) and gap.low >= -ABOUT and not failed:
        return Ruling(Verdict.AS_PEOPLE, f"{caught}, and its agreement lies {_NEAR}")
    return Ruling(Verdict.IN_PART, f"{caught}, but does not agree with people as far as they do with each other")


def _alarms(detection: FailureDetection) -> Ruling | None:
    """None where it flags failures more often than it raises false alarms; otherwise what follows."""
    if not isinstance(detection.false_alarm_rate, Rate):
        return Ruling(Verdict.NOT_ENOUGH, "people called every conversation a failure", "conversations without one")
    recall = None if isinstance(detection.recall, Undefined) else detection.recall.interval
    alarms = detection.false_alarm_rate
    highest = 1.0 if isinstance(alarms.interval, Undefined) else alarms.interval.high
    if not isinstance(recall, Interval) or recall.low > highest:
        return None
    if alarms.value >= recall.low:
        return Ruling(Verdict.NOT, "it flags what people found to be fine about as often as what they did not")
    rule = f"people found only {detection.fine:,} without a failure, which says little about false alarms"
    return Ruling(Verdict.NOT_ENOUGH, rule, f"about {_FINE_NEEDED} without a failure, labelled by two people")


def _enough_failures(people: Reliability, detection: FailureDetection) -> Ruling | None:
    """None where enough failures were labelled and enough of them caught; otherwise what follows."""
    seen = detection.confirmed
    if seen < FAILURES_NEEDED:
        rule = f"a verdict needs {FAILURES_NEEDED} failures labelled by two people, and there are {seen}"
        missing = FAILURES_NEEDED - seen
        needed = f"{missing} more {'failure' if missing == 1 else 'failures'} labelled by two people"
        if seen:
            needed += f": at the present rate {_rated_by_two(ceil(people.conversations * FAILURES_NEEDED / seen))}"
        return Ruling(Verdict.NOT_ENOUGH, rule, needed)
    recall = detection.recall
    if isinstance(recall, Undefined) or isinstance(recall.interval, Undefined):
        reason = recall.reason if isinstance(recall, Undefined) else str(recall.interval)
        return Ruling(Verdict.NOT_ENOUGH, reason, "failures in more different conversations")
    if recall.value < RECALL_NEEDED:
        return Ruling(Verdict.NOT, f"it catches {_percent(recall.value)} of the failures, and {_LEAST} is the least")
    if recall.interval.low < RECALL_NEEDED:
        wanted = failures_needed(recall.value, RECALL_NEEDED)
        rule = f"it may catch only {_percent(recall.interval.low)} of the failures, and {_LEAST} is the least"
        needed = f"a judge that catches more: at {_percent(recall.value)} no number of failures would show {_LEAST}"
        if detection.unflagged_needed is not None:
            needed = (
                f"about {detection.unflagged_needed:,} of those that were drawn less often, such as what it did not "
                "flag, rated by two people each"
            )
        elif isinstance(wanted, int) and wanted <= _MOST_FAILURES:
            needed = f"about {wanted:,} failures labelled by two people"
        return Ruling(Verdict.NOT_ENOUGH, rule, needed)
    return None


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


_LEAST = _percent(RECALL_NEEDED)
_MOST_FAILURES = 1000  # more failures than this nobody labels to see a judge just above the least


_FINE_NEEDED = 30  # with so many and no false alarm among them, the interval of the share of false alarms ends at 12 %


def _rated_by_two(conversations: int) -> str:
    return f"about {conversations:,} conversations rated by two people each"


def _rated_by_all(conversations: int) -> str:
    return f"about {conversations:,} conversations rated by two people and the judge"


_EXPERTS = frozenset({"expert", "clinician"})


class Outcomes(NamedTuple):
    asked: int
    values: int
    na: int
    abstained: int
    errors: int


class Subgroup(NamedTuple):
    name: str
    conversations: int
    agreement: PairwiseKappa | Undefined
    bias: Mean | Undefined


class Applicability(NamedTuple):
    """Whether raters agree on where the item applies at all, before they say whether it is met."""

    people: PairwiseKappa | Undefined
    judge: PairwiseKappa | Undefined


class Details(NamedTuple):
    error: Mean | Undefined  # the mean absolute error against the mean of people
    compression: RangeCompression | Undefined
    with_median: Kappa | Undefined  # with people's median, as papers print it; not comparable with what people reach
    with_length: Correlation | Undefined  # of judge minus people with the number of words: does it favour long replies?
    applicability: Applicability | None  # None where nobody said that the item does not apply
    by_length: tuple[Subgroup, ...]
    by_system: tuple[Subgroup, ...]
    retest: Retest | Undefined
    citations: Citations | None  # None where it quoted nothing


class TrustCard(NamedTuple):
    item: RatedItem
    judge: str
    ruling: Ruling
    people: Reliability
    with_people: JudgeAgreement
    bias: Mean | Undefined
    alt_test: AlternativeAnnotator | Undefined
    outcomes: Outcomes
    levels: Levels
    detection: FailureDetection | None  # for gate items alone
    details: Details | None


class ItemContext(NamedTuple):
    """What is known about the units of a matrix in addition to the ratings."""

    baselines: Mapping[str, Floats]  # the answers of trivial judges, by name
    words: Floats | None  # the number of words of each unit, where there is text
    system: Ints  # for each unit the number of its system in `systems`
    systems: tuple[str, ...]
    weights: Floats | None  # for each unit one over its probability of being drawn, where there is a sample


def trust_card(
    matrix: ItemMatrix,
    people: ItemMatrix,
    judge: str,
    reliability: Reliability,
    context: ItemContext,
    repeats: tuple[Retest | Undefined, Citations | None] | None = None,
) -> TrustCard:
    """Compare one judge with people on one item.

    Args:
        matrix: The item's matrix with the judge in it.
        people: The same units with the people who count.
        judge: The judge's name.
        reliability: How far these people agree.
        context: What else is known about the units.
        repeats: How it answers when asked again, and its quotations; without it the card has no details.
    """
    column = matrix.column_of(judge)
    answers, states = matrix.values[:, column], matrix.states[:, column]
    scale, where = matrix.item.scale, matrix.conversation
    baselines = {name: values for name, values in context.baselines.items() if name != judge}
    against = agreement_with_people(answers, people.values, where, scale, baselines)
    nearness = "distance" if scale.ordered and len(scale.values) > 2 else "same"
    alt_test = alternative_annotator_test(
        people.values, answers, where, epsilon=_epsilon(people.raters), nearness=nearness
    )
    gate = None
    if matrix.item.fails_at is not None:
        gate = detect_failures(
            GateAnswers(people.values, people.states, answers, states, where, matrix.item.fails_at, context.weights)
        )
    mean = row_means(people.values)
    rated = (people.states != AnswerState.NOT_ASKED).any(axis=1)
    _, *counts = np.bincount(states[rated], minlength=len(AnswerState)).tolist()
    return TrustCard(
        item=matrix.item,
        judge=judge,
        ruling=ruling(reliability, against, alt_test, gate),
        people=reliability,
        with_people=against,
        bias=bias(answers, mean, where),
        alt_test=alt_test,
        outcomes=Outcomes(sum(counts), *counts),
        levels=levels(answers, mean, context.system),
        detection=gate,
        details=None if repeats is None else _details(matrix, people, column, mean, context, *repeats),
    )


def _epsilon(people: tuple[RaterRef, ...]) -> float:
    """How much worse a judge may be for its lower cost: most beside experts, least beside a crowd.

    An expert states a profession, or has the role of one; whose role nobody knows counts as trained.
    """
    if any(who.settings.get("role") == "crowd" for who in people):
        return EPSILON["crowd"]
    experts = bool(people) and all(
        who.settings.get("profession") or who.settings.get("role") in _EXPERTS for who in people
    )
    return EPSILON["expert" if experts else "trained"]


def row_means(values: Floats) -> Floats:
    number = (~np.isnan(values)).sum(axis=1)
    return np.where(number > 0, np.nansum(values, axis=1) / np.maximum(number, 1), np.nan)


def _details(
    matrix: ItemMatrix,
    people: ItemMatrix,
    column: int,
    mean: Floats,
    context: ItemContext,
    retest: Retest | Undefined,
    citations: Citations | None,
) -> Details:
    answers, ordered, words = matrix.values[:, column], matrix.item.scale.ordered, context.words
    both = ~np.isnan(answers) & ~np.isnan(mean)
    middle = np.full(len(answers), np.nan)
    middle[both] = np.nanmedian(people.values[both], axis=1)
    by_length: dict[str, Bools] = {}
    if words is not None and (known := both & ~np.isnan(words)).any():
        half = float(np.median(words[known]))
        by_length = {
            f"up to {half:,.0f} words": known & (words <= half),
            f"more than {half:,.0f} words": known & (words > half),
        }
    present: list[int] = np.unique(context.system[both]).tolist()
    by_system = {context.systems[number]: both & (context.system == number) for number in present}
    applies, judged = _applies(people.states), _applies(matrix.states[:, column])
    applicability = None
    if (applies == 0).any() or (judged == 0).any():
        applicability = Applicability(people_kappa(applies), judge_kappa(judged, applies))
    return Details(
        error=mean_absolute_error(answers, mean, matrix.conversation),
        compression=range_compression(answers, mean),
        with_median=kappa(answers, middle, "quadratic" if ordered else "identity"),
        with_length=Undefined("there is no text") if words is None else spearman(answers - mean, words),
        applicability=applicability,
        by_length=_subgroups(by_length, answers, people, mean),
        by_system=_subgroups(by_system, answers, people, mean) if len(present) > 1 else (),
        retest=retest,
        citations=citations,
    )


def _applies(states: Ints) -> Floats:
    return np.where(states == AnswerState.VALUE, 1.0, np.where(states == AnswerState.NA, 0.0, np.nan))


def _subgroups(parts: Mapping[str, Bools], answers: Floats, people: ItemMatrix, mean: Floats) -> tuple[Subgroup, ...]:
    return tuple(
        Subgroup(
            name,
            len(np.unique(people.conversation[part])),
            judge_kappa(answers[part], people.values[part], ordered=people.item.scale.ordered),
            bias(answers[part], mean[part], people.conversation[part]),
        )
        for name, part in parts.items()
        if part.any()
    )
