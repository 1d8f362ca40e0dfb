"""Kumar et al. (2025): what is loaded, what comes out, and what happens to a folder that is not as it should be."""

import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from attunement.datasets import kumar
from attunement.datasets.base import LoadedDataset, PublishedFigures
from attunement.errors import InputError
from attunement.ratings import RaterKind
from tests.datasets.files import edit_table


@pytest.fixture(scope="module")
def loaded(shared_data: Path) -> LoadedDataset:
    return kumar.read(shared_data / "kumar2025")


@pytest.fixture(scope="module")
def figures(loaded: LoadedDataset) -> PublishedFigures:
    return loaded.figures()


@pytest.fixture
def copy(shared_data: Path, tmp_path: Path) -> Path:
    folder = tmp_path / "kumar2025"
    for part in ("annotations", "original_data"):
        shutil.copytree(shared_data / "kumar2025" / part, folder / part, copy_function=shutil.copyfile)
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755)
    return folder


def test_all_126_kappas_and_p_values_come_out_as_published(figures: PublishedFigures) -> None:
    assert [str(count) for count in figures.counts] == [
        "126 of 126 p-values as published",
        "126 of 126 kappas as published",
    ]
    each = figures.details[0]
    assert len(each.rows) == 126
    assert all(row[3] == row[4] and row[5] == row[6] for row in each.rows)


def test_medians_alphas_and_the_effect_of_weights_come_out(figures: PublishedFigures) -> None:
    (table,) = figures.tables
    medians = {row[0]: row[1:] for row in table.rows}
    assert medians["experts-llm"] == ["0.60", "0.60"]
    assert medians["experts-crowd"] == ["0.33", "0.33"]
    text = " ".join(table.remarks)
    assert "over 21 dimensions averages 0.548 (interval) and 0.529 (ordinal)" in text
    assert "33 of 126 kappas move" in text


def test_experts_and_the_crowd_are_people_and_llms_are_models(loaded: LoadedDataset) -> None:
    kinds = {who.name: who.kind for who in loaded.raters}
    assert [kinds[name] for name in kumar.EXPERTS] == [RaterKind.PERSON] * 3
    assert [kinds[name] for name in kumar.MODELS.values()] == [RaterKind.MODEL] * 3
    roles = Counter(who.settings.get("role") for who in loaded.raters)
    assert roles == {"expert": 3, "crowd": 116 + 2 + 1, None: 3}
    assert not loaded.refused()


def test_averages_of_the_crowd_are_no_ratings_and_are_counted(loaded: LoadedDataset) -> None:
    perceived = loaded.parts[3]
    assert {answer.rater for answer in perceived.answers} == {*kumar.EXPERTS, *kumar.MODELS.values()}
    assert "450 averages" in loaded.notes[1]


def test_three_sets_have_text_and_perceived_empathy_says_that_it_has_none(loaded: LoadedDataset) -> None:
    assert [(part.title, part.has_text) for part in loaded.parts] == [
        ("Empathetic Dialogues", True),
        ("EPITOME", True),
        ("Lend an Ear", True),
        ("Perceived Empathy", False),
    ]
    assert "Perceived Empathy has no text" in loaded.notes[0]
    assert sum(len(part.conversations) for part in loaded.parts) == 200


def test_ids_of_20_digits_keep_their_digits_and_commas_come_back(loaded: LoadedDataset) -> None:
    ids = [conversation.id for conversation in loaded.parts[2].conversations]
    assert len(set(ids)) == 50
    assert all(re.fullmatch(r"\d{20}", id) for id in ids)
    words = [turn for conversation in loaded.parts[0].conversations for turn in conversation.turns]
    assert not any("_comma_" in turn.user + turn.assistant for turn in words)
    assert all(turn.user and turn.assistant for turn in words)


def test_columns_are_found_by_name_whatever_their_order(copy: Path) -> None:
    for path in (copy / "annotations" / "lend_an_ear").glob("expert*.csv"):
        edit_table(path, lambda heading, rows: (heading[::-1], [row[::-1] for row in rows]))
    assert all(count.same == 126 for count in kumar.read(copy).figures().counts)


def test_a_constant_column_has_no_kappa_and_does_not_stop_the_others(copy: Path) -> None:
    for rater in ("expert1", "expert2"):
        edit_table(
            copy / "annotations" / "epitome" / f"{rater}_ratings.csv",
            lambda heading, rows: (
                heading,
                [
                    ["1" if name == "level_explorations" else cell for name, cell in zip(heading, row, strict=True)]
                    for row in rows
                ],
            ),
        )
    figures = kumar.read(copy).figures()
    (row,) = [row for row in figures.details[0].rows if row[1:3] == ["level_explorations", "expert1-expert2"]]
    assert row[3] == "none"
    assert 120 < figures.counts[1].same < 126


def test_a_value_off_the_scale_is_refused_and_counted(copy: Path) -> None:
    path = copy / "annotations" / "epitome" / "claude_ratings.csv"
    edit_table(path, lambda heading, rows: (heading, [[*rows[0][:-1], "3.0"], *rows[1:]]))
    assert kumar.read(copy).refused() == {"'3.0' is not an answer on the scale": 1}


@pytest.mark.parametrize(
    ("file", "change", "says"),
    [
        ("annotations/epitome/expert2_ratings.csv", None, "is not there"),
        ("annotations/table_kappa.csv", None, "is not there"),
        ("original_data/sample_epitome.csv", None, "is not there"),
        (
            "annotations/epitome/expert2_ratings.csv",
            ("level_explorations", "exploring"),
            "no column 'level_explorations'",
        ),
        ("annotations/epitome/gpt_ratings.csv", ("41g07l", "another"), "same conversations"),
        ("original_data/sample_epitome.csv", ("97keuy", "another"), "its text is not in original_data"),
        ("annotations/epitome/expert1_ratings.csv", ("97keuy,e48xfwa,0,0,0", "97keuy,e48xfwa,0,0"), "4 fields"),
        ("annotations/table_kappa.csv", ("EPITOME,level_explorations", "EPITOME,else"), "is not among the ratings"),
        ("annotations/epitome/crowd_ratings.csv", ("97keuy,e48xfwa,2", "97keuy,e48xfwa,NA"), "a number is expected"),
    ],
)
def test_a_folder_that_does_not_fit_is_one_sentence_with_the_file(
    copy: Path, file: str, change: tuple[str, str] | None, says: str
) -> None:
    path = copy / file
    if change is None:
        path.unlink()
    else:
        path.write_text(path.read_text("utf-8").replace(*change), "utf-8")
    with pytest.raises(InputError, match=re.escape(says)) as caught:
        kumar.read(copy).figures()
    assert "\n" not in str(caught.value)
    assert ".csv" in str(caught.value)


def test_another_folder_is_refused_with_what_is_expected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="annotations"):
        kumar.read(tmp_path)
    with pytest.raises(InputError, match="does not exist"):
        kumar.read(tmp_path / "nowhere")
