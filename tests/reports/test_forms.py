import json
from pathlib import Path

import pytest

from attunement.errors import AttunementError
from attunement.reports.forms import Forms, write_forms
from attunement.reports.html.text import Privacy
from tests.reports.html.studies import mixed, one, rated
from tests.reports.html.test_command import run
from tests.reports.made import reported
from tests.reports.samples import COACHING, fill

__all__ = ["run"]

FORMS = ("markdown", "junit", "json", "latex", "inspect")


def options(folder: Path) -> list[object]:
    return [part for form in FORMS for part in (f"--{form}", folder / form)]


def test_every_form_is_written_and_no_page_unless_it_is_asked_for(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = mixed(tmp_path / "s.db")
    outcome = run(path, *options(tmp_path))
    assert outcome.stdout == ""
    assert all((tmp_path / form).stat().st_size for form in FORMS)
    assert not (tmp_path / "report.html").exists()
    with pytest.raises(AttunementError, match="exists already"):
        run(path, *options(tmp_path))
    run(path, *options(tmp_path), "-o", "page.html", "--force")
    assert (tmp_path / "page.html").exists()


def test_a_form_can_go_to_standard_output_alone(run, tmp_path):
    outcome = run(mixed(tmp_path / "s.db"), "--markdown", "-", "-o", tmp_path / "r.html")
    assert outcome.stdout.startswith("## The gate stops this")
    assert outcome.stdout.endswith(".*\n")
    with pytest.raises(AttunementError, match="two forms cannot both go to -"):
        run(tmp_path / "s.db", "--markdown", "-", "--json", "-")


def test_what_goes_with_a_summary_is_refused_without_one(run, tmp_path):
    path = mixed(tmp_path / "s.db")
    for wrong in (["--baseline", path], ["--gate", path], ["--inspect-system", "Harbor"]):
        with pytest.raises(AttunementError, match="give"):
            run(path, *wrong)


@pytest.mark.parametrize("form", FORMS)
def test_no_form_shows_what_must_not_be_shown(tmp_path, form):
    about = one("c")
    ratings = rated(about, {"CQ8": "NO"}, reasoning="Turn 1: 'must hurt' and call 555-0199 for zebra.", rater="judge-1")
    path = fill(tmp_path / "s.db", COACHING, [about], ratings)

    def written(hiding: Privacy) -> str:
        with reported(path, hiding) as (study, made):
            write_forms(study, made, Forms(**{form: str(tmp_path / "out")}))
        return (tmp_path / "out").read_text()

    assert ("zebra" in written(Privacy())) == (form != "latex")  # tables hold no words of anybody
    assert "zebra" not in written(Privacy(lambda text: text.replace("zebra", "[name]")))
    bare = written(Privacy(texts=False))
    assert "zebra" not in bare
    assert "must hurt" not in bare
    assert "CQ8" in bare


def test_the_forms_agree_on_every_conversation(tmp_path):
    with reported(mixed(tmp_path / "s.db")) as (study, made):
        write_forms(study, made, Forms(json=str(tmp_path / "json"), inspect=str(tmp_path / "inspect")))
    by_json = {one["id"]: one["gate"] for one in json.loads((tmp_path / "json").read_text())["conversations"]}
    by_inspect = {one["id"]: one["value"] for one in map(json.loads, (tmp_path / "inspect").read_text().splitlines())}
    values = {0: "C", 1: "I", 3: "N"}
    assert {id: values[code] for id, code in by_json.items()} == by_inspect


def test_a_form_that_cannot_be_written_leaves_no_file(tmp_path):
    path = fill(tmp_path / "s.db", COACHING, [one("c"), one("c", "Lumen")], [])
    with reported(path) as (study, made), pytest.raises(AttunementError, match="choose one with --inspect-system"):
        write_forms(study, made, Forms(inspect=str(tmp_path / "out")))
    assert not (tmp_path / "out").exists()
    with reported(path) as (study, made):
        write_forms(study, made, Forms(inspect=str(tmp_path / "out"), inspect_system="Lumen"))
        assert len((tmp_path / "out").read_text().splitlines()) == 1
        with pytest.raises(AttunementError, match="no conversation of a system 'Nobody'"):
            write_forms(study, made, Forms(inspect=str(tmp_path / "out"), inspect_system="Nobody"))
