import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import attunement.statistics.correlation as module
from attunement.statistics.correlation import ICC, Model, icc
from attunement.statistics.results import Undefined
from attunement.statistics.tables import Floats
from tests.analysis.published import SHROUT_FLEISS_1979
from tests.analysis.strategies import tables

NAN = np.nan
MODELS: list[Model] = [2, 3]


def of(result: ICC | Undefined) -> ICC:
    assert isinstance(result, ICC), result
    return result


@pytest.mark.parametrize(
    ("model", "average", "expected"),
    [
        (2, False, 0.289764),
        (3, False, 0.714841),
        (2, True, 0.620051),
        (3, True, 0.909316),
    ],
)
def test_shrout_and_fleiss_example_comes_out(model: Model, average: bool, expected: float) -> None:
    result = of(icc(SHROUT_FLEISS_1979, model, average=average))
    assert result.value == pytest.approx(expected, abs=5e-7)
    assert result.averaged == (4 if average else 1)
    assert result.estimator == "analysis of variance"


def by_fitting_constants(ratings: Floats, model: Model) -> float:
    """The same estimator written out with design matrices and projections, for a table of any size and gaps."""
    unit, rater = np.nonzero(~np.isnan(ratings))
    values = ratings[unit, rater]
    units, raters = (np.eye(number.max() + 1)[number] for number in (unit, rater))
    units, raters = units[:, units.any(axis=0)], raters[:, raters.any(axis=0)]
    both = np.hstack([units, raters])

    def residual(design: Floats) -> tuple[float, int, Floats]:
        projection = np.eye(len(values)) - design @ np.linalg.pinv(design)
        return float(values @ projection @ values), int(np.linalg.matrix_rank(design)), projection

    (error, rank, _), (no_raters, u_rank, m_units), (no_units, r_rank, m_raters) = map(residual, (both, units, raters))
    noise = error / (len(values) - rank)
    of_units = (no_units - error - (rank - r_rank) * noise) / np.trace(units.T @ m_raters @ units)
    of_raters = (no_raters - error - (rank - u_rank) * noise) / np.trace(raters.T @ m_units @ raters)
    return of_units / (of_units + noise + (of_raters if model == 2 else 0))


@pytest.mark.parametrize("model", [2, 3])
@pytest.mark.parametrize("seed", range(5))
def test_missing_ratings_are_fitted_as_written_out_with_matrices(model: Model, seed: int) -> None:
    rng = np.random.default_rng(seed)
    ratings = rng.normal(size=(12, 1)) + rng.normal(size=4) + rng.normal(size=(12, 4))
    ratings[rng.random(ratings.shape) < 0.3] = NAN
    result = of(icc(ratings, model))
    assert result.value == pytest.approx(by_fitting_constants(ratings, model), abs=1e-9)
    assert result.estimator == "fitting constants, for missing ratings"


def test_raters_in_two_groups_without_a_common_unit_are_fitted_too() -> None:
    rng = np.random.default_rng(3)
    ratings = rng.normal(size=(12, 1)) + rng.normal(size=(12, 4)) / 2
    ratings[:6, 2:] = ratings[6:, :2] = NAN
    assert of(icc(ratings, 2)).value == pytest.approx(by_fitting_constants(ratings, 2), abs=1e-9)


def test_missing_ratings_leave_the_estimate_unbiased() -> None:
    rng = np.random.default_rng(4)
    ratings = rng.normal(size=(4000, 1)) + np.array([0, 0.5, -0.5, 1, -1]) + rng.normal(size=(4000, 5))
    whole = of(icc(ratings, 2)).value
    ratings[rng.random(ratings.shape) < 0.4] = NAN
    assert of(icc(ratings, 2)).value == pytest.approx(whole, abs=0.02)


def test_the_mean_of_unequal_numbers_of_ratings_takes_their_harmonic_mean() -> None:
    ratings = [[1, 2, NAN], [3, 3, 4], [5, 4, 4], [2, 2, NAN]]
    assert of(icc(ratings, 2, average=True)).averaged == pytest.approx(4 / (1 / 2 + 1 / 3 + 1 / 3 + 1 / 2))


@pytest.mark.parametrize(
    ("ratings", "reason"),
    [
        ([], "there are no ratings"),
        ([[NAN, NAN]], "there are no ratings"),
        ([[1], [2]], "only one rater"),
        ([[1, 2]], "only one unit"),
        ([[1, NAN], [NAN, 2]], "no unit was rated by two raters"),
        ([[5, 5], [5, 5]], "every rating is 5"),
    ],
)
@pytest.mark.parametrize("model", MODELS)
def test_degenerate_ratings_have_no_icc_and_a_reason(ratings: list[list[float]], reason: str, model: Model) -> None:
    assert icc(ratings, model) == Undefined(reason)


def test_ratings_too_sparse_to_part_raters_from_noise_are_said_to_be_so() -> None:
    assert icc([[1, 2, NAN, NAN], [NAN, NAN, 3, 5]], 2) == Undefined(
        "too few ratings to separate units, raters and noise"
    )


def test_a_crowd_is_told_that_raters_cannot_be_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_NUMBERS", 10)
    assert icc(SHROUT_FLEISS_1979, 2) == Undefined("4 raters are too many to tell them apart")


@given(tables(raters=(2, 4)), st.sampled_from(MODELS))
def test_moving_the_scale_changes_nothing(ratings: Floats, model: Model) -> None:
    before, after = icc(ratings, model), icc(3 * ratings + 7, model)
    assume(isinstance(before, ICC))
    assert of(after).value == pytest.approx(of(before).value, abs=1e-6)


@given(tables(raters=(2, 4), missing=False))
def test_severity_counts_in_model_two_and_not_in_model_three(ratings: Floats) -> None:
    harsher = ratings + np.arange(ratings.shape[1])
    before, after = icc(ratings, 3), icc(harsher, 3)
    assume(isinstance(before, ICC) and isinstance(after, ICC))
    assert of(after).value == pytest.approx(of(before).value, abs=1e-6)


@pytest.mark.filterwarnings("ignore")  # pingouin's own
def test_pingouin_agrees() -> None:
    pingouin, pandas = pytest.importorskip("pingouin"), pytest.importorskip("pandas")
    rng = np.random.default_rng(6)
    ratings = np.round(rng.normal(size=(15, 1)) * 2 + rng.normal(size=(15, 3)) + np.array([0, 1, 2]))
    rows = [(unit, rater, ratings[unit, rater]) for unit in range(15) for rater in range(3)]
    table = pingouin.intraclass_corr(
        pandas.DataFrame(rows, columns=["unit", "rater", "value"]), "unit", "rater", "value"
    )
    ours = [of(icc(ratings, model, average=average)).value for average in (False, True) for model in MODELS]
    theirs = [table["ICC"][place] for place in (1, 2, 4, 5)]  # without those of model 1
    np.testing.assert_allclose(ours, theirs, atol=1e-9)
