"""Which units people get."""

from pathlib import Path

import pytest

from attunement.annotation.projects import load_setup, settings_of
from attunement.annotation.sampling import choose_units, listed_units
from attunement.errors import InputError
from attunement.store import Study
from attunement.store.samples import SampledConversation, save_sample
from tests.annotation.projects import COACHING, EMPATHY, OPENED, talks
from tests.builders import talk


@pytest.fixture
def study(tmp_path: Path) -> Study:
    study = Study(tmp_path / "a.study.db", create=True)
    OPENED.append(study)
    study.save_conversations([*talks(8), talk(("a", "b"), ("c", "d"), id="long")])
    return study


def test_without_a_sample_units_are_drawn_at_random_and_the_seed_decides(study: Study) -> None:
    assert len(choose_units(study, EMPATHY, None, seed=0).units) == 10
    first = choose_units(study, EMPATHY, 5, seed=1).units
    assert len(set(first)) == 5
    assert first == choose_units(study, EMPATHY, 5, seed=1).units
    assert first != choose_units(study, EMPATHY, 5, seed=2).units


def test_a_drawn_sample_is_taken_whole(study: Study) -> None:
    drawn = {key: SampledConversation("all", 0.5, None) for key in (2, 9)}
    save_sample(study, name=None, instrument="empathy-v2", seed=0, design={}, units=drawn)
    assert sorted(choose_units(study, EMPATHY, None, seed=0).units) == [(2, 1), (9, 1), (9, 2)]
    assert len(choose_units(study, COACHING, None, seed=0).units) == 9


def test_more_than_there_are_is_refused(study: Study) -> None:
    with pytest.raises(InputError, match="only 10"):
        choose_units(study, EMPATHY, 11, seed=0)


def test_a_list_names_conversations_or_single_replies(study: Study) -> None:
    assert listed_units(study, EMPATHY, ["long#2", "c0", "bot/long#2"]).units == [(9, 2), (1, 1)]
    assert listed_units(study, COACHING, ["long"]).units == [(9, None)]
    for name in ("nobody", "long#3", "long#x"):
        with pytest.raises(InputError):
            listed_units(study, EMPATHY, [name])
    with pytest.raises(InputError, match="not a unit of coaching-v1"):
        listed_units(study, COACHING, ["long#1"])


def test_a_setup_file_is_read_and_a_slip_in_it_is_told(tmp_path: Path) -> None:
    path = tmp_path / "setup.yaml"
    path.write_text("instrument: empathy-v2\nraters: [Ana, Ben]\nsettings: {per_unit: 2}\n", "utf-8")
    assert load_setup(path).raters == ["Ana", "Ben"]
    path.write_text("rater: 3\n", "utf-8")
    with pytest.raises(InputError, match="rater"):
        load_setup(path)
    with pytest.raises(InputError, match="per_unti"):
        settings_of({"per_unti": 2})
    with pytest.raises(InputError, match="cannot be read"):
        load_setup(tmp_path / "absent.yaml")
