"""How far a judge agrees with people on an item, and what trivial judges reach.

The judge's figure is its agreement with any one person; beside it stands what any two people reach on the same units,
as the same coefficient: Cohen's kappa with quadratic weights (for answers without order: unweighted), pooled over pairs
of raters as Conger did. Where a judge answered several times, every run counts: figures are means over its runs.

Sources: J. Cohen, Psychological Bulletin 70 (1968); A. Conger, Psychological Bulletin 88 (1980).
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from attunement.analysis.ratings_table import Scale
from attunement.statistics.intervals import Difference, agreement_difference, agreement_interval
from attunement.statistics.kappa import (
    PairwiseKappa,
    judge_kappa,
    judge_kappa_statistic,
    people_kappa,
    people_kappa_statistic,
)
from attunement.statistics.results import Interval, Undefined
from attunement.statistics.tables import Floats, Ints, places


class Baseline(NamedTuple):
    """A trivial judge on the units that the judge rated too."""

    name: str
    agreement: PairwiseKappa | Undefined
    margin: Difference | Undefined  # how far the judge is ahead of it; computed for the best one only


class JudgeAgreement(NamedTuple):
    """How a judge compares with people on one item."""

    agreement: PairwiseKappa | Undefined  # of the judge with any one person
    interval: Interval | Undefined
    runs: tuple[float, ...]  # the same for each of its runs, where there are several
    people: PairwiseKappa | Undefined  # of any two people, on the units that the judge rated too
    gap: Difference | Undefined  # the judge's agreement minus the people's
    consensus: PairwiseKappa | Undefined  # with the mean of people, or their commonest answer: higher than with one
    units: int  # units that the judge and a person rated
    conversations: int  # conversations of these units
    baselines: tuple[Baseline, ...]
    best_baseline: Baseline | None  # the one that agrees best with people, if any does better than chance


def agreement_with_people(
    judge: Floats, people: Floats, conversation: Ints, scale: Scale, trivial_judges: Mapping[str, Floats]
) -> JudgeAgreement:
    """Compare a judge with people.

    Args:
        judge: The judge's values, one row a unit and one column a run, NaN for none.
        people: One row a unit, one column a person.
        conversation: For each unit its conversation.
        scale: Whether answers have an order.
        trivial_judges: By name the answers of trivial judges to the same units.
    """
    judge = judge.reshape(len(judge), -1)
    runs, ordered = judge.shape[1], scale.ordered
    asked = (~np.isnan(judge)).any(axis=1)
    both = asked & (~np.isnan(people)).any(axis=1)
    every, answers, where = np.tile(people, (runs, 1)), judge.T.reshape(-1), np.tile(conversation, runs)
    found = judge_kappa(answers, every, ordered=ordered)
    own = judge_kappa_statistic(answers, every, ordered=ordered)
    interval = found if isinstance(found, Undefined) else agreement_interval(own, where)
    if isinstance(found, PairwiseKappa):
        found = found._replace(units=int(both.sum()))
    single = [judge_kappa(run, people, ordered=ordered) for run in judge.T] if runs > 1 else []
    twice = asked & ((~np.isnan(people)).sum(axis=1) >= 2)
    ceiling: PairwiseKappa | Undefined = Undefined("no unit was rated by two people and the judge")
    if twice.any() or not both.any():
        ceiling = people_kappa(people[twice], ordered=ordered) if twice.any() else people_kappa(people)
    gap: Difference | Undefined = Undefined(ceiling.reason) if isinstance(ceiling, Undefined) else Undefined("")
    if isinstance(ceiling, PairwiseKappa):
        theirs = people_kappa_statistic(people[twice], ordered=ordered)
        gap = agreement_difference(own, theirs, (where, conversation[twice]))
    measured: list[Baseline] = []
    best: tuple[float, int] | None = None
    for name, trivial in trivial_judges.items():
        agreement = judge_kappa(np.where(asked, trivial, np.nan), people, ordered=ordered)
        # A trivial judge that is no better than chance beats nobody.
        if isinstance(agreement, PairwiseKappa) and agreement.value > (best[0] if best else 1e-9):
            best = agreement.value, len(measured)
        measured.append(Baseline(name, agreement, Undefined("another trivial judge is better")))
    if best is not None:
        trivial = np.where(both, trivial_judges[measured[best[1]].name], np.nan)
        other = judge_kappa_statistic(trivial, people, ordered=ordered)
        margin = agreement_difference(own, other, (where, conversation))
        measured[best[1]] = measured[best[1]]._replace(margin=margin)
    return JudgeAgreement(
        agreement=found,
        interval=interval,
        runs=tuple(each.value for each in single if isinstance(each, PairwiseKappa)),
        people=ceiling,
        gap=gap,
        consensus=judge_kappa(answers, np.tile(_consensus(people, scale), runs)[:, None], ordered=ordered),
        units=int(both.sum()),
        conversations=len(np.unique(conversation[both])),
        baselines=tuple(measured),
        best_baseline=None if best is None else measured[best[1]],
    )


def _consensus(people: Floats, scale: Scale) -> Floats:
    """For each unit the mean of people's answers, or where answers have no order their only commonest one."""
    if scale.ordered:
        return row_means(people)
    counts = np.column_stack([(people == value).sum(axis=1) for value in scale.values])
    most = counts.max(axis=1)
    clear = (most > 0) & ((counts == most[:, None]).sum(axis=1) == 1)
    return np.where(clear, np.array(scale.values)[counts.argmax(axis=1)], np.nan)


def row_means(values: Floats) -> Floats:
    number = (~np.isnan(values)).sum(axis=1)
    return np.where(number > 0, np.nansum(values, axis=1) / np.maximum(number, 1), np.nan)


# Trivial judges

CONSTANT = "always the same"


def baselines(counts: Mapping[str, Floats], people: Floats, scale: Scale) -> dict[str, Floats]:
    """The answers of the trivial judges to the units of `people`, by name.

    A count becomes answers on the scale by its rank, so that its answers are as common as the people's. Whether more
    words mean a higher or a lower answer is chosen in its favour.

    Args:
        counts: For each of these units what was counted.
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
