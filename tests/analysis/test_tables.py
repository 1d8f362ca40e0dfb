import numpy as np
import pytest
from hypothesis import given

from attunement.errors import InputError
from attunement.statistics.tables import clusters, matrix, tally
from tests.analysis.strategies import tables


def test_a_value_off_the_scale_is_refused() -> None:
    with pytest.raises(InputError, match=r"The rating 6 is not on the scale 1, 2, 3, 4, 5"):
        tally(np.array([[1.0, 6.0]]), categories=[1, 2, 3, 4, 5])


@pytest.mark.parametrize("wrong", [[1, 2, 3], [[[1]]]])
def test_what_is_no_table_is_refused(wrong: object) -> None:
    with pytest.raises(ValueError, match="one row a unit"):
        matrix(wrong)  # type: ignore[arg-type]


def test_an_infinite_rating_is_refused() -> None:
    with pytest.raises(ValueError, match="infinite"):
        matrix([[1, np.inf]])


@given(tables())
def test_a_tally_counts_every_rating_of_every_unit(ratings: np.ndarray) -> None:
    counted = tally(ratings, categories=[1, 2, 3, 4, 5])
    expected = [[np.sum(row == category) for category in range(1, 6)] for row in ratings]
    np.testing.assert_array_equal(counted.counts[counted.pattern], expected)


@pytest.mark.parametrize("size", [3, 20, 90])
def test_patterns_are_found_however_many_categories_there_are(size: int) -> None:
    # The three sizes take the lookup table, the sorted numbers and the rows themselves.
    ratings = np.random.default_rng(size).integers(size, size=(200, 2)).astype(float)
    counted = tally(ratings, categories=list(range(size)))
    expected = [np.bincount(row.astype(int), minlength=size) for row in ratings]
    np.testing.assert_array_equal(counted.counts[counted.pattern], expected)


def test_units_without_labels_are_clusters_of_their_own() -> None:
    assert clusters(None, 3)[1] == 3


def test_clusters_may_have_any_names() -> None:
    number, count = clusters(["b", "a", "b"], 3)
    assert count == 2
    assert list(number) == [1, 0, 1]


def test_each_unit_needs_its_cluster() -> None:
    with pytest.raises(ValueError, match="3 units need 3 cluster labels"):
        clusters(["a"], 3)
