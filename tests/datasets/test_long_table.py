"""Any long table of ratings."""

import json
import re
from pathlib import Path

import pytest

from attunement.conversations import UnitKind
from attunement.datasets import long_table
from attunement.errors import InputError
from attunement.instruments.model import Scores
from attunement.ratings import RaterKind, State
from tests.datasets.files import write_table

HEADING = ("conversation", "rater", "item", "value")


def ratings(folder: Path, *rows: tuple[object, ...], heading: tuple[str, ...] = HEADING) -> Path:
    write_table(folder / "ratings.csv", heading, rows)
    return folder


def test_the_instrument_is_made_from_ids_and_values(tmp_path: Path) -> None:
    folder = ratings(
        tmp_path,
        ("c1", "ann", "warmth", 1),
        ("c1", "bob", "warmth", "4.0"),
        ("c1", "ann", "safe", "yes"),
        ("c2", "ann", "safe", "No"),
    )
    loaded = long_table.read(folder)
    scores, criteria = loaded.parts
    assert scores.instrument.scale == Scores(kind="scores", lowest=1, highest=4)
    assert [item.id for item in scores.instrument.items] == ["warmth"]
    assert [answer.outcome.value for answer in scores.answers] == [1, 4]
    assert [answer.outcome.value for answer in criteria.answers] == ["YES", "NO"]
    assert {who.kind for who in loaded.raters} == {RaterKind.PERSON}
    assert not scores.has_text
    assert "no judge can be asked" in loaded.notes[0]
    assert not loaded.figures().tables


def test_na_is_an_answer_and_an_empty_cell_is_none(tmp_path: Path) -> None:
    folder = ratings(tmp_path, ("c1", "ann", "safe", "NA"), ("c2", "ann", "safe", "yes"), ("c3", "ann", "safe", ""))
    (part,) = long_table.read(folder).parts
    assert [answer.outcome.state for answer in part.answers] == [State.NA, State.VALUE]


def test_ids_stay_as_they_are_written(tmp_path: Path) -> None:
    ids = ["20241031124050492385", "20241031124050492386", "#a1", "007"]
    (part,) = long_table.read(ratings(tmp_path, *((id, "ann", "warmth", 3) for id in ids))).parts
    assert [conversation.id for conversation in part.conversations] == ids


def test_long_ids_in_json_keep_their_digits(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    path.write_text('{"conversation": 20241031124050492385, "rater": "ann", "item": "warmth", "value": 3}\n')
    (part,) = long_table.read(path).parts
    assert part.conversations[0].id == "20241031124050492385"


def test_columns_may_stand_in_any_order_and_a_constant_one_is_loaded(tmp_path: Path) -> None:
    rows = [(5, "warmth", rater, conversation) for rater in ("ann", "bob") for conversation in ("c1", "c2")]
    (part,) = long_table.read(ratings(tmp_path, *rows, heading=HEADING[::-1])).parts
    assert [answer.outcome.value for answer in part.answers] == [5, 5, 5, 5]
    assert part.instrument.scale == Scores(kind="scores", lowest=5, highest=6)


def test_systems_turns_repeats_and_kinds_are_taken_where_they_are_given(tmp_path: Path) -> None:
    heading = (*HEADING, "system", "turn", "repeat", "kind")
    folder = ratings(
        tmp_path,
        ("c1", "bot", "warmth", 3, "A", 2, 1, "model"),
        ("c1", "ann", "warmth", 3, "A", 2, 0, "person"),
        heading=heading,
    )
    loaded = long_table.read(folder)
    (part,) = loaded.parts
    assert part.instrument.unit is UnitKind.RESPONSE
    assert [(answer.turn, answer.repeat) for answer in part.answers] == [(2, 0), (2, 0)]
    assert {who.name: who.kind for who in loaded.raters} == {"bot": RaterKind.MODEL, "ann": RaterKind.PERSON}
    assert str(part.conversations[0].identity) == "A/c1"


def test_text_beside_the_table_is_loaded_with_it(tmp_path: Path) -> None:
    talk = {
        "id": "c1",
        "system": "A",
        "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}],
    }
    (tmp_path / "conversations.jsonl").write_text(json.dumps(talk) + "\n")
    loaded = long_table.read(ratings(tmp_path, ("c1", "ann", "warmth", 3)))
    assert loaded.parts[0].has_text
    assert not loaded.notes
    with pytest.raises(InputError, match="there is no conversation 'c2' in the file conversations"):
        long_table.read(ratings(tmp_path, ("c2", "ann", "warmth", 3)))


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([("c1", "ann", "warmth", "Best Practice")], "'best practice' is neither a whole number nor yes, no or NA"),
        ([("c1", "ann", "warmth", "4.5")], "'4.5' is neither"),
        ([("c1", "ann", "warmth", "inf")], "'inf' is neither"),
        (
            [("c1", "ann", "warmth", 1), ("c2", "ann", "warmth", "yes")],
            "warmth: '1' is neither a whole number nor yes",
        ),
        (
            [("c1", "ann", "warmth", 1), ("c1", "ann", "warmth", 2)],
            "ann rated c1 twice",
        ),
        ([("c1", "ann", "warmth", 1), ("c2", "ann", "warmth", 2024)], "which is not a scale"),
        ([("c1", "", "warmth", 1)], "holds no ratings"),
        ([("c1", "ann", "warmth", "")], "holds no ratings"),
    ],
)
def test_what_cannot_be_meant_is_one_sentence_with_the_line(
    tmp_path: Path, rows: list[tuple[object, ...]], says: str
) -> None:
    with pytest.raises(InputError, match=re.escape(says)):
        long_table.read(ratings(tmp_path, *rows))


def test_a_missing_column_or_table_is_said_with_what_is_expected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no table of ratings"):
        long_table.read(tmp_path)
    with pytest.raises(InputError, match="no column for the answer"):
        long_table.read(ratings(tmp_path, ("c1", "ann", "warmth"), heading=HEADING[:3]))


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([(1, "person"), ("", "person")], "some rows name a turn"),
        ([(1, "person"), (2, "model")], "line 3: ann is a model here and a person before"),
        ([(0, "person")], "turn is '0'"),
        ([(20241031, "person")], "turn is '20241031'"),
        ([(1, "somebody")], "not 'somebody'"),
    ],
)
def test_turns_and_kinds_that_cannot_be_meant_are_refused(
    tmp_path: Path, rows: list[tuple[object, object]], says: str
) -> None:
    made = [(f"c{place}", "ann", "warmth", 1, *row) for place, row in enumerate(rows)]
    with pytest.raises(InputError, match=says):
        long_table.read(ratings(tmp_path, *made, heading=(*HEADING, "turn", "kind")))


def test_names_of_items_become_ids(tmp_path: Path) -> None:
    folder = ratings(tmp_path, ("c1", "ann", "Overall quality (1-5)", 3), ("c1", "ann", "2nd", 3))
    assert [item.id for item in long_table.read(folder).parts[0].instrument.items] == [
        "Overall_quality_1-5_",
        "item_2nd",
    ]
