"""VERA-MH in both layouts: the public repository's, written by us in small, and the converted one."""

import re
from pathlib import Path

import pytest

from attunement.conversations import Origin
from attunement.datasets import vera
from attunement.datasets.base import LoadedDataset
from attunement.errors import InputError
from attunement.ratings import RaterKind, State
from tests.datasets.files import public_vera


@pytest.fixture(scope="module")
def loaded(shared_data: Path) -> LoadedDataset:
    return vera.read(shared_data / "vera-mh")


def test_the_pooled_figure_stands_beside_the_two_dead_dimensions(loaded: LoadedDataset) -> None:
    each, pooled = loaded.figures().tables
    alphas = {row[0]: row[3] for row in each.rows}
    assert alphas["detects"] == "0.071"
    assert alphas["supportive"] == "-0.007"
    assert "2 of 5 dimensions have next to no agreement beyond chance: detects, supportive." in each.remarks[0]
    assert all(float(row[1]) > 0.75 for row in pooled.rows)
    assert "this folder has 45" in pooled.remarks[0]


def test_each_of_45_chats_is_rated_by_three_of_six_clinicians(loaded: LoadedDataset) -> None:
    safety, risk = loaded.parts
    assert {who.kind for who in loaded.raters} == {RaterKind.PERSON}
    assert {who.settings["role"] for who in loaded.raters} == {"clinician"}
    assert (len(loaded.raters), len(safety.conversations)) == (6, 45)
    assert (len(safety.answers), len(risk.answers)) == (45 * 3 * 5, 45 * 3)
    assert {conversation.origin for conversation in safety.conversations} == {Origin.SIMULATED}


def test_not_relevant_is_an_answer_and_no_gap(loaded: LoadedDataset) -> None:
    not_relevant = [answer for answer in loaded.parts[0].answers if answer.outcome.state is State.NA]
    assert len(not_relevant) == 47
    assert {answer.outcome.value for answer in loaded.parts[1].answers} == {0, 1, 2, 3}


def test_the_layout_of_the_repository_is_read_and_a_sign_before_an_id_goes(tmp_path: Path) -> None:
    loaded = vera.read(public_vera(tmp_path))
    safety, risk = loaded.parts
    assert {str(conversation.identity) for conversation in safety.conversations} == {"gpt5/aa11bb", "other/cc22dd"}
    first = safety.conversations[0]
    assert [turn.user for turn in first.turns] == ["I can't go on.", "At times."]
    assert first.turns[0].assistant == "I hear you.\n\nDo you think of dying?"
    assert first.metadata["persona"] == "Mira"
    assert len([answer for answer in safety.answers if answer.conversation.id == "aa11bb"]) == 10
    assert [answer.outcome.value for answer in risk.answers] == [2, 3, 0, 1]
    assert loaded.figures().tables


def test_clinicians_who_never_differ_leave_alpha_undefined_and_said_so(tmp_path: Path) -> None:
    alphas = {row[0]: row[3] for row in vera.read(public_vera(tmp_path)).figures().tables[0].rows}
    assert alphas["detects"] == "none"


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("clinician_guides", "guides", "no column 'clinician_guides'"),
        ("cc22dd", "ee33ff", "has no file ee33ff_*.txt"),
        ("c2,aa11bb", "c1,aa11bb", "for the second time"),
    ],
)
def test_a_changed_table_is_one_sentence_with_the_place(tmp_path: Path, old: str, new: str, says: str) -> None:
    (path,) = public_vera(tmp_path).rglob("*.csv")
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(InputError, match=re.escape(says)):
        vera.read(tmp_path)


def test_an_unknown_word_is_refused_and_counted(tmp_path: Path) -> None:
    (path,) = public_vera(tmp_path).rglob("*.csv")
    path.write_text(path.read_text().replace("High Potential for Harm", "Bad", 1))
    assert vera.read(tmp_path).refused() == {"'Bad' is not an answer on the scale": 1}


def test_another_folder_and_unreadable_talk_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"neither ratings.csv nor"):
        vera.read(tmp_path)
    (tmp_path / "ratings.csv").write_text("conversation,rater,dimension,value\na,b,detects,Best Practice\n")
    with pytest.raises(InputError, match=r"conversations.jsonl is not there"):
        vera.read(tmp_path)
    (tmp_path / "conversations.jsonl").write_text('{"id": "a"}\n')
    with pytest.raises(InputError, match="line 1"):
        vera.read(tmp_path)
    (tmp_path / "conversations.jsonl").write_bytes(b"\xff")
    with pytest.raises(InputError, match="not UTF-8"):
        vera.read(tmp_path)
    (tmp_path / "conversations.jsonl").write_text('{"id": "a", "messages": [], "meta": {"system": "x"}}\n')
    (tmp_path / "ratings.csv").write_text("conversation,rater,dimension,value\na,b,kind,Best Practice\n")
    with pytest.raises(InputError, match="'kind' is not a dimension"):
        vera.read(tmp_path)
