"""Which answers does a judge give where people gave a certain one, and how many of their findings does it miss?

The rows of a confusion table are what people said, the columns what the judge said, and the judge may say more: an
NA, an error or no answer at all is a column of its own and counts as missed, never as left out.
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attunement.statistics.estimates import Mean, Proportion, mean, proportion
from attunement.statistics.results import Interval, Undefined
from attunement.statistics.tables import Ints


class Confusion(NamedTuple):
    """How often each answer of people (row) met each answer of the judge (column)."""

    people: tuple[Hashable, ...]
    judge: tuple[Hashable, ...]
    counts: Ints


class BalancedAccuracy(NamedTuple):
    """The mean of two or more shares, with an interval that holds at least as often as it says."""

    value: float
    interval: Interval


class ClassRates(NamedTuple):
    """How a judge does on one answer of people's, say NO, against all others."""

    answer: Hashable
    recall: Proportion | Undefined  # of the units that people gave this answer, those that the judge did too
    precision: Proportion | Undefined  # of the units that the judge gave this answer, those that people did too
    specificity: Proportion | Undefined  # of the units that people gave another answer, those that the judge did too
    balanced_accuracy: BalancedAccuracy | Undefined
    missed_as: dict[Hashable, int]  # what the judge said where it missed
    false_alarms: int


def confusion(
    people: Sequence[Hashable], judge: Sequence[Hashable], answers: Sequence[Hashable] | None = None
) -> Confusion:
    """Count how often each answer met each other.

    Args:
        people: One answer a unit.
        judge: The judge's answer to the same unit, whatever it was.
        answers: The order of the answers; others that occur come after them. By default in order of appearance.
    """
    rows, columns = (_ordered(each, answers or ()) for each in (people, judge))
    counts = np.zeros((len(rows), len(columns)), dtype=np.int64)
    for said, judged in zip(people, judge, strict=True):
        counts[rows[said], columns[judged]] += 1
    return Confusion(tuple(rows), tuple(columns), counts)


def class_rates(table: Confusion, answer: Hashable, *, level: float = 0.95) -> ClassRates:
    """Recall, precision and specificity on one answer, with exact intervals.

    The intervals are exact where each conversation gave one unit, all with equal probability; otherwise use
    `recall_over_conversations`. Where a denominator is empty the rate is undefined, with the reason.
    """
    row = table.counts[table.people.index(answer)] if answer in table.people else np.zeros(len(table.judge), np.int64)
    column = table.counts[:, table.judge.index(answer)] if answer in table.judge else np.zeros(len(table.people))
    caught = int(row[table.judge.index(answer)]) if answer in table.judge else 0
    given, alarms = int(row.sum()), int(column.sum())
    others = int(table.counts.sum()) - given
    missed = {said: int(count) for said, count in zip(table.judge, row, strict=True) if count and said != answer}
    quiet = others - (alarms - caught)
    return ClassRates(
        answer=answer,
        recall=_share(caught, given, level, f"people never answered {answer}"),
        precision=_share(caught, alarms, level, f"the judge never answered {answer}"),
        specificity=_share(quiet, others, level, f"people answered {answer} everywhere"),
        balanced_accuracy=_balanced([(caught, given), (quiet, others)], level),
        missed_as=missed,
        false_alarms=alarms - caught,
    )


def balanced_accuracy(table: Confusion, *, level: float = 0.95) -> BalancedAccuracy | Undefined:
    """The mean of the recalls of all answers that people gave.

    Returns:
        `Undefined` where people gave fewer than two different answers.
    """
    shares = [
        (int(row[table.judge.index(answer)]) if answer in table.judge else 0, int(row.sum()))
        for answer, row in zip(table.people, table.counts, strict=True)
        if row.any()
    ]
    return _balanced(shares, level)


def recall_over_conversations(
    people: Sequence[Hashable],
    judge: Sequence[Hashable],
    answer: Hashable,
    conversations: ArrayLike,
    weights: ArrayLike | None = None,
) -> Mean | Undefined:
    """The recall on one answer where conversations gave several units or were sampled with unequal probability.

    Args:
        people: One answer a unit.
        judge: The judge's answer to the same unit.
        answer: The one that must not be missed.
        conversations: For each unit the conversation it belongs to.
        weights: For each unit one over its probability of being sampled.

    Returns:
        `Undefined` where people never gave this answer.
    """
    caught = [float(judged == answer) if said == answer else np.nan for said, judged in zip(people, judge, strict=True)]
    result = mean(caught, conversations, weights)
    return Undefined(f"people never answered {answer}") if isinstance(result, Undefined) else result


def _ordered(said: Sequence[Hashable], first: Sequence[Hashable]) -> dict[Hashable, int]:
    return {answer: place for place, answer in enumerate(dict.fromkeys([*first, *said]))}


def _share(events: int, units: int, level: float, otherwise: str) -> Proportion | Undefined:
    result = proportion(events, units, level=level)
    return Undefined(otherwise) if isinstance(result, Undefined) else result


def _balanced(shares: Sequence[tuple[int, int]], level: float) -> BalancedAccuracy | Undefined:
    # Independent shares all lie in intervals of level ** (1 / number) together with probability `level` at least.
    rates = [proportion(events, units, level=level ** (1 / len(shares))) for events, units in shares]
    known = [rate for rate in rates if isinstance(rate, Proportion)]
    if len(known) < max(len(shares), 2):
        return Undefined("people gave fewer than two different answers")
    interval = Interval(
        low=float(np.mean([rate.interval.low for rate in known])),
        high=float(np.mean([rate.interval.high for rate in known])),
        level=level,
        method="exact intervals of the recalls, combined",
        se=float(np.sqrt(sum(rate.interval.se**2 for rate in known)) / len(known)),
    )
    return BalancedAccuracy(float(np.mean([rate.value for rate in known])), interval)
