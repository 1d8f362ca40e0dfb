"""Do the intervals of a comparison hold the truth as often as they say? Scorecards in, intervals out."""

import numpy as np
import pytest

from attunement.analysis.compare import Group, MeasureComparison, compare
from attunement.analysis.measures import RatedConversation
from attunement.conversations import Identity
from attunement.scoring import Scorecard
from attunement.statistics.ppi import Difference
from attunement.statistics.results import Interval
from tests.analysis.small import CRITERIA, REPLIES, criteria, replies

RUNS = 1500
GAIN = 0.3


def interval(row: MeasureComparison) -> Interval:
    assert isinstance(row.difference, Difference), row.difference
    assert isinstance(row.difference.interval, Interval), row.difference.interval
    return row.difference.interval


def held(intervals: list[Interval], truth: float) -> float:
    return float(np.mean([each.low <= truth <= each.high for each in intervals]))


def group(name: str, cards: list[Scorecard]) -> Group:
    return Group(name, [RatedConversation(Identity(name, str(at)), card, f"s{at}") for at, card in enumerate(cards)])


def scored(rng: np.random.Generator, scenario: np.ndarray, gain: float) -> list[Scorecard]:
    """Five replies a conversation, which share its scenario and its mood; each gains a point with this probability."""
    mood = rng.integers(0, 2, size=len(scenario))
    noise = rng.integers(0, 2, size=(len(scenario), 5))
    points = rng.random((len(scenario), 5)) < gain
    scores = 1 + scenario[:, None] + mood[:, None] + noise + points
    return [replies([int(score) for score in row]) for row in scores]


def checked(rng: np.random.Generator, scenario: np.ndarray, gain: float) -> list[Scorecard]:
    """Four criteria a conversation, which share the scenario's difficulty; each is met more often by the gain."""
    met = rng.random((len(scenario), 4)) < (0.3 + 0.3 * scenario + gain)[:, None]
    return [criteria(dict(zip("ABCD", np.where(row, "YES", "NO").tolist(), strict=True))) for row in met]


@pytest.mark.slow
@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("conversations", [10, 20, 40])
def test_intervals_of_scores_hold_the_truth_as_often_as_they_say(conversations: int, paired: bool) -> None:
    rng = np.random.default_rng(conversations)
    found: list[Interval] = []
    for _ in range(RUNS):
        scenario = rng.integers(0, 2, size=conversations)
        other = scenario if paired else rng.integers(0, 2, size=conversations)
        first, second = group("A", scored(rng, scenario, 0)), group("B", scored(rng, other, GAIN))
        comparison = compare(REPLIES, first, second, column="scenario" if paired else None)
        found.append(interval(comparison.items[0]))
    share = held(found, GAIN)
    print(f"compare, scores, {'paired' if paired else 'unpaired'}, {conversations} conversations: {share:.3f}")
    assert 0.93 <= share <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("paired", [True, False])
@pytest.mark.parametrize("conversations", [10, 20, 40])
def test_intervals_of_weighted_scores_hold_the_truth_as_often_as_they_say(conversations: int, paired: bool) -> None:
    rng = np.random.default_rng(conversations)
    found: list[Interval] = []
    for _ in range(RUNS):
        scenario = rng.integers(0, 2, size=conversations)
        other = scenario if paired else rng.integers(0, 2, size=conversations)
        first, second = group("A", checked(rng, scenario, 0)), group("B", checked(rng, other, 0.1))
        comparison = compare(CRITERIA, first, second, column="scenario" if paired else None)
        assert comparison.score
        found.append(interval(comparison.score))
    share = held(found, 0.1)
    print(f"compare, weighted, {'paired' if paired else 'unpaired'}, {conversations} conversations: {share:.3f}")
    assert 0.93 <= share <= 0.97
