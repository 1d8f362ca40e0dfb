"""What the tests share."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with other people's ratings and transcripts; it is not part of the project."""
    default = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("ATTUNEMENT_DATA", default))
    if not folder.is_dir():
        pytest.skip(f"{folder} is absent: set ATTUNEMENT_DATA to the folder with the public data sets")
    return folder
