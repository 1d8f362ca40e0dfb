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
    return (
        _agreement(people, with_people, alt_test)
        if detection is None
        else _gate(people, with_people, alt_test, detection)
    )


def _agreement(people: Reliability, with_people: JudgeAgreement, alt_test: AlternativeAnnotator | Undefined) -> Ruling:
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
    beaten = _beats_rivals(with_people)
    if beaten is not None:
        return beaten
    if isinstance(alt_test, AlternativeAnnotator) and alt_test.verdict == "fail":
        return Ruling(Verdict.IN_PART, "it beats the trivial judges, but cannot stand in for one rater")
    if isinstance(gap.interval, Interval) and gap.interval.low >= -ABOUT:
        if (seen := min(people.conversations, with_people.conversations)) < FEWEST_FOR_PRAISE:
            rule = f"it looks as good as your raters, but {seen} conversations are too few to be sure of that"
            return Ruling(Verdict.NOT_ENOUGH, rule, _rated_by_all(FEWEST_FOR_PRAISE))
        rule = f"its whole interval lies {_NEAR}, and it is ahead of the trivial judges"
        return Ruling(Verdict.AS_PEOPLE, rule)
    return Ruling(
        Verdict.IN_PART, f"it beats the trivial judges, but may be more than {ABOUT:g} below the agreement of people"
    )


def _withheld(people: Reliability) -> Ruling:
    match people.status:
        case ReliabilityStatus.DISAGREE:
            return Ruling(
                Verdict.NOT_ENOUGH,
                f"your raters disagree with each other ({people.rule}), so there is nothing to hold a judge against",
                "not more of the same ratings, but a clearer item or trained raters",
            )
        case ReliabilityStatus.LITTLE_VARIATION:
            needed = None if people.needed is None else _rated_by_two(people.needed)
            rule = f"nearly all answers of your raters are the same ({people.rule})"
            return Ruling(Verdict.NOT_ENOUGH, rule, needed or "conversations in which the other answers occur")
        case _:
            needed = MANY_UNITS if people.needed is None else people.needed
            rule = f"whether your raters agree is not known ({people.rule})"
            return Ruling(Verdict.NOT_ENOUGH, rule, _rated_by_two(needed))


def _beats_rivals(with_people: JudgeAgreement) -> Ruling | None:
    """None where the judge beats chance and the best trivial judge; otherwise what follows."""
    if isinstance(with_people.interval, Undefined):
        if isinstance(with_people.agreement, PairwiseKappa) and abs(with_people.agreement.value) < 1e-9:
            return Ruling(Verdict.NOT, "its agreement is no better than that of a judge that always says the same")
        return Ruling(Verdict.NOT_ENOUGH, with_people.interval.reason, _rated_by_all(MANY_UNITS))
    for name, compared in _contests(with_people):
        if isinstance(compared, Undefined):
            return Ruling(Verdict.NOT_ENOUGH, f"it cannot be held against {name}", _rated_by_all(MANY_UNITS))
        interval = compared.interval
        if isinstance(interval, Interval) and interval.low > 0:
            continue
        sure = isinstance(interval, Interval) and interval.high <= 0
        if sure or (compared.value <= 0 and with_people.units >= MANY_UNITS):
            return Ruling(Verdict.NOT, f"it does not agree better than {name}")
        return Ruling(
            Verdict.NOT_ENOUGH, f"it may agree no better than {name}", _rated_by_all(_for_sign(compared, with_people))
        )
    return None


def _contests(with_people: JudgeAgreement) -> list[tuple[str, AgreementDifference | Undefined]]:
    value = with_people.agreement.value if isinstance(with_people.agreement, PairwiseKappa) else 0.0
    contests: list[tuple[str, AgreementDifference | Undefined]] = [
        ("a judge that always says the same", AgreementDifference(value, with_people.interval))
    ]
    if with_people.best_baseline is not None:
        contests.append((f"the trivial judge “{with_people.best_baseline.name}”", with_people.best_baseline.margin))
    return contests


def _for_sign(compared: AgreementDifference, with_people: JudgeAgreement) -> int:
    """How many conversations show a difference of this size, its interval narrowing with the root of the number."""
    if isinstance(compared.interval, Undefined) or compared.value <= 0:
        return max(MANY_UNITS, with_people.conversations + 1)
    return conversations_to_reach(compared.value, compared.interval.low, 0.0, with_people.conversations)


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
    counted = _enough_failures(people, detection)
    if counted is not None:
        return counted
    if people.status is ReliabilityStatus.NOT_ENOUGH:
        return _withheld(people)
    alarms = _alarms(detection)
    if alarms is not None:
        return alarms
    near = (
        isinstance(with_people.gap, AgreementDifference)
        and isinstance(with_people.gap.interval, Interval)
        and with_people.gap.interval.low >= -ABOUT
    )
    failed = isinstance(alt_test, AlternativeAnnotator) and alt_test.verdict == "fail"
    caught = f"it catches at least {_LEAST} of the failures that two people found (the lower end counts)"
    if detection.missed > (1 - RECALL_NEEDED) * detection.failures:
        rule = f"{caught}, but misses {detection.missed:,} of {detection.failures:,} that at least one person found"
        return Ruling(Verdict.IN_PART, rule)
    if near and not failed:
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
    with_median: Kappa | Undefined
    """Against the median of people: as papers print it, and not comparable with what people reach."""
    with_length: Correlation | Undefined
    """Of judge minus people with the number of words: whether it favours long replies."""
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


class JudgeBehavior(NamedTuple):
    again: Retest | Undefined
    citations: Citations | None


class ItemContext(NamedTuple):
    rivals: Mapping[str, Floats]  # the answers of trivial judges, by name
    words: Floats | None  # the number of words of each unit, where there is text
    system: Ints  # for each unit the number of its system in `systems`
    systems: tuple[str, ...]
    weights: Floats | None  # for each unit one over its probability of being drawn, where there is a sample


def trust_card(
    matrix: ItemMatrix,
    people: ItemMatrix,
    judge: str,
    reliability: Reliability,
    around: ItemContext,
    habits: JudgeBehavior | None = None,
) -> TrustCard:
    """Hold one judge against people on one item.

    Args:
        matrix: The item's matrix with the judge in it.
        people: The same units with the people who count.
        judge: The judge's name.
        reliability: How far these people agree.
        around: What else is known about the units.
        habits: What it does when asked again, and its quotations; without it the card has no details.
    """
    column = matrix.column_of(judge)
    answers, states = matrix.values[:, column], matrix.states[:, column]
    scale, where = matrix.item.scale, matrix.conversation
    rivals = {name: values for name, values in around.rivals.items() if name != judge}
    against = agreement_with_people(answers, people.values, where, scale, rivals)
    alt_test = alternative_annotator_test(
        people.values,
        answers,
        where,
        epsilon=_epsilon(people.raters),
        nearness="distance" if scale.ordered and len(scale.values) > 2 else "same",
    )
    gate = None
    if matrix.item.fails_at is not None:
        gate = detect_failures(
            GateAnswers(people.values, people.states, answers, states, where, matrix.item.fails_at, around.weights)
        )
    mean = _row_means(people.values)
    return TrustCard(
        item=matrix.item,
        judge=judge,
        ruling=ruling(reliability, against, alt_test, gate),
        people=reliability,
        with_people=against,
        bias=bias(answers, mean, where),
        alt_test=alt_test,
        outcomes=_outcomes(states, people.states),
        levels=levels(answers, mean, around.system),
        detection=gate,
        details=None if habits is None else _details(matrix, people, column, mean, around, habits),
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


def _outcomes(states: Ints, people: Ints) -> Outcomes:
    here = states[(people != AnswerState.NOT_ASKED).any(axis=1)]
    count = np.bincount(here, minlength=len(AnswerState))
    asked = int(count.sum() - count[AnswerState.NOT_ASKED])
    return Outcomes(asked, *(int(count[kind]) for kind in list(AnswerState)[1:]))


def _row_means(values: Floats) -> Floats:
    number = (~np.isnan(values)).sum(axis=1)
    return np.where(number > 0, np.nansum(values, axis=1) / np.maximum(number, 1), np.nan)


def _details(
    matrix: ItemMatrix, people: ItemMatrix, column: int, mean: Floats, around: ItemContext, habits: JudgeBehavior
) -> Details:
    answers, ordered = matrix.values[:, column], matrix.item.scale.ordered
    both = ~np.isnan(answers) & ~np.isnan(mean)
    middle = np.full(len(answers), np.nan)
    middle[both] = np.nanmedian(people.values[both], axis=1)
    no_text = Undefined("there is no text")
    return Details(
        error=mean_absolute_error(answers, mean, matrix.conversation),
        compression=range_compression(answers, mean),
        with_median=kappa(answers, middle, "quadratic" if ordered else "identity"),
        with_length=no_text if around.words is None else spearman(answers - mean, around.words),
        applicability=_applicability(matrix, people, column),
        by_length=_by_length(answers, people, mean, around),
        by_system=_by_system(answers, people, mean, around),
        retest=habits.again,
        citations=habits.citations,
    )


def _applicability(matrix: ItemMatrix, people: ItemMatrix, column: int) -> Applicability | None:
    applies = np.where(people.states == AnswerState.VALUE, 1.0, np.where(people.states == AnswerState.NA, 0.0, np.nan))
    own = matrix.states[:, column]
    judged = np.where(own == AnswerState.VALUE, 1.0, np.where(own == AnswerState.NA, 0.0, np.nan))
    if not (applies == 0).any() and not (judged == 0).any():
        return None
    return Applicability(people_kappa(applies), judge_kappa(judged, applies))


def _by_length(answers: Floats, people: ItemMatrix, mean: Floats, around: ItemContext) -> tuple[Subgroup, ...]:
    if around.words is None:
        return ()
    both = ~np.isnan(answers) & ~np.isnan(mean) & ~np.isnan(around.words)
    if not both.any():
        return ()
    middle = float(np.median(around.words[both]))
    parts = {
        f"up to {middle:,.0f} words": both & (around.words <= middle),
        f"more than {middle:,.0f} words": both & (around.words > middle),
    }
    return tuple(_group(name, part, answers, people, mean) for name, part in parts.items() if part.any())


def _by_system(answers: Floats, people: ItemMatrix, mean: Floats, around: ItemContext) -> tuple[Subgroup, ...]:
    both = ~np.isnan(answers) & ~np.isnan(mean)
    present: list[int] = np.unique(around.system[both]).tolist()
    if len(present) < 2:
        return ()
    return tuple(
        _group(around.systems[number], both & (around.system == number), answers, people, mean) for number in present
    )


def _group(name: str, part: Bools, answers: Floats, people: ItemMatrix, mean: Floats) -> Subgroup:
    where = people.conversation[part]
    return Subgroup(
        name,
        len(np.unique(where)),
        judge_kappa(answers[part], people.values[part], ordered=people.item.scale.ordered),
        bias(answers[part], mean[part], where),
    )
