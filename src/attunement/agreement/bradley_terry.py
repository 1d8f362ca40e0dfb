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
    together = counts + counts.T
    won = counts.sum(axis=1)
    strengths = np.zeros(len(names))
    # Newton's method on a concave function; half steps wherever a whole one overshoots.
    likelihood = _likelihood(counts, strengths)
    for _ in range(200):
        chances = 1 / (1 + np.exp(strengths - strengths[:, None]))
        gradient = won - (together * chances).sum(axis=1)
        if np.abs(gradient).max() < 1e-10 * max(float(together.max()), 1.0):
            break
        change = _covariance(together, chances) @ gradient
        step = 1.0
        while _likelihood(counts, strengths + step * change) < likelihood - 1e-12 and step > 1e-6:
            step /= 2
        strengths = strengths + step * change
        likelihood = _likelihood(counts, strengths)
    strengths -= strengths.mean()
    chances = 1 / (1 + np.exp(strengths - strengths[:, None]))
    covariance = _covariance(together, chances)
    return BradleyTerry(tuple(names), strengths, np.sqrt(np.diag(covariance)), covariance, float(together.sum() / 2))


def _likelihood(wins: Floats, strengths: Floats) -> float:
    return float(-(wins * np.logaddexp(0, strengths - strengths[:, None])).sum())


def _covariance(together: Floats, chances: Floats) -> Floats:
    """The inverse of the information, on the differences of strengths: their common level is not known."""
    weight = together * chances * (1 - chances)
    np.fill_diagonal(weight, 0.0)
    return np.linalg.pinv(np.diag(weight.sum(axis=1)) - weight, hermitian=True).astype(np.float64)


def _no_finite_strengths(wins: Floats, names: Sequence[str]) -> Undefined | None:
    reached = (wins > 0) | np.eye(len(names), dtype=np.bool_)
    for _ in names:
        reached = reached | ((reached.astype(np.int64) @ reached) > 0)
    never = np.argwhere(~reached)
    if not len(never):
        return None
    loser, other = (names[int(place)] for place in never[0])
    return Undefined(f"{loser} never won against {other}, neither directly nor through others")
