"""Shares of units, weighted and clustered as they were drawn: of failures caught, of flags that were false alarms.

Where each conversation gave one unit and all were drawn alike, intervals are exact; otherwise they are over whole
conversations, weighted by one over the probability of being drawn. The share of failures caught needs one thing more.
Where everything a judge flagged was drawn and only some of the rest, failures that it missed stand in the rest alone,
and having found none among a few of those says little: that bound counts too.

Sources: C. Clopper and E. Pearson, Biometrika 26 (1934); for weighted units, E. Korn and B. Graubard, Survey
Methodology 24 (1998).
"""

from typing import NamedTuple

import numpy as np

from attunement.agreement.distributions import beta_quantile
from attunement.agreement.means import Mean, mean
from attunement.agreement.power import failures_needed
from attunement.agreement.proportions import Proportion, proportion
from attunement.agreement.results import FEWEST_CLUSTERS, Interval, Undefined
from attunement.agreement.tables import Bools, Floats, Ints

LEVEL = 0.95
_SAME = 1e-9


class Rate(NamedTuple):
    """A share with its interval, weighted where conversations were drawn unequally."""

    value: float
    interval: Interval | Undefined


class Caught(NamedTuple):
    """The share of failures that a judge caught."""

    rate: Rate
    seldom: int
    """Conversations drawn less often than others: those that stand for many."""
    seldom_needed: int | None
    """How many of those would be needed to show the least share asked for; None where they are not what is lacking."""


def rate(event: Bools, conversation: Ints, weights: Floats | None) -> Rate | Undefined:
    """The share of units with the event.

    Args:
        event: For each unit whether it happened.
        conversation: For each unit its conversation.
        weights: For each unit how many it stands for; None where all are alike.

    Returns:
        `Undefined` where there is no unit. The interval is undefined below ten conversations, if it is not exact.
    """
    count = len(np.unique(conversation))
    if count == len(conversation) and alike(weights):
        exact = proportion(int(event.sum()), len(event), level=LEVEL)
        return Rate(exact.value, exact.interval) if isinstance(exact, Proportion) else exact
    found = mean(event.astype(np.float64), conversation, weights, level=LEVEL)
    if not isinstance(found, Mean):
        return found
    interval = found.interval
    if isinstance(interval, Interval):
        interval = interval._replace(low=max(interval.low, 0.0), high=min(interval.high, 1.0))
    elif (event.all() or not event.any()) and count >= FEWEST_CLUSTERS:
        # All alike: no spread to compute an interval from, but whole conversations still bound it.
        exact = proportion(count if event.all() else 0, count, level=LEVEL)
        interval = exact.interval if isinstance(exact, Proportion) else exact
    return Rate(found.value, interval)


def caught(
    failure: Bools, flagged: Bools, conversation: Ints, weights: Floats | None, least: float
) -> Caught | Undefined:
    """The share of failures that were flagged.

    Args:
        failure: For each unit that people labelled whether it is a failure.
        flagged: Whether the judge flagged it.
        conversation: For each unit its conversation.
        weights: For each unit how many it stands for; None where all are alike.
        least: The share whose lower bound is to be shown.

    Returns:
        `Undefined` where there is no failure.
    """
    own = rate(flagged[failure], conversation[failure], None if weights is None else weights[failure])
    if isinstance(own, Undefined):
        return own
    if weights is None or alike(weights) or isinstance(own.interval, Undefined):
        return Caught(own, 0, None)
    bound = _seldom(failure & ~flagged, conversation, weights)
    found = float(weights[failure & flagged].sum())
    most = bound.elsewhere + bound.highest * bound.stands_for
    low = min(own.interval.low, found / (found + most))
    method = f"{own.interval.method}; at most {bound.highest:.3f} missed where drawn less often ({bound.conversations})"
    needed = None
    if low < least and found:
        # How many misses the least share still allows there, as a share of those conversations.
        allowed = (found * (1 - least) / least - bound.elsewhere) / bound.stands_for
        wanted = failures_needed(1 - bound.share, 1 - allowed, level=LEVEL) if allowed > 0 else None
        needed = wanted if isinstance(wanted, int) else None
    return Caught(Rate(own.value, own.interval._replace(low=low, method=method)), bound.conversations, needed)


def alike(weights: Floats | None) -> bool:
    """Whether all units stand for equally many."""
    return weights is None or len(weights) < 2 or bool(np.ptp(weights) <= _SAME * weights.max())


class _Seldom(NamedTuple):
    """Misses in conversations that were drawn less often than others."""

    conversations: int
    share: float
    """Of these conversations, weighted, those with a miss."""
    highest: float
    """What that share may be at most."""
    stands_for: float
    """How many misses there would be if every one of them, drawn or not, had some."""
    elsewhere: float
    """Misses in the other conversations."""


def _seldom(miss: Bools, conversation: Ints, weights: Floats) -> _Seldom:
    seldom = weights > weights.min() * (1 + _SAME)
    _, first, place = np.unique(conversation[seldom], return_index=True, return_inverse=True)
    weight = weights[seldom][first]
    misses = np.bincount(place, weights=miss[seldom], minlength=len(first))
    total = float(weight.sum())
    share = float(weight @ (misses > 0)) / total
    # Weights that differ count like fewer conversations of equal weight (Kish).
    count = total**2 / float(weight @ weight)
    highest = 1.0 if share == 1 else beta_quantile(share * count + 1, (1 - share) * count, (1 + LEVEL) / 2)
    each = float(weight @ misses) / (share * total) if share else 1.0
    return _Seldom(len(first), share, highest, total * each, float(weights[miss & ~seldom].sum()))
