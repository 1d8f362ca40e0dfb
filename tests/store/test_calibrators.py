import pytest

from attunement.errors import StudyError
from attunement.store.samples import calibrators, find_calibrator, save_calibrator
from tests.store.samples import fill


@pytest.fixture
def study(tmp_path):
    with fill(tmp_path / "s.db") as opened:
        yield opened


def test_the_same_name_makes_the_next_version_and_changes_none(study) -> None:
    save_calibrator(study, "spring", {"curves": {"score": 1}})
    save_calibrator(study, "spring", {"curves": {"score": 2}})
    save_calibrator(study, "autumn", {"curves": {"score": 3}})
    assert [str(kept) for kept in calibrators(study)] == ["spring@1", "spring@2", "autumn@1"]
    assert find_calibrator(study, "spring").content == {"curves": {"score": 2}}
    assert find_calibrator(study, "spring@1").content == {"curves": {"score": 1}}


def test_a_name_that_is_not_there_is_answered_with_those_that_are(study) -> None:
    with pytest.raises(StudyError, match="has no calibrator 'x'; make one with"):
        find_calibrator(study, "x")
    save_calibrator(study, "spring", {})
    with pytest.raises(StudyError, match="it has spring@1"):
        find_calibrator(study, "spring@2")


@pytest.mark.parametrize("name", ["", " ", "spring@1"])
def test_names_that_could_not_be_found_again_are_refused(study, name: str) -> None:
    with pytest.raises(StudyError, match="cannot be the name of a calibrator"):
        save_calibrator(study, name, {})


def test_a_forgotten_conversation_leaves_the_calibrators_in_place(study) -> None:
    save_calibrator(study, "spring", {})
    study.delete(next(study.conversations()).key)
    assert find_calibrator(study, "spring").version == 1
