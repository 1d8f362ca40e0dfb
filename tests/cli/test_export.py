import csv
import json
from pathlib import Path

import typer
from typer.testing import CliRunner, Result

from attunement.cli.data import export
from attunement.instruments.loader import to_yaml
from tests.store.samples import COACHING, EMPATHY, fill, talks

app = typer.Typer()
app.command()(export)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_ratings_go_to_a_file_in_the_format_its_name_says(tmp_path: Path) -> None:
    fill(tmp_path / "a.db").close()
    done = run(tmp_path / "a.db", tmp_path / "ratings.csv")
    assert done.exit_code == 0
    assert done.stderr == f"Wrote 54 ratings to {tmp_path / 'ratings.csv'}.\n"
    with (tmp_path / "ratings.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 54


def test_standard_output_gets_nothing_but_the_rows(tmp_path: Path) -> None:
    fill(tmp_path / "a.db", talks(1)).close()
    done = run(tmp_path / "a.db", "-", "--what", "scorecards")
    assert [json.loads(line)["verdict"] for line in done.stdout.splitlines()] == ["PASS"]
    assert done.stderr == "Wrote 1 scorecard to standard output.\n"


def test_scorecards_are_made_with_the_instrument_that_is_named(tmp_path: Path) -> None:
    with fill(tmp_path / "a.db", talks(1)) as study:
        study.save_instrument(EMPATHY)
    ambiguous = run(tmp_path / "a.db", "-", "--what", "scorecards")
    assert "choose one with --instrument" in str(ambiguous.exception)
    done = run(tmp_path / "a.db", "-", "--what", "scorecards", "--instrument", "coaching-v1")
    assert json.loads(done.stdout)["instrument"] == "coaching-v1"
    own = COACHING.model_copy(update={"id": "own"})
    (tmp_path / "own.yaml").write_text(to_yaml(own, None))
    done = run(tmp_path / "a.db", "-", "--what", "scorecards", "--instrument", tmp_path / "own.yaml")
    assert json.loads(done.stdout)["instrument"] == "own"
    assert json.loads(done.stdout)["verdict"] == "PASS"


def test_the_study_is_never_written_over(tmp_path: Path) -> None:
    fill(tmp_path / "a.db").close()
    before = (tmp_path / "a.db").read_bytes()
    refused = run(tmp_path / "a.db", tmp_path / "." / "a.db", "--format", "csv")
    assert "is a study" in str(refused.exception)
    assert (tmp_path / "a.db").read_bytes() == before


def test_wrong_use_is_one_sentence(tmp_path: Path) -> None:
    fill(tmp_path / "a.db").close()
    assert "--format" in str(run(tmp_path / "a.db", tmp_path / "ratings").exception)
    assert "no study" in str(run(tmp_path / "b.db", tmp_path / "a.csv").exception)
    assert "--instrument" in str(run(tmp_path / "a.db", "-", "--instrument", "x").exception)
    assert run(tmp_path / "a.db", "-", "--what", "nothing").exit_code == 2


def test_a_data_dictionary_is_written_beside_the_table(tmp_path: Path) -> None:
    fill(tmp_path / "a.db").close()
    described = ("--dictionary", tmp_path / "d.csv")
    assert run(tmp_path / "a.db", tmp_path / "cards.csv", "--what", "scorecards", *described).exit_code == 0
    columns = (tmp_path / "cards.csv").read_text().splitlines()[0].split(",")
    assert [line.split(",")[1] for line in (tmp_path / "d.csv").read_text().splitlines()[1:]] == columns
    assert "exists already" in str(run(tmp_path / "a.db", tmp_path / "other.csv", *described).exception)
