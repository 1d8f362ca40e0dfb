"""Which of several systems is better, when they were only ever compared in pairs?

Each system has a strength; the chance that one wins over another follows from the difference of their strengths.

Sources: R. Bradley and M. Terry, Biometrika 39 (1952); when strengths exist: L. Ford, American Mathematical Monthly 64
(1957).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attunement.agreement.results import Undefined
from attunement.agreement.tables import Floats, matrix

MOST_STEPS = 200
SHORTEST_STEP = 1e-6


class BradleyTerry(NamedTuple):
    """Strengths on the log scale, with mean 0: a gap of ln 3 means winning three times as often as losing."""

    names: tuple[str, ...]
    strengths: Floats
    standard_errors: Floats
    covariance: Floats
    comparisons: float


def bradley_terry(wins: ArrayLike, names: Sequence[str]) -> BradleyTerry | Undefined:
    """The strengths that make the outcomes most probable.

    Args:
        wins: Row i, column j: how often system i won over system j. A tie is half a win for either.
        names: The systems, in the order of the rows.

    Returns:
        `Undefined` where there are fewer than two systems, and where some system never won, directly or through
        others, against another: then no finite strengths fit.
    """
    counts = matrix(wins)
    if counts.shape != (len(names), len(names)):
        raise ValueError(f"{len(names)} systems need a table of as many rows and columns, not {counts.shape}")
    if len(names) < 2:
        return Undefined("fewer than two systems")
    reason = _no_finite_strengths(counts, names)
    if reason:
        return reason
    together, won = counts + counts.T, counts.sum(axis=1)
    strengths = np.zeros(len(names))
    for _ in range(MOST_STEPS):
        chances = _chances(strengths)
        gradient = won - (together * chances).sum(axis=1)
        if np.abs(gradient).max() < 1e-9 * together.max():
            break
        # Newton's method on a concave function; half steps wherever a whole one overshoots.
        change = _covariance(together, chances) @ gradient
        reached = _likelihood(counts, strengths)
        step = 1.0
        while _likelihood(counts, strengths + step * change) < reached and step > SHORTEST_STEP:
            step /= 2
        strengths = strengths + step * change
    else:
        return Undefined("the outcomes are too one-sided for strengths to be found")
    covariance = _covariance(together, chances)
    errors = np.sqrt(np.diag(covariance))
    return BradleyTerry(tuple(names), strengths - strengths.mean(), errors, covariance, float(together.sum() / 2))


def _chances(strengths: Floats) -> Floats:
    """How probable it is that the system of the row wins over that of the column."""
    return 0.5 * (1 + np.tanh((strengths[:, None] - strengths) / 2))


def _likelihood(wins: Floats, strengths: Floats) -> float:
    return float(-(wins * np.logaddexp(0, strengths - strengths[:, None])).sum())


def _covariance(together: Floats, chances: Floats) -> Floats:
    """The inverse of the information about strengths with mean 0: their common level cannot be known."""
    weight = together * chances * (1 - chances)
    np.fill_diagonal(weight, 0.0)
    information = np.diag(weight.sum(axis=1)) - weight
    inverse = np.zeros_like(information)
    inverse[1:, 1:] = np.linalg.pinv(information[1:, 1:], rcond=1e-18, hermitian=True)
    centre = np.eye(len(information)) - 1 / len(information)
    return centre @ inverse @ centre


def _no_finite_strengths(wins: Floats, names: Sequence[str]) -> Undefined | None:
    reached = (wins > 0) | np.eye(len(names), dtype=np.bool_)
    for _ in names:
        reached = reached | ((reached.astype(np.int64) @ reached) > 0)
    never = np.argwhere(~reached)
    if not len(never):
        return None
    loser, other = (names[int(place)] for place in never[0])
    return Undefined(f"{loser} never won against {other}, neither directly nor through others")
