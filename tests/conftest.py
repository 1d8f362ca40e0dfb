"""What the tests share."""

import os
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

# No test asserts a time: a busy machine must not make an example too slow.
settings.register_profile("attunement", deadline=None)
settings.load_profile("attunement")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder with other people's ratings and transcripts; it is not part of the project."""
    default = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("ATTUNEMENT_DATA", default))
    if not folder.is_dir():
        pytest.skip(f"{folder} is absent: set ATTUNEMENT_DATA to the folder with the public data sets")
    return folder


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Where `ATTUNEMENT_SKIP_NOTHING` is set, a test that would be skipped fails: a part it needs is missing."""
    report = yield
    if report.skipped and os.environ.get("ATTUNEMENT_SKIP_NOTHING"):
        report.outcome = "failed"
        report.longrepr = f"skipped although nothing may be: {report.longrepr}"
    return report
