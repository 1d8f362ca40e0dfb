from pathlib import Path

import pytest
import typer
from sqlalchemy import select
from typer.testing import CliRunner, Result

from attunement.cli.data import delete
from attunement.conversations import Conversation
from attunement.store import Study, connection, schema
from tests.store.samples import fill, talks

app = typer.Typer()
app.command()(delete)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def names(place: Path) -> list[str]:
    with Study(place) as study:
        return [str(kept.conversation.identity) for kept in study.conversations()]


def test_a_conversation_is_deleted_without_a_question(tmp_path: Path) -> None:
    fill(tmp_path / "a.db").close()
    done = run(tmp_path / "a.db", "c1")
    assert done.exit_code == 0
    assert done.stdout == "Deleted bot/c1 with 18 ratings.\n"
    assert names(tmp_path / "a.db") == ["bot/c0", "bot/c2"]


def test_an_id_that_several_systems_have_is_refused_and_nothing_goes(tmp_path: Path) -> None:
    twin = Conversation("c0", "other/bot", talks(1)[0].turns)
    fill(tmp_path / "a.db", [talks(1)[0], twin]).close()
    refused = run(tmp_path / "a.db", "c0")
    assert "'c0' is ambiguous (bot/c0, other/bot/c0): give system/id" in str(refused.exception)
    assert names(tmp_path / "a.db") == ["bot/c0", "other/bot/c0"]
    assert run(tmp_path / "a.db", "other/bot/c0").exit_code == 0
    assert names(tmp_path / "a.db") == ["bot/c0"]


def test_a_conversation_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    fill(tmp_path / "a.db").close()
    assert "has no conversation 'c9'" in str(run(tmp_path / "a.db", "c9").exception)
    assert "there is no study" in str(run(tmp_path / "b.db", "c9").exception)
    assert not (tmp_path / "b.db").exists()


def test_it_says_so_when_copies_of_the_text_remain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process reads the study as it was, so its log cannot be emptied."""
    monkeypatch.setattr(connection, "_WAIT", 0.1)
    fill(tmp_path / "a.db").close()
    with Study(tmp_path / "a.db") as reader, reader.reading() as reading:
        reading.execute(select(schema.conversations.c.key)).all()
        result = run(tmp_path / "a.db", "c1")
        assert result.exit_code == 3
        assert "copies of its text remain" in result.output
        assert "Deleted bot/c1" in result.output
    assert run(tmp_path / "a.db", "c2").exit_code == 0
