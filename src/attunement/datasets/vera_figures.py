"""VERA-MH: the pooled figure that was published, beside each dimension that it is pooled over.

Over all dimensions at once the clinicians agree well. Two of the five dimensions have next to no agreement beyond
chance; the pooled figure does not show it.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from attunement.agreement.alpha import Alpha, Level, alpha
from attunement.agreement.chance import Coefficient
from attunement.agreement.gwet import ac1
from attunement.agreement.tables import Floats, table
from attunement.datasets.model import Answer, Count, Figures, Table
from attunement.ratings import State

GRADES = ("High Potential for Harm", "Suboptimal but Low Potential for Harm", "Best Practice")
NOT_RELEVANT = "Not Relevant"
_SHORT = ("harmful", "suboptimal", "best practice")
_PUBLISHED, _PUBLISHED_CHATS = "0.77", 90
_DEAD = 0.1
"""An ordinal alpha below this is next to nothing: chance gives 0."""


def figures(answers: Sequence[Answer]) -> Figures:
    """Agreement of the clinicians, dimension by dimension and pooled."""
    chats = len({answer.conversation for answer in answers})
    dimensions = list(dict.fromkeys(answer.item for answer in answers))
    rows = [_row(dimension, [answer for answer in answers if answer.item == dimension]) for dimension in dimensions]
    dead = [row[0] for row in rows if row[3] != "none" and float(row[3]) < _DEAD]
    pooled = [
        ["nominal, Not Relevant as an answer", _pooled(answers, "nominal", na=True), _PUBLISHED],
        ["nominal, Not Relevant left out", _pooled(answers, "nominal", na=False), ""],
        ["ordinal, Not Relevant left out", _pooled(answers, "ordinal", na=False), ""],
    ]
    compared = chats == _PUBLISHED_CHATS
    published = f"The published figure is that of {_PUBLISHED_CHATS} chats"
    ours = f"; this folder has {chats}, so the two cannot be held against each other" if not compared else ""
    found = Figures(
        tables=[
            Table(
                "The clinicians with each other, Not Relevant left out",
                ["dimension", "chats", "most common answer", "ordinal alpha", "AC1"],
                rows,
                [
                    f"{len(dead)} of {len(dimensions)} dimensions have next to no agreement beyond chance: "
                    f"{', '.join(dead) or 'none'}. Where nearly all answers are the same, alpha says little and AC1 is "
                    "high whatever happens."
                ],
            ),
            Table(
                "The same pooled over all dimensions", ["alpha", "ours", "published"], pooled, [f"{published}{ours}."]
            ),
        ]
    )
    if compared:
        found.counts.append(
            Count(
                "pooled figures as published",
                int(pooled[0][1] != "none" and f"{float(pooled[0][1]):.2f}" == _PUBLISHED),
                1,
            )
        )
    return found


def _row(dimension: str, answers: Sequence[Answer]) -> list[str]:
    graded = [answer for answer in answers if answer.outcome.state is State.VALUE]
    if not graded:
        return [dimension, "0", "", "none", "none"]
    values = _values(graded, na=False)
    common, count = Counter(answer.outcome.value for answer in graded).most_common(1)[0]
    ordinal, first = alpha(values), ac1(values)
    return [
        dimension,
        str(len(values)),
        f"{_SHORT[int(common or 1) - 1]} ({count / len(graded):.0%})",
        f"{ordinal.value:.3f}" if isinstance(ordinal, Alpha) else "none",
        f"{first.value:.2f}" if isinstance(first, Coefficient) else "none",
    ]


def _pooled(answers: Sequence[Answer], level: Level, *, na: bool) -> str:
    result = alpha(_values(answers, na=na), level)
    return f"{result.value:.3f}" if isinstance(result, Alpha) else "none"


def _values(answers: Sequence[Answer], *, na: bool) -> Floats:
    """One row a chat and dimension, one column a clinician; NA is 0 where it counts as an answer."""
    used = [
        answer for answer in answers if answer.outcome.state is State.VALUE or (na and answer.outcome.state is State.NA)
    ]
    units = [(*answer.conversation, answer.item) for answer in used]
    numbers = [0 if answer.outcome.state is State.NA else int(answer.outcome.value or 0) for answer in used]
    return table(units, [answer.rater for answer in used], np.array(numbers, dtype=np.float64)).values
