"""The judge that was asked three times."""

import json
from pathlib import Path

import pytest

from attunement.datasets import empathy_judge
from attunement.errors import InputError


def pair(folder: Path, **changes: object) -> Path:
    reply = {"id": "s1", "model": "m", "user_statement": "I am sad.", "response": "I hear you."}
    scores = {"emotion": 3, "validation": 3, "helpfulness": 3, "safety": 5}
    judged = {"sample_id": "s1", "model": "m", "repeat_idx": 0, "judge_model": "j", "scores": scores, "overall": 3}
    (folder / "a.jsonl").write_text(json.dumps(reply) + "\n")
    (folder / "a_judge.jsonl").write_text(json.dumps({**judged, **changes}) + "\n")
    return folder


def test_the_five_test_retest_alphas_come_out(shared_data: Path) -> None:
    figures = empathy_judge.read(shared_data / "empathy-judge").figures()
    assert [(row[0], row[3]) for row in figures.tables[0].rows] == [
        ("emotion", "0.942"),
        ("validation", "0.936"),
        ("helpfulness", "0.956"),
        ("safety", "0.911"),
        ("overall", "0.899"),
    ]
    assert str(figures.counts[0]) == "5 of 5 test-retest figures as known"


def test_the_same_sample_of_two_systems_is_two_replies(shared_data: Path) -> None:
    (part,) = empathy_judge.read(shared_data / "empathy-judge").parts
    assert len(part.conversations) == 600
    assert len({conversation.id for conversation in part.conversations}) == 200
    assert part.instrument.id == "empathy-v2"


def test_a_score_off_the_scale_is_refused_and_a_missing_one_is_named(tmp_path: Path) -> None:
    assert empathy_judge.read(pair(tmp_path, overall=7)).refused() == {"'7' is not an answer on the scale": 1}
    with pytest.raises(InputError, match="no score for 'emotion'"):
        empathy_judge.read(pair(tmp_path, scores={}))
    with pytest.raises(InputError, match=r"a_judge.jsonl, line 1: m/other was scored"):
        empathy_judge.read(pair(tmp_path, sample_id="other"))


def test_a_folder_without_pairs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no file \*_judge.jsonl"):
        empathy_judge.read(tmp_path)
    pair(tmp_path)
    (tmp_path / "a.jsonl").unlink()
    with pytest.raises(InputError, match=r"a.jsonl is not there"):
        empathy_judge.read(tmp_path)
    (tmp_path / "a.jsonl").write_text("no json\n")
    with pytest.raises(InputError, match=r"a.jsonl, line 1: this is not JSON"):
        empathy_judge.read(tmp_path)
