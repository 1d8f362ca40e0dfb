import gzip
import io
import json
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attunement.conversations import Conversation, Origin, Turn
from attunement.conversations.reader import read
from attunement.conversations.writer import Shape, as_record, write
from attunement.errors import InputError


def _whole(text: str) -> str:
    # JSON has no way to write the two halves of one character as two characters.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


awkward = st.sampled_from(
    [
        "\0",
        "\ud800",
        "--- Turn 2 ---",
        "User: no",
        "Assistant: no",
        "שלום",
        "👩‍👩‍👧",
        '{"role": "user"}',
        "\r\n",
        "﻿",
        " ",
    ]
)
texts = st.lists(st.one_of(st.text(st.characters(), max_size=8), awkward), max_size=4).map("".join).map(_whole)
words = texts.filter(bool)
values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=6,
)
field_names = st.sampled_from(["id", "system", "origin", "model", "metadata", "messages", "prompt", "instructions"])
turns = st.builds(Turn, texts, texts)
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a busy machine is no failure


def conversations(most_turns: int = 4):
    return st.builds(
        Conversation,
        id=words,
        system=words,
        turns=st.lists(turns, min_size=1, max_size=most_turns)
        .filter(lambda some: any(turn.assistant.strip() for turn in some))
        .map(tuple),
        metadata=st.dictionaries(st.one_of(field_names, texts), values, max_size=4),
        instructions=st.none() | words,
        origin=st.sampled_from(Origin),
    )


@pytest.mark.parametrize("shape", [shape for shape in Shape if shape is not Shape.FLAT])
@unhurried
@given(some=st.lists(conversations(), min_size=1, max_size=3, unique_by=lambda each: each.identity))
def test_what_is_written_and_read_again_is_the_same(shape, some):
    assert_same_when_read_again(some, shape)


@unhurried
@given(some=st.lists(conversations(most_turns=1), min_size=1, max_size=3, unique_by=lambda each: each.identity))
def test_what_is_written_flat_and_read_again_is_the_same(some):
    assert_same_when_read_again(some, Shape.FLAT)


def assert_same_when_read_again(some, shape):
    with tempfile.TemporaryDirectory() as folder:
        for name in ("a.jsonl", "a.json"):
            path = Path(folder) / name
            assert write(some, path, shape) == len(some)
            assert list(read([path])) == some


HELLO = Conversation(
    id="1",
    system="bot",
    turns=(Turn("", "welcome"), Turn("hello", "hi")),
    metadata={"scenario": "grief"},
    instructions="Be kind.",
    origin=Origin.WRITTEN,
)


def test_each_shape_is_what_its_users_expect():
    common = {"id": "1", "system": "bot", "origin": "written", "metadata": {"scenario": "grief"}}
    said = [("user", "hello"), ("assistant", "hi")]
    assert as_record(HELLO, Shape.MESSAGES) == common | {
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "assistant", "content": "welcome"},
            *({"role": role, "content": text} for role, text in said),
        ]
    }
    assert as_record(HELLO, Shape.SHAREGPT) == common | {
        "conversations": [
            {"from": "system", "value": "Be kind."},
            {"from": "gpt", "value": "welcome"},
            {"from": "human", "value": "hello"},
            {"from": "gpt", "value": "hi"},
        ]
    }
    exchanges = [{"user": "", "assistant": "welcome"}, {"user": "hello", "assistant": "hi"}]
    assert as_record(HELLO, Shape.TURNS) == common | {"instructions": "Be kind.", "turns": exchanges}
    assert as_record(HELLO, Shape.EXCHANGES) == common | {"instructions": "Be kind.", "exchanges": exchanges}
    assert as_record(HELLO, Shape.PAIRS) == common | {
        "instructions": "Be kind.",
        "pairs": [["", "welcome"], ["hello", "hi"]],
    }


def test_a_conversation_of_two_turns_is_not_flat():
    with pytest.raises(InputError, match="'1' of the system 'bot' has 2 turns, but the shape 'flat' allows only one"):
        as_record(HELLO, Shape.FLAT)


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.json.gz", "a.ndjson"])
def test_the_ending_of_the_name_says_how_to_write(tmp_path, name):
    write([HELLO], tmp_path / name)
    assert list(read([tmp_path / name])) == [HELLO]
    assert (tmp_path / name).read_bytes().startswith(b"\x1f\x8b") == name.endswith(".gz")


def test_equal_conversations_are_equal_bytes_compressed_or_not(tmp_path):
    write([HELLO], tmp_path / "a.jsonl.gz")
    write([HELLO], tmp_path / "b.jsonl.gz")
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()
    assert gzip.decompress((tmp_path / "a.jsonl.gz").read_bytes()).count(b"\n") == 1


def test_no_conversations_are_an_empty_file(tmp_path):
    assert write([], tmp_path / "a.json") == 0
    assert json.loads((tmp_path / "a.json").read_bytes()) == []
    write([], tmp_path / "a.jsonl")
    assert (tmp_path / "a.jsonl").read_bytes() == b""


def test_a_stream_and_standard_output_take_lines(monkeypatch):
    stream, stdout = io.BytesIO(), io.BytesIO()
    write([HELLO], stream)
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=stdout))
    write([HELLO], "-")
    assert stream.getvalue() == stdout.getvalue()
    assert json.loads(stream.getvalue())["id"] == "1"


def test_a_file_appears_whole_or_not_at_all(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text("as it was")

    def broken():
        yield HELLO
        raise InputError("no more")

    with pytest.raises(InputError, match="no more"):
        write(broken(), path)
    assert path.read_text() == "as it was"
    assert [each.name for each in tmp_path.iterdir()] == ["a.jsonl"]


def test_a_file_of_another_kind_or_in_no_folder_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"a\.csv: conversations are written as"):
        write([HELLO], tmp_path / "a.csv")
    with pytest.raises(InputError, match=r"a\.jsonl: cannot write the file"):
        write([HELLO], tmp_path / "gone" / "a.jsonl")
