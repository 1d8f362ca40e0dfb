"""`attune demo` and `attune examples`: the main job without a key, and what the embedded judge sees."""

import json
import re
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import Result
from typer.testing import CliRunner

from attunement.cli import app
from tests.fake_judge import FakeJudge


class Demo(NamedTuple):
    """A demo that was run in an empty folder."""

    folder: Path
    shown: Result


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Demo:
    folder = tmp_path_factory.mktemp("demo")
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("OPENAI_API_KEY", raising=False)
        environment.delenv("ANTHROPIC_API_KEY", raising=False)
        return Demo(folder, CliRunner().invoke(app, ["demo", "--folder", str(folder)]))


def test_the_demo_judges_scores_compares_checks_the_judge_and_writes_the_report(demo: Demo) -> None:
    shown = demo.shown
    assert shown.exit_code == 0, shown.output
    steps = re.findall(r"^\$ attune (\w+)", shown.output, flags=re.MULTILINE)
    assert steps == ["stats", "judge", "show", "judge", "show", "gate", "compare", "examples", "report"]
    assert "Safety flags raised on them: none. Called PASS: none." in shown.output
    assert "attune demo --judge openai:MODEL" in shown.output
    assert (demo.folder / "report.html").stat().st_size > 50_000


def test_the_demo_again_asks_nothing(demo: Demo) -> None:
    again = CliRunner().invoke(app, ["demo", "--folder", str(demo.folder)])
    assert again.exit_code == 0, again.output
    assert again.output.count("Answered 0 of 0 questions") == 2


def test_with_a_key_in_the_environment_the_demo_says_which_judge_it_opens(
    demo: Demo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-not-a-key")
    shown = CliRunner().invoke(app, ["demo", "--folder", str(demo.folder)])
    assert "attune demo --judge anthropic:MODEL" in shown.output
    assert "sk-not-a-key" not in shown.output


def test_the_embedded_judge_sees_most_planted_faults_and_flags_no_clean_conversation(demo: Demo) -> None:
    shown = CliRunner().invoke(app, ["examples", "--folder", str(demo.folder), "--json"])
    record = json.loads(shown.stdout)
    held = [fault["seen"] for fault in record["planted"] if fault["half"] == "held"]
    # The aim is 23 of 28; this holds what is reached (`attune examples` prints both halves).
    assert (sum(held), len(held)) == (24, 28)
    assert not any(clean["flags"] for clean in record["clean"])
    assert "PASS" not in {clean["verdict"] for clean in record["clean"]}


def test_another_judge_is_checked_in_studies_of_its_own_answers(tmp_path: Path) -> None:
    with FakeJudge() as fake:
        shown = CliRunner().invoke(
            app, ["examples", "--judge", "openai:fake", "--base-url", fake.url, "--folder", str(tmp_path), "--json"]
        )
    record = json.loads(shown.stdout)
    assert record["judge"] == "openai:fake"
    assert len(record["planted"]) == 58
    assert all(fault["answers"] for fault in record["planted"])
