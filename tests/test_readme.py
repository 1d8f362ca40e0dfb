"""Every command and every example of the README and of the page on Python, run by the letter as a newcomer would."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.fake_judge import FakeJudge
from tests.pages import ROOT, Reader, Step, read, set_up, steps

COMMANDS = [step for step in steps(read("README.md")) if step.kind == "command"]
PYTHON = [step for page in ("README.md", "docs/python.md") for step in steps(read(page)) if step.kind == "python"]
GATE_SAYS = frozenset({0, 1, 3})


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    set_up(tmp_path)
    return tmp_path


def test_the_readme_has_commands_and_python():
    assert len(COMMANDS) > 12
    assert len(PYTHON) > 5


@pytest.mark.slow
def test_all_commands_of_the_readme_work_in_their_order(desk: Path):
    with FakeJudge() as fake:
        reader = Reader(desk, fake.url)
        for command in COMMANDS:
            decides = command.text.startswith("attune gate")
            reader.follow(command._replace(exit_codes=GATE_SAYS) if decides else command)


@pytest.mark.slow
@pytest.mark.parametrize("code", PYTHON, ids=lambda step: step.text.splitlines()[0])
def test_the_python_of_the_pages_runs(desk: Path, code: Step):
    with FakeJudge() as fake:
        Reader(desk, fake.url).follow(code)


def test_the_readme_shows_what_the_demo_prints():
    shown = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "transcript.py"), "--check"], cwd=ROOT, check=False, timeout=120
    )
    assert shown.returncode == 0, "write it anew with: python examples/transcript.py"
