"""Does a rater give the same answer when asked again?"""

from typing import NamedTuple

import numpy as np

from attunement.agreement.alpha import Alpha, Level, alpha
from attunement.agreement.percent import PercentAgreement, percent_agreement
from attunement.agreement.results import Undefined
from attunement.agreement.tables import Floats


class Again(NamedTuple):
    """How far a rater agrees with their own earlier answers."""

    units: int
    """Units that were rated at least twice."""
    same: int
    """Of those, the ones that got the same answer each time."""
    times: int
    """How often a unit was rated at most."""
    alpha: Alpha | Undefined
    percent: PercentAgreement | Undefined


def again(answers: Floats, *, ordered: bool = True) -> Again | Undefined:
    """Compare a rater with themself.

    Args:
        answers: One row a unit, one column a time they were asked, NaN for no value.
        ordered: Whether near answers count as near.

    Returns:
        `Undefined` where no unit was rated twice.
    """
    number = (~np.isnan(answers)).sum(axis=1)
    several = answers[number >= 2]
    if not len(several):
        return Undefined("nothing was rated twice")
    level: Level = "ordinal" if ordered else "nominal"
    same = np.nanmax(several, axis=1) == np.nanmin(several, axis=1)
    return Again(len(several), int(same.sum()), int(number.max()), alpha(several, level), percent_agreement(several))
