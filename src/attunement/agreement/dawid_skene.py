"""What is the true answer to each unit, and how does each rater err, when nobody is known to be right?

Maximum likelihood by expectation and maximisation: raters err independently, each with a confusion table of their
own. It needs several raters a unit and finds a local maximum, started at the shares of the answers; raters who share a
mistake look right.

Source: A. Dawid and A. Skene, Applied Statistics 28 (1979).
"""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from attunement.agreement.results import Undefined
from attunement.agreement.tables import Floats, Ints

# Where a probability is 0 its logarithm stays a number.
SMALLEST = 1e-300


class DawidSkene(NamedTuple):
    """The model at its maximum. Rows of `units` and `raters` are in order of first appearance."""

    answers: tuple[Hashable, ...]
    units: tuple[Hashable, ...]
    raters: tuple[Hashable, ...]
    prevalence: Floats  # how common each answer is in truth
    probabilities: Floats  # units by answers: how probable each is to be the true one
    confusion: Floats  # raters by true answers by given answers
    log_likelihood: float
    steps: int
    converged: bool


def dawid_skene(
    units: Sequence[Hashable],
    raters: Sequence[Hashable],
    answers: Sequence[Hashable],
    *,
    most_steps: int = 2000,
    tolerance: float = 1e-9,
) -> DawidSkene | Undefined:
    """Fit the model to a long list of answers; a rater may answer the same unit more than once.

    Args:
        units: For each answer the unit it is about.
        raters: For each answer who gave it.
        answers: The answers themselves.
        most_steps: After so many steps it stops, and says that it did not converge.
        tolerance: It stops where a step raises the log likelihood by less than this.

    Returns:
        `Undefined` where there is only one rater, only one answer, or no unit with two answers: then nothing shows
        who errs.
    """
    unit, unit_names = _numbered(units)
    rater, rater_names = _numbered(raters)
    answer, answer_names = _numbered(answers)
    reason = _hopeless(unit, rater_names, answer_names)
    if reason:
        return reason
    size = len(answer_names)
    counts = np.zeros((len(unit_names), size))
    np.add.at(counts, (unit, answer), 1)
    probabilities = counts / counts.sum(axis=1, keepdims=True)
    given = rater * size + answer
    likelihood, step, converged = -np.inf, 0, False
    prevalence, confusion = _maximise(probabilities, unit, given, len(rater_names))
    while step < most_steps and not converged:
        step += 1
        evidence = np.log(np.maximum(confusion, SMALLEST)).transpose(0, 2, 1).reshape(-1, size)[given]
        joint = np.tile(np.log(np.maximum(prevalence, SMALLEST)), (len(unit_names), 1))
        for column in range(size):
            joint[:, column] += np.bincount(unit, weights=evidence[:, column], minlength=len(unit_names))
        highest = joint.max(axis=1, keepdims=True)
        shares = np.exp(joint - highest)
        reached = float((np.log(shares.sum(axis=1)) + highest[:, 0]).sum())
        probabilities = shares / shares.sum(axis=1, keepdims=True)
        converged, likelihood = reached - likelihood < tolerance, reached
        prevalence, confusion = _maximise(probabilities, unit, given, len(rater_names))
    return DawidSkene(
        answer_names, unit_names, rater_names, prevalence, probabilities, confusion, likelihood, step, converged
    )


def _numbered(names: Sequence[Hashable]) -> tuple[Ints, tuple[Hashable, ...]]:
    number: dict[Hashable, int] = {}
    places = [number.setdefault(name, len(number)) for name in names]
    return np.array(places, dtype=np.int64), tuple(number)


def _hopeless(unit: Ints, raters: tuple[Hashable, ...], answers: tuple[Hashable, ...]) -> Undefined | None:
    if len(answers) == 0:
        return Undefined("there are no answers")
    if len(raters) < 2:
        return Undefined("only one rater")
    if len(answers) == 1:
        return Undefined(f"every answer is {answers[0]}")
    if np.bincount(unit).max() < 2:
        return Undefined("no unit has two answers")
    return None


def _maximise(probabilities: Floats, unit: Ints, given: Ints, raters: int) -> tuple[Floats, Floats]:
    size = probabilities.shape[1]
    confusion = np.empty((raters, size, size))
    for true in range(size):
        expected = np.bincount(given, weights=probabilities[unit, true], minlength=raters * size).reshape(raters, size)
        total = expected.sum(axis=1, keepdims=True)
        # A rater who never met this answer is taken to answer anything alike.
        confusion[:, true] = np.where(total > SMALLEST, expected / np.maximum(total, SMALLEST), 1 / size)
    return probabilities.mean(axis=0), confusion
