"""May a judge stand in for one of the raters? The alternative annotator test.

Each person is left out in turn: is the judge as near to the remaining people as the person is, give or take epsilon?
Epsilon is what the judge's lower cost is worth: it must be printed with every verdict. The test is never to stand
alone: a judge that always gives the most common score passes it among noisy raters.

Source: N. Calderon, R. Reichart and R. Dror, The Alternative Annotator Test for LLM-as-a-Judge, ACL 2025. Beyond the
paper, units are clustered by conversation, and a judge fails only where the people are shown to be nearer; otherwise
the test is undecided.
"""

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from attunement.agreement.comparing import benjamini_yekutieli
from attunement.agreement.distributions import t_probability
from attunement.agreement.means import clustered_error
from attunement.agreement.results import FEWEST_CLUSTERS, Undefined
from attunement.agreement.tables import Floats, clusters, matrix

Verdict = Literal["pass", "fail", "undecided"]
Nearness = Literal["distance", "same"]

# The paper's advice for experts, trained raters and crowd workers.
EPSILON = {"expert": 0.2, "trained": 0.15, "crowd": 0.1}
# The paper's least numbers of units a person and of people.
FEWEST_UNITS, FEWEST_PEOPLE = 30, 3


class LeftOut(NamedTuple):
    """One person against the judge, measured by the others. P-values are corrected for the number of people."""

    column: int
    units: int
    judge_near: float  # share of units where the judge is at least as near to the others as this person
    person_near: float  # share of units where this person is at least as near as the judge
    p_judge: float  # of the judge being worse by epsilon or more
    p_person: float  # of the judge being worse by no more than epsilon
    winner: Literal["judge", "person", "open"]


class AlternativeAnnotator(NamedTuple):
    """The verdict with the sentence that explains it, epsilon, and each person's comparison."""

    verdict: Verdict
    reason: str
    epsilon: float
    winning_rate: float | Undefined  # the share of people whom the judge beats
    advantage: float | Undefined  # mean share of units where the judge is at least as near
    people: tuple[LeftOut, ...]


def alternative_annotator_test(
    people: ArrayLike,
    judge: ArrayLike,
    conversations: ArrayLike | None = None,
    *,
    epsilon: float = EPSILON["expert"],
    nearness: Nearness = "distance",
    level: float = 0.95,
) -> AlternativeAnnotator | Undefined:
    """Compare a judge with each person, measured by the other people.

    Args:
        people: One row a unit, one column a person, NaN where that person did not rate.
        judge: The judge's rating of each unit, NaN for none.
        conversations: For each unit the conversation it belongs to.
        epsilon: By how much the judge may be worse; see `EPSILON`.
        nearness: `distance` is the root mean square distance to the others, for scores; `same` the share of the
            others who gave the same answer.
        level: One minus the false discovery rate over people.

    Returns:
        `Undefined` where no unit has ratings of two people and the judge: that is not even undecided.
    """
    ratings, answers = matrix(people), np.asarray(judge, dtype=np.float64)
    usable = ((~np.isnan(ratings)).sum(axis=1) >= 2) & ~np.isnan(answers)
    if not usable.any():
        return Undefined("no unit was rated by two people and the judge")
    labels = np.arange(len(answers)) if conversations is None else np.asarray(conversations)
    comparisons: list[_Comparison] = []
    for column, person in enumerate(ratings.T):
        used = usable & ~np.isnan(person)
        if used.sum() >= FEWEST_UNITS:
            others = np.delete(ratings[used], column, axis=1)
            far = _far(answers[used], others, nearness), _far(person[used], others, nearness)
            comparisons.append(_compare(column, far, labels[used], epsilon))
    if len(comparisons) < FEWEST_PEOPLE:
        return _undecided(f"it needs {FEWEST_PEOPLE} people with {FEWEST_UNITS} units each", epsilon)
    if min(each.clusters for each in comparisons) < FEWEST_CLUSTERS:
        return _undecided(f"too few conversations: each person needs {FEWEST_CLUSTERS}", epsilon)
    judge_p = benjamini_yekutieli([each.p_judge for each in comparisons])
    person_p = benjamini_yekutieli([each.p_person for each in comparisons])
    left_out = tuple(
        LeftOut(each.column, each.units, each.judge_near, each.person_near, p, q, _winner(p, q, 1 - level))
        for each, p, q in zip(comparisons, judge_p, person_p, strict=True)
    )
    return _verdict(left_out, epsilon)


class _Comparison(NamedTuple):
    column: int
    units: int
    judge_near: float
    person_near: float
    p_judge: float
    p_person: float
    clusters: int


def _compare(column: int, far: tuple[Floats, Floats], labels: ArrayLike, epsilon: float) -> _Comparison:
    """The judge against one person, from how far each is from the others; p-values as yet uncorrected."""
    judge_near, person_near = far[0] <= far[1] + 1e-9, far[1] <= far[0] + 1e-9
    gap = person_near.astype(np.float64) - judge_near
    cluster, count = clusters(labels, len(gap))
    mean = float(gap.mean())
    error = clustered_error((gap - mean) / len(gap), cluster, count)
    if isinstance(error, Undefined):
        p_judge = p_person = 1.0
    elif error < 1e-12:
        p_judge, p_person = _without_spread(mean, epsilon, count)
    else:
        p_judge = t_probability(count - 1, (mean - epsilon) / error)
        p_person = 1 - p_judge
    return _Comparison(column, len(gap), float(judge_near.mean()), float(person_near.mean()), p_judge, p_person, count)


def _far(answers: Floats, others: Floats, nearness: Nearness) -> Floats:
    apart = others - answers[:, None]
    misses = apart**2 if nearness == "distance" else np.where(np.isnan(apart), np.nan, apart != 0)
    return np.nanmean(misses, axis=1)


def _without_spread(gap: float, epsilon: float, count: int) -> tuple[float, float]:
    """P-values where all units come out alike, so that Student's t has nothing to work with.

    If the mean gap were epsilon, at least the share epsilon of units would have to show a positive gap, and at most
    the share (1 + epsilon) / 2.
    """
    if gap <= 0:
        return (1 - epsilon) ** count, 1.0
    return 1.0, ((1 + epsilon) / 2) ** count


def _winner(p_judge: float, p_person: float, error_rate: float) -> Literal["judge", "person", "open"]:
    if p_judge < error_rate:
        return "judge"
    return "person" if p_person < error_rate else "open"


def _undecided(reason: str, epsilon: float) -> AlternativeAnnotator:
    unknown = Undefined(reason)
    return AlternativeAnnotator("undecided", f"undecided, epsilon {epsilon:g}: {reason}", epsilon, unknown, unknown, ())


def _verdict(left_out: tuple[LeftOut, ...], epsilon: float) -> AlternativeAnnotator:
    won = sum(each.winner == "judge" for each in left_out)
    lost = sum(each.winner == "person" for each in left_out)
    number = len(left_out)
    if 2 * won >= number:
        verdict: Verdict = "pass"
    elif 2 * (number - lost) < number:
        verdict = "fail"
    else:
        verdict = "undecided"
    reason = (
        f"{verdict}, epsilon {epsilon:g}: measured by the others, the judge is as good as {won} of {number} people, "
        f"worse than {lost}; open: {number - won - lost}"
    )
    advantage = float(np.mean([each.judge_near for each in left_out]))
    return AlternativeAnnotator(verdict, reason, epsilon, won / number, advantage, left_out)
