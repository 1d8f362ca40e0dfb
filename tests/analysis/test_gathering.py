"""From a study to columns of ratings: what enters, what is left out, and what is counted."""

from pathlib import Path

import numpy as np
import pytest

from attunement.analysis.ratings_table import OFF_SCALE, AnswerState, RatingsTable, collect_ratings
from attunement.conversations import Conversation, Turn
from attunement.instruments import Instrument
from attunement.ratings import ABSTAINED, ErrorKind, Outcome, RaterKind, Round
from attunement.store import Rater, StoredRating, Study
from tests.builders import rating
from tests.store.samples import COACHING, EMPATHY, talks


@pytest.fixture
def study(tmp_path: Path) -> Study:
    made = Study(tmp_path / "s.db", create=True)
    made.save_instrument(COACHING)
    made.save_instrument(EMPATHY)
    return made


def say(
    study: Study,
    rater: Rater,
    conversation: Conversation,
    item: str,
    answer: object,
    instrument: Instrument = COACHING,
    **more: object,
) -> None:
    (key,) = study.save_conversations([conversation])
    made = rating(instrument, item, answer, conversation=conversation.identity, rater=rater.name, **more)  # type: ignore[arg-type]
    study.write([], [StoredRating(key, rater.key, made)])


def number(gathered: RatingsTable, item: str) -> int:
    return [each.id for each in gathered.items].index(item)


def test_each_rater_is_a_column_and_each_unit_a_row(study: Study) -> None:
    anna, judge = (study.save_rater(name, kind, {}) for name, kind in [("anna", "person"), ("j", "model")])  # type: ignore[arg-type]
    first, second = talks(2)
    say(study, anna, first, "CQ8", "NO")
    say(study, judge, first, "CQ8", "YES")
    say(study, judge, second, "CQ8", "NA")
    gathered = collect_ratings(study, COACHING)
    sheet = gathered.item_matrix(number(gathered, "CQ8"))
    assert [who.name for who in sheet.raters] == ["anna", "j"]
    assert (gathered.people, gathered.judges) == (("anna",), ("j",))
    np.testing.assert_array_equal(sheet.values, [[0, 1], [np.nan, np.nan]])
    assert sheet.states.tolist() == [[AnswerState.VALUE, AnswerState.VALUE], [AnswerState.NOT_ASKED, AnswerState.NA]]
    assert [gathered.conversations[place].identity.id for place in sheet.conversation] == ["c0", "c1"]
    assert sheet.item.fails == (0, 0)
    assert gathered.item_matrix(number(gathered, "CQ1")).values.shape == (0, 2)


def test_replies_of_one_conversation_are_units_of_the_same_cluster(study: Study) -> None:
    judge = study.save_rater("j", RaterKind.MODEL, {})
    (conversation,) = talks(1)
    for turn in (1, 2):
        say(study, judge, conversation, "safety", turn + 1, EMPATHY, turn=turn)
    gathered = collect_ratings(study, EMPATHY)
    sheet = gathered.item_matrix(number(gathered, "safety"))
    assert sheet.values.tolist() == [[2], [3]]
    assert sheet.conversation.tolist() == [0, 0]
    assert gathered.unit_turn.tolist() == [1, 2]
    assert sheet.item.scale.values == (1, 2, 3, 4, 5)


def test_errors_and_abstentions_are_no_values_but_known(study: Study) -> None:
    judge = study.save_rater("j", RaterKind.MODEL, {})
    for conversation, outcome in zip(talks(2), [Outcome.failed(ErrorKind.TIMEOUT), ABSTAINED], strict=True):
        say(study, judge, conversation, "CQ8", outcome)
    gathered = collect_ratings(study, COACHING)
    sheet = gathered.item_matrix(number(gathered, "CQ8"))
    assert np.isnan(sheet.values).all()
    assert sheet.states.tolist() == [[AnswerState.ERROR], [AnswerState.ABSTAINED]]


def test_only_the_main_round_is_on_the_sheet_and_repeats_stand_beside_it(study: Study) -> None:
    anna = study.save_rater("anna", RaterKind.PERSON, {})
    bob = study.save_rater("bob", RaterKind.PERSON, {})
    (conversation,) = talks(1)
    say(study, anna, conversation, "CQ8", "YES")
    say(study, anna, conversation, "CQ8", "NO", round=Round.REPEAT)
    say(study, bob, conversation, "CQ8", "NO", round=Round.REPEAT)
    say(study, bob, conversation, "CQ8", "NO", round=Round.GOLD)
    gathered = collect_ratings(study, COACHING)
    item = number(gathered, "CQ8")
    np.testing.assert_array_equal(gathered.item_matrix(item).values, [[1, np.nan]])
    assert gathered.repeated_answers(item, "anna")[0].tolist() == [[1, 0]]
    assert gathered.left_out == {"of the gold round": 1}


def test_a_judges_first_answer_counts_whatever_its_repeats_are_called(study: Study) -> None:
    judge = study.save_rater("j", RaterKind.MODEL, {})
    (conversation,) = talks(1)
    for repeat, answer in [(3, "NO"), (1, "YES"), (2, "NO")]:
        say(study, judge, conversation, "CQ8", answer, repeat=repeat)
    gathered = collect_ratings(study, COACHING)
    item = number(gathered, "CQ8")
    assert gathered.item_matrix(item).values.tolist() == [[1]]
    assert gathered.repeated_answers(item, "j")[0].tolist() == [[1, 0, 0]]


def test_simulated_raters_other_wordings_and_values_off_the_scale_are_left_out_and_counted(study: Study) -> None:
    judge = study.save_rater("j", RaterKind.MODEL, {})
    puppet = study.save_rater("puppet", RaterKind.SIMULATION, {})
    (conversation,) = talks(1)
    say(study, puppet, conversation, "safety", 3, EMPATHY, turn=1)
    say(study, judge, conversation, "safety", 6, EMPATHY, turn=1)
    say(study, judge, conversation, "emotion", 3, EMPATHY, turn=1, item_hash="older", asked="older")
    gathered = collect_ratings(study, EMPATHY)
    assert gathered.left_out == {
        "by simulated raters, who are not people": 1,
        OFF_SCALE: 1,
        "of items in another wording": 1,
    }
    assert not gathered.unit.size
    assert not gathered.raters


def test_the_rule_check_is_no_judge_even_where_an_earlier_version_gave_answers(study: Study) -> None:
    anna = study.save_rater("anna", RaterKind.PERSON, {})
    check = study.save_rater("signals", RaterKind.MODEL, {"rules": "1"})
    older = study.save_rater("signals", RaterKind.MODEL, {"lexicons": "1"})
    (conversation,) = talks(1)
    say(study, anna, conversation, "CQ8", "YES")
    say(study, check, conversation, "CQ8", ABSTAINED)
    say(study, older, conversation, "CQ8", "NO")
    assert older.name.startswith("signals @")
    gathered = collect_ratings(study, COACHING)
    assert (gathered.people, gathered.judges) == (("anna",), ())
    assert gathered.item_matrix(number(gathered, "CQ8")).values.tolist() == [[1]]


def test_a_worked_example_of_the_instrument_is_no_unit(study: Study) -> None:
    judge = study.save_rater("j", RaterKind.MODEL, {})
    example = next(example for item in COACHING.items for example in item.examples)
    turns = tuple(Turn(turn.user, turn.assistant) for turn in example.turns)
    say(study, judge, Conversation("copied", "bot", turns), "CQ8", "YES")
    assert collect_ratings(study, COACHING).left_out == {"of worked examples of the instrument": 1}


def test_an_empty_study_gives_empty_sheets(study: Study) -> None:
    gathered = collect_ratings(study, COACHING)
    assert gathered.conversations == ()
    assert all(gathered.item_matrix(item).values.shape == (0, 0) for item in range(len(gathered.items)))


def test_ratings_can_be_limited_to_some_conversations(study: Study) -> None:
    judge = study.save_rater("j", RaterKind.MODEL, {})
    for conversation, answer in zip(talks(3), ["YES", "NO", "YES"], strict=True):
        say(study, judge, conversation, "CQ8", answer)
    gathered = collect_ratings(study, COACHING)
    chosen = gathered.of_conversations(np.array([talk.identity.id != "c1" for talk in gathered.conversations]))
    assert chosen.item_matrix(number(gathered, "CQ8")).values.tolist() == [[1], [1]]
