"""Recorded answers as a judge: the same ratings again, and an ERROR for what is not in the file."""

import json
from pathlib import Path

import pytest

from attunement import api
from attunement.errors import JudgeError
from attunement.ratings import ErrorKind
from attunement.store import Study, export
from tests.engine.runs import SMALL, chats, judge, kept
from tests.fake_judge import Asked, Behaviour, FakeJudge, valid_reply


def recorded(place: Path, target: Path) -> Path:
    with Study(place) as study:
        export.write(export.answers(study), target, "jsonl")
    return target


def outcomes(place: Path):
    return sorted(
        (one.conversation.id, one.item, one.repeat, one.outcome, one.reasoning, one.evidence) for one in kept(place)
    )


@pytest.fixture
def first(tmp_path: Path) -> Path:
    def reply(asked: Asked) -> str:
        return "not JSON" if "Criterion ID: CQ3" in asked.prompt else valid_reply(asked)

    with FakeJudge(Behaviour(answer=reply)) as fake:
        judge(fake, chats(3), tmp_path / "first.db", items=SMALL, repeats=2)
    return tmp_path / "first.db"


def test_recorded_answers_give_the_same_ratings_without_a_server(first: Path, tmp_path: Path):
    file = recorded(first, tmp_path / "recorded.jsonl")
    again = tmp_path / "again.db"
    result = api.judge(chats(3), again, judges=f"replay:{file}", items=SMALL, repeats=2)
    assert outcomes(again) == outcomes(first)
    assert result.progress.answered == 3 * 3 * 2
    assert result.progress.errors == {ErrorKind.MALFORMED: 3 * 2}
    assert {one.rater for one in kept(again)} == {"replay:recorded"}


def test_a_prompt_that_is_not_in_the_file_is_an_error_and_asked_again_when_it_is(first: Path, tmp_path: Path):
    file = recorded(first, tmp_path / "recorded.jsonl")
    place = tmp_path / "again.db"
    result = api.judge(chats(4), place, judges=f"replay:{file}", items=["CQ1"], repeats=3)
    assert result.progress.errors == {ErrorKind.NOT_RECORDED: 3 + 3}  # the third repeats, and the fourth conversation
    details = {one.detail for one in kept(place) if one.outcome.error}
    assert all("has no answer to this prompt" in detail for detail in details)
    result = api.judge(chats(4), place, judges=f"replay:{file}", items=["CQ1"], repeats=3)
    assert result.progress.errors == {ErrorKind.NOT_RECORDED: 3 + 3}
    assert result.progress.already_done == 6


def test_other_answers_are_another_rater(first: Path, tmp_path: Path):
    file = recorded(first, tmp_path / "recorded.jsonl")
    one = api.judge(chats(1), tmp_path / "s.db", judges=f"replay:{file}", items=["CQ1"])
    lines = file.read_text().splitlines()
    file.write_text("\n".join(lines[1:]))
    two = api.judge(chats(1), tmp_path / "s.db", judges=f"replay:{file}", items=["CQ1"])
    assert one.progress.planned == two.progress.planned == 1


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "cannot be read"),
        ("", "no recorded answers"),
        ("{}", "line 1: not a recorded answer"),
        ('{"prompt": "a", "reply": "x"}\nnot json', "line 2: not a recorded answer"),
        ('{"prompt": "a", "reply": 3}', "line 1: not a recorded answer"),
        ('{"prompt": "a", "reply": "", "error": "odd"}', "line 1: not a recorded answer"),
        ('{"prompt": "a", "reply": "x"}\n{"prompt": "a", "reply": "y"}', "line 2: a second answer"),
    ],
)
def test_a_file_that_is_not_one_of_answers_is_refused(tmp_path: Path, text: str | None, words: str):
    file = tmp_path / "recorded.jsonl"
    if text is not None:
        file.write_text(text)
    with pytest.raises(JudgeError, match=words):
        api.judge(chats(1), tmp_path / "s.db", judges=f"replay:{file}")


def test_the_file_names_the_judge_and_holds_no_transcript(first: Path, tmp_path: Path):
    records = [json.loads(line) for line in recorded(first, tmp_path / "recorded.jsonl").read_text().splitlines()]
    assert {record["judge"] for record in records} == {"openai:fake"}
    assert "I worry about exam" not in json.dumps(records)
