import gc
from collections.abc import Iterator

import pytest

from attunement.engine.runner import rarely_collecting


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_garbage_is_looked_for_more_rarely_and_then_as_before() -> None:
    gc.set_threshold(700, 10, 10)
    with rarely_collecting():
        assert gc.get_threshold()[0] > 700
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("first", [0, 1_000_000])
def test_a_program_that_collects_more_rarely_or_never_is_left_as_it_is(first: int) -> None:
    gc.set_threshold(first, 10, 10)
    with rarely_collecting():
        assert gc.get_threshold() == (first, 10, 10)
