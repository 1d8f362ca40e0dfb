"""The validity card: every figure on it is one of the results file, and it fits a terminal."""

import io
import json
import re
from typing import Any

import pytest
from rich.console import Console

from attunement.errors import JudgeError
from attunement.reports.judge_info import Conduct, ModelInfo, SignalsInfo, conduct, judge_info, signals_info
from attunement.reports.judge_info_page import page, with_span
from attunement.reports.judge_info_text import draw_judge_info, judge_info_markdown, judge_info_record
from attunement.signals import scorer, validity
from attunement.signals.judging import WAYS
from attunement.signals.validity import Figure, Verdict, measured


def drawn(width: int) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    draw_judge_info(signals_info(), console)
    return console.file.getvalue()  # pyright: ignore[reportAttributeAccessIssue]


def figures(record: Any) -> list[Figure]:
    """Every figure anywhere in the results file."""
    if isinstance(record, Figure):
        return [record]
    if isinstance(record, validity.Validity):
        return [found for part in (record.agreements, record.counts) for found in figures(part)]
    if isinstance(record, tuple):
        return [found for part in record for found in figures(part)]
    if hasattr(record, "model_fields_set"):
        return [found for _, part in record for found in figures(part)]
    return []


def test_every_figure_that_is_shown_is_one_of_the_results_file() -> None:
    known = {with_span(figure) for figure in figures(measured())}
    shown = [
        cell
        for section in page(signals_info(), kinds=True)
        for grid in section.grids
        for row in grid.rows
        for cell in row[1:]
        if "[" in cell
    ]
    assert len(shown) > 100
    assert set(shown) <= known


def test_every_figure_of_the_results_file_is_shown() -> None:
    text = judge_info_markdown(signals_info()).replace("\\", "")
    for found in figures(measured()):
        assert with_span(found) in text or found.value is None


def test_numbers_in_the_sentences_below_the_tables_are_those_of_the_file_too() -> None:
    known = {with_span(figure) for figure in figures(measured())}
    sentences = [said for section in page(signals_info()) for grid in section.grids for said in grid.remarks]
    quoted = {match for said in sentences for match in re.findall(r"−?\d\.\d\d \[−?\d\.\d\d, −?\d\.\d\d\]", said)}
    assert quoted
    assert quoted <= known


@pytest.mark.parametrize("width", [80, 120])
def test_the_card_fits_the_terminal_and_says_how_each_item_is_decided(width: int) -> None:
    text = drawn(width)
    assert max(map(len, text.splitlines())) <= width
    joined = " ".join(text.split())
    for way in WAYS:
        assert way.how in joined


def test_recall_on_clinicians_risk_levels_is_the_first_figure_of_the_detectors() -> None:
    detectors = page(signals_info())[1]
    assert detectors.grids[0].title.startswith("VERA-MH")
    assert detectors.grids[0].rows[0][0].startswith("RECALL")


def test_our_own_sentences_are_labelled_as_such() -> None:
    for counts in measured().counts:
        assert counts.source.startswith("Our own sentences") == counts.id.startswith("own-")


def test_the_attribution_is_shown() -> None:
    assert scorer.ATTRIBUTION in " ".join(drawn(120).split())
    assert "EMNLP 2020" in judge_info_markdown(signals_info())


def test_levels_of_another_scale_are_marked_as_mapped() -> None:
    titles = [section.title for section in page(signals_info()) if "mapped, not measured" in " ".join(section.said)]
    assert [title.split()[0] for title in titles] == ["emotion", "validation"]


def test_an_item_is_said_to_abstain_exactly_where_the_judge_does() -> None:
    abstaining = {Conduct.FAILED, Conduct.UNMEASURED, Conduct.NO_WAY, Conduct.NO_WEIGHTS}
    for way in WAYS:
        assert (conduct(way) in abstaining) == (not way.is_answered)


def test_without_the_weights_the_card_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scorer, "available", lambda: False)
    monkeypatch.setattr("attunement.signals.judging.verdict_on", lambda *_: Verdict.NOT_MEASURED)
    monkeypatch.setattr("attunement.signals.validity.verdict_on", lambda *_: Verdict.NOT_MEASURED)
    info = signals_info()
    assert any("weights of the trained scorer are not installed" in said for said in info.cautions)
    assert {entry.conduct for entry in info.items if entry.mapped} == {Conduct.NO_WEIGHTS}


def test_figures_of_other_weights_or_rules_are_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("attunement.signals.judging.lexicons_mark", lambda: "another")
    assert any("earlier state of the rules" in said for said in signals_info().cautions)


def test_the_record_holds_the_figures_unrounded_and_is_json() -> None:
    record = json.loads(json.dumps(judge_info_record(signals_info())))
    kept = measured().model_dump(mode="json")
    shown = {each["id"]: each for entry in record["items"] for each in entry["agreements"]}
    shown |= {each["id"]: each for each in record["others"]}
    assert shown == {each["id"]: each for each in kept["agreements"]}


def test_a_model_is_said_to_be_unmeasured_with_what_its_name_and_the_price_list_tell() -> None:
    info = judge_info("openai:gpt-4o-2024-08-06")
    assert isinstance(info, ModelInfo)
    assert (info.family, info.dated, info.hosted) == ("gpt", True, True)
    assert info.price is not None
    said = " ".join(page(info)[0].said)
    assert "attune bench kumar2025" in said
    assert "attune agree" in said
    assert "$2.5 a million prompt tokens" in said


def test_a_name_without_a_date_is_warned_about_only_where_somebody_else_runs_it() -> None:
    assert "no date" in " ".join(page(judge_info("openai:gpt-5.2"))[0].said)
    assert "no date" not in " ".join(page(judge_info("openai:mine", "http://localhost:8000/v1"))[0].said)


def test_an_unknown_judge_is_an_error_that_names_those_there_are() -> None:
    with pytest.raises(JudgeError, match="known are signals"):
        judge_info("oracle")


def test_signals_is_the_card() -> None:
    assert isinstance(judge_info("signals"), SignalsInfo)
