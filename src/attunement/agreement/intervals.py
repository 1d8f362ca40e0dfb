"""The interval of any agreement, clustered by conversation: by resampling, and without it where there are very many.

From a thousand conversations on a coefficient is as good as normally distributed, and its standard error follows from
how far each conversation pulls it. That takes no resampling, which would take minutes on hundreds of thousands of
ratings.

Source: for the linearised standard error, B. Efron and R. Tibshirani, An Introduction to the Bootstrap (1993),
chapter 21 (the infinitesimal jackknife).
"""

import numpy as np

from attunement.agreement.bootstrap import ENOUGH_FOR_PERCENTILES, bootstrap
from attunement.agreement.distributions import normal_quantile
from attunement.agreement.means import clustered_error
from attunement.agreement.proportions import upper_bound
from attunement.agreement.results import FEWEST_CLUSTERS, Interval, Undefined
from attunement.agreement.statistic import FromSums, Statistic
from attunement.agreement.tables import Ints, clusters

DRAWS = 1000
"""Resamples behind each interval: enough for two digits."""
VERY_MANY = 1000
"""From so many conversations on the standard error is computed without resampling."""
LEVEL = 0.95


def clustered_interval(statistic: Statistic, conversation: Ints) -> Interval | Undefined:
    """The interval of a statistic, conversations being drawn as wholes.

    Perfect agreement shows no spread to resample: its lower end is where it would be if the share of conversations
    that may still disagree did so as far as chance has it.
    """
    inside = conversation[statistic.entering]
    count = len(np.unique(inside))
    if count >= FEWEST_CLUSTERS and statistic.highest == 1 and statistic.value() > 1 - 1e-9:
        reach = upper_bound(0, count, level=(1 + LEVEL) / 2)
        return Interval(1 - reach, 1.0, LEVEL, f"exact, no disagreement in {count} conversations", 0.0)
    if count >= VERY_MANY and isinstance(statistic, FromSums):
        return _linearised(statistic, conversation)
    # Where each conversation gave one unit, resampling units is the same and much faster.
    alone = count >= ENOUGH_FOR_PERCENTILES and count == len(inside)
    return bootstrap(statistic, None if alone else conversation, draws=DRAWS, level=LEVEL)


def _linearised(statistic: FromSums, conversation: Ints) -> Interval | Undefined:
    value = statistic.value()
    if np.isnan(value):
        return Undefined("the statistic has no value on this sample")
    totals = np.bincount(statistic.pattern, minlength=len(statistic.parts)) @ statistic.parts
    step = 1e-5 * np.maximum(np.abs(totals), 1.0)
    up, down = statistic.of(totals + np.diag(step)), statistic.of(totals - np.diag(step))
    pull = (statistic.parts @ ((up - down) / (2 * step)))[statistic.pattern]
    entering = statistic.entering
    cluster, count = clusters(conversation[entering], int(entering.sum()))
    se = clustered_error(pull[entering], cluster, count)
    if isinstance(se, Undefined) or not np.isfinite(se):
        return Undefined("too little variation to say how sure this is")
    if se < 1e-9:  # what numerical differentiation leaves
        return Undefined(f"every conversation gives {value:g}, so this sample cannot show how sure that is")
    reach = normal_quantile((1 + LEVEL) / 2) * se
    low, high = np.clip([value - reach, value + reach], statistic.lowest, statistic.highest)
    return Interval(float(low), float(high), LEVEL, f"linearised, over {count} conversations", se)
