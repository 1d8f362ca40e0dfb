"""`attune bench` as a user runs it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from attunement.ratings import RaterKind
from attunement.store import Study
from tests.datasets.files import public_vera, write_table
from tests.fake_judge import FakeJudge


def attune(*words: str | Path, folder: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "attunement", *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
        env={**os.environ, "OPENAI_API_KEY": "sk-none", "COLUMNS": "80"},
    )


def flat(text: str) -> str:
    """Without the breaks between lines, which depend on the width."""
    return " ".join(text.split())


def test_without_a_name_the_sets_are_listed_with_licence_and_place(tmp_path: Path) -> None:
    done = attune("bench", folder=tmp_path)
    assert done.returncode == 0
    for words in ("kumar2025", "vera-mh", "moore2025", "mentalalign", "table", "SpringCare/VERA-MH", "licence", "MIT"):
        assert words in done.stdout
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nothing", "--from", "."], "there is no data set 'nothing'; there are kumar2025"),
        (["kumar2025"], "name the folder with the data of kumar2025"),
        (["kumar2025", "--from", "."], "annotations does not exist"),
        (["mentalalign", "--from", "."], "has no file Human_judge.xlsx"),
        (["table", "--from", "nowhere"], "nowhere has no table of ratings"),
    ],
)
def test_wrong_use_is_one_line_and_makes_no_study(tmp_path: Path, words: list[str], says: str) -> None:
    done = attune("bench", *words, folder=tmp_path)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert says in line
    assert not list(tmp_path.iterdir())


def test_one_command_ends_with_126_of_126(shared_data: Path, tmp_path: Path) -> None:
    done = attune("bench", "kumar2025", "--from", shared_data / "kumar2025", "--full", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[-2:] == ["126 of 126 p-values as published.", "126 of 126 kappas as published."]
    assert "$ attune agree kumar2025.study.db --instrument kumar2025-lend-an-ear --people expert" in done.stdout
    assert "50 conversations, 3 people, 3 judges." in done.stdout
    for words in ("0.548", "0.529", "33 of 126 kappas move", "no text in this folder"):
        assert words in flat(done.stdout)
    assert done.stdout.count("experts-llm") >= 21
    assert all(len(line) <= 80 or " " in line for line in lines[6:])
    with Study(tmp_path / "kumar2025.study.db") as study:
        assert study.conversation_count() == 200


def test_the_pooled_figure_of_vera_does_not_hide_the_dead_dimensions(shared_data: Path, tmp_path: Path) -> None:
    done = attune("bench", "vera-mh", "--from", shared_data / "vera-mh", folder=tmp_path)
    assert "0.071" in done.stdout
    assert "-0.007" in done.stdout
    assert "0.781" in done.stdout
    assert "detects, supportive" in done.stdout


def test_a_judge_is_asked_what_the_people_were_asked(tmp_path: Path) -> None:
    public_vera(tmp_path / "data")
    with FakeJudge() as fake:
        words = ["bench", "vera-mh", "--from", tmp_path / "data", "--judge", "openai:fake", "--base-url", fake.url]
        done = attune(*words, "--study", "s.db", folder=tmp_path)
        again = attune(*words, "--study", "s.db", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "Answered 2 of 2 questions" in done.stderr
    assert "$ attune agree s.db --instrument vera-mh\n" in done.stdout
    assert "2 conversations, 3 people, 1 judge: openai:fake." in done.stdout
    assert "from 0 files" not in done.stdout + done.stderr
    assert "2 answered before" in again.stderr
    assert "24 of the ratings were in the study already" in flat(again.stdout)
    with Study(tmp_path / "s.db") as study:
        by_judge = [rating for rating in study.ratings() if rating.rater_kind is RaterKind.MODEL]
        assert {rating.item for rating in by_judge} >= {"detects", "risk_level"}
        assert len(by_judge) == 2 * 6


def test_a_judge_cannot_be_asked_where_there_is_no_text(tmp_path: Path) -> None:
    write_table(
        tmp_path / "mine" / "ratings.csv", ["conversation", "rater", "item", "value"], [("c1", "ann", "warmth", 3)]
    )
    done = attune("bench", "table", "--from", "mine", "--judge", "openai:fake", folder=tmp_path)
    assert done.returncode == 2
    assert (
        done.stderr == "attune: table does not include the text of the conversations, so a judge cannot rate them; "
        "leave out --judge\n"
    )
    assert not (tmp_path / "table.study.db").exists()
    done = attune("bench", "table", "--from", "mine", folder=tmp_path)
    assert done.returncode == 0
    assert "1 conversations, 1 ratings by people" in done.stdout
