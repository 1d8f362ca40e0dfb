"""The trust card: how far can this judge be believed on this item?

Everything that people's ratings can say about one judge and one item, with the verdict that follows. Figures are
given always; where people do not agree, or too little is known, only the verdict is withheld.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from attunement.agreement.alternative_annotator import EPSILON, AlternativeAnnotator, alternative_annotator_test
from attunement.agreement.citations import Citations
from attunement.agreement.correlation import (
    Correlation,
    RangeCompression,
    bias,
    mean_absolute_error,
    range_compression,
    spearman,
)
from attunement.agreement.gathered import Answered, AskedItem, Sheet, Who
from attunement.agreement.held import Held, held
from attunement.agreement.kappa import Kappa, kappa
from attunement.agreement.levels import Levels, levels
from attunement.agreement.means import Mean
from attunement.agreement.missed import Missed, Seen, missed
from attunement.agreement.reliability import Reliability
from attunement.agreement.repeats import Again
from attunement.agreement.results import Undefined
from attunement.agreement.single_raters import SingleRaters, judge_agreement, people_agreement
from attunement.agreement.tables import Bools, Floats, Ints
from attunement.agreement.verdicts import Ruling, ruling

_EXPERTS = frozenset({"expert", "clinician"})


class Outcomes(NamedTuple):
    """What came of asking a judge about the units that people rated."""

    asked: int
    values: int
    na: int
    abstained: int
    errors: int


class Group(NamedTuple):
    """The judge within a part of the conversations."""

    name: str
    conversations: int
    agreement: SingleRaters | Undefined
    bias: Mean | Undefined


class Applicability(NamedTuple):
    """Whether raters agree on where the item applies at all, before they say whether it is met."""

    people: SingleRaters | Undefined
    judge: SingleRaters | Undefined


class Details(NamedTuple):
    """What stands behind the verdict for those who want to know it all."""

    error: Mean | Undefined
    """The mean absolute error against the mean of people."""
    compression: RangeCompression | Undefined
    with_median: Kappa | Undefined
    """Against the median of people: as papers print it, and not comparable with what people reach."""
    with_length: Correlation | Undefined
    """Of judge minus people with the number of words: whether it favours long replies."""
    applicability: Applicability | None
    """None where nobody said that the item does not apply."""
    by_length: tuple[Group, ...]
    by_system: tuple[Group, ...]
    again: Again | Undefined
    citations: Citations | None
    """None where it quoted nothing."""


class TrustCard(NamedTuple):
    """One judge on one item."""

    item: AskedItem
    judge: str
    ruling: Ruling
    people: Reliability
    held: Held
    bias: Mean | Undefined
    stand_in: AlternativeAnnotator | Undefined
    outcomes: Outcomes
    levels: Levels
    missed: Missed | None
    """For gate items alone."""
    details: Details | None


class Habits(NamedTuple):
    """What is known about a judge on an item beside its first answers."""

    again: Again | Undefined
    citations: Citations | None


class Around(NamedTuple):
    """What is known about the units of a sheet beside the ratings."""

    rivals: Mapping[str, Floats]
    """The answers of trivial judges, by name."""
    words: Floats | None
    """The number of words of each unit, where there is text."""
    system: Ints
    """For each unit the number of its system in `systems`."""
    systems: tuple[str, ...]
    weights: Floats | None
    """For each unit one over its probability of being drawn, where there is a sample."""


def trust_card(
    sheet: Sheet, people: Sheet, judge: str, reliability: Reliability, around: Around, habits: Habits | None = None
) -> TrustCard:
    """Hold one judge against people on one item.

    Args:
        sheet: The item's sheet with the judge in it.
        people: The same units with the people who count.
        judge: The judge's name.
        reliability: How far these people agree.
        around: What else is known about the units.
        habits: What it does when asked again, and its quotations; without it the card has no details.
    """
    column = sheet.of(judge)
    answers, states = sheet.values[:, column], sheet.states[:, column]
    scale, where = sheet.item.scale, sheet.conversation
    rivals = {name: values for name, values in around.rivals.items() if name != judge}
    against = held(answers, people.values, where, scale, rivals)
    stand_in = alternative_annotator_test(
        people.values,
        answers,
        where,
        epsilon=_epsilon(people.raters),
        nearness="distance" if scale.ordered and len(scale.values) > 2 else "same",
    )
    gate = None
    if sheet.item.fails_at is not None:
        gate = missed(Seen(people.values, people.states, answers, states, where, sheet.item.fails_at, around.weights))
    mean = _row_means(people.values)
    return TrustCard(
        item=sheet.item,
        judge=judge,
        ruling=ruling(reliability, against, stand_in, gate),
        people=reliability,
        held=against,
        bias=bias(answers, mean, where),
        stand_in=stand_in,
        outcomes=_outcomes(states, people.states),
        levels=levels(answers, mean, around.system),
        missed=gate,
        details=None if habits is None else _details(sheet, people, column, mean, around, habits),
    )


def _epsilon(people: tuple[Who, ...]) -> float:
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
    here = states[(people != Answered.NOTHING).any(axis=1)]
    count = np.bincount(here, minlength=len(Answered))
    asked = int(count.sum() - count[Answered.NOTHING])
    return Outcomes(asked, *(int(count[kind]) for kind in list(Answered)[1:]))


def _row_means(values: Floats) -> Floats:
    number = (~np.isnan(values)).sum(axis=1)
    return np.where(number > 0, np.nansum(values, axis=1) / np.maximum(number, 1), np.nan)


def _details(sheet: Sheet, people: Sheet, column: int, mean: Floats, around: Around, habits: Habits) -> Details:
    answers, ordered = sheet.values[:, column], sheet.item.scale.ordered
    both = ~np.isnan(answers) & ~np.isnan(mean)
    middle = np.full(len(answers), np.nan)
    middle[both] = np.nanmedian(people.values[both], axis=1)
    no_text = Undefined("there is no text")
    return Details(
        error=mean_absolute_error(answers, mean, sheet.conversation),
        compression=range_compression(answers, mean),
        with_median=kappa(answers, middle, "quadratic" if ordered else "identity"),
        with_length=no_text if around.words is None else spearman(answers - mean, around.words),
        applicability=_applicability(sheet, people, column),
        by_length=_by_length(answers, people, mean, around),
        by_system=_by_system(answers, people, mean, around),
        again=habits.again,
        citations=habits.citations,
    )


def _applicability(sheet: Sheet, people: Sheet, column: int) -> Applicability | None:
    applies = np.where(people.states == Answered.VALUE, 1.0, np.where(people.states == Answered.NA, 0.0, np.nan))
    own = sheet.states[:, column]
    judged = np.where(own == Answered.VALUE, 1.0, np.where(own == Answered.NA, 0.0, np.nan))
    if not (applies == 0).any() and not (judged == 0).any():
        return None
    return Applicability(people_agreement(applies), judge_agreement(judged, applies))


def _by_length(answers: Floats, people: Sheet, mean: Floats, around: Around) -> tuple[Group, ...]:
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


def _by_system(answers: Floats, people: Sheet, mean: Floats, around: Around) -> tuple[Group, ...]:
    both = ~np.isnan(answers) & ~np.isnan(mean)
    present: list[int] = np.unique(around.system[both]).tolist()
    if len(present) < 2:
        return ()
    return tuple(
        _group(around.systems[number], both & (around.system == number), answers, people, mean) for number in present
    )


def _group(name: str, part: Bools, answers: Floats, people: Sheet, mean: Floats) -> Group:
    where = people.conversation[part]
    return Group(
        name,
        len(np.unique(where)),
        judge_agreement(answers[part], people.values[part], ordered=people.item.scale.ordered),
        bias(answers[part], mean[part], where),
    )
