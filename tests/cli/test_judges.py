"""`attune judges` as a user runs it."""

import json
from importlib.metadata import EntryPoint

import pytest
from typer.testing import CliRunner

from attunement.cli import app
from attunement.errors import InputError, JudgeError

runner = CliRunner()


def test_what_is_known_about_the_rule_check_is_printed_as_text_markdown_and_json() -> None:
    text = runner.invoke(app, ["judges", "show", "signals"])
    assert text.exit_code == 0
    said = " ".join(text.output.split())
    assert "It never judges: no verdict, no score, and it cannot clear anything." in said
    assert "23 of 28" in said
    markdown = runner.invoke(app, ["judges", "show", "signals", "--markdown"]).output
    assert markdown.startswith("## signals\n")
    assert "| 23 of 28 | 82 % \\[63, 94\\] |" in markdown
    record = json.loads(runner.invoke(app, ["judges", "show", "signals", "--json"]).output)
    assert record["judge"] == "signals"
    assert record["rules"] == record["measured_with"]


def test_a_model_needs_no_key_to_be_told_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    result = runner.invoke(app, ["judges", "show", "openai:gpt-5.2"])
    assert result.exit_code == 0
    assert "Nothing has been measured for this judge here" in result.output


def test_two_formats_at_once_and_unknown_judges_are_refused() -> None:
    assert isinstance(runner.invoke(app, ["judges", "show", "signals", "--json", "--markdown"]).exception, InputError)
    assert isinstance(runner.invoke(app, ["judges", "show", "oracle"]).exception, JudgeError)


def test_the_kinds_of_judges_are_listed_with_those_of_other_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("keyword", "my_judges:make", "attunement.judges")
    monkeypatch.setattr("attunement.judges.registry.entry_points", lambda **_: [point])
    listed = runner.invoke(app, ["judges", "list"]).output.splitlines()
    assert [line.split()[0] for line in listed] == [
        "signals", "openai:MODEL", "anthropic:MODEL", "local:FILE.gguf", "replay:FILE.jsonl", "keyword:NAME",
    ]  # fmt: skip
    assert listed[-1].endswith("from my_judges:make")
    assert all(len(line) <= 80 for line in listed)
