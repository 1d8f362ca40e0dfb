import re

import pytest

from attunement.annotation.exchange import allowed_answers, choices, is_blank, parse_answer, rater_guide
from attunement.instruments import load
from attunement.ratings import ABSTAINED, Outcome

COACHING = load("coaching-v1")
EMPATHY = load("empathy-v2")
EMOTION = EMPATHY.item("emotion")
NEVER_NA = next(item for item in COACHING.items if not item.na_valid)
MAY_BE_NA = next(item for item in COACHING.items if item.na_valid)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("met", "YES"),
        (" Not  met ", "NO"),
        ("does not apply", "NA"),
        ("yes", "YES"),
        ("N/A", "NA"),
        ("NO", "NO"),
    ],
)
def test_a_criterion_is_answered_in_words(written: str, meant: str) -> None:
    assert parse_answer(written, COACHING, MAY_BE_NA) == Outcome.of(meant)


@pytest.mark.parametrize(("written", "meant"), [("4", 4), (" 4.0", 4), (5, 5), (1.0, 1)])
def test_a_dimension_is_answered_in_numbers(written: object, meant: int) -> None:
    assert parse_answer(written, EMPATHY, EMOTION) == Outcome.of(meant)


@pytest.mark.parametrize("written", ["6", "0", "4.5", "met", "NA", True, "four", [4], {"x": 1}, "1e400", "ERROR"])
def test_what_is_not_on_the_scale_is_no_answer(written: object) -> None:
    assert parse_answer(written, EMPATHY, EMOTION) is None


def test_cannot_judge_is_apart_from_does_not_apply() -> None:
    assert parse_answer("Cannot judge", COACHING, NEVER_NA) == ABSTAINED == parse_answer("?", EMPATHY, EMOTION)
    assert parse_answer("does not apply", COACHING, NEVER_NA) is None
    assert [choice.word for choice in choices(COACHING, NEVER_NA)] == ["met", "not met", "cannot judge"]


def test_blank_is_no_answer() -> None:
    assert all(is_blank(value) for value in (None, "", "  ", "–", "-"))
    assert not any(is_blank(value) for value in (0, "0", False, "x"))


def test_the_answers_are_named_in_one_line() -> None:
    assert allowed_answers(EMPATHY, EMOTION) == "1 to 5 or cannot judge"
    assert allowed_answers(COACHING, MAY_BE_NA) == "met, not met, does not apply or cannot judge"


def test_the_guide_tells_what_answers_mean_and_not_what_they_cost() -> None:
    text = rater_guide(EMPATHY)
    assert "- 1: Poor: Ignores the feelings" in text
    assert "1 or 2? 1 if nothing in the reply responds" in text
    assert "weight" not in rater_guide(COACHING).lower()
    assert "“met” means that the criterion is met throughout" in rater_guide(COACHING)
    assert not re.search(r"\b(YES|NO|NA)\b", rater_guide(COACHING))
