import csv
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from attunement.annotation.sampling import draw_sample
from attunement.cli.people import hand_out, take_in
from attunement.ratings import RaterKind
from attunement.store import Study
from tests.store.samples import COACHING, EMPATHY, fill, talks

app = typer.Typer()
app.command()(hand_out)
app.command()(take_in)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        return list(csv.DictReader(file))


def fill_in(path: Path, answer: str) -> None:
    filled = [{name: value or answer for name, value in row.items()} for row in rows(path)]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(filled[0]))
        writer.writeheader()
        writer.writerows(filled)


def test_a_sample_goes_out_and_comes_back(tmp_path: Path) -> None:
    place, folder = tmp_path / "a.db", tmp_path / "out"
    with fill(place, talks(10)) as study:
        draw_sample(study, COACHING, 4)
    done = run("hand-out", place, "-o", folder)
    assert done.exit_code == 0
    assert "Handed out 4 units to be rated with coaching-v1" in done.stdout
    fill_in(folder / "to-fill.csv", "met")
    done = run("take-in", place, folder / "to-fill.csv", "--rater", "Ada", "--about", "profession=nurse")
    assert done.exit_code == 0
    assert "Imported 4 units rated by Ada: 52 ratings saved" in done.stdout
    with Study(place) as study:
        ada = next(rater for rater in study.raters() if rater.name == "Ada")
    assert (ada.kind, ada.settings) == (RaterKind.PERSON, {"profession": "nurse"})
    done = run("take-in", place, folder / "to-fill.csv", "--rater", "Ada")
    assert "0 ratings saved" in done.stdout
    assert "Already in the study: 52." in done.stdout


@pytest.mark.parametrize("format", ["label-studio", "argilla"])
def test_files_for_another_tool_come_with_what_to_do_next(tmp_path: Path, format: str) -> None:
    fill(tmp_path / "a.db", talks(2)).close()
    done = run("hand-out", tmp_path / "a.db", "-o", tmp_path / "out", "--format", format, "--all")
    assert done.exit_code == 0
    assert f"attune take-in {tmp_path / 'a.db'}" in done.stdout


def test_a_sample_that_is_named_is_handed_out_with_its_instrument(tmp_path: Path) -> None:
    place = tmp_path / "a.db"
    with fill(place, talks(10)) as study:
        study.save_instrument(EMPATHY)
        draw_sample(study, EMPATHY, 3, name="mine")
    assert (
        "3 units to be rated with empathy-v2" in run("hand-out", place, "-o", tmp_path / "x", "--sample", "mine").stdout
    )
    wrong = run("hand-out", place, "-o", tmp_path / "y", "--sample", "mine", "-i", "coaching-v1")
    assert "'mine' is for empathy-v2, not for coaching-v1" in str(wrong.exception)


def test_without_a_sample_nothing_goes_out_unless_all_is_said(tmp_path: Path) -> None:
    place = tmp_path / "a.db"
    fill(place, talks(2)).close()
    for arguments, sentence in [
        ([], "has no sample for coaching-v1"),
        (["--sample", "x"], "has no sample 'x'"),
        (["--sample", "x", "--all"], "leave out --sample"),
    ]:
        assert sentence in str(run("hand-out", place, "-o", tmp_path / "out", *arguments).exception)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--rater", "Ada", "--rater", "Bo"], "one name for all answers"),
        (["--rater", "Ada", "--rater", "1=Bo"], "one name for all answers"),
        (["--rater", "=Bo"], "looks like ID=NAME"),
        (["--rater", "1="], "looks like ID=NAME"),
        (["--rater", " "], "say who rated"),
        (["--rater", "Ada", "--about", "nurse"], "looks like profession=nurse"),
    ],
)
def test_a_rater_is_named_clearly(tmp_path: Path, arguments: list[str], sentence: str) -> None:
    assert sentence in str(run("take-in", tmp_path / "a.db", tmp_path / "b.csv", *arguments).exception)


def test_whether_people_were_blind_is_recorded_where_somebody_says_it(tmp_path: Path) -> None:
    place, folder = tmp_path / "a.db", tmp_path / "out"
    with fill(place, talks(3)):
        pass
    assert run("hand-out", place, "--all", "-i", "coaching-v1", "-o", folder).exit_code == 0
    empty = run("take-in", place, folder / "to-fill.csv", "--rater", "Ada")
    assert "nobody has answered yet" in empty.stdout
    fill_in(folder / "to-fill.csv", "met")
    for name, words in (("Ada", ["--blind"]), ("Ben", ["--not-blind"]), ("Cleo", [])):
        assert run("take-in", place, folder / "to-fill.csv", "--rater", name, *words).exit_code == 0
    with Study(place) as study:
        people = {rater.name: rater.settings for rater in study.raters() if rater.kind is RaterKind.PERSON}
    assert people == {"Ada": {"blind": True}, "Ben": {"blind": False}, "Cleo": {}}
