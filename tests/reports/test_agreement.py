"""Agreement in words: the table, the trust card, Markdown, JSON and the picture; and what is said of nothing."""

import io
import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from rich.console import Console

from attunement.analysis.failures import WORD_COUNT
from attunement.analysis.ratings_table import RatingsTable
from attunement.analysis.summary import Agreement, StudyContext, analyse_agreement
from attunement.errors import InputError
from attunement.reports import charts
from attunement.reports.agreement import agreement_document, agreement_record, closing, opening, table_rows
from attunement.reports.agreement_chart import write_agreement_picture
from attunement.reports.numbers import format_number
from attunement.reports.render_markdown import markdown
from attunement.reports.render_terminal import draw
from attunement.reports.trust_card import card_rows, sentence
from attunement.statistics.tables import Floats
from tests.analysis.trust_samples import GATE, gathered, noisy, three_people


def drawn(agreement: Agreement, *, width: int = 120, full: bool = False) -> str:
    stream = io.StringIO()
    draw(agreement_document(agreement, "Agreement", full=full), Console(file=stream, width=width))
    return stream.getvalue()


def as_markdown(agreement: Agreement, title: str, *, full: bool = False) -> str:
    return markdown(agreement_document(agreement, title, full=full), level=2)


def said(text: str) -> str:
    return " ".join(text.split())


@pytest.fixture
def scores() -> Agreement:
    truth, people = three_people(60, 0.5)
    rng = np.random.default_rng(1)
    judges = {"j": noisy(truth, 0.5, rng), "k": np.full(60, 4.0)}
    return analyse_agreement(gathered(people, judges), context=StudyContext({WORD_COUNT: rng.random(60)}), full=True)


@pytest.fixture
def safety() -> Agreement:
    people = np.repeat([[0.0, 0.0], [1.0, 1.0]], [35, 60], axis=0)
    judge = people[:, 0].copy()
    judge[:4], judge[4:6], judge[40:43] = 1, -1, 0
    return analyse_agreement(gathered(people, {"j": judge}, GATE), full=True)


def test_each_item_and_each_judge_has_a_row_and_the_best_trivial_judge_too(scores: Agreement) -> None:
    rows = list(table_rows(scores))
    assert [row.name for row in rows] == ["warmth", "j", "k", "panel: lowest", "panel: mean", WORD_COUNT]
    assert [row.number for row in rows] == ["60"] * 6
    assert rows[1].judge[-1].startswith("two people: 0.")
    assert rows[2].verdict.words == "not good enough"
    assert len(list(table_rows(scores, full=True))) == 7  # and the constant one


def test_a_long_name_of_a_judge_is_broken_between_its_parts_only() -> None:
    truth, people = three_people(20, 0.5)
    judges = {"openai:gpt-5.2-mini": truth, "unnamed-llm": truth}
    text = drawn(analyse_agreement(gathered(people, judges)), width=80)
    lines = [line.split("  ")[1].strip() for line in text.splitlines() if line.startswith("  ")]
    names = "".join(lines)
    assert "openai:gpt-5.2-mini" in names
    assert {"unnamed-", "llm", "mini"} <= set(lines)
    assert max(map(len, text.splitlines())) <= 80


def test_a_gates_row_counts_missed_failures_and_missed_as_na(safety: Agreement) -> None:
    first, row, *_ = table_rows(safety)
    assert (first.number, row.number) == ("95", "93")
    assert row.missed == "missed failures: 6 of 35 (2 as “does not apply”); finds 0.83 (0.66 to 0.93)"


def test_the_card_of_a_gate_begins_with_the_failures(safety: Agreement) -> None:
    card = safety.items[0].judges[0]
    labels = [line.label for line in card_rows(card)]
    assert labels[:4] == ["finding failures", "agreement", "missed failures", "false alarms"]
    lines = {line.label: line.text for line in card_rows(card)}
    assert lines["false alarms"] == "3 of 60"
    assert sentence(card).startswith("help, j: cannot tell yet: it finds 83 % of the failures")


@pytest.mark.parametrize(
    "label",
    [
        "agreement between your raters",
        "how far single raters agree",
        "compared with trivial judges",
        "bias",
        "could it stand in for one rater?",
        "same answer when asked again",
        "against the mean of your raters",
        "order, at two levels",
    ],
)
def test_a_full_card_has_every_line_in_plain_words(scores: Agreement, label: str) -> None:
    lines = {line.label: line for line in card_rows(scores.items[0].judges[0])}
    assert lines[label].text


def test_the_plain_word_stands_before_the_technical_name(scores: Agreement) -> None:
    text = drawn(scores, full=True)
    assert text.index("agreement between") < text.index("Krippendorff")
    assert "Krippendorff" not in drawn(scores)


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("full", [True, False])
def test_nothing_is_wider_than_the_terminal_and_nothing_is_nan(scores: Agreement, width: int, full: bool) -> None:
    text = drawn(scores, width=width, full=full)
    assert max(map(len, text.splitlines())) <= width
    assert "nan" not in text.lower()


def test_words_that_are_no_verdicts_do_not_occur(scores: Agreement, safety: Agreement) -> None:
    text = (drawn(scores, full=True) + drawn(safety, full=True)).lower().split()
    assert not {"approved", "certified", "validated", "go"} & set(text)


def test_markdown_holds_the_same_and_escapes_what_others_wrote() -> None:
    truth, people = three_people(20, 0.5)
    found = analyse_agreement(gathered(people, {"evil|<b>*": truth}), full=True)
    text = as_markdown(found, "A", full=True)
    assert "evil&#124;&lt;b>\\*" in text
    rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert {line.count("|") for line in rows} <= {8, 5, 4}


def test_a_terminal_is_not_steered_by_names() -> None:
    truth, people = three_people(20, 0.5)
    assert "\x1b[31m" not in drawn(analyse_agreement(gathered(people, {"j\x1b[31m": truth}), full=True), full=True)


def test_json_has_every_figure_or_the_reason_why_there_is_none(scores: Agreement) -> None:
    record = json.loads(json.dumps(agreement_record(scores), allow_nan=False))
    (entry,) = record["items"]
    constant = entry["judges"][1]
    assert constant["verdict"] == constant["agreement_ruling"]["verdict"] == "not good enough"
    assert constant["with_people"]["gap"]["value"] < 0
    assert constant["details"]["retest"]["undefined"]
    assert constant["sentence"]
    assert entry["people"]["alpha"]["value"] == scores.items[0].people.alpha.value  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_the_picture_has_dots_for_people_and_judges(scores: Agreement, tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"card.{kind}"
    write_agreement_picture(scores, path, "Agreement")
    data = path.read_bytes()
    if kind == "png":
        assert data.startswith(b"\x89PNG")
        return
    text = data.decode()
    assert all(word in text for word in ("any two people", "warmth", "not good enough"))
    assert {'class="w person"', 'class="p person"'} <= set(re.findall('class="[wp] person"', text))  # green is people


def test_without_the_extra_a_png_is_refused_and_an_svg_is_not(
    scores: Agreement, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(charts, "can_write_png", lambda: False)
    with pytest.raises(InputError, match=r"attunement\[png\]"):
        write_agreement_picture(scores, tmp_path / "card.png", "Agreement")
    write_agreement_picture(scores, tmp_path / "card.svg", "Agreement")
    assert [path.name for path in tmp_path.iterdir()] == ["card.svg"]


def test_names_in_a_picture_are_text(tmp_path: Path) -> None:
    truth, people = three_people(20, 0.5)
    found = analyse_agreement(gathered(people, {"<b>& j\x00\x1b\ufffe": truth}), full=True)
    write_agreement_picture(found, tmp_path / "card.svg", "<i>")
    tree = ElementTree.parse(tmp_path / "card.svg")  # noqa: S314 - we wrote it
    shown = [element.text or "" for element in tree.iter() if element.tag.endswith("}text")]
    assert "<i>" in shown
    assert any(text.startswith("<b>& j") for text in shown)


def test_there_is_no_picture_of_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no agreement to draw"):
        write_agreement_picture(analyse_agreement(gathered(np.zeros((0, 2)))), tmp_path / "p.svg", "A")
    with pytest.raises(InputError, match="svg or"):
        write_agreement_picture(analyse_agreement(gathered(np.zeros((0, 2)))), tmp_path / "p.pdf", "A")
    assert not list(tmp_path.iterdir())


NOBODY: Floats = np.zeros((20, 0))
CASES: dict[str, tuple[RatingsTable, str]] = {
    "nothing at all": (gathered(np.zeros((0, 0))), "Nobody has rated anything"),
    "no people": (gathered(NOBODY, {"j": three_people(20, 1)[0]}), "No person has rated"),
    "one person": (gathered(three_people(20, 1)[1][:, :1], {"j": three_people(20, 1)[0]}), "Only one person"),
    "no overlap": (gathered(np.array([[1.0, np.nan], [np.nan, 2.0]])), "2 people"),
    "all the same": (gathered(np.full((30, 3), 5.0), {"j": np.full(30, 5.0)}), "3 people"),
    "a judge that rated other units": (
        gathered(np.array([[1.0, 2.0], [np.nan, np.nan]]), {"j": np.array([np.nan, 3.0])}),
        "2 people",
    ),
}


def test_it_says_who_the_people_were_and_a_stated_profession_cannot_draw() -> None:
    ratings = gathered(three_people(20, 1)[1])
    stated = ["nurse", "", "evil|<b>*\x1b[31m"]
    who = [rater._replace(settings={"profession": text}) for rater, text in zip(ratings.raters, stated, strict=True)]
    found = analyse_agreement(replace(ratings, raters=tuple(who)), full=True)
    assert opening(found)[0].startswith("20 conversations, 3 people (1 × evil|<b>*\x1b[31m, 1 × nurse), 0 judges")
    assert "1 × nurse" in drawn(found)
    assert "\x1b[31m" not in drawn(found)
    assert "<b>*" not in as_markdown(found, "A")
    assert agreement_record(found)["professions"]["nurse"] == 1
    assert (
        "("
        not in opening(analyse_agreement(replace(ratings, raters=tuple(rater._replace(settings={}) for rater in who))))[
            0
        ]
    )


@pytest.mark.parametrize("case", CASES)
def test_every_form_on_nothing_is_a_clear_sentence_without_nan_and_without_a_verdict(case: str) -> None:
    ratings, sentence_of_it = CASES[case]
    found = analyse_agreement(ratings, full=True)
    assert sentence_of_it in " ".join(opening(found))
    forms = [
        drawn(found, full=True),
        as_markdown(found, "A", full=True),
        json.dumps(agreement_record(found), allow_nan=False),
    ]
    for text in forms:
        assert "nan" not in text.lower()
        assert "good enough" not in text


def test_what_was_left_out_is_said() -> None:
    ratings = gathered(three_people(12, 1)[1])
    ratings.left_out["off the scale, and refused"] = 239
    assert closing(analyse_agreement(ratings)) == ["Left out: 239 ratings off the scale, and refused."]


@pytest.mark.parametrize(("value", "text"), [(0.5, "0.50"), (-0.001, "0.00"), (-0.25, "−0.25")])
def test_figures_have_a_real_minus_and_no_negative_zero(value: float, text: str) -> None:
    assert format_number(value) == text


def test_not_enough_data_comes_with_the_number_that_would_be_also_in_the_short_table() -> None:
    truth, people = three_people(6, 0.3)
    few = analyse_agreement(gathered(people, {"j": truth}))
    needed = "It would take about 4 more conversations rated by two people and the judge."
    assert needed in said(drawn(few))
    assert needed in as_markdown(few, "Agreement")


def test_without_people_nothing_is_said_of_raters_or_of_failures_they_found() -> None:
    judge = np.tile([0.0, 1.0], 10)
    rows = list(table_rows(analyse_agreement(gathered(np.zeros((20, 0)), {"j": judge}))))
    assert [row.verdict.words for row in rows] == ["no person rated", "cannot tell yet"]
    *_, gate = table_rows(analyse_agreement(gathered(np.zeros((20, 0)), {"j": judge}, GATE)))
    assert gate.missed == "–"


def test_unit_level_and_system_level_are_labelled(scores: Agreement) -> None:
    text = said(drawn(scores))
    assert text.index("Unit level") < text.index("System level")
