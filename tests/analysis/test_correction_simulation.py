"""Do the intervals of a correction hold the truth as often as they say? Scorecards in, intervals out."""

from functools import cache

import numpy as np
import pytest

from attunement.analysis.correct import correct
from attunement.analysis.measures import RatedConversation
from attunement.conversations import Identity
from attunement.scoring import Scorecard
from attunement.statistics.ppi import Estimate
from attunement.statistics.results import Interval
from tests.analysis.small import REPLIES, replies

RUNS = 1000


@cache
def card(scores: tuple[int, ...]) -> Scorecard:
    return replies(scores)


def talks(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Five replies a conversation: what people give (3 on average), and a judge that is kinder the worse they are."""
    mood = rng.integers(-1, 2, size=(count, 1))
    people = 3 + mood + rng.integers(-1, 2, size=(count, 5))
    judge = np.clip(people + (people < 3) + (rng.random((count, 5)) < 0.3), 1, 5)
    return people, judge


def evenly(rng: np.random.Generator, judge: np.ndarray, labelled: int) -> tuple[np.ndarray, np.ndarray]:
    """Everybody has the same probability."""
    drawn = np.zeros(len(judge), dtype=bool)
    drawn[rng.choice(len(judge), size=labelled, replace=False)] = True
    return drawn, np.full(len(judge), labelled / len(judge))


def by_flag(rng: np.random.Generator, judge: np.ndarray, labelled: int) -> tuple[np.ndarray, np.ndarray]:
    """What the judge flagged is drawn five times as often, about so many in all."""
    flagged = judge.min(axis=1) <= 2
    rate = labelled / (5 * flagged.sum() + (~flagged).sum())
    probability = np.minimum(1, rate * np.where(flagged, 5, 1))
    return rng.random(len(judge)) < probability, probability


def cases(rng: np.random.Generator, labelled: int, design, count: int) -> tuple[list[RatedConversation], float]:
    people, judge = talks(rng, count)
    drawn, probability = design(rng, judge, labelled)
    made = [
        RatedConversation(
            Identity("bot", str(at)),
            card(tuple(judge[at].tolist())),
            people=(card(tuple(people[at].tolist())),) if drawn[at] else (),
            probability=float(probability[at]) if drawn[at] else None,
        )
        for at in range(count)
    ]
    return made, float(people.mean())


@pytest.mark.slow
@pytest.mark.parametrize(
    ("labelled", "design"), [(10, evenly), (20, evenly), (40, evenly), (20, by_flag), (40, by_flag)]
)
def test_corrected_means_contain_the_truth_as_often_as_they_say(labelled: int, design) -> None:
    rng = np.random.default_rng(labelled)
    inside: list[bool] = []
    while len(inside) < RUNS:
        made, truth = cases(rng, labelled, design, 5 * labelled)
        (row,) = correct(REPLIES, made)
        assert isinstance(row.corrected, Estimate)
        if isinstance(interval := row.corrected.interval, Interval):  # chance may draw fewer than ten
            inside.append(interval.low <= truth <= interval.high)
    share = float(np.mean(inside))
    print(f"correct, drawn {design.__name__}, {labelled} labelled conversations: {share:.3f}")
    # With ten conversations the slope is so uncertain that the interval is a little too wide.
    assert 0.93 <= share <= (0.98 if labelled == 10 else 0.97)
