import numpy as np
import pytest

import attunement.agreement.bradley_terry as module
from attunement.agreement.bradley_terry import BradleyTerry, bradley_terry
from attunement.agreement.results import Undefined


def of(result: BradleyTerry | Undefined) -> BradleyTerry:
    assert isinstance(result, BradleyTerry), result
    return result


def test_three_to_one_is_a_gap_of_the_logarithm_of_three() -> None:
    result = of(bradley_terry([[0, 3, 9], [1, 0, 3], [1, 1, 0]], "abc"))
    assert result.strengths == pytest.approx([np.log(3), 0, -np.log(3)])
    assert result.comparisons == 18


def test_the_standard_error_of_a_gap_is_that_of_a_logit() -> None:
    result = of(bradley_terry([[0, 30], [10, 0]], "ab"))
    gap = np.array([1, -1])
    assert gap @ result.covariance @ gap == pytest.approx(1 / 30 + 1 / 10)


@pytest.mark.parametrize(
    ("wins", "names", "reason"),
    [
        ([[0]], "a", "fewer than two systems"),
        ([[0, 3], [0, 0]], "ab", "b never won against a, neither directly nor through others"),
        ([[0, 0], [0, 0]], "ab", "a never won against b, neither directly nor through others"),
    ],
)
def test_outcomes_without_finite_strengths_have_a_reason(wins: list[list[int]], names: str, reason: str) -> None:
    assert bradley_terry(wins, names) == Undefined(reason)


def test_a_table_of_another_size_than_the_names_is_refused() -> None:
    with pytest.raises(ValueError, match="3 systems need a table of as many rows and columns"):
        bradley_terry([[0, 1], [1, 0]], "abc")


def test_systems_that_never_met_are_compared_through_others() -> None:
    result = of(bradley_terry([[0, 6, 0], [2, 0, 6], [0, 2, 0]], "abc"))
    assert result.strengths[0] - result.strengths[2] == pytest.approx(2 * np.log(3))


@pytest.mark.parametrize("seed", range(5))
def test_choix_agrees(seed: int) -> None:
    package = pytest.importorskip("choix")
    wins = np.random.default_rng(seed).integers(1, 40, size=(5, 5)).astype(float)
    np.fill_diagonal(wins, 0)
    assert of(bradley_terry(wins, "abcde")).strengths == pytest.approx(package.ilsr_pairwise_dense(wins), abs=1e-6)


@pytest.mark.parametrize(
    "wins",
    [
        [[0, 10_000, 1], [1, 0, 10_000], [1, 1, 0]],
        [[0, 100, 10, 0], [0, 0, 100, 0], [0, 0, 0, 10], [100, 0.1, 0, 0]],  # a whole Newton step overshoots
    ],
)
def test_one_sided_outcomes_expect_as_many_wins_as_there_were(wins: list[list[float]]) -> None:
    result = of(bradley_terry(wins, "abcd"[: len(wins)]))
    chances = 1 / (1 + np.exp(result.strengths - result.strengths[:, None]))
    together = np.array(wins) + np.array(wins).T
    np.testing.assert_allclose((together * chances).sum(axis=1), np.sum(wins, axis=1), rtol=1e-6)


def test_a_search_that_does_not_end_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_STEPS", 1)
    assert bradley_terry([[0, 9], [1, 0]], "ab") == Undefined(
        "the outcomes are too one-sided for strengths to be found"
    )
