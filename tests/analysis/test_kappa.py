import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from attunement.statistics.kappa import Kappa, Weights, kappa
from attunement.statistics.results import Undefined
from attunement.statistics.tables import Floats
from tests.analysis.published import COHEN_1960, GWET_TWO_RATERS, pairs_of
from tests.analysis.strategies import tables

NAN = np.nan
WEIGHTS: list[Weights] = ["identity", "quadratic"]


def of(result: Kappa | Undefined) -> Kappa:
    assert isinstance(result, Kappa), result
    return result


@pytest.mark.parametrize(("weights", "expected"), [("identity", 0.491525), ("quadratic", 0.454545)])
def test_cohens_example_comes_out(weights: Weights, expected: float) -> None:
    assert of(kappa(*pairs_of(COHEN_1960).T, weights)).value == pytest.approx(expected, abs=5e-7)


def test_cohens_example_has_its_standard_error() -> None:
    assert of(kappa(*pairs_of(COHEN_1960).T)).se == pytest.approx(0.051002, abs=5e-7)


def test_gwets_example_comes_out_from_the_ratings_themselves() -> None:
    result = of(kappa(*pairs_of(GWET_TWO_RATERS).T))
    assert result.value == pytest.approx(0.7964094, abs=5e-8)
    assert result.se == pytest.approx(0.0589107, abs=5e-8)
    assert result.units == 100


def test_an_answer_nobody_gave_keeps_its_place_on_the_scale() -> None:
    first, second = [1, 1, 2, 5, 5, 2], [1, 2, 2, 5, 2, 2]
    on_values = of(kappa(first, second, "quadratic"))
    assert on_values.value == pytest.approx(0.634146, abs=5e-7)
    closed_up = of(kappa(first, second, "quadratic", "ranks"))
    assert closed_up.value == pytest.approx(0.666667, abs=5e-7)
    assert closed_up.spacing == "ranks"


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ([], [], "no unit was rated by both"),
        ([1, NAN], [NAN, 2], "no unit was rated by both"),
        ([4, 4, 4], [4, 4, 4], "both gave 4 everywhere"),
    ],
)
def test_degenerate_ratings_have_no_kappa_and_a_reason(first: list[float], second: list[float], reason: str) -> None:
    assert kappa(first, second) == Undefined(reason)


def test_a_constant_judge_has_kappa_zero_and_nothing_to_test() -> None:
    result = of(kappa([4, 4, 4, 4], [1, 2, 4, 5], "quadratic"))
    assert result.value == pytest.approx(0)
    assert result.p == result.p_from_se == Undefined("one rater gave the same answer everywhere")


def test_raters_who_always_agree_have_no_error_to_divide_by() -> None:
    result = of(kappa([1, 2, 3, 1], [1, 2, 3, 1]))
    assert result.value == 1
    assert result.p_from_se == Undefined("the standard error is zero")


@given(tables(raters=(2, 2), missing=False))
def test_weights_do_not_matter_with_two_categories(ratings: Floats) -> None:
    first, second = (ratings > 3).astype(float).T
    assume(isinstance(kappa(first, second), Kappa))
    plain = of(kappa(first, second))
    for weights in WEIGHTS:
        assert of(kappa(first, second, weights)).value == pytest.approx(plain.value, abs=1e-12)


@given(tables(raters=(2, 2)), st.sampled_from(WEIGHTS))
def test_kappa_is_the_same_both_ways_round(ratings: Floats, weights: Weights) -> None:
    first, second = ratings.T
    one, other = kappa(first, second, weights), kappa(second, first, weights)
    if isinstance(one, Kappa):
        assert of(other).value == pytest.approx(one.value, abs=1e-12)
        assert of(other).se == pytest.approx(one.se, abs=1e-7)
    else:
        assert other == one


@given(tables(raters=(2, 2), missing=False), st.sampled_from(WEIGHTS))
def test_statsmodels_agrees_on_value_errors_and_p(ratings: Floats, weights: Weights) -> None:
    module = pytest.importorskip("statsmodels.stats.inter_rater")
    scale = np.unique(ratings)  # statsmodels takes answers to be as far apart as their ranks
    ours = kappa(*ratings.T, weights, "ranks")
    assume(isinstance(ours, Kappa) and isinstance(ours.p, float) and ours.se > 1e-6)
    counts = np.array([[np.sum((ratings[:, 0] == a) & (ratings[:, 1] == b)) for b in scale] for a in scale])
    theirs = module.cohens_kappa(counts, wt=None if weights == "identity" else weights)
    assert of(ours).value == pytest.approx(theirs.kappa, abs=1e-9)
    assert of(ours).se == pytest.approx(theirs.std_kappa, abs=1e-7)
    assert of(ours).p == pytest.approx(theirs.pvalue_two_sided, abs=1e-9)


@given(tables(raters=(2, 2), missing=False), st.sampled_from(WEIGHTS))
def test_scikit_learn_agrees_when_it_is_told_the_scale(ratings: Floats, weights: Weights) -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    ours = kappa(*ratings.T, weights)
    assume(isinstance(ours, Kappa))
    wanted = None if weights == "identity" else weights
    theirs = metrics.cohen_kappa_score(*ratings.T.astype(int), labels=[1, 2, 3, 4, 5], weights=wanted)
    assert of(ours).value == pytest.approx(theirs, abs=1e-9)
