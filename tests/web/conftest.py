"""A project that is served, for the tests of this folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.annotation.projects import Begun, begin_project, close_studies
from tests.web.visitors import Visitor, serving

__all__ = ["close_studies"]


@pytest.fixture
def begun(tmp_path: Path) -> Begun:
    """A small project with three raters."""
    return begin_project(tmp_path / "a.study.db")


@pytest.fixture
def server(begun: Begun) -> Iterator[str]:
    """The address of a server with the pages of the project."""
    with serving(begun.study) as address:
        yield address


@pytest.fixture
def visitor(server: str) -> Iterator[Visitor]:
    """Somebody with a browser."""
    with Visitor(server) as somebody:
        yield somebody
