"""How far does one rater agree with another: any two people, and a judge with any one person?

Both are the same coefficient, so that the judge's figure can be held against the people's: like with like. It is
Cohen's kappa with quadratic weights (for answers without order: unweighted), pooled over pairs of different raters as
Conger did: what pairs of ratings differ by, over what they would differ by if each rater answered at random by their
own habits. For two raters it is Cohen's kappa itself. Raters may have rated different units, and each unit counts the
same however many rated it.

Sources: J. Cohen, Psychological Bulletin 70 (1968); A. Conger, Psychological Bulletin 88 (1980).
"""

from typing import NamedTuple

import numpy as np

from attunement.agreement.results import Undefined
from attunement.agreement.statistic import FromSums, quotient
from attunement.agreement.tables import Floats, distinct_rows

# Habits of more people than this are pooled: two of them are then hardly ever the same person.
MOST_HABITS = 100


class SingleRaters(NamedTuple):
    """How far single raters agree, and on how many units."""

    value: float
    units: int


def people_agreement(people: Floats, *, ordered: bool = True) -> SingleRaters | Undefined:
    """How far any two people agree.

    Args:
        people: One row a unit, one column a person, NaN where they gave no value.
        ordered: Whether answers that are near each other count as near, by the square of their distance.

    Returns:
        `Undefined` where no unit has values of two people, or all people give one and the same answer.
    """
    several = (~np.isnan(people)).sum(axis=1) >= 2
    if not several.any():
        one = (~np.isnan(people)).any(axis=0).sum() == 1
        return Undefined("only one person" if one else "no unit was rated by two people")
    return _result(people_statistic(people, ordered=ordered), int(several.sum()), people[several])


def judge_agreement(judge: Floats, people: Floats, *, ordered: bool = True) -> SingleRaters | Undefined:
    """How far a judge agrees with any one person; the arguments are as for `people_agreement`.

    Returns:
        `Undefined` where no unit has a value of both, or all give one and the same answer.
    """
    both = ~np.isnan(judge) & (~np.isnan(people)).any(axis=1)
    if not both.any():
        return Undefined("no unit was rated by a person and the judge")
    values = np.column_stack([judge, people])[both]
    return _result(judge_statistic(judge, people, ordered=ordered), int(both.sum()), values)


def people_statistic(people: Floats, *, ordered: bool = True) -> FromSums:
    """The agreement of any two people in the form that `bootstrap` takes."""
    rows, pattern = distinct_rows(people)
    present = ~np.isnan(rows)
    number = present.sum(axis=1)
    several = number >= 2
    answers, sizes = _placed(rows, people, ordered=ordered)
    # The mean squared distance of two different ratings of a unit, from their sum and their squares.
    sums, squares = answers.sum(axis=1), sizes.sum(axis=1)
    apart = 2 * (number * squares - (sums**2).sum(axis=1)) / np.maximum(number * (number - 1), 1)
    if people.shape[1] <= MOST_HABITS:
        habits = np.concatenate([present[:, :, None], sizes[:, :, None], answers], axis=2)
    else:
        mean = 1 / np.maximum(number, 1)[:, None]
        habits = np.concatenate([np.ones_like(mean), squares[:, None] * mean, sums * mean], axis=1)[:, None, :]
    parts = np.column_stack([several, apart, habits.reshape(len(rows), habits.shape[1] * habits.shape[2])])
    parts = np.where(several[:, None], parts, 0.0)
    raters, width = habits.shape[1], habits.shape[2]

    def of(totals: Floats) -> Floats:
        each = totals[:, 2:].reshape(len(totals), raters, width)
        return 1 - quotient(quotient(totals[:, 1], totals[:, 0]), _between_habits(each))

    return FromSums(parts, of, pattern, highest=1.0)


def judge_statistic(judge: Floats, people: Floats, *, ordered: bool = True) -> FromSums:
    """The agreement of a judge with any one person in the form that `bootstrap` takes."""
    both = np.column_stack([judge, people])
    rows, pattern = distinct_rows(both)
    entering = ~np.isnan(rows[:, 0]) & (~np.isnan(rows[:, 1:])).any(axis=1)
    answers, sizes = _placed(rows, both, ordered=ordered)
    share = 1 / np.maximum((~np.isnan(rows[:, 1:])).sum(axis=1), 1)
    own, own_size = answers[:, 0], sizes[:, 0]
    theirs, their_size = answers[:, 1:].sum(axis=1) * share[:, None], sizes[:, 1:].sum(axis=1) * share
    apart = own_size + their_size - 2 * (own * theirs).sum(axis=1)
    parts = np.column_stack([entering, apart, own_size + their_size, own, theirs])
    parts = np.where(entering[:, None], parts, 0.0)
    width = own.shape[1]

    def of(totals: Floats) -> Floats:
        mean = quotient(totals, np.broadcast_to(totals[:, :1], totals.shape))
        own, theirs = mean[:, 3 : 3 + width], mean[:, 3 + width :]
        expected = mean[:, 2] - 2 * (own * theirs).sum(axis=1)
        return 1 - quotient(mean[:, 1], expected, size=mean[:, 2])

    return FromSums(parts, of, pattern, highest=1.0)


def _placed(rows: Floats, values: Floats, *, ordered: bool) -> tuple[Floats, Floats]:
    """Each answer as a point, and its squared length: on a line, or one axis an answer where they have no order.

    Points are counted from the middle of all answers, so that squares of large numbers do not swallow differences. A
    missing answer is at 0 with no length.
    """
    missing = np.isnan(rows)
    if ordered:
        middle = np.nanmean(values) if not np.isnan(values).all() else 0.0
        points = np.where(missing, 0.0, rows - middle)[:, :, None]
    else:
        scale = np.unique(values[~np.isnan(values)])
        points = (rows[:, :, None] == scale) / np.sqrt(2)
    return points, (points**2).sum(axis=2)


def _between_habits(each: Floats) -> Floats:
    """How far answers of two different raters are apart if each answers at random by their own habits.

    `each` holds, for each resample and rater, the number of answers, the sum of their squares and their sums.
    """
    number, squares, sums = each[:, :, 0], each[:, :, 1], each[:, :, 2:]
    total = number.sum(axis=1)
    if each.shape[1] == 1:
        mean = quotient(sums[:, 0], np.broadcast_to(number, sums[:, 0].shape))
        mean_square = quotient(squares[:, 0], number[:, 0])
        return _above_rounding(2 * (mean_square - (mean**2).sum(axis=1)), mean_square)
    pairs = total**2 - (number**2).sum(axis=1)
    lengths = 2 * (squares.sum(axis=1) * total - (squares * number).sum(axis=1))
    crossed = (sums.sum(axis=1) ** 2).sum(axis=1) - (sums**2).sum(axis=(1, 2))
    return _above_rounding(quotient(lengths - 2 * crossed, pairs), quotient(lengths, pairs))


def _above_rounding(value: Floats, size: Floats) -> Floats:
    """The value, or 0 where it is only what rounding left."""
    return np.where(value > 1e-11 * size, value, 0.0)


def _result(statistic: FromSums, units: int, values: Floats) -> SingleRaters | Undefined:
    value = statistic.value()
    if np.isnan(value):
        return Undefined(f"every rating is {np.nanmin(values):g}")
    return SingleRaters(value, units)
