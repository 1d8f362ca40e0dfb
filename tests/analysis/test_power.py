from math import sqrt

import numpy as np
import pytest

from attunement.statistics.alpha import Alpha, alpha
from attunement.statistics.estimates import t_interval
from attunement.statistics.power import (
    MOST,
    design_effect,
    detectable_effect,
    sample_size_for_width,
    simulated_ratings,
    smallest_sample,
)
from attunement.statistics.results import Interval
from attunement.statistics.tables import normal_probability


def test_five_turns_that_resemble_each_other_need_three_times_as_many() -> None:
    assert design_effect(5, 0.5) == 3


def test_a_width_needs_the_units_that_give_it() -> None:
    assert sample_size_for_width(variance=1, half_width=0.196) == 100


@pytest.mark.parametrize("effect", [0.9, 0.2, 0.05])
def test_the_smallest_sample_has_the_chance_that_is_asked_for(effect: float) -> None:
    def chance(count: int) -> float:
        return float(normal_probability(effect * sqrt(count) - 1.959964))

    found = smallest_sample(chance)
    assert found
    # (1.96 + 0.84) squared over the squared effect, as in the textbooks.
    assert found == pytest.approx(max(2.8016**2 / effect**2, 10), rel=0.06, abs=1)


def test_what_takes_more_than_ten_thousand_has_no_sample_size() -> None:
    assert smallest_sample(lambda count: float(normal_probability(0.02 * sqrt(count) - 1.959964))) is None
    assert smallest_sample(lambda count: float(count >= MOST)) in {None, MOST}


@pytest.mark.parametrize(
    ("agreement", "shares"), [(0.6, (0.5, 0.5)), (0.3, (0.1, 0.9)), (0.8, (0.1, 0.2, 0.4, 0.2, 0.1))]
)
def test_simulated_raters_have_the_agreement_that_is_asked_for(agreement: float, shares: tuple[float, ...]) -> None:
    ratings, conversations = simulated_ratings(np.random.default_rng(0), 10_000, 2, 3, agreement, shares)
    found = alpha(ratings, "ordinal" if len(shares) > 2 else "nominal")
    assert isinstance(found, Alpha)
    assert found.value == pytest.approx(agreement, abs=0.03)
    assert len(np.unique(conversations)) == 10_000


@pytest.mark.slow
@pytest.mark.parametrize("pairs", [10, 40])
def test_an_effect_that_is_called_detectable_is_found_in_four_of_five_samples(pairs: int) -> None:
    rng = np.random.default_rng(3)
    sure = t_interval(0.0, pairs**-0.5, pairs, "pairs")
    assert isinstance(sure, Interval)
    effect = detectable_effect(sure)
    found = 0
    for _ in range(3000):
        scores = rng.normal(effect, 1, pairs)
        interval = t_interval(float(scores.mean()), float(scores.std(ddof=1)) * pairs**-0.5, pairs, "pairs")
        assert isinstance(interval, Interval)
        found += interval.low > 0
    assert found / 3000 == pytest.approx(0.8, abs=0.03)
