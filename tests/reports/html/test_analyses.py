import random

import pytest

from attunement.instruments import Instrument
from attunement.ratings import RaterKind
from attunement.reports.html import analyses
from attunement.reports.html.analyses import analysed
from attunement.reports.html.text import Hiding
from attunement.study import Study
from tests.reports.html.studies import COACHING, fill, mixed, one, page, rated
from tests.reports.html.tree import parse

PEOPLE = ("Ann", "Ben", "Cy")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Two systems, a judge that is often right, and three people who rated half of it."""
    chance = random.Random(3)
    talks = [one(f"c{n}", ("Harbor", "Lumen")[n % 2], scenario=f"s{n // 2}") for n in range(60)]
    given = []
    for number, talk in enumerate(talks):
        truth = {item.id: "NO" if chance.random() < 0.3 else "YES" for item in COACHING.items}

        def seen(wrong, truth=truth):
            return {id: v if chance.random() > wrong else {"NO": "YES", "YES": "NO"}[v] for id, v in truth.items()}

        given += rated(talk, seen(0.1))
        for name in PEOPLE if number < 30 else ():
            given += rated(talk, seen(0.05), rater=name, rater_kind=RaterKind.PERSON)
    path = tmp_path_factory.mktemp("people") / "s.db"
    return fill(path, COACHING, talks, given, dict.fromkeys(PEOPLE, RaterKind.PERSON))


def found(path, instrument: Instrument = COACHING):
    with Study(path) as opened:
        return analysed(opened, instrument, Hiding())


def test_who_checked_the_judge_is_said_with_the_failures_it_missed(study):
    checked = found(study).checked
    assert checked.sentence.startswith("3 people rated 30 conversations. On CQ8 missed failures: ")
    assert ", false alarms: " in checked.sentence
    assert "a verdict needs 30 failures labelled by two people" in checked.note
    assert any("Krippendorff's" in figure.technical for figure in checked.figures)


def test_every_item_that_people_rated_has_a_trust_card(study):
    section = next(one for one in found(study).sections if one.id == "trust")
    cards = parse(section.body).find(kind="trust")
    assert {card.find(tag="code")[0].text for card in cards} == {item.id for item in COACHING.items}
    assert "Could it stand in for one rater?" in cards[0].text
    assert parse(section.body).find(kind="person")
    assert "agreement" in [chart.id for chart in section.charts]


def test_calibration_says_what_people_say_where_the_judge_says_so(study):
    section = next(one for one in found(study).sections if one.id == "trust")
    chart = next(chart for chart in section.charts if chart.id == "calibration-CQ1")
    places = [row.dots[0].x for row in chart.rows if row.dots[0].x is not None]
    assert places == sorted(places)
    assert chart.ticks[0][1] == "not met"


def test_two_systems_are_compared(study):
    section = next(one for one in found(study).sections if one.id == "compare")
    text = parse(section.body).text
    assert "paired on scenario: 30 scenarios in common" in text
    assert "Holm" in text


def test_the_sections_stand_in_the_report(study, tmp_path):
    seen = found(study)
    shown = page(study, checked=seen.checked, sections=seen.sections)
    assert "3 people rated 30 conversations." in shown.one(kind="lines").text
    assert [link.text for link in shown.one(kind="rail").find(tag="a")][6:8] == [
        "How far to believe the judge",
        "Comparison",
    ]


def test_a_signature_stands_with_who_checked_the_judge(tmp_path, monkeypatch):
    monkeypatch.setattr(analyses, "sign_off_line", lambda *_: "Signed by Ann: do not release.")
    path = mixed(tmp_path / "s.db")
    seen = found(path)
    third = page(path, sign_off=seen.sign_off).one(kind="lines").find(tag="li")[2]
    assert "Signed by Ann: do not release." in third.text


def test_without_people_and_with_judges_that_differ_there_is_nothing_to_analyse(tmp_path):
    assert found(mixed(tmp_path / "a.db")).checked is None
    assert [one.id for one in found(mixed(tmp_path / "b.db")).sections] == ["compare"]
    assert found(fill(tmp_path / "c.db", COACHING, [one("c1")], rated(one("c1")))) == (None, "", ())
