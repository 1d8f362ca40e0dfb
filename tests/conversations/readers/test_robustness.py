import json
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from attunement.conversations import messages
from attunement.conversations.reader import Format, ReadOptions, read
from attunement.errors import InputError

KEYS = sorted(
    {
        *messages.DIALOGUE,
        *messages.ROLE,
        *messages.CONTENT,
        *messages.PROMPT,
        *messages.RESPONSE,
        *messages.ID,
        *messages.SYSTEM,
        *messages.INSTRUCTIONS,
        *messages.METADATA,
        *messages.TURN_NUMBER,
        "origin",
        "type",
        "tool_calls",
        "function_call",
        "text",
        "completion",
    }
)
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.sampled_from(
        ["user", "assistant", "tool", "system", "user: a\nbot: b", "--- Turn 1 ---", "tool_use", "image", ""]
    ),
    st.text(max_size=5),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(KEYS), inner, max_size=6)),
    max_leaves=12,
)
NAMES = st.sampled_from(["a.jsonl", "a.json", "a.csv", "a.tsv", "a.txt", "a", "a.txt.gz"])
FORMATS = st.none() | st.sampled_from(sorted(set(Format) - {Format.PARQUET}))
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # a busy machine is no failure


def read_without_a_crash(content: bytes, name: str, format: Format | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, bad = Path(folder) / name, Path(folder) / "bad.jsonl"
        path.write_bytes(content)
        for skip_bad in (None, bad):
            try:
                conversations = list(read([path], ReadOptions(format=format, system="bot", skip_bad=skip_bad)))
            except InputError as error:
                assert str(path) in str(error)  # noqa: PT017
            else:
                assert conversations or bad.exists()
                assert all(turn.assistant is not None for each in conversations for turn in each.turns)


@unhurried
@given(st.lists(VALUES, min_size=1, max_size=3), NAMES, FORMATS)
def test_any_json_is_read_or_refused_by_name(values, name, format):
    read_without_a_crash("\n".join(map(json.dumps, values)).encode(), name, format)
    read_without_a_crash(json.dumps(values, indent=1).encode(), name, format)


@unhurried
@given(st.binary(max_size=60) | st.text("user:bot\n,;\t\"'{}[]-Turn1 ", max_size=60).map(str.encode), NAMES, FORMATS)
def test_any_bytes_are_read_or_refused_by_name(content, name, format):
    read_without_a_crash(content, name, format)


@unhurried
@given(
    st.lists(st.lists(st.sampled_from([*KEYS, "user", "a", "1", '"', "x\ny"]), max_size=4), max_size=5), NAMES, FORMATS
)
def test_any_table_is_read_or_refused_by_name(rows, name, format):
    read_without_a_crash("\n".join(",".join(row) for row in rows).encode(), name, format)
