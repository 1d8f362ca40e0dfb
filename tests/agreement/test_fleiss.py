import numpy as np
import pytest
from hypothesis import assume, given

from attunement.agreement.chance import Coefficient
from attunement.agreement.fleiss import fleiss, fleiss_statistic
from attunement.agreement.results import Undefined
from attunement.agreement.tables import Floats, tally, tally_counts
from tests.agreement.published import FLEISS_COUNTS, GWET_TWO_RATERS, KRIPPENDORFF_2011, pairs_of
from tests.agreement.strategies import tables


def value(result: Coefficient | Undefined) -> float:
    assert isinstance(result, Coefficient), result
    return result.value


def test_the_textbook_example_comes_out() -> None:
    assert value(fleiss(tally_counts(FLEISS_COUNTS))) == pytest.approx(0.209931, abs=5e-7)


def test_missing_ratings_are_taken_as_gwet_does() -> None:
    assert value(fleiss(KRIPPENDORFF_2011)) == pytest.approx(0.7611693, abs=5e-8)


def test_with_two_raters_it_is_scotts_pi() -> None:
    assert value(fleiss(pairs_of(GWET_TWO_RATERS))) == pytest.approx(0.7962397, abs=5e-8)


def test_the_standard_error_is_that_of_leaving_units_out() -> None:
    # No published value: the jackknife is the other way to the same quantity, and close with a hundred units.
    ratings = pairs_of(GWET_TWO_RATERS)
    result = fleiss(ratings)
    assert isinstance(result, Coefficient)
    left_out = np.array([value(fleiss(np.delete(ratings, unit, axis=0))) for unit in range(len(ratings))])
    jackknife = np.sqrt((len(ratings) - 1) / len(ratings) * ((left_out - left_out.mean()) ** 2).sum())
    assert result.se == pytest.approx(jackknife, rel=0.02)


@pytest.mark.parametrize(
    ("ratings", "reason"),
    [
        ([], "there are no ratings"),
        ([[1], [2]], "only one rater"),
        ([[1, np.nan], [np.nan, 2]], "no unit was rated by two raters"),
        ([[5, 5], [5, 5]], "every rating is 5"),
    ],
)
def test_degenerate_ratings_have_no_kappa_and_a_reason(ratings: list[list[float]], reason: str) -> None:
    assert fleiss(ratings) == Undefined(reason)


def test_constant_raters_have_no_kappa_even_where_the_scale_is_known() -> None:
    assert fleiss([[5, 5], [5, 5]], categories=[1, 2, 3, 4, 5]) == Undefined("every rating is 5")


def test_one_unit_has_no_standard_error() -> None:
    result = fleiss([[1, 2, 2]])
    assert isinstance(result, Coefficient)
    assert result.se == Undefined("there is only one unit")


@given(tables(raters=(3, 5), missing=False))
def test_statsmodels_agrees(ratings: Floats) -> None:
    module = pytest.importorskip("statsmodels.stats.inter_rater")
    ours = fleiss(ratings)
    assume(isinstance(ours, Coefficient))
    counted = tally(ratings)
    assert value(ours) == pytest.approx(module.fleiss_kappa(counted.counts[counted.pattern]), abs=1e-9)


@given(tables())
def test_the_form_for_resampling_has_the_same_value(ratings: Floats) -> None:
    result, resampled = fleiss(ratings), fleiss_statistic(ratings).value()
    if isinstance(result, Coefficient):
        assert resampled == pytest.approx(result.value, abs=1e-12)
    else:
        assert np.isnan(resampled)
