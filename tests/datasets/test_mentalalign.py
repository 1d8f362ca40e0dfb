"""MentalAlign: scores out of cells of all kinds, what is off the scale, and systems beside replies."""

import sys
from pathlib import Path

import pytest

from attunement.datasets import mentalalign
from attunement.datasets.base import LoadedDataset
from attunement.datasets.mentalalign import ATTRIBUTES, HUMAN, read_cell
from attunement.errors import InputError
from attunement.ratings import ErrorKind, State

SCORES = ", ".join(f'"{name}": {place}' for place, name in enumerate(ATTRIBUTES))


@pytest.fixture(scope="module")
def loaded(shared_data: Path) -> LoadedDataset:
    pytest.importorskip("python_calamine", reason="workbooks need the extra xlsx")
    return mentalalign.read(shared_data / "mentalalign")


@pytest.mark.parametrize(
    ("text", "how"),
    [
        (f"{{{SCORES}}}", "json"),
        (f"```json\n{{{SCORES}}}\n```", "fenced"),
        (f"Here you are: {{{SCORES}}}. Good luck.", "fenced"),
        (f"{{{SCORES}}}".replace('"', "“"), "mended"),
        (f'{{{SCORES}, "Explanation": "it says "I" often"}}', "mended"),
        (f'{{{SCORES}, "Explanation": "cut off', "mended"),
    ],
)
def test_scores_are_read_however_the_cell_is_written(text: str, how: str) -> None:
    cell = read_cell(text)
    assert cell.how == how
    assert cell.scores == {name: place for place, name in enumerate(ATTRIBUTES)}


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("", "blank"),
        ("  \n", "blank"),
        ("I cannot rate this: Safety is unclear, 5 of 7.", "prose"),
        ("[1, 2]", "prose"),
    ],
)
def test_a_cell_without_scores_gives_none(text: str, how: str) -> None:
    assert read_cell(text) == ({}, how)


def test_a_score_that_stands_twice_in_broken_json_is_not_guessed() -> None:
    cell = read_cell('{"Safety": 1, "Empathy": 4, "why": "I first said "Safety": 5, then less"')
    assert cell.scores == {"Empathy": 4}


def test_null_and_true_are_no_scores() -> None:
    scores = read_cell('{"Safety": null, "Empathy": true, "Guidance": "4", "Relevance": 2}').scores
    assert {name for name, value in scores.items() if value is not None} == {"Relevance"}


def test_all_scores_are_found_and_what_is_off_the_scale_is_refused_and_counted(loaded: LoadedDataset) -> None:
    (part,) = loaded.parts
    values = sum(answer.outcome.state is State.VALUE for answer in part.answers)
    refused = loaded.refused()
    assert refused == {"'0' is not an answer on the scale": 231, "'6' is not an answer on the scale": 8}
    # 349,531 names with straight quotes: 10 of them have null behind them, and a cell with curly quotes has 7 more.
    assert values + refused.total() == 349_531 - 10 + 7
    assert "349,528 scores were read from 50,000 cells" in loaded.notes[1]
    assert "1 with words instead of scores (a refusal)" in loaded.notes[1]


def test_what_a_judge_did_not_score_is_an_error_and_what_a_person_did_not_is_nothing(loaded: LoadedDataset) -> None:
    (part,) = loaded.parts
    judges = [answer for answer in part.answers if answer.rater != HUMAN]
    assert len(judges) == 4 * 70_000
    errors = [answer.outcome.error for answer in judges if answer.outcome.error]
    assert (errors.count(ErrorKind.REFUSED), errors.count(ErrorKind.MISSING)) == (7, 8 * 7)
    people = [answer for answer in part.answers if answer.rater == HUMAN]
    assert len(people) == 70_000 - 57 * 7 - 10
    assert {answer.outcome.error for answer in people} == {None, ErrorKind.MALFORMED}


def test_there_is_no_text_and_contexts_pair_the_systems(loaded: LoadedDataset) -> None:
    (part,) = loaded.parts
    assert not part.has_text
    assert "not in this set" in loaded.notes[0]
    assert len(part.conversations) == 10_000
    assert {conversation.scenario for conversation in part.conversations} == {str(number) for number in range(1, 1001)}


def test_systems_and_replies_stand_side_by_side(loaded: LoadedDataset) -> None:
    figures = loaded.figures()
    (table,) = figures.tables
    rows = {(row[0], row[1]): [float(cell) for cell in row[2:]] for row in table.rows}
    assert len(rows) == 28
    assert rows["o4-mini", "Guidance"][:3] == [0.948, 0.947, 0.947]
    correlations = [row[4] for row in rows.values()]
    assert (min(correlations), max(correlations)) == (0.13, 0.56)
    assert all(row[4] < row[0] for row in rows.values())
    assert [str(count) for count in figures.counts] == ["56 of 56 ICCs over systems as published, to within 0.006"]


def test_the_published_figures_rest_on_values_off_the_scale(loaded: LoadedDataset) -> None:
    (table,) = loaded.figures().tables
    (safety,) = [row for row in table.rows if row[:2] == ["gpt-4o", "Safety"]]
    assert safety[2:5] == ["0.480", "0.484", "0.369"]
    assert "include 239 scores" in table.remarks[1]


def test_without_the_package_for_workbooks_one_sentence_says_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "Human_judge.xlsx").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "python_calamine", None)
    with pytest.raises(InputError, match=r"pip install 'attunement\[xlsx\]'"):
        mentalalign.read(tmp_path)


def test_a_missing_or_broken_workbook_is_named(tmp_path: Path) -> None:
    pytest.importorskip("python_calamine", reason="workbooks need the extra xlsx")
    with pytest.raises(InputError, match=r"has no file Human_judge.xlsx"):
        mentalalign.read(tmp_path)
    (tmp_path / "Human_judge.xlsx").write_bytes(b"no workbook")
    with pytest.raises(InputError, match=r"Human_judge.xlsx is not readable as a workbook"):
        mentalalign.read(tmp_path)
