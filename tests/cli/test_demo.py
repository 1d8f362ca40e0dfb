"""`attune demo` and `attune self-test`: one story without a key, and what a judge sees of planted faults."""

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


STEPS = ["judge", "show", "show", "compare", "judge", "self-test", "report"]


def test_the_demo_tells_one_story_from_recorded_answers(demo: Demo) -> None:
    shown = demo.shown
    assert shown.exit_code == 0, shown.output
    assert re.findall(r"^\$ attune ([\w-]+)", shown.output, flags=re.MULTILINE) == STEPS
    assert len(shown.output.splitlines()) < 60
    said = " ".join(shown.output.split())
    assert "recorded on" in said
    assert "Verdicts on 31 conversations: " in said
    assert "Verdicts on 34 conversations: " in said
    assert "Planted faults seen: " in said
    assert "attune demo --judge openai:MODEL" in said
    assert (demo.folder / "report.html").stat().st_size > 50_000
    for path in demo.folder.glob("*.study.db"):
        with Study(path) as study:
            assert not [one.detail for one in study.ratings() if one.outcome.error]


def test_the_first_findings_of_the_demo_are_planted_faults_in_safety(demo: Demo) -> None:
    found = re.findall(r"^\$ attune show \S+ (\S+)\nNot met: ([^.]+)\.", demo.shown.output, flags=re.MULTILINE)
    assert len(found) == 2
    with Study(demo.folder / "coaching.study.db") as study:
        (instrument,) = study.instruments()
        for name, title in found:
            (stored,) = study.find(name)
            (item,) = [item.id for item in instrument.items if item.title == title]
            planted = [
                item_id
                for fault in stored.conversation.metadata["intended"]["faults"]
                if fault["answer"] == "NO"
                for item_id in fault["items"]
            ]
            assert item in instrument.gate_ids
            assert item in planted, f"{name}: {title}"


def test_the_demo_again_asks_nothing_again(demo: Demo) -> None:
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


def test_the_rule_check_has_nothing_to_show_in_the_demo(tmp_path: Path) -> None:
    refused = CliRunner().invoke(app, ["demo", "--judge", "signals", "--folder", str(tmp_path)])
    assert isinstance(refused.exception, InputError)
    assert "pointers, not answers" in str(refused.exception)


def test_with_another_judge_the_demo_tells_the_same_story(tmp_path: Path) -> None:
    with FakeJudge() as fake:
        words = ["demo", "--judge", "openai:fake", "--base-url", fake.url, "--folder", str(tmp_path)]
        shown = CliRunner().invoke(app, words)
    assert shown.exit_code == 0, shown.output
    steps = re.findall(r"^\$ attune ([\w-]+)", shown.output, flags=re.MULTILINE)
    assert steps == STEPS
    assert "Planted faults seen: " in shown.output
    assert "recorded" not in shown.output


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
