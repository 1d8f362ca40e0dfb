import numpy as np
import pytest
from hypothesis import given

from attunement.statistics.kappa import (
    PercentAgreement,
    SpecificAgreement,
    percent_agreement,
    specific_agreement,
)
from attunement.statistics.results import Undefined
from attunement.statistics.tables import Floats
from tests.analysis.published import KRIPPENDORFF_2011
from tests.analysis.strategies import tables


def test_the_published_share_comes_out() -> None:
    result = percent_agreement(KRIPPENDORFF_2011)
    assert result == PercentAgreement(pytest.approx(9 / 11), units=11)


def test_specific_agreement_counts_the_others_who_say_so_too() -> None:
    # Three raters say 1 of the first unit, one of the second: 3 * 2 agreeing of 3 * 2 + 1 * 2 chances to agree.
    result = specific_agreement([[1, 1, 1], [1, 2, 2], [2, 2, 2]], 1)
    assert result == SpecificAgreement(pytest.approx(6 / 8), category=1, ratings=4, units=2)


def test_a_rating_nobody_could_agree_with_does_not_count() -> None:
    ratings = [[1, 1], [1, np.nan], [2, 1]]
    assert specific_agreement(ratings, 1) == SpecificAgreement(pytest.approx(2 / 3), category=1, ratings=3, units=2)


def test_an_answer_never_given_has_no_agreement() -> None:
    assert specific_agreement([[1, 1], [2, 2]], 3) == Undefined("no unit with two ratings was given 3")


def test_agreement_needs_two_ratings_of_a_unit() -> None:
    assert percent_agreement([[1], [1]]) == Undefined("only one rater")
    assert specific_agreement([[1, np.nan], [np.nan, 1]], 1) == Undefined("no unit was rated by two raters")


def test_raters_who_all_say_the_same_agree_always() -> None:
    assert percent_agreement([[5, 5], [5, 5]]) == PercentAgreement(1.0, units=2)


@given(tables(raters=(2, 2), missing=False))
def test_with_two_raters_the_specific_agreements_average_to_the_whole(ratings: Floats) -> None:
    whole = percent_agreement(ratings)
    parts = [specific_agreement(ratings, category) for category in np.unique(ratings)]
    assert isinstance(whole, PercentAgreement)
    weighted = sum(part.value * part.ratings for part in parts if isinstance(part, SpecificAgreement))
    assert weighted / ratings.size == pytest.approx(whole.value)
