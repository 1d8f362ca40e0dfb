import json
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from attunement.cli.data import convert
from attunement.conversations.reader import read
from attunement.errors import AttunementError
from attunement.settings import bad_lines_path

TABLE = "id,prompt,response\n1,write to ann@example.org,Call Ann Lee.\n2,hello,hi\n"


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    app = typer.Typer()
    app.command()(convert)

    def run(*arguments: str, input: str | None = None):
        outcome = CliRunner().invoke(app, arguments, input=input)
        if isinstance(outcome.exception, Exception) and not isinstance(outcome.exception, SystemExit):
            raise outcome.exception
        return outcome

    return run


def test_a_table_becomes_messages_and_says_how_many(run):
    Path("a.csv").write_text(TABLE)
    outcome = run("a.csv", "b.jsonl", "--system", "bot")
    assert outcome.exit_code == 0
    assert outcome.stdout == "Wrote 2 conversations (2 turns) to b.jsonl.\n"
    first = json.loads(Path("b.jsonl").read_text().splitlines()[0])
    assert first["messages"][0] == {"role": "user", "content": "write to ann@example.org"}


@pytest.mark.parametrize("shape", ["messages", "turns", "exchanges", "pairs", "sharegpt", "flat"])
def test_every_shape_reads_the_same_again(run, shape):
    Path("a.csv").write_text(TABLE)
    run("a.csv", "b.json", "--to", "messages", "--system", "bot")
    run("b.json", "c.jsonl.gz", "--to", shape)
    assert list(read(["c.jsonl.gz"])) == list(read(["b.json"]))


def test_on_standard_output_there_are_only_conversations(run):
    outcome = run("-", "-", "--format", "csv", "--system", "bot", input=TABLE)
    assert [json.loads(line)["id"] for line in outcome.stdout.splitlines()] == ["1", "2"]
    assert outcome.stderr == "Wrote 2 conversations (2 turns) to standard output.\n"


def test_what_points_to_people_is_replaced_and_counted(run):
    Path("a.csv").write_text(TABLE)
    Path("names.txt").write_text("Ann Lee\n")
    outcome = run("a.csv", "b.jsonl", "--system", "bot", "--redact", "--names", "names.txt")
    assert outcome.stdout.splitlines()[1:] == ["Replaced: 1 email, 1 name."]
    assert next(iter(read(["b.jsonl"]))).turns[0] == ("write to [email]", "Call [name].")
    outcome = run("b.jsonl", "c.jsonl", "--redact")
    assert "Nothing to redact" in outcome.stdout


def test_bad_records_are_kept_beside_the_output(run):
    Path("a.jsonl").write_text('oops\n{"system": "bot", "turns": [{"user": "a", "assistant": "b"}, {"user": "c"}]}\n')
    with pytest.raises(AttunementError, match=r"a\.jsonl:1: this is not JSON"):
        run("a.jsonl", "b.jsonl")
    assert not Path("b.jsonl").exists()
    outcome = run("a.jsonl", "b.jsonl", "--skip-invalid", "--redact")
    assert outcome.stdout.splitlines()[:3] == [
        "Wrote 1 conversation (1 turn) to b.jsonl.",
        "Left out 1 last message without a reply.",
        "Skipped 1 invalid record; see b.jsonl.bad.jsonl. "
        "The first: a.jsonl:1: this is not JSON (Expecting value at column 1).",
    ]
    assert "not redacted" in outcome.stderr
    assert json.loads(Path("b.jsonl.bad.jsonl").read_text())["raw"] == "oops\n"


def test_bad_records_have_a_place_where_nothing_is_written():
    assert bad_lines_path("-") == bad_lines_path(None) == Path("attune.bad.jsonl")
    assert bad_lines_path(Path("out") / "b.jsonl") == Path("out") / "b.jsonl.bad.jsonl"


@pytest.mark.parametrize("given", ["a.jsonl", ".", "*.jsonl", "./a.jsonl"])
def test_an_input_is_never_written_over(run, given):
    Path("a.jsonl").write_text('{"system": "bot", "prompt": "hello", "response": "hi"}\n')
    with pytest.raises(AttunementError, match=r"a\.jsonl is also an input file, so it is not overwritten"):
        run(given, "a.jsonl")


def test_fields_can_be_named(run):
    Path("a.csv").write_text("key,who,said,heard\n7,m1,hello,hi\n")
    run(
        "a.csv",
        "b.jsonl",
        "--prompt-field",
        "said",
        "--response-field",
        "heard",
        "--id-field",
        "key",
        "--system-field",
        "who",
    )
    [conversation] = read(["b.jsonl"])
    assert str(conversation.identity) == "m1/7"


def test_names_without_redaction_are_a_mistake(run):
    Path("a.csv").write_text(TABLE)
    with pytest.raises(AttunementError, match="--names"):
        run("a.csv", "b.jsonl", "--system", "bot", "--names", "a.csv")


def test_help_has_an_example(run):
    assert "Example: attune convert" in run("--help").stdout
