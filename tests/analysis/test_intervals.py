"""Intervals of agreement: resampled, exact where nothing varies, and linearised where there are very many."""

import numpy as np
import pytest

from attunement.analysis.reliability import judge_kappa_statistic, people_kappa_statistic
from attunement.statistics.alpha import alpha_statistic
from attunement.statistics.bootstrap import bootstrap, clustered_interval
from attunement.statistics.results import Interval, Undefined
from attunement.statistics.tables import Statistic, combined
from tests.analysis.trust_samples import noisy, three_people


def test_perfect_agreement_has_a_lower_end_that_rises_with_the_number() -> None:
    ends = []
    for number in (12, 120):
        answers = np.tile([1.0, 2.0, 3.0, 4.0], number // 4)
        found = clustered_interval(alpha_statistic(np.column_stack([answers, answers])), np.arange(number))
        assert isinstance(found, Interval)
        ends.append(found.low)
    assert ends[0] == pytest.approx(0.025 ** (1 / 12))
    assert ends[1] > 0.95


def statistics(units: int) -> dict[str, Statistic]:
    truth, people = three_people(units, 0.9)
    judge = noisy(truth, 1.1, np.random.default_rng(3))
    own, theirs = judge_kappa_statistic(judge, people), people_kappa_statistic(people)
    gap = combined([own, theirs], lambda values: values[:, 0] - values[:, 1])
    return {"alpha": alpha_statistic(people), "judge": own, "people": theirs, "gap": gap}


@pytest.mark.parametrize("each", [1, 3])
@pytest.mark.parametrize("name", ["alpha", "judge", "people", "gap"])
def test_very_many_conversations_give_what_resampling_gives(name: str, each: int) -> None:
    statistic = statistics(1500 * each)[name]
    conversation = np.repeat(np.arange(1500), each)
    quick = clustered_interval(statistic, conversation)
    slow = bootstrap(statistic, conversation, draws=1000)
    assert isinstance(quick, Interval)
    assert isinstance(slow, Interval)
    assert "linearised" in quick.method
    assert quick.se == pytest.approx(slow.se, rel=0.1)
    assert (quick.low, quick.high) == pytest.approx((slow.low, slow.high), abs=0.3 * slow.se)


def test_a_constant_judge_has_no_interval_however_many_conversations() -> None:
    _, people = three_people(2000, 0.5)
    for units in (40, 2000):
        found = clustered_interval(judge_kappa_statistic(np.full(units, 4.0), people[:units]), np.arange(units))
        assert isinstance(found, Undefined)
