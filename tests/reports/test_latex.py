import re
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attunement.ratings import RaterKind
from attunement.reports.latex import latex
from tests.reports.html.studies import mixed, one, rated
from tests.reports.made import written as form
from tests.reports.samples import COACHING, fill


def written(path) -> str:
    return form(path, "latex")


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
    assert r"\label{tab:agreement-1}" in text
    assert "cannot tell yet" in text


def test_every_row_has_as_many_cells_as_its_table_and_all_that_is_opened_is_closed(tmp_path):
    talks = [one(str(number), f"s & {number} % \\ $ # _ ^ ~") for number in range(6)]
    text = written(fill(tmp_path / "s.db", COACHING, talks, [r for about in talks for r in rated(about)]))
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") == 4  # three systems a table; items apart
    for columns, body in re.findall(r"\\begin\{tabular\}\{@\{\}(.*?)@\{\}\}(.*?)\\end\{tabular\}", text, re.DOTALL):
        for row in re.findall(r"(?m)^(.*) \\\\$", body):
            assert len(re.findall(r"(?<!\\)&", row)) == columns.count(r"\linewidth") - 1


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="there is no LaTeX here")
def test_every_table_compiles_and_stays_within_its_page(tmp_path):
    talks = [
        one(f"{number}", ("Harbor", "gpt-5.2-2026-01-01-preview & \\ co", "a_b^c")[number % 3]) for number in range(36)
    ]
    answers = [{"CQ8": "NO"} if number % 7 == 0 else None for number in range(36)]
    given = [rating for about, some in zip(talks, answers, strict=True) for rating in rated(about, some)]
    kinds = {"Ann": RaterKind.PERSON, "Ben": RaterKind.PERSON}
    for name, kind in kinds.items():
        for about, some in zip(talks, answers, strict=True):
            given += rated(about, some, rater=name, rater_kind=kind)
    text = written(fill(tmp_path / "s.db", COACHING, talks, given, kinds))
    packages = r"\usepackage[T1]{fontenc}\usepackage{array,booktabs,textcomp}"
    page = rf"\documentclass{{article}}{packages}\begin{{document}}{text}\end{{document}}"
    (tmp_path / "page.tex").write_text(page, "utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-draftmode", "page.tex"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace").stdout
    assert not re.search(r"(?m)^(!|Overfull|.*Float too large).*$", said), said


@given(st.text())
def test_no_sign_of_anybody_keeps_a_meaning(text):
    shown = latex(text, 10_000)
    bare = re.sub(r"\\text\w+\{\}|\\[{}$&#%_]|\{-\}|\$-\$", "", shown)
    assert not re.search(r"[\\{}$&#%_~^<>|\"`'-]", bare)
    assert "\n" not in shown


def test_a_study_that_nobody_judged_has_no_table_of_scores(tmp_path):
    assert "Nothing was judged" in written(fill(tmp_path / "s.db", COACHING, [one("a")], []))
