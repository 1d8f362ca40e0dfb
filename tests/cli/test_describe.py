import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from attunement.cli.data import describe
from attunement.errors import InputError


def app() -> typer.Typer:
    command = typer.Typer(rich_markup_mode=None)
    command.command()(describe)
    return command


def run(*arguments: str, columns: str = "80") -> str:
    result = CliRunner().invoke(app(), arguments, catch_exceptions=False, env={"COLUMNS": columns, "NO_COLOR": "1"})
    assert result.exit_code == 0, result.output
    return result.output


def write(path: Path, *records: dict[str, object]) -> str:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")
    return str(path)


@pytest.fixture
def chats(tmp_path: Path) -> str:
    return write(
        tmp_path / "chats.jsonl",
        {
            "id": "1",
            "system": "Harbor",
            "turns": [{"user": "one two", "assistant": "a b c d e f"}, {"user": "one", "assistant": "a"}],
            "scenario": "grief",
        },
        {"id": "2", "system": "Harbor", "turns": [{"user": "one two three", "assistant": "a b c"}], "scenario": "work"},
        {
            "id": "1",
            "system": "Lumen",
            "messages": [
                {"role": "user", "content": "one"},
                {"role": "assistant", "content": "a b"},
                {"role": "user", "content": "left"},
            ],
        },
    )


def test_each_system_has_a_row_with_its_figures(chats: str):
    output = run(chats)
    harbor, lumen = (next(line.split() for line in output.splitlines() if name in line) for name in ("Harbor", "Lumen"))
    assert harbor == ["Harbor", "2", "3", "1-2", "2", "3", "1.67", "33%"]
    assert lumen[:8] == ["Lumen", "1", "1", "1", "1", "2", "2.00", "0%"]


def test_what_was_read_and_left_out_is_said(chats: str):
    output = run(chats)
    assert "Read 3 conversations (" in output
    assert "Left out 1 last message without a reply." in output


def test_pictures_show_turns_and_ratios(chats: str):
    lines = run(chats).splitlines()
    turns = lines[lines.index("Turns per conversation") + 3 :]
    assert turns[0].split()[0] == "1"
    assert turns[0].split()[-1] == "2"
    assert turns[1].split()[0] == "2-3"
    assert turns[1].count("█") == turns[0].count("█") // 2
    assert any(line.split()[:3] == ["3", "to", "5"] for line in lines)


def test_nothing_is_wider_than_a_terminal_of_80_columns(chats: str):
    assert max(map(len, run(chats).splitlines())) <= 80


def test_json_holds_the_same_figures_for_machines(chats: str):
    figures = json.loads(run(chats, "--json"))
    assert (figures["files"], figures["conversations"], figures["unanswered"], figures["bad"]) == (1, 3, 1, 0)
    harbor = figures["systems"][0]
    assert harbor["system"] == "Harbor"
    assert harbor["words"] == {"user": 6, "assistant": 10, "mean_user": 2.0, "mean_assistant": pytest.approx(10 / 3)}
    assert harbor["ratio"]["mean"] == pytest.approx(5 / 3)
    assert harbor["ratio"]["above_double"] == 1
    assert sum(harbor["ratio"]["bins"]) == harbor["ratio"]["turns"] == 3
    assert harbor["scenarios"] == 2
    assert harbor["origins"] == {"unknown": 2}


def test_a_wide_terminal_also_shows_scenarios_and_origins(chats: str):
    output = run(chats, columns="120")
    assert next(line.split() for line in output.splitlines() if "Harbor" in line)[-2:] == ["33%", "2"]


def test_columns_that_say_nothing_are_left_out(tmp_path: Path):
    file = write(tmp_path / "a.jsonl", {"id": "1", "system": "s", "turns": [{"user": "a", "assistant": "b"}]})
    output = run(file, columns="120")
    assert "scenarios" not in output
    assert "origin" not in output


def test_a_name_from_a_file_cannot_steer_the_terminal_or_pass_for_markup(tmp_path: Path):
    name = "[red]x[/red]\x1b[2J"
    output = run(write(tmp_path / "a.jsonl", {"id": "1", "system": name, "turns": [{"user": "a", "assistant": "b"}]}))
    assert "\x1b" not in output
    assert "[red]" in output


def test_options_for_reading_are_passed_on(tmp_path: Path):
    file = write(tmp_path / "a.jsonl", {"q": "hello you", "r": "hi"})
    output = run(file, "--system", "mine", "--prompt-field", "q", "--response-field", "r")
    assert "mine" in output
    with pytest.raises(InputError):
        run(file)


def test_compressed_files_and_several_files_are_counted_together(tmp_path: Path, chats: str):
    packed = tmp_path / "more.jsonl.gz"
    packed.write_bytes(gzip.compress(b'{"id": "9", "system": "Zip", "turns": [{"user": "a", "assistant": "b"}]}\n'))
    figures = json.loads(run(chats, str(packed), "--json"))
    assert (figures["files"], figures["conversations"]) == (2, 4)


def test_help_has_an_example():
    assert "Example: attune describe" in run("--help")


def test_looking_at_the_module_loads_nothing_heavy():
    code = "import attunement.cli.data, sys; print(sorted({'rich', 'pydantic', 'yaml', 'numpy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
