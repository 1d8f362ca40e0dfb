"""Tables of ratings from anywhere: long and wide, every kind of file, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest

from attunement.analysis.ratings_file import UNREADABLE, FileColumns, read_ratings
from attunement.analysis.ratings_table import OFF_SCALE, AnswerState, RatingsTable
from attunement.errors import InputError
from tests.workbooks import workbook

LONG = FileColumns(unit=("id",), rater=("who",), value="score", item="what")


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def long_file(folder: Path, *rows: str) -> Path:
    return written(folder / "r.csv", "\n".join(["id,who,what,score", *rows]) + "\n")


def values(gathered: RatingsTable, item: int = 0) -> list[list[float]]:
    return gathered.item_matrix(item).values.tolist()


def test_a_long_table_becomes_units_by_raters(tmp_path: Path) -> None:
    path = long_file(tmp_path, "u1,anna,warmth,4", "u1,bob,warmth,5", "u2,bob,warmth,1", "u2,bob,depth,2")
    found = read_ratings(path, LONG)
    assert [item.id for item in found.items] == ["warmth", "depth"]
    assert found.people == ("anna", "bob")
    np.testing.assert_array_equal(values(found), [[4, 5], [np.nan, 1]])


def test_a_wide_table_has_one_column_a_rater_and_each_row_is_a_unit(tmp_path: Path) -> None:
    path = written(tmp_path / "w.tsv", "a\tb\tgpt\nyes\tYes\tno\nNo\t\tno\n")
    found = read_ratings(path, FileColumns(rater=("a", "b"), judges=("gpt",)))
    assert (found.people, found.judges) == (("a", "b"), ("gpt",))
    np.testing.assert_array_equal(values(found), [[1, 1, 0], [0, np.nan, 0]])
    assert any("“Yes”, “yes”" in note for note in found.notes)


def test_jsonl_and_parquet_say_the_same(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    arrow = pytest.importorskip("pyarrow")
    rows = [{"id": f"u{unit}", "who": who, "what": "w", "score": unit} for unit in (1, 2) for who in "ab"]
    lines = written(tmp_path / "r.jsonl", "\n".join(map(json.dumps, rows)))
    parquet.write_table(arrow.Table.from_pylist(rows), tmp_path / "r.parquet")
    for path in (lines, tmp_path / "r.parquet"):
        assert values(read_ratings(path, LONG)) == [[1, 1], [2, 2]]


def test_a_workbook_is_read_from_its_first_sheet(tmp_path: Path) -> None:
    pytest.importorskip("python_calamine")
    path = workbook(tmp_path / "r.xlsx", [["id", "who", "what", "score"], ["u1", "a", "w", 4.0], [2.0, "a", "w", 5.0]])
    found = read_ratings(path, LONG._replace(scale=("1-5",)))
    assert values(found) == [[4], [5]]
    assert [talk.identity.id for talk in found.conversations] == ["u1", "2"]


def test_ids_of_twenty_digits_stay_apart(tmp_path: Path) -> None:
    long_ids = ("12345678901234567890", "12345678901234567891")
    path = long_file(tmp_path, *(f"{each},anna,w,{score}" for score, each in enumerate(long_ids, 1)))
    found = read_ratings(path, LONG)
    assert [talk.identity.id for talk in found.conversations] == list(long_ids)
    lines = [{"id": int(each), "who": "anna", "what": "w", "score": 1} for each in long_ids]
    numbers = read_ratings(written(tmp_path / "n.jsonl", "\n".join(map(json.dumps, lines))), LONG)
    assert [talk.identity.id for talk in numbers.conversations] == list(long_ids)


def test_na_is_an_answer_and_not_a_gap(tmp_path: Path) -> None:
    path = long_file(tmp_path, "u1,anna,w,NA", "u1,bob,w,n/a", "u2,anna,w,3", "u2,bob,w,", "u2,cem,w,Not Relevant")
    found = read_ratings(path, LONG._replace(na=("not relevant",), scale=("1-5",)))
    assert found.item_matrix(0).states.tolist() == [
        [AnswerState.NA, AnswerState.NA, AnswerState.NOT_ASKED],
        [AnswerState.VALUE, AnswerState.NOT_ASKED, AnswerState.NA],
    ]
    assert not found.left_out


def test_values_off_the_scale_are_refused_and_counted(tmp_path: Path) -> None:
    path = long_file(tmp_path, "u1,a,w,0", "u2,a,w,6", "u3,a,w,5.0", "u4,a,w,4.5", "u5,a,w,high")
    found = read_ratings(path, LONG._replace(scale=("1-5",)))
    assert found.left_out == {OFF_SCALE: 3}
    assert values(found) == [[5], [4.5]]  # between the ends is on the scale
    assert any("r.csv, line 2 (“0”, a, w); r.csv, line 3" in note for note in found.notes)
    assert any("between the whole numbers" in note for note in found.notes)


def test_an_error_is_no_answer_whatever_the_scale(tmp_path: Path) -> None:
    found = read_ratings(long_file(tmp_path, "u1,a,w,ERROR", "u2,a,w,YES", "u3,a,w,no"), LONG)
    assert found.items[0].scale.words == ("no", "yes")
    assert found.item_matrix(0).states.tolist() == [[AnswerState.ERROR], [AnswerState.VALUE], [AnswerState.VALUE]]


def test_each_item_has_a_scale_of_its_own(tmp_path: Path) -> None:
    path = long_file(tmp_path, "u1,a,warmth,4", "u1,a,safe,no", "u1,a,kind,low", "u2,a,safe,yes", "u2,a,kind,9")
    found = read_ratings(path, LONG._replace(scales={"kind": ("low", "high")}))
    assert [item.scale.words for item in found.items] == [("4",), ("no", "yes"), ("low", "high")]
    assert found.left_out == {OFF_SCALE: 1}


def test_one_rater_in_two_files_is_one_rater_and_the_kind_is_respected(tmp_path: Path) -> None:
    head = "conversation,rater,rater_kind,item,value\n"
    one = written(tmp_path / "a.csv", head + "c1,anna,person,w,4\nc1,gpt,model,w,3\n")
    two = written(tmp_path / "b.csv", head + "c2,anna,person,w,5\nc2,gpt,model,w,5\nc2,fake,simulation,w,1\n")
    found = read_ratings([one, two], FileColumns())
    assert (found.people, found.judges) == (("anna",), ("gpt",))
    assert values(found) == [[4, 3], [5, 5]]
    assert found.left_out["by simulated raters, who are not people"] == 1


def test_a_data_frame_can_be_brought_and_taken() -> None:
    rows = [
        {"conversation": f"c{unit}", "rater": who, "item": "w", "value": value}
        for unit, (who, value) in enumerate([("anna", 4), ("bob", "NA"), ("anna", 2), ("bob", None)])
    ]
    found = read_ratings(rows, FileColumns())
    taken = list(found.records())
    assert [each["value"] for each in taken] == ["4", None, "2"]
    assert [each["outcome"] for each in taken] == ["value", "na", "value"]
    assert [(each["conversation"], each["turn"]) for each in taken] == [("c0", None), ("c1", None), ("c2", None)]
    again = read_ratings(taken, FileColumns())
    np.testing.assert_array_equal(again.item_matrix(0).states, found.item_matrix(0).states)
    pandas = pytest.importorskip("pandas")
    framed = read_ratings(pandas.DataFrame(rows), FileColumns())
    np.testing.assert_array_equal(framed.item_matrix(0).values, found.item_matrix(0).values)


def test_a_scale_that_nobody_named_is_what_occurs_and_that_is_said(tmp_path: Path) -> None:
    numbers = read_ratings(long_file(tmp_path, "u1,a,w,0", "u2,a,w,2.5", "u3,a,w,10"), LONG)
    assert numbers.items[0].scale.values == (0, 2.5, 10)
    assert numbers.items[0].scale.observed
    assert "No scale was named" in numbers.notes[0]
    words = read_ratings(long_file(tmp_path, "u1,a,w,low", "u2,a,w,high"), LONG)
    assert not words.items[0].scale.ordered
    named = read_ratings(long_file(tmp_path, "u1,a,w,low", "u2,a,w,High"), LONG._replace(scale=("low", "high")))
    assert named.items[0].scale.ordered
    assert values(named) == [[0], [1]]


def test_several_columns_may_say_which_unit_is_meant(tmp_path: Path) -> None:
    path = written(tmp_path / "r.csv", "sample,bot,who,score\n1,x,a,1\n1,y,a,2\n")
    found = read_ratings(path, FileColumns(unit=("sample", "bot"), rater=("who",), value="score", system="bot"))
    assert values(found) == [[1], [2]]
    assert [str(talk.identity) for talk in found.conversations] == ["x/1 / x", "y/1 / y"]


def test_units_of_one_conversation_are_one_cluster(tmp_path: Path) -> None:
    path = written(tmp_path / "r.csv", "turn,chat,who,score\n1,c,a,1\n2,c,a,2\n3,d,a,2\n")
    found = read_ratings(path, FileColumns(unit=("turn",), rater=("who",), value="score", conversation="chat"))
    assert found.item_matrix(0).conversation.tolist() == [0, 0, 1]


def test_repeats_are_told_apart_by_their_column_and_refused_without_one(tmp_path: Path) -> None:
    path = written(tmp_path / "r.csv", "id,who,score,time\nu1,j,1,10\nu1,j,2,9\n")
    reading = FileColumns(unit=("id",), rater=("who",), value="score", judges=("j",))
    found = read_ratings(path, reading._replace(repeat="time"))
    assert found.repeated_answers(0, "j")[0].tolist() == [[2, 1]]
    assert values(found) == [[2]]
    with pytest.raises(InputError, match="j rated u1 twice"):
        read_ratings(path, reading)


@pytest.mark.parametrize(
    ("rows", "reading", "said"),
    [
        (["u1,a,w,1"], LONG._replace(value="mark"), "no column 'mark'"),
        ([], LONG, "holds no ratings"),
        (["u1,a,w,1"], LONG._replace(judges=("gpt",)), "no rater 'gpt'"),
        (["u1,a,w,1"], LONG._replace(scale=("5-1",)), "lowest and the highest"),
        (["u1,a,w,1"], LONG._replace(scale=("yes",)), "at least two"),
        ([f"u{n},a,w,remark {n}" for n in range(20)], LONG, "name the scale"),
    ],
)
def test_what_cannot_be_read_is_one_sentence(tmp_path: Path, rows: list[str], reading: FileColumns, said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_ratings(long_file(tmp_path, *rows), reading)


def test_a_broken_workbook_and_a_missing_file_are_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="not readable as a workbook"):
        read_ratings(written(tmp_path / "r.xlsx", "no workbook"), LONG)
    for name in ("none.xlsx", "none.csv"):
        with pytest.raises(InputError):
            read_ratings(tmp_path / name, LONG)


def test_rows_that_cannot_be_read_are_counted(tmp_path: Path) -> None:
    found = read_ratings(long_file(tmp_path, "u1,a,w,1", "u2,a,w", "u3,a,w,2"), LONG)
    assert found.left_out == {UNREADABLE: 1}
