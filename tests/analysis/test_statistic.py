import numpy as np
import pytest

from attunement.statistics.alpha import alpha_statistic
from attunement.statistics.intervals import Statistic
from attunement.statistics.kappa import judge_kappa_statistic, people_kappa_statistic
from attunement.statistics.tables import Floats, quotient

RATINGS = np.random.default_rng(1).integers(1, 6, size=(30, 3)).astype(float)
# The first seven units vary, all others are rated 4 by everybody.
VARYING = 7
FOUR_RATERS = np.vstack([np.random.default_rng(3).integers(1, 6, size=(VARYING, 4)), np.full((13, 4), 4)]).astype(float)


def of_two(first: Floats, second: Floats) -> Statistic:
    return judge_kappa_statistic(first, second[:, None])


def test_units_that_one_rater_left_out_do_not_enter() -> None:
    first = RATINGS[:, 0].copy()
    first[:4] = np.nan
    assert of_two(first, RATINGS[:, 1]).entering.sum() == 26


def test_a_difference_of_large_terms_that_is_only_rounding_counts_as_zero() -> None:
    assert np.isnan(quotient(np.array([1e-16]), np.array([3e-16]), size=1.0)).all()


@pytest.mark.parametrize(
    "statistic",
    [
        alpha_statistic(FOUR_RATERS),
        alpha_statistic(FOUR_RATERS, "nominal"),
        alpha_statistic(FOUR_RATERS, "interval"),
        people_kappa_statistic(FOUR_RATERS),
        people_kappa_statistic(FOUR_RATERS, ordered=False),
        of_two(*FOUR_RATERS[:, :2].T),
    ],
)
def test_a_resample_in_which_all_ratings_are_the_same_has_no_value(statistic: Statistic) -> None:
    # Left out one by one, so that thirds do not cancel to exactly zero.
    rest = statistic.totals
    for unit in range(VARYING):
        rest = rest - statistic.parts[statistic.pattern[unit]]
    assert np.isnan(statistic.of(rest[None, :])).all()


def test_a_quotient_by_zero_is_nan_and_no_warning() -> None:
    np.testing.assert_array_equal(quotient(np.array([1.0, 0.0, 3.0]), np.array([0.0, 0.0, 2.0])), [np.nan, np.nan, 1.5])


@pytest.mark.parametrize("ratings", [np.zeros((0, 2)), np.full((3, 2), np.nan)])
def test_statistics_of_no_ratings_have_no_value(ratings: np.ndarray) -> None:
    statistics = [
        alpha_statistic(ratings),
        alpha_statistic(ratings, "nominal"),
        alpha_statistic(ratings, "interval"),
        people_kappa_statistic(ratings),
        of_two(*ratings.T),
    ]
    assert all(np.isnan(statistic.value()) for statistic in statistics)
