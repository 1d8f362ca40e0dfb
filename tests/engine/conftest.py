"""Studies of both kinds for the tests of this folder, and where a run makes its own."""

from pathlib import Path

import pytest

from tests.postgres import postgres, study_place

__all__ = ["postgres", "study_place"]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "a.study.db"
