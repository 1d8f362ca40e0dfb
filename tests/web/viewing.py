"""A server with the pages of `attune view`, and somebody who has its link."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from attunement.reports.overview import instrument_of
from attunement.reports.privacy import SHOW_ALL, Privacy
from attunement.store import Study
from attunement.web.viewer import make_view
from tests.web.visitors import Visitor, listening

TOKEN = "a-token-of-the-tests"


@contextmanager
def viewing(path: Path, hiding: Privacy = SHOW_ALL, *, instrument: str | None = None, **options: Any) -> Iterator[str]:
    """Serve the pages of the study at `path`; gives the address of the server."""
    with Study(path) as study:
        app = make_view(study, instrument_of(study, instrument), hiding, TOKEN, **options)
        with listening(app) as server:
            yield server


@contextmanager
def reader(path: Path, hiding: Privacy = SHOW_ALL, **options: Any) -> Iterator[Visitor]:
    """Somebody who came in with the link."""
    with viewing(path, hiding, **options) as address, Visitor(address) as somebody:
        assert somebody.get(f"/enter/{TOKEN}").path == "/view/"
        yield somebody
