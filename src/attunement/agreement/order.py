"""Do raters put units in the same order: any two people, and a judge with any one person?

The mean of Spearman's rank correlations over pairs of raters. Both are means over single people, so that the judge's
figure can be held against the people's: like with like. It is for scales that cannot be laid on each other; where they
can, `single_raters` says more.
"""

from itertools import combinations

import numpy as np

from attunement.agreement.correlation import spearman_statistic
from attunement.agreement.statistic import Statistic, mean_of
from attunement.agreement.tables import Floats


def people_order(people: Floats) -> Statistic:
    """The order of any two people, in the form that `bootstrap` takes.

    Args:
        people: One row a unit, one column a person, NaN where they gave no value.

    Raises:
        ValueError: There are fewer than two people.
    """
    pairs = list(combinations(people.T, 2))
    if not pairs:
        raise ValueError("an order of two people needs two people")
    return mean_of([spearman_statistic(first, second) for first, second in pairs])


def judge_order(judge: Floats, people: Floats) -> Statistic:
    """The order of a judge with any one person, in the form that `bootstrap` takes."""
    return mean_of([spearman_statistic(judge, person) for person in people.T])


def favoured(count: Floats, people: Floats) -> Floats:
    """A count, rising or falling, whichever comes nearer to the people's order."""
    value = judge_order(count, people).value()
    return -count if not np.isnan(value) and value < 0 else count
