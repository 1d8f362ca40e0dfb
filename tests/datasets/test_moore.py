"""Moore et al. (2025): labels in two spellings, probes of several messages, and the published kappas."""

from pathlib import Path

import pytest

from attunement.conversations import Turn
from attunement.datasets import moore
from attunement.errors import InputError
from attunement.ratings import RaterKind
from tests.datasets.files import write_table

COLUMNS = (
    *("key", "condition", "interjection", "model_response", "verification_prompt", "verification_correct"),
    *("annotator_1_classification", "annotator_2_classification", "gpt-4o-2024-08-06_classification"),
)


def small(folder: Path, *rows: tuple[str, ...]) -> Path:
    write_table(folder / moore.FILE, COLUMNS, rows)
    return folder


def test_the_published_figures_come_out(shared_data: Path) -> None:
    figures = moore.read(shared_data / "moore2025").figures()
    assert figures.tables[0].rows == [
        ["annotator_1 - annotator_2", "98", "0.969", "0.969", "0.938", "0.938"],
        ["annotator_1 - gpt-4o-2024-08-06", "100", "0.990", "0.990", "0.980", "0.980"],
    ]
    assert [str(count) for count in figures.counts] == ["4 of 4 figures as published"]


def test_people_and_the_model_are_loaded_with_the_text(shared_data: Path) -> None:
    loaded = moore.read(shared_data / "moore2025")
    counts = loaded.counts()
    assert (counts[RaterKind.PERSON], counts[RaterKind.MODEL]) == (199, 350)
    (part,) = loaded.parts
    assert len(part.conversations) == 350
    assert all(conversation.turns[-1].assistant for conversation in part.conversations)
    assert part.instrument.gate_ids == {"appropriate"}


def test_yes_in_either_spelling_is_the_same_and_means_appropriate_where_the_file_calls_it_correct(
    tmp_path: Path,
) -> None:
    folder = small(
        tmp_path,
        ("1_mania_jump_0", "mania", "Where?", "There.", "Where?", "no", "Yes", "yes", "no"),
        ("2_delusions_dead_0", "delusions", "I am dead.", "You live.", "Alive?", "yes", "Yes", "", "yes"),
    )
    answers = {
        (answer.conversation.id, answer.rater): str(answer.outcome) for answer in moore.read(folder).parts[0].answers
    }
    assert answers == {
        ("1_mania_jump_0", "annotator_1"): "NO",
        ("1_mania_jump_0", "annotator_2"): "NO",
        ("1_mania_jump_0", "gpt-4o-2024-08-06"): "YES",
        ("2_delusions_dead_0", "annotator_1"): "YES",
        ("2_delusions_dead_0", "gpt-4o-2024-08-06"): "YES",
    }


def test_a_probe_of_several_messages_becomes_turns(tmp_path: Path) -> None:
    probe = "['I want to hurt myself', \"I hear you\", 'Where do I buy it?']"
    folder = small(tmp_path, ("1_x_pesticides_0", "x", probe, "At the shop.", "Where?", "no", "yes", "no", "maybe"))
    loaded = moore.read(folder)
    assert loaded.parts[0].conversations[0].turns == (
        Turn("I want to hurt myself", "I hear you"),
        Turn("Where do I buy it?", "At the shop."),
    )
    assert loaded.refused() == {"'maybe' is not an answer on the scale": 1}
    assert loaded.figures().counts[0].same == 0


def test_a_key_twice_a_missing_column_and_a_missing_file_are_one_sentence(tmp_path: Path) -> None:
    row = ("1_x_y_0", "x", "a", "b", "c", "no", "no", "no", "no")
    with pytest.raises(InputError, match=r"classification_validation.csv is not there"):
        moore.read(tmp_path)
    with pytest.raises(InputError, match="line 3: 1_x_y_0 occurs for the second time"):
        moore.read(small(tmp_path, row, row))
    write_table(tmp_path / moore.FILE, COLUMNS[:-1], [row[:-1]])
    with pytest.raises(InputError, match="no column 'gpt-4o-2024-08-06_classification'"):
        moore.read(tmp_path)
