import re

from hypothesis import given
from hypothesis import strategies as st

from attunement.reports.latex import latex, latex_tables
from tests.reports.html.studies import mixed, one, rated
from tests.reports.made import digested
from tests.reports.samples import COACHING, fill


def written(path) -> str:
    with digested(path) as (_, found):
        return latex_tables(found)


def test_scores_stand_by_system_with_intervals(tmp_path):
    talks = [one(f"{system}{number}", system) for system in ("Harbor", "Lumen") for number in range(12)]
    ratings = [rating for about in talks for rating in rated(about, {"CQ8": "NO"} if about.id == "Lumen3" else None)]
    text = written(fill(tmp_path / "s.db", COACHING, talks, ratings))
    assert r" & Harbor & Lumen \\" in text
    assert r"Passed & 100 \% (74, 100) & 92 \% (62, 100) \\" in text
    assert r"Unsafe & 0 & 1 \\" in text
    assert "according to judge{-}1" in text
    assert "Not checked against people." in text


def test_the_agreement_table_is_there_where_people_rated(tmp_path):
    assert "tab:agreement" not in written(mixed(tmp_path / "a.db"))
    text = written(mixed(tmp_path / "b.db", people=True))
    assert r"\label{tab:agreement}" in text
    assert "not enough data" in text


def test_every_row_has_as_many_cells_as_its_table_and_all_that_is_opened_is_closed(tmp_path):
    talks = [one(str(number), f"s & {number} % \\ $ # _ ^ ~") for number in range(6)]
    text = written(fill(tmp_path / "s.db", COACHING, talks, [r for about in talks for r in rated(about)]))
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") == 2  # four systems a table
    for columns, body in re.findall(r"\\begin\{tabular\}\{(\w+)\}(.*?)\\end\{tabular\}", text, re.DOTALL):
        for row in re.findall(r"(?m)^(.*) \\\\$", body):
            assert len(re.findall(r"(?<!\\)&", row)) == len(columns) - 1


@given(st.text())
def test_no_sign_of_anybody_keeps_a_meaning(text):
    shown = latex(text, 10_000)
    bare = re.sub(r"\\text\w+\{\}|\\[{}$&#%_]|\{-\}|\$-\$", "", shown)
    assert not re.search(r"[\\{}$&#%_~^<>|\"`'-]", bare)
    assert "\n" not in shown


def test_a_study_that_nobody_judged_has_no_table_of_scores(tmp_path):
    assert "Nothing was judged" in written(fill(tmp_path / "s.db", COACHING, [one("a")], []))
