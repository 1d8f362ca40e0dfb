"""Quantiles and probabilities of the few distributions used here, with plain types."""

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from attunement.agreement.tables import Floats


def normal_quantile(probability: float) -> float:
    """The value below which a standard normal variable falls with this probability."""
    return float(special.ndtri(probability))


def normal_probability(value: ArrayLike) -> Floats:
    """How probable it is that a standard normal variable falls below `value`."""
    return np.asarray(special.ndtr(np.asarray(value, dtype=np.float64)), dtype=np.float64)


def two_sided(z: float) -> float:
    """The two-sided p-value of a standard normal test statistic."""
    return float(2 * special.ndtr(-abs(z)))


def t_quantile(freedom: float, probability: float) -> float:
    """The quantile of Student's t."""
    return float(special.stdtrit(freedom, probability))


def t_probability(freedom: float, value: float) -> float:
    """How probable it is that Student's t falls below `value`."""
    return float(special.stdtr(freedom, value))


def beta_quantile(first: float, second: float, probability: float) -> float:
    """The quantile of the beta distribution."""
    return float(special.betaincinv(first, second, probability))


def binomial_probability(successes: int, trials: int, chance: float) -> float:
    """How probable it is to see at most so many successes."""
    return float(special.bdtr(successes, trials, chance))
