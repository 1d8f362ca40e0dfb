import numpy as np
import pytest

from attunement.agreement.alpha import alpha_statistic
from attunement.agreement.kappa import kappa_statistic
from attunement.agreement.statistic import FromSums, FromWeights, combined, difference, mean_of, quotient
from tests.agreement.published import KRIPPENDORFF_2011

RATINGS = np.random.default_rng(1).integers(1, 6, size=(30, 3)).astype(float)
PAIRS = [(0, 1), (0, 2), (1, 2)]


def test_the_mean_of_kappas_is_that_of_the_pairs() -> None:
    kappas = [kappa_statistic(RATINGS[:, a], RATINGS[:, b], "quadratic") for a, b in PAIRS]
    assert mean_of(kappas).value() == pytest.approx(np.mean([each.value() for each in kappas]))


def test_a_difference_is_taken_on_the_same_units() -> None:
    first, second = kappa_statistic(RATINGS[:, 0], RATINGS[:, 1]), kappa_statistic(RATINGS[:, 0], RATINGS[:, 2])
    assert difference(first, second).value() == pytest.approx(first.value() - second.value())


def test_statistics_of_both_forms_can_be_combined() -> None:
    many = np.random.default_rng(2).normal(size=(30, 3))
    weighted, summed = alpha_statistic(many, "ordinal"), kappa_statistic(RATINGS[:, 0], RATINGS[:, 1])
    assert isinstance(weighted, FromWeights)
    assert isinstance(summed, FromSums)
    assert difference(weighted, summed).value() == pytest.approx(weighted.value() - summed.value())


def test_statistics_on_other_units_cannot_be_combined() -> None:
    with pytest.raises(ValueError, match="only over the same units"):
        combined([alpha_statistic(RATINGS), alpha_statistic(KRIPPENDORFF_2011)], lambda values: values[:, 0])


def test_units_that_one_rater_left_out_do_not_enter() -> None:
    first = RATINGS[:, 0].copy()
    first[:4] = np.nan
    assert kappa_statistic(first, RATINGS[:, 1]).entering.sum() == 26


def test_sums_leave_out_units_without_a_cluster() -> None:
    statistic = FromSums(np.array([[1.0], [2.0]]), lambda totals: totals[:, 0], np.array([0, 1, 1]))
    np.testing.assert_array_equal(statistic.sums(np.array([0, 1, -1]), 2), [[1], [2]])


def test_a_quotient_by_zero_is_nan_and_no_warning() -> None:
    np.testing.assert_array_equal(quotient(np.array([1.0, 0.0, 3.0]), np.array([0.0, 0.0, 2.0])), [np.nan, np.nan, 1.5])
