"""Every command and every example of the README and of the page on Python, run by the letter as a newcomer would."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fake_judge import FakeJudge

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
COMMANDS = [
    line
    for block in re.findall(r"^```\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
    if line.startswith("attune ")
]
PYTHON = [
    code
    for page in (README, (ROOT / "docs" / "python.md").read_text("utf-8"))
    for code in re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
]
ANSWERS = "system,conversation,judge,criterion,answer,reasoning\nHarbor,mothers-flat,elsewhere,CQ1,YES,Turn 1\n"
GATE_SAYS = {0, 1, 3}


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    shutil.copy(tmp_path / "examples" / "first.jsonl", tmp_path / "chats.jsonl")
    (tmp_path / "answers.csv").write_text(ANSWERS)
    return tmp_path


def test_the_readme_has_commands_and_python():
    assert len(COMMANDS) > 12
    assert len(PYTHON) > 5


def test_all_commands_of_the_readme_work_in_their_order(desk: Path):
    with FakeJudge() as fake:
        environment = {**os.environ, "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": fake.url}
        for command in COMMANDS:
            words = [sys.executable, "-m", "attunement", *shlex.split(command)[1:]]
            done = subprocess.run(words, capture_output=True, text=True, cwd=desk, env=environment, check=False)
            allowed = GATE_SAYS if command.startswith("attune gate") else {0}
            assert done.returncode in allowed, f"{command}\n{done.stdout[-500:]}\n{done.stderr[-500:]}"


@pytest.mark.parametrize("code", PYTHON)
def test_the_python_of_the_pages_runs(desk: Path, code: str):
    with FakeJudge() as fake:
        environment = {**os.environ, "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": fake.url}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, cwd=desk, env=environment, check=False
        )
    assert done.returncode == 0, done.stderr
