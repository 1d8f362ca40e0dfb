import pytest

from attunement.analysis.versions import UNKNOWN, Versions, version_difference, versions
from attunement.instruments import load
from attunement.prompts import Ask
from attunement.ratings import RaterKind
from attunement.store import Study
from tests.reports.judged_studies import judge, talks

COACHING, EMPATHY = load("coaching-v1"), load("empathy-v2")


def made(path, instrument=COACHING, raters=(("judge", 0),), **more) -> Versions:
    judge(path, talks(2), instrument=instrument, **more)
    with Study(path) as study:
        return versions(study, instrument, set(raters))


def test_answers_made_in_the_same_way_differ_in_nothing(tmp_path) -> None:
    here, there = made(tmp_path / "a.db"), made(tmp_path / "b.db")
    assert version_difference(here, there) is None
    assert here.judges[0].prompts == ("one item at a time",)


def test_replies_rated_together_are_recognised(tmp_path) -> None:
    assert made(tmp_path / "a.db", EMPATHY).judges[0].prompts == ("all items at once",)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"instrument": EMPATHY}, "the instrument is coaching-v1 1.1.0 here and empathy-v2 2.1.0 there"),
        (
            {"instrument": COACHING.model_copy(update={"version": "1.0.1"})},
            "the instrument is coaching-v1 1.1.0 here and coaching-v1 1.0.1 there",
        ),
        (
            {"instrument": COACHING.model_copy(update={"title": "Other"})},
            "the instrument coaching-v1 1.1.0 has other words, weights or limits there",
        ),
        ({"rater": "other", "raters": [("other", 0)]}, "the judges are judge here and other there"),
        (
            {"settings": {"layout": "criterion-first", "temperature": 1}},
            "judge has different settings: its temperature is None here and 1 there",
        ),
        ({"model": "model-2"}, "judge answered as model-1 here and as model-2 there"),
        ({"ask": Ask.TOGETHER}, "judge read other prompts: one item at a time here, all items at once there"),
        ({"raters": [("judge", 0), ("judge", 1)]}, "judge was asked once here and 2 times there"),
    ],
)
def test_what_differs_is_named(tmp_path, change, words: str) -> None:
    assert version_difference(made(tmp_path / "a.db"), made(tmp_path / "b.db", **change)) == words


def test_prompts_that_cannot_be_made_again_are_not_taken_for_the_same(tmp_path) -> None:
    sides = []
    for name in ("a.db", "b.db"):
        judge(tmp_path / name, talks(2))
        with Study(tmp_path / name) as study:
            with study.writing() as connection:
                connection.exec_driver_sql("UPDATE ratings SET asked = 'x' || key")
            sides.append(versions(study, COACHING, {("judge", 0)}))
    found = version_difference(*sides)
    assert found
    assert UNKNOWN in found


def test_people_have_no_prompts(tmp_path) -> None:
    judge(tmp_path / "a.db", talks(2), rater="ann", kind=RaterKind.PERSON, settings={})
    with Study(tmp_path / "a.db") as study:
        assert versions(study, COACHING, {("ann", 0)}).judges[0].prompts == ()
