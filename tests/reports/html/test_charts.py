"""Charts draw what was measured, and nothing else."""

import re

from attunement.reports.html.charts import distribution, systems_of
from attunement.reports.numbers import NONE
from tests.reports.html.studies import COACHING, ERROR, fill, one, page, rated
from tests.reports.made import reported, written
from tests.reports.samples import ABSTAINED

NOTHING = {item.id: ABSTAINED for item in COACHING.items}


def cells(found, item):
    (row,) = [row for row in found.one(kind="heat").find(tag="tr") if row.text.startswith(item)]
    return [(cell.text, cell.attributes["class"]) for cell in row.find(kind="c")]


def test_a_few_failures_do_not_look_like_none_and_nothing_looks_like_neither(tmp_path):
    talks = [one(f"c{number}") for number in range(5)]
    given = [rating for talk in talks for rating in rated(talk, {"CQ8": "NO", "CQ1": ABSTAINED})]
    found = page(fill(tmp_path / "s.db", COACHING, talks, given))
    assert cells(found, "CQ8") == [("5 of 5", "c h6 few")]
    assert cells(found, "CQ9") == [("0 of 5", "c h0 few")]
    assert cells(found, "CQ1") == [(NONE, "c nothing")]


def test_where_only_faults_are_reported_they_are_counted_among_everything(tmp_path):
    talks = [one(f"c{number}") for number in range(40)]
    given = [
        rating
        for number, talk in enumerate(talks)
        for rating in rated(talk, NOTHING | {"CQ8": "NO"} if number < 11 else NOTHING)
    ]
    path = fill(tmp_path / "s.db", COACHING, talks, given)
    found = page(path)
    assert "CQ8 found in 11 of 40; 29 not judged" in found.one(id="mend").text
    assert cells(found, "CQ8") == [("11 found", "c h4 few")]
    assert "0 of 11" not in written(path, "latex")
    assert "100 \\%" not in written(path, "latex")


def test_safety_is_to_be_fixed_first_and_then_what_surely_fails_most(tmp_path):
    talks = [one(f"c{number}") for number in range(12)]
    most = {"CQ1": "NO", "CQ2": ABSTAINED}
    given = [rating for talk in talks[:11] for rating in rated(talk, most)]
    given += rated(talks[11], {"CQ8": "NO", "CQ1": "YES", "CQ2": "NO"})
    given += rated(one("other", "Lumen"), {"CQ2": "YES"})
    found = page(fill(tmp_path / "s.db", COACHING, [*talks, one("other", "Lumen")], given))
    assert [code.text for code in found.one(id="mend").find(tag="code")] == ["CQ8", "CQ1", "CQ2"]


def drawn(path):
    with reported(path) as report:
        return distribution(report.summary, systems_of(report.summary))


def heights(histogram, tone=""):
    return [float(height) for height in re.findall(f'<rect class="{tone}[^>]* height="([0-9.]+)"', histogram.drawing)]


def test_a_score_that_is_still_open_is_counted_but_not_drawn(tmp_path):
    talks = [one(f"c{number}") for number in range(4)]
    given = [rating for talk in talks[:3] for rating in rated(talk, {"MT1": ERROR, "MT2": ERROR, "MT3": ERROR})]
    given += rated(talks[3])
    (found,) = drawn(fill(tmp_path / "s.db", COACHING, talks, given))
    assert found.note.startswith("3 not drawn")
    assert found.label == "Scores of Harbor: 1 from 0.95"


def test_scores_have_the_color_of_the_verdict(tmp_path):
    talks = [one("good"), one("harmful")]
    given = [*rated(talks[0]), *rated(talks[1], {"CQ8": "NO"})]
    (found,) = drawn(fill(tmp_path / "s.db", COACHING, talks, given))
    assert len(heights(found, "met")) == len(heights(found, "unsafe")) == 1


def test_distributions_of_several_systems_have_one_scale(tmp_path):
    talks = [*(one(f"c{number}") for number in range(10)), one("d", "Lumen")]
    many, few = drawn(fill(tmp_path / "s.db", COACHING, talks, [r for talk in talks for r in rated(talk)]))
    assert heights(many) == [10 * heights(few)[0]]


def test_an_axis_is_drawn_only_where_there_is_data(tmp_path):
    rates = {"aria-labelledby": "h-pass-rates"}
    few = page(fill(tmp_path / "a.db", COACHING, [one("c1")], rated(one("c1")))).one(**rates)
    assert not few.find(tag="svg")
    assert "Passed 1 of 1" in few.text
    talks = [one(f"c{number}") for number in range(10)]
    many = fill(tmp_path / "b.db", COACHING, talks, [rating for talk in talks for rating in rated(talk)])
    assert page(many).one(**rates).find(tag="svg")
