import numpy as np
import pytest
from hypothesis import given

from attunement.statistics.kappa import Coefficient, ac1, ac2
from attunement.statistics.results import Undefined
from attunement.statistics.tables import Floats
from tests.analysis.published import GWET_TWO_RATERS, KRIPPENDORFF_2011, pairs_of
from tests.analysis.strategies import tables

SCALE = [1, 2, 3, 4, 5]


def of(result: Coefficient | Undefined) -> Coefficient:
    assert isinstance(result, Coefficient), result
    return result


def test_gwets_example_of_ac1_comes_out_with_its_standard_error() -> None:
    result = of(ac1(KRIPPENDORFF_2011))
    assert result.value == pytest.approx(0.7754441, abs=5e-8)
    assert result.se == pytest.approx(0.1429500, abs=5e-8)
    assert result.observed == pytest.approx(0.8181818, abs=5e-8)


def test_gwets_example_of_ac2_comes_out_with_its_standard_error() -> None:
    result = of(ac2(KRIPPENDORFF_2011, "quadratic"))
    assert result.value == pytest.approx(0.9140007, abs=5e-8)
    assert result.se == pytest.approx(0.1039622, abs=5e-8)


def test_two_raters_come_out() -> None:
    assert of(ac1(pairs_of(GWET_TWO_RATERS))).value == pytest.approx(0.8493305, abs=5e-8)


def test_answers_that_were_possible_count_even_if_nobody_gave_them() -> None:
    ratings = [[1, 1], [1, 1], [1, 2]]
    assert of(ac1(ratings, SCALE)).value > of(ac1(ratings)).value


def test_raters_who_all_say_the_same_agree_where_the_scale_is_known() -> None:
    assert of(ac1([[5, 5], [5, 5]], SCALE)).value == 1
    assert ac1([[5, 5], [5, 5]]) == Undefined("every rating is 5")


@pytest.mark.parametrize(
    ("ratings", "reason"),
    [
        ([], "there are no ratings"),
        ([[1], [2]], "only one rater"),
        ([[1, np.nan], [np.nan, 2]], "no unit was rated by two raters"),
    ],
)
def test_degenerate_ratings_have_no_coefficient_and_a_reason(ratings: list[list[float]], reason: str) -> None:
    for coefficient in (ac1, ac2):
        assert coefficient(ratings, categories=SCALE) == Undefined(reason)


@given(tables())
def test_ac2_with_identity_weights_is_ac1(ratings: Floats) -> None:
    assert ac2(ratings, "identity", SCALE) == ac1(ratings, SCALE)


@given(tables())
def test_part_credit_never_lowers_the_observed_agreement(ratings: Floats) -> None:
    plain, weighted = ac1(ratings, SCALE), ac2(ratings, "quadratic", SCALE)
    if isinstance(plain, Coefficient):
        assert of(weighted).observed >= plain.observed - 1e-12
