import numpy as np
import pytest
from hypothesis import assume, given
from scipy import stats

from attunement.statistics.correlation import (
    Correlation,
    RangeCompression,
    bias,
    mean_absolute_error,
    range_compression,
    spearman,
)
from attunement.statistics.estimates import Mean
from attunement.statistics.results import Undefined
from attunement.statistics.tables import Floats
from tests.analysis.strategies import tables

NAN = np.nan


def of(result: Correlation | Undefined) -> Correlation:
    assert isinstance(result, Correlation), result
    return result


@given(tables(raters=(2, 2), missing=False))
def test_scipy_agrees_on_the_rank_correlation(ratings: Floats) -> None:
    assume(len(ratings) > 2 and (np.ptp(ratings, axis=0) > 0).all())
    theirs = stats.spearmanr(*ratings.T)
    ours = of(spearman(*ratings.T))
    assert ours.value == pytest.approx(theirs.statistic, abs=1e-9)
    assume(abs(ours.value) < 1 - 1e-9)
    assert ours.p == pytest.approx(theirs.pvalue, abs=1e-9)


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ([], [], "only 0 units have both values, and a correlation needs three"),
        ([1, NAN], [1, 2], "only 1 unit has both values, and a correlation needs three"),
        ([1, 2, NAN], [1, 2, 3], "only 2 units have both values, and a correlation needs three"),
        ([4, 4, 4], [1, 2, 3], "one side is 4 everywhere"),
    ],
)
def test_degenerate_values_have_no_correlation_and_a_reason(
    first: list[float], second: list[float], reason: str
) -> None:
    assert spearman(first, second) == Undefined(reason)


def test_raters_of_different_units_are_refused() -> None:
    with pytest.raises(ValueError, match="two raters of the same units"):
        spearman([1, 2, 3], [1, 2])


def test_a_kinder_judge_has_a_positive_bias_over_conversations() -> None:
    result = bias([4, 5, 3, NAN], [3, 3, 3, 1], ["a", "a", "b", "b"])
    assert isinstance(result, Mean)
    assert result.value == 1
    assert (result.units, result.clusters) == (3, 2)


def test_the_absolute_error_does_not_cancel_out() -> None:
    result = mean_absolute_error([4, 2], [3, 3])
    assert isinstance(result, Mean)
    assert result.value == 1


def test_a_judge_without_common_units_has_no_bias() -> None:
    assert bias([NAN, 1], [1, NAN]) == mean_absolute_error([], []) == Undefined("no unit has both values")


def test_a_judge_that_keeps_to_the_middle_compresses_the_range() -> None:
    result = range_compression([2, 3, 4, 3], [1, 3, 5, 3])
    assert isinstance(result, RangeCompression)
    assert result.ratio == pytest.approx(0.5)


def test_people_who_never_vary_give_no_range_to_compress() -> None:
    assert range_compression([1, 2], [3, 3]) == Undefined("the people's answer is 3 everywhere")
    assert range_compression([1], [3]) == Undefined("fewer than two units have both values")
