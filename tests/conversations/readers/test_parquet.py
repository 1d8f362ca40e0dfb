import datetime
import gzip
import io
import sys
from decimal import Decimal
from types import SimpleNamespace

import pytest

from attunement.conversations import Turn
from attunement.conversations.reader import read
from attunement.errors import InputError

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def table(rows):
    buffer = io.BytesIO()
    parquet.write_table(pyarrow.Table.from_pylist(rows), buffer, row_group_size=2)
    return buffer.getvalue()


ROWS = [
    {
        "id": number,
        "model": "m1",
        "messages": [
            {"role": "user", "content": f"hello {number}", "name": None},
            {"role": "assistant", "content": "hi", "name": "Bo"},
        ],
    }
    for number in range(5)
]


def test_rows_of_a_parquet_file_are_conversations_over_row_groups(read_file):
    conversations = read_file(table(ROWS), name="a.parquet", system=None)
    assert [each.id for each in conversations] == ["0", "1", "2", "3", "4"]
    assert conversations[4].turns == (Turn("hello 4", "hi"),)
    assert conversations[0].system == "m1"


def test_flat_rows_and_message_rows_are_read_too(read_file):
    [conversation] = read_file(table([{"prompt": "hello", "response": "hi"}]), name="a.parquet")
    assert conversation.turns == (Turn("hello", "hi"),)
    rows = [{"conv_id": 1, "role": role, "content": role} for role in ("user", "assistant")]
    [conversation] = read_file(table(rows), name="a.parquet")
    assert conversation.turns == (Turn("user", "assistant"),)


def test_values_that_json_has_not_become_text_or_nothing(read_file):
    row = {
        "prompt": "hello",
        "response": "hi",
        "day": datetime.date(2026, 1, 2),
        "cost": Decimal("1.50"),
        "score": float("nan"),
        "parts": [{"at": datetime.date(2026, 1, 3)}],
        "huge": 1e300,
    }
    [conversation] = read_file(table([row]), name="a.parquet")
    assert conversation.metadata == {
        "day": "2026-01-02",
        "cost": "1.50",
        "score": None,
        "parts": [{"at": "2026-01-03"}],
        "huge": 1e300,
    }


def test_a_bad_row_is_named_by_its_number(read_file):
    rows = [{"prompt": "hello", "response": "hi"}, {"prompt": "hello", "response": ""}]
    with pytest.raises(InputError, match=r"a\.parquet:2: there is no assistant message"):
        read_file(table(rows), name="a.parquet")


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_parquet_comes_through_a_pipe_too(monkeypatch, pack):
    class Pipe(io.BytesIO):
        def seekable(self):
            return False

    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=Pipe(pack(table(ROWS)))))
    assert len(list(read(["-"]))) == 5


def test_a_damaged_file_is_named(read_file):
    with pytest.raises(InputError, match=r"a\.parquet: cannot be read as Parquet"):
        read_file(table(ROWS)[:-20], name="a.parquet")


def test_without_the_extra_the_error_says_how_to_get_it(read_file, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(InputError, match=r"a\.parquet: .*pip install 'attunement\[parquet\]'"):
        read_file(b"PAR1", name="a.parquet")
