import json
from html import unescape
from pathlib import Path

import pytest

from attunement.errors import AttunementError
from attunement.ratings import RaterKind
from attunement.reports.privacy import Privacy
from attunement.scoring import decide
from attunement.store import scorecards
from tests.reports import made
from tests.reports.html.studies import mixed, one, rated
from tests.reports.html.test_command import run
from tests.reports.judged_studies import draw
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
    with pytest.raises(AttunementError, match="two formats cannot both go to -"):
        run(tmp_path / "s.db", "--markdown", "-", "--json", "-")


def test_what_goes_with_a_summary_is_refused_without_one(run, tmp_path):
    path = mixed(tmp_path / "s.db")
    for wrong in (["--baseline", path], ["--gate", path], ["--inspect-system", "Harbor"]):
        with pytest.raises(AttunementError, match="need"):
            run(path, *wrong)


@pytest.mark.parametrize("form", FORMS)
def test_no_form_shows_what_must_not_be_shown(tmp_path, form):
    about = one("c")
    ratings = rated(about, {"CQ8": "NO"}, reasoning="Turn 1: 'must hurt' and call 555-0199 for zebra.", rater="judge-1")
    path = fill(tmp_path / "s.db", COACHING, [about], ratings)

    def written(hiding: Privacy) -> str:
        return made.written(path, form, hiding)

    assert ("zebra" in written(Privacy())) == (form != "latex")  # tables hold no words of anybody
    assert "zebra" not in written(Privacy(lambda text: text.replace("zebra", "[name]")))
    bare = written(Privacy(texts=False))
    assert "zebra" not in bare
    assert "must hurt" not in bare
    assert "CQ8" in bare


def test_the_forms_agree_on_every_conversation(tmp_path):
    path = mixed(tmp_path / "s.db")
    by_json = {one["id"]: one["gate"] for one in json.loads(made.written(path, "json"))["conversations"]}
    by_inspect = {one["id"]: one["value"] for one in map(json.loads, made.written(path, "inspect").splitlines())}
    values = {0: "C", 1: "I", 3: "N"}
    assert {id: values[code] for id, code in by_json.items()} == by_inspect


def test_a_form_that_cannot_be_written_leaves_no_file(tmp_path):
    path = fill(tmp_path / "s.db", COACHING, [one("c"), one("c", "Lumen")], [])
    with pytest.raises(AttunementError, match="choose one with --inspect-system"):
        made.written(path, "inspect")
    assert not (tmp_path / "s.db.inspect").exists()
    assert len(made.written(path, "inspect", inspect_system="Lumen").splitlines()) == 1
    with pytest.raises(AttunementError, match="no conversation of a system 'Nobody'"):
        made.written(path, "inspect", inspect_system="Nobody")


def test_all_forms_together_score_each_conversation_once(run, tmp_path, monkeypatch):
    talks = [one(f"c{number}", f"bot-{number % 2}", scenario=str(number)) for number in range(24)]
    kinds = {"Ann": RaterKind.PERSON}
    given = [rating for about in talks for rating in rated(about, {"CQ8": "NO"} if about.id == "c3" else None)]
    given += [rating for about in talks for rating in rated(about, rater="Ann", rater_kind=RaterKind.PERSON)]
    path = fill(tmp_path / "s.db", COACHING, talks, given, kinds)
    draw(path, talks, talks[:20])
    scored = []

    def counted(instrument, cards, **more):
        scored.append(cards[0].conversation)
        return decide(instrument, cards, **more)

    monkeypatch.setattr(scorecards, "decide", counted)
    run(path, *options(tmp_path), "-o", tmp_path / "r.html", "--charts", tmp_path / "charts")
    assert sorted(scored) == sorted(about.identity for about in talks)
    assert all((tmp_path / form).stat().st_size for form in FORMS)
    page = (tmp_path / "r.html").read_text()
    assert "bot-1 compared with bot-0" in page
    assert "This needs a random sample" not in unescape(page)  # the correction is there
