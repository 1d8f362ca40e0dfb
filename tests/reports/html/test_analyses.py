import json
import random
import shutil

import pytest
from typer.testing import CliRunner

from attunement.instruments import Instrument
from attunement.ratings import RaterKind
from attunement.reports.html import sections
from attunement.reports.html.sections import analysed
from attunement.reports.privacy import Privacy
from attunement.reports.render_html import html_blocks
from attunement.store import Study
from attunement.store.samples import NotDrawn, SampledConversation, save_sample
from tests.reports.html.studies import COACHING, ERROR, fill, mixed, one, page, rated, report
from tests.reports.html.tree import parse

PEOPLE = ("Ann", "Ben", "Cy")
PERSON = RaterKind.PERSON


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


def body(section):
    """A page of the report, as a tree."""
    return parse("".join(html_blocks(card) for card in section.cards))


def found(path, instrument: Instrument = COACHING):
    with Study(path) as opened:
        return analysed(opened, instrument, Privacy())


def test_who_checked_the_judge_is_said_with_the_failures_it_missed(study):
    checked = found(study).checked
    assert checked.sentence.startswith("3 people rated 30 conversations. On CQ8 missed failures: ")
    assert ", false alarms: " in checked.sentence
    assert "CQ8: cannot tell yet (it finds 100 % of the failures, but that may be 54 % or 100 %)." in checked.note


def test_what_holds_for_all_judges_is_said_once_and_the_kinds_of_raters_are_counted(tmp_path):
    talk = one("c1")
    given = [*rated(talk), *rated(talk, rater="judge-2"), *rated(talk, {"CQ8": "NO"}, rater="Ann", rater_kind=PERSON)]
    path = fill(tmp_path / "s.db", COACHING, [talk], given, {"Ann": PERSON})
    with Study(path) as opened:
        opened.save_rater("Ben", PERSON, {"profession": "nurse"})
    checked = found(path).checked
    assert checked.note.count("CQ8: ") == 1
    assert checked.sentence.startswith("1 person (1\u00a0× nurse) rated 1 conversation.\njudge-1: ")


def test_failures_that_nobody_could_have_seen_missed_are_said_to_be_unknown(tmp_path):
    talks = [one("c1"), one("c2")]
    given = [*rated(talks[0], {"CQ8": "NO"}), *rated(talks[1]), *rated(talks[0], rater="Ann", rater_kind=PERSON)]
    checked = found(fill(tmp_path / "s.db", COACHING, talks, given, {"Ann": PERSON})).checked
    assert "On CQ8 how many failures were missed cannot be known, false alarms: 1 of 1." in checked.sentence


def test_where_there_is_no_judge_the_page_is_about_the_raters(tmp_path):
    talks = [one("c1"), one("c2")]
    given = [r for talk in talks for who in PEOPLE for r in rated(talk, rater=who, rater_kind=PERSON)]
    seen = found(fill(tmp_path / "s.db", COACHING, talks, given, dict.fromkeys(PEOPLE, PERSON)))
    assert seen.checked.sentence == "There is no judge: 3 people rated 2 conversations themselves."
    assert seen.sections[0].title == "How far your raters agree"


def test_every_item_that_people_rated_has_a_trust_card(study):
    section = next(one for one in found(study).sections if one.id == "trust")
    assert {code.text for code in body(section).find(tag="code")} == {item.id for item in COACHING.items}
    assert "Could it stand in for one rater?" in body(section).text
    assert body(section).find(kind="person")
    assert "agreement" in [chart.id for chart in section.charts]


def test_calibration_says_what_people_say_where_the_judge_says_so(study):
    section = next(one for one in found(study).sections if one.id == "trust")
    chart = next(chart for chart in section.charts if chart.id == "calibration-CQ1")
    places = [row.dots[0].x for row in chart.rows if row.dots[0].x is not None]
    assert places == sorted(places)
    assert chart.ticks[0][1] == "not met"


def test_scores_are_corrected_where_people_rated_a_random_sample(study, tmp_path):
    path = tmp_path / "drawn.db"
    shutil.copy(study, path)
    with Study(path) as opened:
        keys = [summary.key for page in opened.summaries(100) for summary in page]
        drawn = {key: SampledConversation("all", 0.5, None) for key in keys[:30]}
        waiting = {key: NotDrawn("all", 0.5) for key in keys[30:]}
        save_sample(opened, name=None, instrument=COACHING.id, seed=0, design={}, units=drawn, waiting=waiting)
    corrected = next(one for one in found(path).sections if one.id == "corrected")
    assert "Not available" in body(next(one for one in found(study).sections if one.id == "corrected")).text
    for system in ("Harbor", "Lumen"):
        assert system in body(corrected).text


def test_that_there_is_not_enough_data_is_said_once(tmp_path):
    talks = [one("c1"), one("c2")]
    given = [r for talk in talks for r in (*rated(talk), *rated(talk, rater="Ann", rater_kind=PERSON))]
    trust = body(found(fill(tmp_path / "s.db", COACHING, talks, given, {"Ann": PERSON})).sections[0])
    ids = ", ".join(sorted((item.id for item in COACHING.items), key=lambda id: id not in COACHING.gate_ids))
    assert f"No verdict yet on {ids}." in trust.text
    assert trust.text.count("No verdict yet") == 1


def test_two_systems_are_compared(study):
    section = next(one for one in found(study).sections if one.id == "compare")
    text = body(section).text
    assert "paired on scenario: 30 scenarios in common" in text
    assert "Holm" in text


OWN_PAGES = [
    "How far to trust the judge",
    "Score corrected with people's ratings",
    "Comparison",
    "Glossary",
    "Cost and time",
]


def test_each_analysis_is_a_page_of_its_own_in_one_file(study):
    seen = found(study)
    shown = page(study, checked=seen.checked, sections=seen.sections)
    assert "3 people rated 30 conversations." in shown.one(kind="lines").text
    links = shown.one(kind="rail").find(tag="a")[-5:]
    assert [link.text for link in links] == OWN_PAGES
    for link in links:
        own = shown.one(id=link.attributes["href"][1:])
        assert "own" in own.attributes["class"].split()
        assert own.find(tag="h2")[0].text == link.text
    assert shown.one(kind="lines").find(tag="a", href="#trust")


def test_each_analysis_is_a_file_of_its_own_in_a_folder(study, tmp_path):
    seen = found(study)
    report(study, f"{tmp_path}/out/", checked=seen.checked, sections=seen.sections)
    index = parse((tmp_path / "out" / "index.html").read_text())
    links = index.one(kind="rail").find(tag="a")[-5:]
    assert [link.text for link in links] == OWN_PAGES
    for link in links:
        own = parse((tmp_path / "out" / link.attributes["href"]).read_text())
        assert own.one(kind="own").find(tag="h2")[0].text == link.text
        for other in own.one(kind="rail").find(tag="a"):
            assert (tmp_path / "out" / "pages" / other.attributes["href"].partition("#")[0]).exists()
    assert not index.find(kind="own")
    assert index.one(kind="lines").find(tag="a", href="pages/trust.html")


def test_a_signature_stands_with_who_checked_the_judge(tmp_path, monkeypatch):
    monkeypatch.setattr(sections, "sign_off_line", lambda *_: "Signed by Ann: do not release.")
    path = mixed(tmp_path / "s.db")
    seen = found(path)
    third = page(path, sign_off=seen.sign_off).one(kind="lines").find(tag="li")[2]
    assert "Signed by Ann: do not release." in third.text


def refused(path) -> list[str]:
    """The pages that say that the study does not allow them."""
    return [one.id for one in found(path).sections if "Not available yet." in body(one).text]


def test_the_page_of_an_analysis_that_the_study_does_not_allow_says_what_it_needs(tmp_path):
    assert found(mixed(tmp_path / "a.db")).checked is None
    assert refused(mixed(tmp_path / "b.db")) == ["trust", "corrected"]
    alone = fill(tmp_path / "c.db", COACHING, [one("c1")], rated(one("c1")))
    assert refused(alone) == ["trust", "corrected", "compare"]
    assert "This needs two systems that the same judges rated." in body(found(alone).sections[2]).text


def test_what_nobody_answered_is_not_compared(tmp_path):
    talks = [one("c1"), one("c2", "Lumen")]
    silent = [given for talk in talks for given in rated(talk, {item.id: ERROR for item in COACHING.items})]
    assert "compare" in refused(fill(tmp_path / "s.db", COACHING, talks, silent))


def test_three_systems_are_ranked_and_many_are_left_to_the_command(tmp_path):
    def study_of(count):
        talks = [one(f"c{number}", f"bot-{number % count}") for number in range(2 * count)]
        return fill(tmp_path / f"{count}.db", COACHING, talks, [given for talk in talks for given in rated(talk)])

    said = body(found(study_of(3)).sections[2]).text
    assert "Ranking" in said
    assert all(f"bot-{number}" in said for number in range(3))
    assert "There are 13 systems" in body(found(study_of(13)).sections[2]).text


def test_systems_that_were_not_judged_alike_are_named(tmp_path):
    talks = [one(f"c{number}", f"bot-{number}") for number in range(2)]
    given = [*rated(talks[0]), *rated(talks[1], rater="judge-2")]
    said = body(found(fill(tmp_path / "s.db", COACHING, talks, given)).sections[2]).text
    assert "was judged by judge-1, but another group also by others" in said


def test_a_comparison_that_is_too_large_for_a_page_says_so(study, monkeypatch):
    monkeypatch.setattr(sections, "MOST_COMPARED", 59)
    said = body(found(study).sections[2]).text
    assert "up to 59 conversations, and there are 60" in said
    assert "attune compare" in said


def test_agreement_is_kept_for_the_other_forms(study, monkeypatch, tmp_path):
    from attunement.cli import app
    from attunement.reports import forms

    monkeypatch.setattr(forms, "study_agreement", lambda *_: pytest.fail("it was computed before"))
    done = CliRunner().invoke(
        app, ["report", str(study), "-o", str(tmp_path / "r.html"), "--json", str(tmp_path / "r.json")]
    )
    assert done.exit_code == 0, done.output
    assert json.loads((tmp_path / "r.json").read_text())["agreement"]["people"] == 3
