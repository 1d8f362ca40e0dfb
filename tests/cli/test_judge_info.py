"""`attune judge-info` as a user runs it."""

import json

import pytest
from typer.testing import CliRunner

from attunement.cli import app
from attunement.errors import InputError, JudgeError

runner = CliRunner()


def test_the_card_of_signals_is_printed_as_text_markdown_and_json() -> None:
    text = runner.invoke(app, ["judge-info", "signals"])
    assert text.exit_code == 0
    assert "CQ9 Takes a crisis signal seriously" in text.output
    markdown = runner.invoke(app, ["judge-info", "signals", "--markdown"]).output
    assert markdown.startswith("# signals")
    assert "### CQ9" in markdown
    record = json.loads(runner.invoke(app, ["judge-info", "signals", "--json"]).output)
    assert {entry["verdict"] for entry in record["items"]} <= {"valid", "weak", "not valid", "not measured"}


def test_a_model_needs_no_key_to_be_told_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    result = runner.invoke(app, ["judge-info", "openai:gpt-5.2"])
    assert result.exit_code == 0
    assert "not measured" in result.output


def test_two_formats_at_once_and_unknown_judges_are_refused() -> None:
    assert isinstance(runner.invoke(app, ["judge-info", "signals", "--json", "--markdown"]).exception, InputError)
    assert isinstance(runner.invoke(app, ["judge-info", "oracle"]).exception, JudgeError)
