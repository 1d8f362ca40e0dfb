"""Tables of other people: text stays text, and what does not fit is named."""

from pathlib import Path

import numpy as np
import pytest

from attunement.datasets.base import by_key, number, pivot, read_table
from attunement.errors import InputError


def test_cells_stay_text_and_rows_know_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text('\ufeffid,value,more\n20241031124050492385,NA,"two\nlines"\n#7,None, x \n', "utf-8")
    first, second = read_table(path, ["value", "id"], "needed")
    assert (first["id"], first["value"]) == ("20241031124050492385", "NA")
    assert (second["id"], second["value"], second["more"]) == ("#7", "None", "x")
    assert second.place == f"{path}, line 4"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"id\n1\n", "no column 'value'; there are 'id'"),
        (b"id,value\n1\n", "line 2: this row has 1 fields where the header has 2"),
        (b"id,value\n1,2,3\n", "line 2: this row has 3 fields where the header has 2"),
        (b"id,value\n\xff,2\n", "not UTF-8"),
        (b"id,value\n", "has no rows: the answers"),
        (b"", "has no rows: the answers"),
    ],
)
def test_a_table_that_does_not_fit_is_one_sentence(tmp_path: Path, content: bytes, says: str) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=says) as caught:
        read_table(path, ["id", "value"], "the answers")
    assert str(path) in str(caught.value)


def test_a_key_twice_and_a_word_for_a_number_are_refused_with_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,value\n1,2\n1,nan\n")
    rows = read_table(path, ["id", "value"], "the answers")
    with pytest.raises(InputError, match=r"line 3: 1 occurs for the second time, after .*line 2"):
        by_key(rows, "id")
    assert number(rows[0], "value") == 2
    with pytest.raises(InputError, match="line 3: value is 'nan', and a number is expected"):
        number(rows[1], "value")


def test_ratings_become_a_table_in_order_of_appearance() -> None:
    values = pivot([("b", "ann", 4.0), ("a", "ann", 2.0), ("b", "bo", 5.0)])
    np.testing.assert_array_equal(values, [[4, 5], [2, np.nan]])
    assert pivot([]).shape == (0, 0)
    with pytest.raises(InputError, match="ann rated a twice"):
        pivot([("a", "ann", 1.0), ("a", "ann", 2.0)])
