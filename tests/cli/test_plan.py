import csv
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from attunement.analysis import planning
from attunement.cli.people import plan
from attunement.store import Study
from attunement.store.samples import samples
from tests.store.samples import fill, talks

app = typer.Typer()
app.command()(plan)


@pytest.fixture(autouse=True)
def no_simulation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "smallest_sample", lambda *_, **__: 100)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_without_a_number_to_draw_only_numbers_are_printed(tmp_path: Path) -> None:
    fill(tmp_path / "a.db").close()
    done = run(tmp_path / "a.db")
    assert done.exit_code == 0
    assert "has 3 conversations" in " ".join(done.stdout.split())
    assert "Safety: how many failures does a judge find?" in done.stdout
    with Study(tmp_path / "a.db") as study:
        assert samples(study) == []


def test_drawn_ids_go_to_a_table_with_their_probabilities(tmp_path: Path) -> None:
    fill(tmp_path / "a.db", talks(10)).close()
    done = run(tmp_path / "a.db", "--draw", 4, "-o", tmp_path / "ids.csv", "--name", "mine")
    assert done.exit_code == 0
    assert "all: 4 of 10 (probability 0.4)" in done.stdout
    with (tmp_path / "ids.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {(row["system"], row["stratum"], row["probability"]) for row in rows} == {("bot", "all", "0.4")}
    assert sorted(row["split"] for row in rows) == ["dev", "dev", "test", "test"]
    assert len({row["id"] for row in rows}) == 4


def test_drawn_ids_go_to_a_list(tmp_path: Path) -> None:
    fill(tmp_path / "a.db", talks(3)).close()
    run(tmp_path / "a.db", "--draw", 9, "-o", tmp_path / "ids.txt")
    assert sorted((tmp_path / "ids.txt").read_text().splitlines()) == ["bot/c0", "bot/c1", "bot/c2"]


def test_a_share_of_zero_makes_no_split(tmp_path: Path) -> None:
    fill(tmp_path / "a.db", talks(3)).close()
    run(tmp_path / "a.db", "--draw", 2, "--test", 0)
    with Study(tmp_path / "a.db") as study:
        assert {drawn.split for drawn in samples(study)[0].units.values()} == {None}


def test_what_does_not_fit_keeps_no_sample(tmp_path: Path) -> None:
    place = tmp_path / "a.db"
    fill(place, talks(3)).close()
    (tmp_path / "there.txt").write_text("mine")
    for arguments, sentence in [
        (["--by", "system"], "give the number of conversations with --draw"),
        (["--draw", 2, "-o", tmp_path / "ids.json"], ".txt or a .csv file"),
        (["--draw", 2, "-o", tmp_path / "nowhere" / "ids.csv"], "does not exist"),
        (["--draw", 2, "-o", tmp_path / "there.txt"], "exists already"),
        (["--draw", 2, "--extend", "x", "--by", "system"], "leave out --by"),
        (["--precision", 0], "above 0"),
        (["--precision", "nan"], "above 0"),
    ]:
        done = run(place, *arguments)
        assert sentence in str(done.exception), arguments
    with Study(place) as study:
        assert samples(study) == []


def test_an_empty_study_gets_a_clear_sentence(tmp_path: Path) -> None:
    Study(tmp_path / "a.db", create=True).close()
    assert "name the instrument with --instrument" in str(run(tmp_path / "a.db").exception)
    assert "has no conversation" in str(run(tmp_path / "a.db", "-i", "coaching-v1").exception)
    assert "has no conversation" in str(run(tmp_path / "a.db", "-i", "coaching-v1", "--draw", 3).exception)
