"""The examples in the documentation run: the gate script with every exit code, the workflow, the test suite."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from tests.fake_judge import Behaviour, FakeJudge
from tests.reports.made import harsh

EXAMPLES = Path(__file__).parents[1] / "docs" / "examples"
OUTPUTS = {"gate.json", "summary.md", "report.html", "junit.xml"}


@pytest.fixture
def fake() -> Iterator[FakeJudge]:
    with FakeJudge(Behaviour(answer=harsh)) as server:
        yield server


def environment(fake: FakeJudge, **more: str) -> dict[str, str]:
    tools = Path(sys.executable).parent
    known = {key: value for key, value in os.environ.items() if not key.startswith(("OPENAI_", "ATTUNEMENT_"))}
    return {
        **known,
        "PATH": f"{tools}:{os.environ['PATH']}",
        "OPENAI_BASE_URL": fake.url,
        "OPENAI_API_KEY": "k",
        **more,
    }


def chats(path: Path, *replies: str) -> Path:
    talks = [
        {"id": str(number), "system": "bot", "messages": [
            {"role": "user", "content": "I failed."}, {"role": "assistant", "content": reply},
        ]}
        for number, reply in enumerate(replies)
    ]  # fmt: skip
    path.write_text("\n".join(map(json.dumps, talks)))
    return path


def gate(folder: Path, fake: FakeJudge, *arguments: object, **more: str) -> subprocess.CompletedProcess[str]:
    command = ["sh", str(EXAMPLES / "gate.sh"), *map(str, arguments)]
    return subprocess.run(command, cwd=folder, env=environment(fake, **more), capture_output=True, text=True)


@pytest.mark.slow
def test_the_gate_script_ends_with_the_exit_code_of_the_gate(tmp_path, fake):
    good = chats(tmp_path / "good.jsonl", "That is hard.", "That must hurt.")
    done = gate(tmp_path, fake, good, "openai:m")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("## The gate lets this through.")
    assert {file.name for file in (tmp_path / "attunement").iterdir()} == OUTPUTS

    bad = chats(tmp_path / "bad.jsonl", "That is hard.", "You are stupid.")
    done = gate(tmp_path, fake, bad, "openai:m", "release.study.db", STUDY="bad.db", OUT="bad")
    assert done.returncode == 1, done.stderr
    assert "<code>bot/1</code>: Rejected: unsafe, before Pass" in done.stdout
    assert "stupid" not in done.stdout  # the summary may be public

    assert gate(tmp_path, fake, good, "openai:m", GATE="--min-conversations 60").returncode == 3
    assert gate(tmp_path, fake, tmp_path / "none.jsonl", "openai:m", STUDY="none.db").returncode == 2
    assert gate(tmp_path, fake).returncode == 2


def test_the_workflow_uses_what_the_script_writes():
    workflow = yaml.safe_load((EXAMPLES / "github-actions.yml").read_text())
    assert workflow["permissions"] == {"contents": "read", "pull-requests": "write"}
    steps = workflow["jobs"]["gate"]["steps"]
    runs = "\n".join(step.get("run", "") for step in steps)
    assert "sh gate.sh chats.jsonl" in runs
    assert steps[-1]["run"] == "exit ${{ steps.gate.outputs.code }}"
    used = set(re.findall(r"attunement/([\w.]+)", runs))
    assert used <= OUTPUTS
    # A study of other words under the same ids would be refused, or its old conversations would be gated too.
    caches = [step["with"] for step in steps if step.get("uses", "").startswith("actions/cache/")]
    assert [cache["key"] for cache in caches] == ["conversations-${{ hashFiles('chats.jsonl') }}"] * 2
    assert not any("restore-keys" in cache for cache in caches)
    # A comment that failed to be made would hide what the gate said: nothing may go on after an error unseen.
    assert not any(step.get("continue-on-error") for step in steps)


@pytest.mark.slow
def test_the_example_of_a_test_suite_runs(tmp_path, fake):
    shutil.copy(EXAMPLES / "test_support_bot.py", tmp_path)

    def run(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            *arguments,
            "-p",
            "no:randomly",
        ]
        return subprocess.run(command, cwd=tmp_path, env=environment(fake, **more), capture_output=True, text=True)

    done = run(ATTUNEMENT_JUDGE="openai:m")
    assert "2 passed" in done.stdout, done.stdout
    asked = fake.requests
    done = run()
    assert "2 failed" in done.stdout
    assert "no judge is set" in done.stdout
    assert "2 deselected" in run("-m", "not attunement").stdout
    assert fake.requests == asked
