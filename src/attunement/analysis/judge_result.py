"""Everything that people's ratings can say about one judge and one item, with the verdict that follows.

Figures are given always, also where the verdict cannot be told yet.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from attunement.analysis.failures import WORD_COUNT, FailureDetection, Units, detect_failures
from attunement.analysis.judge_agreement import JudgeAgreement, agreement_with_people, row_means
from attunement.analysis.ratings_table import AnswerState, ItemMatrix, RatedItem
from attunement.analysis.reliability import Levels, Reliability, Retest, levels
from attunement.analysis.verdicts import Ruling, agreement_ruling, failure_ruling
from attunement.ratings import RaterKind
from attunement.statistics.correlation import (
    Correlation,
    RangeCompression,
    bias,
    mean_absolute_error,
    range_compression,
    spearman,
)
from attunement.statistics.estimates import Mean
from attunement.statistics.kappa import PairwiseKappa, judge_kappa, people_kappa
from attunement.statistics.results import Undefined
from attunement.statistics.tables import Floats, Ints
from attunement.statistics.tests import EPSILON, AlternativeAnnotator, alternative_annotator_test


class Outcomes(NamedTuple):
    asked: int
    values: int
    na: int
    abstained: int
    errors: int


class Applicability(NamedTuple):
    """Whether raters agree on where the item applies at all, before they say whether it is met."""

    people: PairwiseKappa | Undefined
    judge: PairwiseKappa | Undefined


class Citations(NamedTuple):
    """How many of a judge's quotations were looked up, and how many are where it says."""

    found: int
    quoted: int


class Details(NamedTuple):
    """What only a full report shows."""

    error: Mean | Undefined  # the mean absolute error against the mean of people
    compression: RangeCompression | Undefined
    with_length: Correlation | Undefined  # of judge minus people with the number of words: does it favour long replies?
    applicability: Applicability | None  # None where nobody said that the item does not apply
    retest: Retest | Undefined
    citations: Citations | None  # None where it quoted nothing


class JudgeResult(NamedTuple):
    """How far a judge can be trusted on an item."""

    item: RatedItem
    judge: str
    panel: bool  # whether this is a rule that combines the judges
    agreement_ruling: Ruling
    failure_ruling: Ruling | None  # where it is declared what a failure is
    people: Reliability
    with_people: JudgeAgreement
    bias: Mean | Undefined
    alt_test: AlternativeAnnotator | Undefined
    outcomes: Outcomes
    levels: Levels
    detection: FailureDetection | None  # where it is declared what a failure is
    details: Details | None

    @property
    def ruling(self) -> Ruling:
        """The verdict that comes first: about failures where they are declared, else about agreement."""
        return self.failure_ruling or self.agreement_ruling


class ItemContext(NamedTuple):
    """What is known about the units of a matrix in addition to the ratings."""

    baselines: Mapping[str, Floats]  # the answers of trivial judges, by name
    counts: Mapping[str, Floats]  # what they count, where there is text
    system: Ints  # for each unit the number of its system
    weights: Floats | None  # for each unit one over its probability of being drawn, where there is a sample


def judge_result(
    people: ItemMatrix,
    judge: str,
    answers: tuple[Floats, Ints],
    reliability: Reliability,
    context: ItemContext,
    *,
    panel: bool = False,
    more: tuple[Retest | Undefined, Citations | None] | None = None,
) -> JudgeResult:
    """Compare one judge with people on one item.

    Args:
        people: The item's matrix with the people who count.
        judge: The judge's name.
        answers: Its values and their states, one row a unit and one column a run.
        reliability: How far these people agree.
        context: What else is known about the units.
        panel: Whether the judge is a rule that combines others.
        more: How it answers when asked again, and its quotations; without it there are no details.
    """
    values, states = answers
    item, where, runs = people.item, people.conversation, values.shape[1]
    against = agreement_with_people(values, people.values, where, item.scale, context.baselines)
    mean, own = row_means(people.values), row_means(values)
    detection = None
    if item.is_gate:
        detection = detect_failures(
            Units(item, people.values, people.states, values, states, where, context.weights, context.counts)
        )
    rated = (people.states != AnswerState.NOT_ASKED).any(axis=1)
    _, *counts = np.bincount(states[rated].reshape(-1), minlength=len(AnswerState)).tolist()
    return JudgeResult(
        item=item,
        judge=judge,
        panel=panel,
        agreement_ruling=agreement_ruling(reliability, against),
        failure_ruling=None if detection is None else failure_ruling(reliability, detection),
        people=reliability,
        with_people=against,
        bias=bias(own, mean, where) if item.scale.ordered else Undefined("the answers have no order"),
        alt_test=alternative_annotator_test(
            np.tile(people.values, (runs, 1)),
            values.T.reshape(-1),
            np.tile(where, runs),
            epsilon=_epsilon(people),
            nearness="distance" if item.scale.ordered and len(item.scale.values) > 2 else "same",
        ),
        outcomes=Outcomes(sum(counts), *counts),
        levels=levels(own, mean, context.system),
        detection=detection,
        details=None if more is None else _details(people, answers, mean, context, *more),
    )


_EXPERTS = frozenset({"expert", "clinician"})


def _epsilon(people: ItemMatrix) -> float:
    """How much worse a judge may be for its lower cost: most beside experts, least beside a crowd.

    An expert states a profession, or has the role of one; whose role nobody knows counts as trained.
    """
    settings = [who.settings for who in people.raters if who.kind is RaterKind.PERSON]
    if any(each.get("role") == "crowd" for each in settings):
        return EPSILON["crowd"]
    experts = bool(settings) and all(each.get("profession") or each.get("role") in _EXPERTS for each in settings)
    return EPSILON["expert" if experts else "trained"]


def _details(
    people: ItemMatrix,
    answers: tuple[Floats, Ints],
    mean: Floats,
    context: ItemContext,
    retest: Retest | Undefined,
    citations: Citations | None,
) -> Details:
    values, states = answers
    own, words = row_means(values), context.counts.get(WORD_COUNT)
    applies, judged = _applies(people.states), _applies(states[:, 0])
    applicability = None
    if (applies == 0).any() or (judged == 0).any():
        applicability = Applicability(people_kappa(applies), judge_kappa(judged, applies))
    return Details(
        error=mean_absolute_error(own, mean, people.conversation),
        compression=range_compression(values[:, 0], mean),
        with_length=Undefined("there is no text") if words is None else spearman(own - mean, words),
        applicability=applicability,
        retest=retest,
        citations=citations,
    )


def _applies(states: Ints) -> Floats:
    return np.where(states == AnswerState.VALUE, 1.0, np.where(states == AnswerState.NA, 0.0, np.nan))
