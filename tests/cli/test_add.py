from pathlib import Path

from typer.testing import CliRunner

from attunement.cli import app
from attunement.conversations.writer import Shape, write
from attunement.store import Study
from tests.builders import talk


def chats(path: Path, count: int) -> Path:
    write([talk((f"Message {n}.", "A reply."), id=f"c{n}", system="bot") for n in range(count)], path, Shape.MESSAGES)
    return path


def test_conversations_are_kept_once_and_without_ratings(tmp_path: Path) -> None:
    place = tmp_path / "a.study.db"
    first = CliRunner().invoke(app, ["add", str(place), str(chats(tmp_path / "a.jsonl", 450))])
    again = CliRunner().invoke(app, ["add", str(place), str(chats(tmp_path / "b.jsonl", 451))])
    assert "New in the study: 450. It holds 450 now." in first.output
    assert "New in the study: 1. It holds 451 now." in again.output
    with Study(place) as study:
        assert not list(study.ratings())


def test_other_words_under_a_known_id_are_refused_and_change_nothing(tmp_path: Path) -> None:
    place = tmp_path / "a.study.db"
    CliRunner().invoke(app, ["add", str(place), str(chats(tmp_path / "a.jsonl", 2))])
    write([talk(("Other.", "Words."), id="c1", system="bot")], tmp_path / "c.jsonl", Shape.MESSAGES)
    refused = CliRunner().invoke(app, ["add", str(place), str(tmp_path / "c.jsonl")])
    assert refused.exception is not None
    assert "with other words" in str(refused.exception)
    with Study(place) as study:
        assert study.find("c1")[0].conversation.turns[0].user == "Message 1."
