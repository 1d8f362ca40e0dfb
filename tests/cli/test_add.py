from pathlib import Path

import pytest
from typer.testing import CliRunner

from attunement.cli import app
from attunement.conversations.writer import Shape, write
from attunement.store import Study
from tests.builders import talk
from tests.store.samples import fill


def chats(path: Path, count: int, system: str = "bot") -> Path:
    write([talk((f"Message {n}.", "A reply."), id=f"c{n}", system=system) for n in range(count)], path, Shape.MESSAGES)
    return path


def test_conversations_are_kept_once_and_without_ratings(tmp_path: Path) -> None:
    place = tmp_path / "a.study.db"
    first = CliRunner().invoke(app, ["import", str(place), str(chats(tmp_path / "a.jsonl", 450))])
    again = CliRunner().invoke(app, ["import", str(place), str(chats(tmp_path / "b.jsonl", 451))])
    assert "Added 450 to the study, which now has 450." in first.output
    assert "Added 1 to the study, which now has 451." in again.output
    with Study(place) as study:
        assert not list(study.ratings())


def test_other_words_under_a_known_id_are_refused_and_change_nothing(tmp_path: Path) -> None:
    place = tmp_path / "a.study.db"
    CliRunner().invoke(app, ["import", str(place), str(chats(tmp_path / "a.jsonl", 2))])
    write([talk(("Other.", "Words."), id="c1", system="bot")], tmp_path / "c.jsonl", Shape.MESSAGES)
    refused = CliRunner().invoke(app, ["import", str(place), str(tmp_path / "c.jsonl")])
    assert refused.exception is not None
    assert "with different text" in str(refused.exception)
    with Study(place) as study:
        assert study.find("c1")[0].conversation.turns[0].user == "Message 1."


def test_the_old_name_still_works(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["add", str(tmp_path / "a.study.db"), str(chats(tmp_path / "a.jsonl", 2))])
    assert "Added 2 to the study, which now has 2." in done.stdout
    assert "add is now called import" in done.stderr


@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.jsonl.gz"])
def test_conversations_are_recognized_in_a_study_that_has_ratings(tmp_path: Path, name: str) -> None:
    fill(tmp_path / "a.db").close()
    done = CliRunner().invoke(app, ["import", str(tmp_path / "a.db"), str(chats(tmp_path / name, 2, "new"))])
    assert "Read 2 conversations (2 turns) from 1 file." in done.output


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "id,system,prompt,response\n1,bot,hello,hi\n"),
        ("a.csv", "conversation_id,system,role,content\n1,bot,user,hello\n1,bot,assistant,hi\n"),
        ("a.jsonl", '{"id": "1", "system": "bot", "question": "hello", "answer": "hi"}\n'),
        ("a.txt", "user: hello\nassistant: hi\n"),
    ],
)
def test_every_shape_of_conversations_is_recognized(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    done = CliRunner().invoke(app, ["import", str(tmp_path / "a.db"), str(tmp_path / name), "--system", "bot"])
    assert "which now has 1." in done.output, done.exception


def test_a_table_of_ratings_is_not_taken_for_conversations(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("conversation,rater,item,answer\n1,Ada,CQ1,YES\n")
    done = CliRunner().invoke(app, ["import", str(tmp_path / "a.db"), str(tmp_path / "a.csv")])
    assert "instrument" in str(done.exception)
    assert not (tmp_path / "a.db").exists()
