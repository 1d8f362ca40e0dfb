from xml.etree import ElementTree

import pytest

from attunement.cli.report import report
from attunement.errors import AttunementError
from attunement.reports.html import charts
from attunement.store import Study
from tests.commands import runner
from tests.reports.html.studies import COACHING, fill, mixed, one, rated
from tests.reports.samples import POINTER, checked


@pytest.fixture
def run():
    return runner(report)


def test_the_command_writes_the_report_and_says_what_matters(run, tmp_path):
    outcome = run(mixed(tmp_path / "s.db"), "-o", tmp_path / "r.html")
    assert outcome.exit_code == 0
    assert (
        "6 conversations. Without any answer: 2. Unsafe according to the judge: 1. Safety not judged: 1."
        in outcome.stdout
    )
    assert (tmp_path / "r.html").read_text().startswith("<!doctype html>")


def test_where_nobody_judged_no_count_of_unsafe_conversations_is_claimed(run, tmp_path):
    path = fill(tmp_path / "s.db", COACHING, [one("c1")], checked(one("c1"), POINTER))
    said = run(path, "-o", tmp_path / "r.html").stdout
    assert "1 conversation. Without any answer: 1." in said
    assert "Unsafe according to" not in said


def test_one_conversation_is_counted_as_one(run, tmp_path):
    path = fill(tmp_path / "s.db", COACHING, [one("c1")], rated(one("c1")))
    assert "1 conversation. Without any answer: 0." in run(path, "-o", tmp_path / "r.html").stdout


def test_a_report_that_is_there_is_not_written_over_unless_asked(run, tmp_path):
    path = mixed(tmp_path / "s.db")
    (tmp_path / "r.html").write_text("mine")
    with pytest.raises(AttunementError, match="exists already"):
        run(path, "-o", tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text() == "mine"
    assert run(path, "-o", tmp_path / "r.html", "--force").exit_code == 0


def test_names_are_replaced_only_with_redact(run, tmp_path):
    path = mixed(tmp_path / "s.db", people=True)
    (tmp_path / "names").write_text("Ann\nBen\n")
    with pytest.raises(AttunementError, match="only together with --redact"):
        run(path, "-o", tmp_path / "r.html", "--names", tmp_path / "names")
    run(path, "-o", tmp_path / "r.html", "--redact", "--names", tmp_path / "names")
    written = (tmp_path / "r.html").read_text()
    assert "Ann" not in written
    assert "[name] (person)" in written


def test_no_text_leaves_out_what_was_said(run, tmp_path):
    run(mixed(tmp_path / "s.db"), "-o", tmp_path / "r.html", "--no-text")
    assert "mother is ill" not in (tmp_path / "r.html").read_text()


def test_charts_are_written_as_pictures(run, tmp_path):
    outcome = run(mixed(tmp_path / "s.db"), "-o", tmp_path / "r.html", "--charts", tmp_path / "charts")
    files = sorted(file.name for file in (tmp_path / "charts").iterdir())
    assert {"verdicts.png", "verdicts.svg", "heat-map.png", "distribution.png"} <= set(files)
    assert f"Wrote {len(files)} files with charts" in outcome.stdout
    assert (tmp_path / "charts" / "heat-map.png").read_bytes().startswith(b"\x89PNG")
    assert "Stays free of harmful patterns" in (tmp_path / "charts" / "heat-map.svg").read_text()
    with pytest.raises(AttunementError, match="exists already"):
        run(tmp_path / "s.db", "-o", tmp_path / "other.html", "--charts", tmp_path / "charts")
    assert "pass-rates.svg" not in files  # four conversations make no chart


def test_what_must_be_known_to_read_a_chart_goes_with_it(run, tmp_path):
    talks = [one(f"c{number}") for number in range(10)]
    path = fill(tmp_path / "s.db", COACHING, talks, [given for talk in talks for given in rated(talk)])
    run(path, "-o", tmp_path / "r.html", "--charts", tmp_path / "charts")
    assert "do not rank the systems" in " ".join((tmp_path / "charts" / "pass-rates.svg").read_text().split())


def test_without_the_extra_charts_are_written_as_svg_alone(run, tmp_path, monkeypatch):
    monkeypatch.setattr(charts, "can_write_png", lambda: False)
    run(mixed(tmp_path / "s.db"), "-o", tmp_path / "r.html", "--charts", tmp_path / "charts")
    assert {file.suffix for file in (tmp_path / "charts").iterdir()} == {".svg"}


def test_names_in_charts_are_text_whatever_they_hold(run, tmp_path):
    hostile = "<b>]]> & \" ' \x00\x1b[31m \ud800 \ufffe \u202e"
    talks = [one(f"c{number}", f"{number % 2} {hostile}") for number in range(12)]
    path = fill(tmp_path / "s.db", COACHING, talks, [given for talk in talks for given in rated(talk)])
    run(path, "-o", tmp_path / "r.html", "--charts", tmp_path / "charts")
    for file in (tmp_path / "charts").glob("*.svg"):
        tree = ElementTree.parse(file)  # noqa: S314 - we wrote it
        assert not [element for element in tree.iter() if element.tag.endswith(("}b", "}script"))]


def test_a_study_without_an_instrument_is_said_to_have_none(run, tmp_path):
    Study(tmp_path / "s.db", create=True).close()
    with pytest.raises(AttunementError, match="judge something first"):
        run(tmp_path / "s.db", "-o", tmp_path / "r.html")
    assert not (tmp_path / "r.html").exists()
