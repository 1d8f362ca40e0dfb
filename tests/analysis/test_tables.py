import numpy as np
import pytest
from hypothesis import given

from attunement.errors import InputError
from attunement.statistics.tables import Table, clusters, code, matrix, table, tally
from tests.analysis.strategies import tables


def test_a_long_list_becomes_a_table_in_order_of_appearance() -> None:
    pivoted = table(["b", "a", "b"], ["ann", "ann", "bo"], [4, 2, 5])
    assert pivoted.units == ["b", "a"]
    assert pivoted.raters == ["ann", "bo"]
    np.testing.assert_array_equal(pivoted.values, [[4, 5], [2, np.nan]])


def test_an_empty_list_is_an_empty_table() -> None:
    empty = table([], [], [])
    assert empty == Table([], [], empty.values)
    assert empty.values.shape == (0, 0)


def test_a_rater_who_rated_a_unit_twice_is_named() -> None:
    with pytest.raises(InputError, match="Rater ann rated unit a twice"):
        table(["a", "a"], ["ann", "ann"], [1, 2])


def test_words_become_places_on_the_scale() -> None:
    np.testing.assert_array_equal(code([["NO", None], ["YES", "NO"]], ["NO", "YES"]), [[0, np.nan], [1, 0]])


def test_a_word_off_the_scale_is_refused() -> None:
    with pytest.raises(InputError, match="'yes' is none of NO, YES"):
        code([["yes"]], ["NO", "YES"])


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
