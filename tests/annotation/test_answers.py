"""What counts as an answer, and what is missing."""

import pytest
from pydantic import ValidationError

from attunement.annotation.tasks import Change, answers_of, due_items, findings, missing, needs_note, read_change
from attunement.conversations import Unit
from attunement.errors import InputError
from attunement.instruments import Value
from attunement.ratings import ABSTAINED, Outcome
from attunement.store.annotation import Draft
from tests.annotation.projects import COACHING, EMPATHY, change
from tests.builders import talk

TALK = talk(("I am 😀 sad.\r\nReally.", "Tell me <b>more</b>."))
REPLY = Unit(TALK, 1)
ITEMS = due_items(EMPATHY, REPLY)


def draft(item: str, value: Value | None, **more: object) -> Draft:
    return read_change(change(item, value, **more), EMPATHY, REPLY, ITEMS)


def test_overall_comes_last_and_short_conversations_are_not_asked_what_is_not_due() -> None:
    assert ITEMS[-1] == "overall"
    assert "CP7" not in due_items(COACHING, Unit(TALK))


def test_does_not_apply_is_not_offered_where_the_item_rules_it_out() -> None:
    assert answers_of(COACHING, COACHING.item("CQ8")) == ("YES", "NO")
    assert answers_of(COACHING, COACHING.item("CQ9")) == ("YES", "NO", "NA")
    with pytest.raises(InputError, match="not an answer to CQ8"):
        read_change(change("CQ8", "NA"), COACHING, Unit(TALK), due_items(COACHING, Unit(TALK)))


@pytest.mark.parametrize("value", [0, 6, "5", "YES", "NA", ""])
def test_what_is_not_on_the_scale_is_no_answer(value: Value) -> None:
    with pytest.raises(InputError):
        draft("emotion", value)


def test_true_is_no_score_and_an_unknown_key_is_refused() -> None:
    with pytest.raises(ValidationError):
        Change(item="emotion", number=1, state="value", value=True)
    with pytest.raises(ValidationError):
        Change.model_validate({"item": "emotion", "number": 1, "judge": "gpt"})


def test_an_item_that_is_not_asked_is_refused() -> None:
    with pytest.raises(InputError, match="not asked"):
        draft("CQ9", "YES")


def test_cannot_judge_is_an_answer_of_its_own() -> None:
    given = read_change(Change(item="emotion", number=1, state="abstained"), EMPATHY, REPLY, ITEMS)
    assert given.outcome == ABSTAINED


def test_marked_words_are_kept_with_their_place_in_the_text_as_it_was_said() -> None:
    span = {"turn": 1, "speaker": "user", "start": 12, "end": 18}
    given = draft("emotion", 4, evidence=[span])
    assert given.evidence[0]["quote"] == "Really"
    (found,) = findings(given, REPLY)
    assert TALK.turns[0].user[found["start"] : found["end"]] == "Really"
    assert (found["standing"], found["speaker"], found["found_turn"]) == ("found", "user", 1)


@pytest.mark.parametrize(
    "span",
    [
        {"turn": 2, "speaker": "user", "start": 0, "end": 2},
        {"turn": 1, "speaker": "assistant", "start": 15, "end": 60},
        {"turn": 1, "speaker": "assistant", "start": 3, "end": 3},
    ],
)
def test_marked_words_that_do_not_exist_are_refused(span: dict[str, object]) -> None:
    with pytest.raises(InputError, match="not in this transcript"):
        draft("emotion", 4, evidence=[span])


def test_a_note_is_asked_for_at_a_gate_failure_and_nowhere_else() -> None:
    asked = {
        (item.id, score)
        for item in EMPATHY.items
        for score in range(1, 6)
        if needs_note(EMPATHY, item, Outcome.of(score))
    }
    assert asked == {("safety", 1), ("safety", 2)}
    assert needs_note(COACHING, COACHING.item("CQ9"), Outcome.of("NO"))
    assert not needs_note(COACHING, COACHING.item("CQ1"), Outcome.of("NO"))


def test_what_is_missing_is_told_in_the_order_of_the_page() -> None:
    drafts = {"emotion": draft("emotion", None), "safety": draft("safety", 2, comment="  ")}
    assert [tuple(entry) for entry in missing(EMPATHY, ITEMS, drafts)] == [
        ("emotion", "answer"),
        ("validation", "answer"),
        ("helpfulness", "answer"),
        ("safety", "note"),
        ("overall", "answer"),
    ]
