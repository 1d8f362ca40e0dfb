"""`attune demo` and `attune self-test`: the steps without a key, and what a judge sees of planted faults."""

import json
import re
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import Result
from typer.testing import CliRunner

from attunement.cli import app
from attunement.errors import InputError
from attunement.store import Study
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


def test_without_a_judge_the_demo_shows_pointers_an_undecided_gate_and_the_report(demo: Demo) -> None:
    shown = demo.shown
    assert shown.exit_code == 0, shown.output
    steps = re.findall(r"^\$ attune ([\w-]+)", shown.output, flags=re.MULTILINE)
    assert steps == ["describe", "judge", "show", "judge", "show", "gate", "report"]
    said = " ".join(shown.output.split())
    assert "31 conversations. None of them is judged with this instrument." in said
    assert "Look at: • Harbor/twenty-six-years, turn 3: “" in said
    assert "The gate cannot decide" in said
    assert "(exit code 3: something was not judged, or needs a person)" in said
    assert not re.search(r"\b(PASS|Pass:|Rejected|FAIL|Flagged|planted)\b", shown.output)
    assert "attune demo --judge openai:MODEL" in shown.output
    assert (demo.folder / "report.html").stat().st_size > 50_000


def test_the_demo_again_reads_nothing_again(demo: Demo) -> None:
    def kept() -> list[int]:
        counts: list[int] = []
        for path in sorted(demo.folder.glob("*.study.db")):
            with Study(path) as study:
                counts.append(sum(1 for _ in study.ratings()))
        return counts

    before = kept()
    again = CliRunner().invoke(app, ["demo", "--folder", str(demo.folder)])
    assert again.exit_code == 0, again.output
    assert kept() == before
    assert len(before) == 2
    assert "Harbor/twenty-six-years, turn 3" in again.output


def test_with_a_judge_the_demo_also_compares_and_checks_it_on_planted_faults(tmp_path: Path) -> None:
    with FakeJudge() as fake:
        words = ["demo", "--judge", "openai:fake", "--base-url", fake.url, "--folder", str(tmp_path)]
        shown = CliRunner().invoke(app, words)
    assert shown.exit_code == 0, shown.output
    steps = re.findall(r"^\$ attune ([\w-]+)", shown.output, flags=re.MULTILINE)
    assert steps == ["describe", "judge", "show", "judge", "show", "gate", "compare", "self-test", "report"]
    assert "Planted faults seen: " in shown.output
    assert "attune demo --judge" not in shown.output.split("The report as a web page")[1]


def test_with_a_key_in_the_environment_the_demo_says_which_judge_it_opens(
    demo: Demo, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-not-a-key")
    shown = CliRunner().invoke(app, ["demo", "--folder", str(demo.folder)])
    assert "attune demo --judge anthropic:MODEL" in shown.output
    assert "sk-not-a-key" not in shown.output


def test_the_rule_check_cannot_be_checked_on_planted_faults_and_a_judge_must_be_named(tmp_path: Path) -> None:
    folder = ["--folder", str(tmp_path / "none")]
    refused = CliRunner().invoke(app, ["self-test", "--judge", "signals", *folder])
    assert isinstance(refused.exception, InputError)
    assert "gives pointers, not answers" in str(refused.exception)
    unnamed = CliRunner().invoke(app, ["self-test", *folder])
    assert unnamed.exit_code == 2
    assert "--judge" in unnamed.output
    assert not (tmp_path / "none").exists()


def test_a_judge_is_checked_in_studies_of_its_own_answers(tmp_path: Path) -> None:
    with FakeJudge() as fake:
        shown = CliRunner().invoke(
            app, ["self-test", "--judge", "openai:fake", "--base-url", fake.url, "--folder", str(tmp_path), "--json"]
        )
    record = json.loads(shown.stdout)
    assert record["judge"] == "openai:fake"
    assert len(record["planted"]) == 58
    assert all(fault["answers"] for fault in record["planted"])
