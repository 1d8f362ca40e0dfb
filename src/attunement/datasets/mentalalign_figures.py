"""MentalAlign-70k: the published ICCs over means of systems, beside the same data reply by reply.

Published were intraclass correlations of ten or fewer pairs of numbers: each system's mean score by people and by the
judge, the judge's own model left out. They say whether a judge ranks systems as people do. Whether it rates a single
reply as they do is another question with another answer, and both stand here in one row.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from attunement.agreement.correlation import Correlation, spearman
from attunement.agreement.icc import ICC, Model, icc
from attunement.agreement.tables import Bools, Floats
from attunement.conversations import Identity
from attunement.datasets.model import Answer, Count, Figures, Table
from attunement.ratings import State

HUMAN = "human expert"
_OWN = {"claude-3.7-sonnet": "claude", "gpt-4o": "gpt4o", "gemini-2.5-flash": "gemini", "o4-mini": "gpt4omini"}
"""The system that a judge is kin to; the published figures leave it out."""
# The consistency ICC(C,1) and the agreement ICC(A,1) in "Results/ICC Reliability Analysis.md" of the repository, in the
# order of the attributes there: Guidance, Informativeness, Relevance, Safety, Empathy, Helpfulness, Understanding.
_PUBLISHED = {
    "claude-3.7-sonnet": (
        (0.881, 0.915, 0.730, 0.685, 0.906, 0.900, 0.791),
        (0.837, 0.915, 0.743, 0.597, 0.474, 0.742, 0.806),
    ),
    "gpt-4o": (
        (0.849, 0.856, 0.532, 0.480, 0.835, 0.800, 0.823),
        (0.475, 0.681, 0.243, 0.279, 0.288, 0.457, 0.485),
    ),
    "gemini-2.5-flash": (
        (0.855, 0.878, 0.306, 0.377, 0.838, 0.734, 0.362),
        (0.682, 0.877, 0.137, 0.222, 0.380, 0.385, 0.180),
    ),
    "o4-mini": (
        (0.948, 0.918, 0.342, 0.259, 0.883, 0.871, 0.871),
        (0.786, 0.908, 0.140, 0.117, 0.499, 0.660, 0.592),
    ),
}
_NEAR = 0.006
"""How near a figure must be to count as the published one: the largest difference is .005, and two digits are kept."""


Refused = Mapping[tuple[Identity, str, str], float]
"""The numbers that are not on the scale, by reply, rater and attribute."""


class _Scores(NamedTuple):
    """By attribute, context and system: what one rater said, NaN where nothing, and whether it is on the scale."""

    values: Floats
    valid: Bools


class _Line(NamedTuple):
    """One judge on one attribute."""

    judge: str
    attribute: str
    published: tuple[float, float]
    with_all: tuple[float, float]
    on_scale: tuple[float, float]
    reply: tuple[float, float]
    """ICC(C,1) and Spearman's correlation over replies."""


def figures(answers: Sequence[Answer], refused: Refused, attributes: Sequence[str], systems: Sequence[str]) -> Figures:
    """The published ICCs, ours with and without what is off the scale, and both figures reply by reply."""
    scores = _scores(answers, refused, attributes, systems)
    lines = [
        _line(judge, place, attribute, scores, systems) for judge in _OWN for place, attribute in enumerate(attributes)
    ]
    consistency = [abs(line.published[0] - line.with_all[0]) for line in lines]
    agreement = [abs(line.published[1] - line.with_all[1]) for line in lines]
    moved = max(lines, key=lambda line: abs(line.with_all[0] - line.on_scale[0]))
    return Figures(
        tables=[
            Table(
                "Systems and replies: the same scores give two answers",
                ["judge", "attribute", "published", "all", "1-5", "ICC", "rho"],
                [
                    [
                        line.judge,
                        line.attribute,
                        *(f"{value:.3f}" for value in (line.published[0], line.with_all[0], line.on_scale[0])),
                        *(f"{value:.2f}" for value in line.reply),
                    ]
                    for line in lines
                ],
                [
                    "published, all, 1-5: consistency ICC(C,1) over the means of 9 systems: theirs, ours with all "
                    "values, ours without those off the scale. ICC, rho: ICC(C,1) and Spearman's correlation over "
                    "single replies.",
                    f"The published figures include {len(refused):,} scores that are not on the scale 1-5; without "
                    f"them {moved.attribute} by {moved.judge} goes from {moved.with_all[0]:.3f} to "
                    f"{moved.on_scale[0]:.3f}.",
                    f"Over replies rho goes from {min(line.reply[1] for line in lines):.2f} to "
                    f"{max(line.reply[1] for line in lines):.2f}: ranking systems is not rating replies.",
                ],
            )
        ],
        details=[
            Table(
                "Absolute agreement ICC(A,1) over the means of systems",
                ["judge", "attribute", "published", "all", "1-5"],
                [
                    [
                        line.judge,
                        line.attribute,
                        *(f"{value:.3f}" for value in (line.published[1], line.with_all[1], line.on_scale[1])),
                    ]
                    for line in lines
                ],
            )
        ],
        counts=[
            Count(
                f"ICCs over systems as published, to within {_NEAR}",
                sum(difference < _NEAR for difference in consistency + agreement),
                len(consistency + agreement),
            )
        ],
    )


def _scores(
    answers: Sequence[Answer], refused: Refused, attributes: Sequence[str], systems: Sequence[str]
) -> dict[str, _Scores]:
    contexts = {name: place for place, name in enumerate(dict.fromkeys(answer.conversation.id for answer in answers))}
    columns = {system: place for place, system in enumerate(systems)}
    layers = {attribute: place for place, attribute in enumerate(attributes)}
    shape = (len(attributes), len(contexts), len(systems))
    found = {rater: _Scores(np.full(shape, np.nan), np.ones(shape, dtype=bool)) for rater in (HUMAN, *_OWN)}
    for answer in answers:
        place = layers[answer.item], contexts[answer.conversation.id], columns[answer.conversation.system]
        if answer.outcome.state is State.VALUE:
            found[answer.rater].values[place] = float(answer.outcome.value or 0)
        elif (key := (answer.conversation, answer.rater, answer.item)) in refused:
            found[answer.rater].values[place] = refused[key]
            found[answer.rater].valid[place] = False
    return found


def _line(judge: str, place: int, attribute: str, scores: dict[str, _Scores], systems: Sequence[str]) -> _Line:
    people, model = scores[HUMAN], scores[judge]
    kept = [at for at, system in enumerate(systems) if system != _OWN[judge]]
    first, second = people.values[place][:, kept], model.values[place][:, kept]
    valid = people.valid[place][:, kept] & model.valid[place][:, kept]
    published = _PUBLISHED[judge][0][place], _PUBLISHED[judge][1][place]
    on_scale = [np.where(valid, side, np.nan) for side in (first, second)]
    replies = np.column_stack([side.ravel() for side in on_scale])
    order = spearman(*replies.T)
    reply = (
        _icc(replies[~np.isnan(replies).any(axis=1)], 3),
        order.value if isinstance(order, Correlation) else float("nan"),
    )
    return _Line(judge, attribute, published, _over_systems(first, second), _over_systems(*on_scale), reply)


def _over_systems(first: Floats, second: Floats) -> tuple[float, float]:
    """ICC(C,1) and ICC(A,1) of the means of systems, over the replies that both rated."""
    both = ~np.isnan(first) & ~np.isnan(second)
    means = np.column_stack([np.nanmean(np.where(both, side, np.nan), axis=0) for side in (first, second)])
    return _icc(means, 3), _icc(means, 2)


def _icc(values: Floats, model: Model) -> float:
    result = icc(values, model)
    return result.value if isinstance(result, ICC) else float("nan")
