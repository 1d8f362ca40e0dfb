"""Studies of both kinds for the tests of this folder; they begin empty."""

from collections.abc import Iterator

import pytest

from attunement.store import Study
from tests.postgres import postgres, study_place

__all__ = ["postgres", "study_place"]


@pytest.fixture
def study(study_place: str) -> Iterator[Study]:
    with Study(study_place, create=True) as opened:
        yield opened
