import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunement.statistics.results import Undefined
from attunement.statistics.tests import fisher

COUNTS = st.integers(1, 40).flatmap(lambda units: st.tuples(st.integers(0, units), st.just(units)))


def test_the_lady_tasting_tea_comes_out() -> None:
    # Fisher's own example: eight cups, three of four named rightly.
    assert fisher(3, 4, 1, 4) == pytest.approx(34 / 70)


@given(COUNTS, COUNTS)
def test_scipy_agrees(first: tuple[int, int], second: tuple[int, int]) -> None:
    from scipy.stats import fisher_exact

    table = [[first[0], first[1] - first[0]], [second[0], second[1] - second[0]]]
    assert fisher(*first, *second) == pytest.approx(fisher_exact(table).pvalue, abs=1e-9)


@given(COUNTS, COUNTS)
def test_the_order_of_the_groups_does_not_matter(first: tuple[int, int], second: tuple[int, int]) -> None:
    assert fisher(*first, *second) == pytest.approx(fisher(*second, *first), abs=1e-9)


def test_thousands_of_conversations_are_no_trouble() -> None:
    assert fisher(5000, 10_000, 4800, 10_000) == pytest.approx(0.0049, abs=2e-4)


def test_an_empty_group_has_no_rate() -> None:
    assert fisher(0, 0, 3, 4) == Undefined("one of the two has no conversation with a verdict")
