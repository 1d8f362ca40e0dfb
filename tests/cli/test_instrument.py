import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from attunement.cli import app
from attunement.errors import AttunementError, InstrumentError
from attunement.instruments import available, load
from attunement.instruments.lint import lint
from attunement.instruments.loader import FOLDER_VARIABLE
from tests.instruments.samples import criteria, scores, write


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, and no folder of the user's own."""
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def attune(*arguments: str | Path) -> Result:
    """Run `attune instrument`; what the user can mend is left to the test."""
    result = CliRunner().invoke(app, ["instrument", *map(str, arguments)])
    if isinstance(result.exception, AttunementError):
        raise result.exception
    return result


def test_list_names_every_built_in_instrument_with_its_fingerprint():
    printed = attune("list").output
    for entry in available():
        made = load(entry.id)
        assert f"{made.id}  version {made.version}, built in, fingerprint {made.hash[:12]}" in printed
        assert made.title in printed


def test_list_shows_own_instruments_and_says_what_is_wrong_with_a_broken_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path))
    write(tmp_path / "a.yaml", criteria(id="mine"))
    (tmp_path / "b.yaml").write_text("id: broken\ntitle: [\n", "utf-8")
    write(tmp_path / "c.yaml", scores(id="empathy-v2"))
    result = attune("list")
    assert result.exit_code == 0
    assert "mine  version 0.1.0, your own" in result.output
    assert re.search(r"broken  your own, cannot be used: .*b\.yaml, line 3", result.output)
    assert re.search(r"c\.yaml has the same id as .*empathy-v2\.yaml; give it another id", result.output)


@pytest.mark.parametrize("name", ["empathy-v2", "coaching-v1"])
def test_show_takes_an_id_or_a_path(name: str, tmp_path: Path):
    path = write(tmp_path / "mine.yaml", criteria())
    assert load(name).title in attune("show", name).output
    assert "First talks with a new client" in attune("show", path).output


def test_show_and_schema_write_over_nothing_unless_they_are_told_to(tmp_path: Path):
    path = write(tmp_path / "mine.yaml", criteria())
    before = path.read_text("utf-8")
    for command in (["show", path], ["schema"]):
        with pytest.raises(AttunementError, match="exists already: give another name, or --force"):
            attune(*command, "-o", path)
    assert path.read_text("utf-8") == before
    attune("show", "coaching-v1", "-o", path, "--force")
    assert path.read_text("utf-8") != before


def test_show_writes_the_format_that_was_asked_for_or_that_the_ending_names(tmp_path: Path):
    path = write(tmp_path / "mine.yaml", criteria())
    asked = attune("show", path, "--markdown").output
    attune("show", path, "-o", "out.md")
    attune("show", path, "-o", "out.html")
    attune("show", path, "--html", "-o", "page.txt")
    attune("show", path, "-o", "plain.txt")
    assert asked.startswith("# First talks")
    assert (tmp_path / "out.md").read_text("utf-8") == asked
    assert (tmp_path / "out.html").read_text("utf-8").startswith("<!doctype html>")
    assert (tmp_path / "page.txt").read_text("utf-8") == (tmp_path / "out.html").read_text("utf-8")
    plain = (tmp_path / "plain.txt").read_text("utf-8")
    assert plain.startswith("First talks with a new client\n")
    assert "\x1b" not in plain


def test_show_of_one_item_leaves_out_the_others(tmp_path: Path):
    printed = attune("show", write(tmp_path / "mine.yaml", criteria()), "--item", "ROLE").output
    assert "Keeps to its role" in printed
    assert "Asks before it advises" not in printed


def test_show_refuses_two_formats_and_unknown_items(tmp_path: Path):
    path = write(tmp_path / "mine.yaml", criteria())
    assert attune("show", path, "--html", "--markdown").exit_code == 2
    with pytest.raises(InstrumentError, match="no item 'X'"):
        attune("show", path, "--item", "X")


def test_lint_ends_with_0_for_warnings_and_1_for_errors(tmp_path: Path):
    clean = attune("lint", write(tmp_path / "a.yaml", criteria()))
    assert (clean.exit_code, clean.output) == (0, "no errors, no warnings\n")
    warned = attune("lint", write(tmp_path / "b.yaml", criteria(guidance=["A NO trips the gate."])))
    assert warned.exit_code == 0
    assert warned.output.startswith("warning  guidance tells the judge")
    assert warned.output.endswith("no errors, 1 warning\n")
    wrong = attune("lint", write(tmp_path / "c.yaml", criteria(title="", gate=[{"item": "CQ8"}])))
    assert wrong.exit_code == 1
    assert "error    gate names 'CQ8', but there is no such item" in wrong.output
    assert wrong.output.endswith("3 errors, no warnings\n")


def test_lint_of_a_file_that_cannot_be_opened_is_one_line_and_exit_code_2():
    run = subprocess.run(
        [sys.executable, "-c", "from attunement.cli import main; main()", "instrument", "lint", "absent.yaml"],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONWARNINGS": "error"},
    )
    assert run.returncode == 2
    assert run.stderr == "attune: absent.yaml cannot be read: No such file or directory\n"


def test_hash_prints_the_hash_of_the_instrument_and_of_every_item():
    made = load("coaching-v1")
    printed = attune("hash", "coaching-v1").output.splitlines()
    assert printed[0] == f"{made.hash}  coaching-v1"
    assert printed[1:-1] == [f"{item.hash(made.scale)}  coaching-v1/{item.id}" for item in made.items]
    assert "do not change a hash" in printed[-1]


def test_schema_is_printed_or_written(tmp_path: Path):
    printed = attune("schema").output
    assert json.loads(printed)["title"] == "Instrument"
    attune("schema", "-o", "s.json")
    attune("schema", "-o", "s.json", "--force")
    assert (tmp_path / "s.json").read_text("utf-8") == printed


@pytest.mark.parametrize("unit", ["response", "conversation"])
@pytest.mark.parametrize("id", ["team-tone", "7", "null"])
def test_new_writes_an_instrument_that_works_as_it_stands(id: str, unit: str, tmp_path: Path):
    result = attune("new", id, "--unit", unit)
    made = load(tmp_path / f"{id}.yaml")
    assert (made.id, made.unit) == (id, unit)
    assert lint(made) == []
    assert f"attune instrument lint {id}.yaml" in result.output


def test_new_puts_the_schema_that_the_first_line_names_beside_the_file(tmp_path: Path):
    attune("new", "mine")
    first = (tmp_path / "mine.yaml").read_text("utf-8").splitlines()[0]
    schema = tmp_path / first.split("$schema=")[1]
    assert json.loads(schema.read_text("utf-8"))["title"] == "Instrument"
    schema.write_text("mine", "utf-8")
    attune("new", "other")
    assert schema.read_text("utf-8") == "mine"


def test_new_overwrites_nothing(tmp_path: Path):
    (tmp_path / "mine.yaml").write_text("precious", "utf-8")
    with pytest.raises(AttunementError, match=r"mine\.yaml exists already"):
        attune("new", "mine")
    assert (tmp_path / "mine.yaml").read_text("utf-8") == "precious"
    assert list(tmp_path.iterdir()) == [tmp_path / "mine.yaml"]


@pytest.mark.parametrize("id", ["coaching-v1", "Mine", "a b", "../up", "", "-x"])
def test_new_refuses_an_id_that_is_taken_or_impossible(id: str, tmp_path: Path):
    with pytest.raises(InstrumentError, match=r"already an instrument|cannot be the id"):
        attune("new", "--", id)
    assert list(tmp_path.iterdir()) == []


def test_new_says_when_a_file_cannot_be_written(tmp_path: Path):
    with pytest.raises(AttunementError, match=r"cannot write the file: No such file or directory"):
        attune("new", "mine", "-o", tmp_path / "absent" / "mine.yaml")


RUBRIC = """\
# Kindness Rubric

A few words that belong nowhere else.

## Dimension 1: Kindness (`kindness`)

**Definition**: How kind is the reply?

| Score | Label | Description |
|-------|-------|-------------|
| 1     | Low   | Unkind. |
| 2     | High  | Kind. |

### Score 2 example
> **User**: "I failed."
>
> **Response**: "That hurts."
"""


def test_import_writes_an_instrument_that_loads_and_keeps_what_is_there(tmp_path: Path):
    (tmp_path / "rubric.md").write_text(RUBRIC, "utf-8")
    result = attune("import", "rubric.md", "-o", "out.yaml")
    made = load(tmp_path / "out.yaml")
    assert made.item("kindness").anchors[2].text == "Kind."
    assert "Wrote out.yaml" in result.output
    assert (
        (tmp_path / "out.yaml")
        .read_text("utf-8")
        .startswith("# yaml-language-server: $schema=instrument.schema.json\n")
    )
    assert (tmp_path / "instrument.schema.json").exists()
    with pytest.raises(AttunementError, match="exists already"):
        attune("import", "rubric.md", "-o", "out.yaml")


def test_import_without_a_file_prints_yaml_alone_on_standard_output(tmp_path: Path):
    (tmp_path / "rubric.md").write_text(RUBRIC + "\n## Appendix\n\nNothing of use.\n", "utf-8")
    result = attune("import", "rubric.md")
    (tmp_path / "out.yaml").write_text(result.stdout, "utf-8")
    assert load(tmp_path / "out.yaml").item("kindness")
    assert "rubric.md, line " in result.stderr
    assert "Nothing of use." in result.stderr


def test_import_refuses_what_is_no_rubric_and_no_template(tmp_path: Path):
    (tmp_path / "notes.md").write_text("# Notes\n", "utf-8")
    with pytest.raises(InstrumentError, match="neither a rubric nor a prompt template"):
        attune("import", "notes.md")


@pytest.mark.parametrize("command", ["list", "show", "lint", "hash", "schema", "new", "import"])
def test_every_command_has_help_with_an_example(command: str):
    assert f"Example: attune instrument {command}" in attune(command, "--help").output
