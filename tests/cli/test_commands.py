"""The command line as a whole: the grouped help, old names, shell completion, and an option given twice."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from attunement.cli import app
from attunement.cli.commands import HEADINGS, OLD_COMMANDS
from attunement.conversations.writer import write
from attunement.errors import InputError
from attunement.store import Study
from tests.builders import talk
from tests.store.samples import fill

FILE = str(Path(__file__).parents[2] / "examples" / "first.jsonl")
runner = CliRunner()


def shown(*words: str) -> str:
    result = runner.invoke(app, list(words), env={"COLUMNS": "80"})
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_help_groups_the_commands_and_describes_each_in_one_full_line() -> None:
    text = shown("--help")
    assert tuple(re.findall(r"^([A-Z][\w ]+):$", text, re.MULTILINE)) == ("Options", *HEADINGS)
    lines = text.split("\nJudge:\n")[1].splitlines()
    commands = [line for line in lines if line.startswith("  ")]
    cut_or_wrapped = [line for line in commands if len(line) > 80 or "..." in line or line[2] == " "]
    assert cut_or_wrapped == []
    descriptions = [re.split(r"\s{2,}", line.strip(), maxsplit=1)[1] for line in commands]
    assert [told for told in descriptions if len(told) > 60 or told.endswith(".")] == []
    names = {line.split()[0] for line in commands}
    assert {"judge", "self-test", "judges", "describe", "delete", "instrument"} <= names
    assert not names & OLD_COMMANDS.keys()


@pytest.mark.parametrize("group", ["instrument", "judges"])
def test_the_help_of_a_group_is_not_cut_either(group: str) -> None:
    commands = shown(group, "--help").split("\nCommands:\n")[1].splitlines()
    assert len(commands) >= 2
    assert [line for line in commands if len(line) > 80 or "..." in line or line[2] == " "] == []


@pytest.mark.parametrize(("old", "words"), [(old, words) for old, (words, _) in OLD_COMMANDS.items()])
def test_an_old_name_still_works_and_says_the_new_one(old: str, words: list[str]) -> None:
    result = runner.invoke(app, [old, "--help"])
    assert result.exit_code == 0
    new = " ".join(words)
    command = new.partition(" --")[0]
    assert result.stdout == shown(*command.split(), "--help")
    assert f"Usage: attune {command} " in result.stdout
    assert result.stderr == f"attune: {old} is now called {new}; the old name will stop working in the next release.\n"


def test_old_names_take_the_same_words(tmp_path: Path) -> None:
    fill(tmp_path / "a.db").close()
    assert runner.invoke(app, ["forget", str(tmp_path / "a.db"), "c1"]).stdout == "Deleted bot/c1 with 18 ratings.\n"
    assert runner.invoke(app, ["stats", FILE, "--json"]).stdout == shown("describe", FILE, "--json")
    assert runner.invoke(app, ["judge-info", "signals"]).stdout == shown("judges", "show", "signals")


def test_the_old_option_still_works_and_is_not_in_the_help(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("chats.jsonl").write_text(Path(FILE).read_text("utf-8") + "{\n", "utf-8")
    result = runner.invoke(app, ["describe", "--skip-bad", "chats.jsonl"])
    assert result.exit_code == 0, result.output
    assert "Skipped 1 invalid record" in result.stdout
    assert result.stderr.startswith("attune: --skip-bad is now called --skip-invalid;")
    assert "--skip-invalid" in shown("describe", "--help")
    assert "--skip-bad" not in shown("describe", "--help")
    # Behind -- it is the name of a file.
    assert "--skip-bad" in str(runner.invoke(app, ["describe", "--", "--skip-bad"]).exception)


@pytest.mark.parametrize(
    "words",
    [
        ["judge", FILE, "-i", "coaching-v1", "-i", "empathy-v2", "--judge", "signals"],
        ["judge", FILE, "--judge", "signals", "--instrument=coaching-v1", "-iempathy-v2"],
        ["estimate", FILE, "-i", "coaching-v1", "--instrument", "empathy-v2", "--judge", "signals"],
        ["prompt", FILE, "-i", "coaching-v1", "-i", "coaching-v1"],
        ["show", "none.db", "-i", "coaching-v1", "-i", "empathy-v2"],
    ],
    ids=lambda words: " ".join(words[:1]),
)
def test_a_second_instrument_is_refused_before_anything_is_done(words: list[str]) -> None:
    refused = runner.invoke(app, words).exception
    assert isinstance(refused, InputError)
    assert str(refused) == f"--instrument was given 2 times; attune {words[0]} takes one instrument at a time"


def test_a_second_instrument_is_one_line_and_exit_code_2() -> None:
    words = ["judge", FILE, "-i", "coaching-v1", "-i", "empathy-v2", "--judge", "signals"]
    done = subprocess.run([sys.executable, "-m", "attunement", *words], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "attune: --instrument was given 2 times; attune judge takes one instrument at a time\n"


def test_import_still_takes_several_instruments(tmp_path: Path) -> None:
    words = ["import", str(tmp_path / "a.db"), "none.csv", "-i", "coaching-v1", "-i", "empathy-v2"]
    assert "--instrument" not in str(runner.invoke(app, words).exception)


def test_nobodys_text_can_control_the_terminal(tmp_path: Path) -> None:
    name, said = "c\x1b[2J", "Look \x1b]0;here\x07\x9b31m"
    place = tmp_path / "a.study.db"
    with Study(place, create=True) as study:
        study.save_conversations([talk((said, said), id=name, system=system) for system in ("one", "two")])
    write(study_talks := [talk((said, said), id=name, system="one")], tmp_path / "a.jsonl")
    words = {
        "prompt": [str(tmp_path / "a.jsonl"), "--item", "CQ8"],
        "delete": [str(place), f"two/{name}"],
        "show": [str(place), name],  # an error that repeats it
        "instrument": ["show", name],
    }
    for command, more in words.items():
        done = subprocess.run(
            [sys.executable, "-m", "attunement", command, *more], capture_output=True, text=True, check=False
        )
        assert done.returncode == (0 if command in {"prompt", "delete"} else 2), done.stderr
        assert not set("\x1b\x07\x9b") & set(done.stdout + done.stderr), command
    exact = json.loads(attune("prompt", str(tmp_path / "a.jsonl"), "--item", "CQ8", "--json"))
    assert study_talks[0].turns[0].user in exact["messages"][1]["content"]


# Shell completion


def attune(*words: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "attunement", *words],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    return done.stdout


@pytest.mark.parametrize(
    ("shell", "asked"),
    [
        ("bash", {"COMP_WORDS": "attune ju", "COMP_CWORD": "1"}),
        ("zsh", {"_TYPER_COMPLETE_ARGS": "attune ju"}),
        ("fish", {"_TYPER_COMPLETE_ARGS": "attune ju", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}),
    ],
)
def test_every_shell_gets_a_script_and_completes_commands(shell: str, asked: dict[str, str]) -> None:
    script = attune("--show-completion", shell, _TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION="1")
    assert f"_ATTUNE_COMPLETE=complete_{shell}" in script
    offered = attune(_ATTUNE_COMPLETE=f"complete_{shell}", **asked)
    assert re.findall(r"^\W*(?:_arguments \W*)?(judges?(?:-info)?)\b", offered, re.MULTILINE) == ["judge", "judges"]
    if shell != "bash":
        assert "Ask judges about conversations and save every answer" in offered


@pytest.mark.parametrize(
    ("shell", "place"),
    [
        ("bash", ".bash_completions/attune.sh"),
        ("zsh", ".zfunc/_attune"),
        ("fish", ".config/fish/completions/attune.fish"),
    ],
)
def test_completion_is_installed_where_the_shell_looks(shell: str, place: str, tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path), "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    assert f"{shell} completion installed in" in attune("--install-completion", shell, **environment)
    assert f"_ATTUNE_COMPLETE=complete_{shell}" in (tmp_path / place).read_text("utf-8")


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_the_shell_is_found_without_being_named(tmp_path: Path) -> None:
    command = f'"{sys.executable}" -m attunement --install-completion; exit $?'
    done = subprocess.run(
        ["bash", "-c", command],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "HOME": str(tmp_path)},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "bash completion installed in" in done.stdout
    assert (tmp_path / ".bash_completions" / "attune.sh").is_file()
