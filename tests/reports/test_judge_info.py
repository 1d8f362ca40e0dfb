"""What is known about a judge: the figures are those that were measured, and a model has none."""

import io
import json

import pytest
from rich.console import Console

from attunement.errors import JudgeError
from attunement.reports import judge_info as module
from attunement.reports.judge_info import JudgeInfo, judge_info
from attunement.reports.render_markdown import markdown
from attunement.reports.render_terminal import draw
from attunement.signals.measured import BLIND_SPOTS, Measurement, measured

SIGNALS = judge_info("signals")


def drawn(info: JudgeInfo, width: int) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    draw(info.document(), console)
    return console.file.getvalue()  # pyright: ignore[reportAttributeAccessIssue]


def words(info: JudgeInfo) -> str:
    return " ".join(info.text)


def test_the_rule_check_says_that_it_never_judges_and_all_that_it_cannot_see() -> None:
    assert "It never judges: no verdict, no score, and it cannot clear anything." in words(SIGNALS)
    for blind in BLIND_SPOTS:
        assert blind in words(SIGNALS)


def test_every_measurement_is_shown_with_its_counts_and_nothing_else_is() -> None:
    assert SIGNALS.measurements == measured().measurements
    rows = markdown(SIGNALS.document()).replace("\\", "").split("| ---: |\n")[1].splitlines()
    assert len(rows) == len(SIGNALS.measurements)
    for row, each in zip(rows, SIGNALS.measurements, strict=True):
        assert f"| {each.counted} | {each.hits:,} of {each.n:,} | " in row


def test_a_share_that_is_nearly_none_keeps_a_digit_of_its_interval() -> None:
    def said(hits: int, n: int, low: float, high: float) -> str:
        share = Measurement(id="a", data="d", counted="c", hits=hits, n=n, low=low, high=high)
        return module.share_with_interval(share)

    assert said(23, 28, 0.631, 0.939) == "82 % [63, 94]"
    assert said(0, 1080, 0.0, 0.003) == "0.0 % [0.0, 0.3]"


@pytest.mark.parametrize("width", [80, 120])
def test_it_fits_the_terminal(width: int) -> None:
    text = drawn(SIGNALS, width)
    assert max(map(len, text.splitlines())) <= width
    assert "82 % [63, 94]" in text


def test_the_record_holds_the_figures_unrounded_and_is_json() -> None:
    record = json.loads(json.dumps(SIGNALS.record))
    assert record["measurements"] == [each.model_dump() for each in measured().measurements]
    assert record["cannot_see"] == list(BLIND_SPOTS)


def test_the_figures_were_measured_with_the_patterns_that_are_installed() -> None:
    assert SIGNALS.record["rules"] == SIGNALS.record["measured_with"]
    assert "other patterns" not in words(SIGNALS)


def test_figures_of_other_patterns_are_marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "rules_version", lambda: "another")
    assert "These figures were measured with other patterns" in words(judge_info("signals"))


def test_a_model_is_said_to_be_unmeasured_with_what_its_name_and_the_price_list_tell() -> None:
    info = judge_info("openai:gpt-4o-2024-08-06")
    assert info.measurements == ()
    assert (info.record["measured"], info.record["family"], info.record["dated"]) == (False, "gpt", True)
    assert info.record["hosted"]
    for said in (
        "Nothing has been measured",
        "attune bench kumar2025",
        "attune agree",
        "$2.5 per million prompt tokens",
    ):
        assert said in words(info)
    assert "Measured on" not in drawn(info, 80)


def test_a_name_without_a_date_is_warned_about_only_where_somebody_else_runs_it() -> None:
    assert "no date" in words(judge_info("openai:gpt-5.2"))
    assert "no date" not in words(judge_info("openai:mine", "http://localhost:8000/v1"))


def test_an_unknown_judge_is_an_error_that_names_those_there_are() -> None:
    with pytest.raises(JudgeError, match="signals"):
        judge_info("oracle")


def test_what_earlier_versions_of_the_rule_check_were_called_is_no_judge_any_more() -> None:
    with pytest.raises(JudgeError):
        judge_info("signals:rules")
