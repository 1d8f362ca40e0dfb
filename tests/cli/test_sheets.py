import csv
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from attunement.annotation.sampling import draw_sample
from attunement.cli import app
from attunement.ratings import RaterKind
from attunement.store import Study
from tests.store.samples import COACHING, EMPATHY, fill, talks


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
    done = run("export", place, folder, "--for", "sheet")
    assert done.exit_code == 0
    assert "Exported 4 units to be rated with coaching-v1" in done.stdout
    fill_in(folder / "to-fill.csv", "met")
    done = run("import", place, folder / "to-fill.csv", "--rater", "Ada", "--rater-info", "profession=nurse")
    assert done.exit_code == 0
    assert "Imported 4 units rated by Ada: 52 ratings saved" in done.stdout
    with Study(place) as study:
        ada = next(rater for rater in study.raters() if rater.name == "Ada")
    assert (ada.kind, ada.settings) == (RaterKind.PERSON, {"profession": "nurse"})
    done = run("import", place, folder / "to-fill.csv", "--rater", "Ada")
    assert "0 ratings saved" in done.stdout
    assert "Already in the study: 52." in done.stdout


@pytest.mark.parametrize("tool", ["label-studio", "argilla"])
def test_files_for_another_tool_come_with_what_to_do_next(tmp_path: Path, tool: str) -> None:
    fill(tmp_path / "a.db", talks(2)).close()
    done = run("export", tmp_path / "a.db", tmp_path / "out", "--for", tool, "--all")
    assert done.exit_code == 0
    assert f"attune import {tmp_path / 'a.db'}" in done.stdout


def test_a_sample_that_is_named_is_handed_out_with_its_instrument(tmp_path: Path) -> None:
    place = tmp_path / "a.db"
    with fill(place, talks(10)) as study:
        study.save_instrument(EMPATHY)
        draw_sample(study, EMPATHY, 3, name="mine")
    assert (
        "3 units to be rated with empathy-v2"
        in run("export", place, tmp_path / "x", "--for", "sheet", "--sample", "mine").stdout
    )
    wrong = run("export", place, tmp_path / "y", "--for", "sheet", "--sample", "mine", "-i", "coaching-v1")
    assert "'mine' is for empathy-v2, not for coaching-v1" in str(wrong.exception)


def test_without_a_sample_nothing_goes_out_unless_all_is_said(tmp_path: Path) -> None:
    place = tmp_path / "a.db"
    fill(place, talks(2)).close()
    for arguments, sentence in [
        ([], "has no sample for coaching-v1"),
        (["--sample", "x"], "has no sample 'x'"),
        (["--sample", "x", "--all"], "leave out --sample"),
    ]:
        assert sentence in str(run("export", place, tmp_path / "out", "--for", "sheet", *arguments).exception)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--rater", "Ada", "--rater", "Bo"], "one name for all answers"),
        (["--rater", "Ada", "--rater", "1=Bo"], "one name for all answers"),
        (["--rater", "=Bo"], "must be ID=NAME"),
        (["--rater", "1="], "must be ID=NAME"),
        (["--rater", " "], "give the name of the rater"),
        (["--rater", "Ada", "--rater-info", "nurse"], "such as profession=nurse"),
    ],
)
def test_a_rater_is_named_clearly(tmp_path: Path, arguments: list[str], sentence: str) -> None:
    assert sentence in str(run("import", tmp_path / "a.db", tmp_path / "b.csv", "--as", "sheet", *arguments).exception)


def test_whether_people_were_blind_is_recorded_where_somebody_says_it(tmp_path: Path) -> None:
    place, folder = tmp_path / "a.db", tmp_path / "out"
    with fill(place, talks(3)):
        pass
    assert run("export", place, folder, "--for", "sheet", "--all", "-i", "coaching-v1").exit_code == 0
    empty = run("import", place, folder / "to-fill.csv", "--rater", "Ada")
    assert "nobody has answered yet" in empty.stdout
    fill_in(folder / "to-fill.csv", "met")
    for name, words in (("Ada", ["--blind"]), ("Ben", ["--not-blind"]), ("Cleo", [])):
        assert run("import", place, folder / "to-fill.csv", "--rater", name, *words).exit_code == 0
    with Study(place) as study:
        people = {rater.name: rater.settings for rater in study.raters() if rater.kind is RaterKind.PERSON}
    assert people == {"Ada": {"blind": True}, "Ben": {"blind": False}, "Cleo": {}}


def test_the_old_commands_still_work(tmp_path: Path) -> None:
    place, folder = tmp_path / "a.db", tmp_path / "out"
    fill(place, talks(3)).close()
    assert run("hand-out", place, "-o", folder, "--all", "--format", "csv").exit_code == 0
    fill_in(folder / "to-fill.csv", "met")
    done = run("take-in", place, folder / "to-fill.csv", "--rater", "Ada", "--about", "profession=nurse")
    assert "Imported 3 units rated by Ada" in done.stdout
    assert "take-in is now called import" in done.stderr
    assert "--about is now called --rater-info" in done.stderr
    again = run("hand-out", place, "--format=label-studio", "--all", f"--output={tmp_path / 'more'}")
    assert again.exit_code == 0
    assert (tmp_path / "more" / "tasks.json").exists()


def test_options_for_people_need_a_tool_and_the_other_way_round(tmp_path: Path) -> None:
    place = tmp_path / "a.db"
    fill(place, talks(3)).close()
    assert "need --for" in str(run("export", place, tmp_path / "a.csv", "--all").exception)
    assert "leave out" in str(run("export", place, tmp_path / "a", "--for", "sheet", "--format", "csv").exception)
    chats = run("import", place, tmp_path / "a.csv", "--as", "ratings", "--rater-info", "profession=nurse")
    assert "--rater-info is for" in str(chats.exception)
