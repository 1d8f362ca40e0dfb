import gzip
import io
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from attunement.conversations.reader import ReadOptions, read
from attunement.errors import InputError

LINE = '{"system": "bot", "prompt": "hello %s", "response": "hi"}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "inner").mkdir()
    (tmp_path / ".hidden").mkdir()
    for name in (
        "b.jsonl",
        "a.jsonl",
        "inner/c.ndjson",
        ".hidden/d.jsonl",
        "notes.md",
        "LICENSE",
        ".e.jsonl",
        "a.jsonl.bad.jsonl",
    ):
        (tmp_path / name).write_text(LINE % name)
    with gzip.open(tmp_path / "inner" / "f.jsonl.gz", "wt") as file:
        file.write(LINE % "f")
    return tmp_path


def said(*inputs):
    return [conversation.turns[0].user.removeprefix("hello ") for conversation in read(inputs)]


def test_a_folder_means_its_files_of_conversations_by_name(folder):
    assert said(folder) == ["a.jsonl", "b.jsonl", "inner/c.ndjson", "f"]


def test_a_pattern_means_the_files_that_match(folder):
    assert said(f"{folder}/*.jsonl") == ["a.jsonl", "b.jsonl"]
    assert said(f"{folder}/**/*.ndjson") == ["inner/c.ndjson"]


def test_a_name_with_the_signs_of_a_pattern_is_a_name_first(tmp_path):
    (tmp_path / "chat[1].jsonl").write_text(LINE % 1)
    assert said(tmp_path / "chat[1].jsonl") == ["1"]


def test_a_file_that_is_meant_twice_is_read_once(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert said("b.jsonl", folder / "b.jsonl", "./b.jsonl", "a*") == ["b.jsonl", "a.jsonl"]


@pytest.mark.parametrize("missing", ["gone.jsonl", "gone*.jsonl", "empty"])
def test_what_leads_to_no_file_is_named(tmp_path, missing):
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=f"{missing[:5]}.*no"):
        read([f"{tmp_path}/{missing}"])


def test_nothing_at_all_is_refused():
    with pytest.raises(InputError, match="No input files"):
        read([])


def test_compressed_files_are_known_by_their_bytes_and_not_by_their_names(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(gzip.compress((LINE % "zipped").encode()))
    (tmp_path / "b.jsonl.gz").write_text(LINE % "plain")
    assert said(tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz") == ["zipped", "plain"]


def test_a_compressed_chat_has_its_name_without_endings_as_id(tmp_path):
    (tmp_path / "monday.txt.gz").write_bytes(gzip.compress(b"user: hello\nbot: hi\n", mtime=0))
    [conversation] = read([tmp_path / "monday.txt.gz"], ReadOptions(system="bot"))
    assert conversation.id == "monday"


def test_a_damaged_compressed_file_is_named(tmp_path):
    whole = gzip.compress((LINE % "a" * 500).encode())
    (tmp_path / "a.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match=r"a\.jsonl\.gz: the file cannot be read"):
        list(read([tmp_path / "a.jsonl.gz"]))


@pytest.mark.parametrize(
    "content",
    [
        LINE.encode() % b"a",
        b"\n" + LINE.encode() % b"a",
        b"[" + LINE.encode() % b"a" + b"]",
        b"system,prompt,response\nbot,hello a,hi\n",
        gzip.compress(b"system,prompt,response\nbot,hello a,hi\n", mtime=0),
    ],
)
def test_standard_input_is_known_by_what_it_holds(monkeypatch, content):
    stdin = SimpleNamespace(buffer=io.BytesIO(content))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert said("-") == ["a"]
    assert not stdin.buffer.closed


def test_standard_input_of_no_known_kind_is_refused_with_what_to_do(monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"once upon a time\n")))
    with pytest.raises(InputError, match="standard input: unknown file type; use --format"):
        list(read(["-"]))


def test_errors_on_standard_input_name_it(monkeypatch):
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(LINE.encode() % b"a" + b"{}\n")))
    with pytest.raises(InputError, match="standard input:2: no conversation"):
        list(read(["-"]))
