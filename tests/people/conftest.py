"""Studies of both kinds for the tests of this folder, closed when a test ends."""

from collections.abc import Iterator

import pytest

from tests.people.projects import OPENED
from tests.postgres import postgres, study_place

__all__ = ["postgres", "study_place"]


@pytest.fixture(autouse=True)
def close_studies() -> Iterator[None]:
    """Let go of the databases."""
    yield
    while OPENED:
        OPENED.pop().close()
