"""Does a judge put conversations in the same order as people, and does it put systems in the same order?

These are two claims. Over the means of a few systems noise averages out, and figures near 1 are common where the same
judge hardly follows people from one conversation to the next. Both are given, each with its number.

Source of the difference: W. Robinson, Ecological Correlations and the Behavior of Individuals, American Sociological
Review 15 (1950).
"""

from typing import NamedTuple

import numpy as np

from attunement.agreement.correlation import Correlation, spearman
from attunement.agreement.icc import ICC, icc
from attunement.agreement.results import Undefined
from attunement.agreement.tables import Floats, Ints

FEWEST_SYSTEMS = 3


class Level(NamedTuple):
    """A judge beside the mean of people, over units or over the means of systems."""

    number: int
    """Of units, or of systems."""
    spearman: Correlation | Undefined
    icc: ICC | Undefined
    """ICC(2,1): the judge as one rater and the mean of people as the other."""


class Levels(NamedTuple):
    """The same judge at both levels."""

    unit: Level
    system: Level


def levels(judge: Floats, people: Floats, system: Ints) -> Levels:
    """Compare a judge with the mean of people.

    Args:
        judge: One value a unit, NaN for none.
        people: The mean of the people's values of the same units.
        system: For each unit the number of its system, from 0.
    """
    both = ~np.isnan(judge) & ~np.isnan(people)
    pair, where = np.column_stack([judge, people])[both], system[both]
    number = np.bincount(where, minlength=1)
    there = number > 0
    means = np.column_stack([np.bincount(where, side, minlength=1)[there] / number[there] for side in pair.T])
    if there.sum() < FEWEST_SYSTEMS:
        few = Undefined(f"fewer than {FEWEST_SYSTEMS} systems")
        return Levels(_level(pair), Level(int(there.sum()), few, few))
    return Levels(_level(pair), _level(means))


def _level(pair: Floats) -> Level:
    return Level(len(pair), spearman(pair[:, 0], pair[:, 1]), icc(pair))
