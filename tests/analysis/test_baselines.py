"""Trivial judges: what counting words and question marks, or always saying the same, reaches."""

from pathlib import Path

import numpy as np
import pytest

from attunement.analysis.failures import QUESTION_MARKS, WORD_COUNT
from attunement.analysis.judge_agreement import CONSTANT, baselines
from attunement.analysis.ratings_table import Scale, collect_ratings
from attunement.analysis.summary import text_counts
from attunement.ratings import RaterKind
from attunement.statistics.kappa import PairwiseKappa, judge_kappa
from attunement.store import Study
from tests.analysis.trust_samples import FIVE
from tests.builders import talk
from tests.store.samples import COACHING, EMPATHY, keep_rating


def test_words_and_question_marks_of_the_replies_are_counted(tmp_path: Path) -> None:
    with Study(tmp_path / "s.db", create=True) as study:
        study.save_instrument(COACHING)
        anna = study.save_rater("anna", RaterKind.PERSON, {})
        asking = talk(("Hello?", "How are you? Really?"), ("Bad.", "Why"), id="a")
        silent = talk(("Hello", ""), id="b")
        keep_rating(study, anna, asking, "CQ1", "YES")
        keep_rating(study, anna, silent, "CQ1", "NO")
        counts = text_counts(study, collect_ratings(study, COACHING))
    np.testing.assert_array_equal(counts[WORD_COUNT], [5, np.nan])
    np.testing.assert_array_equal(counts[QUESTION_MARKS], [2, np.nan])


def test_for_a_reply_only_its_own_words_are_counted(tmp_path: Path) -> None:
    from attunement.store import StoredRating
    from tests.builders import rating

    with Study(tmp_path / "s.db", create=True) as study:
        study.save_instrument(EMPATHY)
        anna = study.save_rater("anna", RaterKind.PERSON, {})
        conversation = talk(("Hi", "one two three"), ("Well", "four?"))
        (key,) = study.save_conversations([conversation])
        made = rating(EMPATHY, "safety", 4, conversation=conversation.identity, turn=2, rater="anna")
        study.write([], [StoredRating(key, anna.key, made)])
        counts = text_counts(study, collect_ratings(study, EMPATHY))
    assert (counts[WORD_COUNT].tolist(), counts[QUESTION_MARKS].tolist()) == ([1], [1])


def test_ratings_without_text_leave_only_the_constant_judge(tmp_path: Path) -> None:
    with Study(tmp_path / "s.db", create=True) as study:
        study.save_instrument(COACHING)
        anna = study.save_rater("anna", RaterKind.PERSON, {})
        keep_rating(study, anna, talk(id="a"), "CQ1", "YES")
        assert text_counts(study, collect_ratings(study, COACHING)) == {}
    assert set(baselines({}, np.array([[1.0], [2.0]]), FIVE)) == {CONSTANT}


@pytest.mark.parametrize("sign", [1, -1])
def test_a_count_that_orders_units_as_people_do_gets_their_scores(sign: int) -> None:
    scores = np.repeat([1.0, 2.0, 3.0, 4.0, 5.0], 10)
    made = baselines({WORD_COUNT: sign * scores * 10}, scores[:, None], FIVE)
    np.testing.assert_array_equal(made[WORD_COUNT], scores)


def test_a_baselines_answers_are_about_as_common_as_the_peoples() -> None:
    rng = np.random.default_rng(0)
    people = rng.choice([3.0, 4.0, 5.0], (300, 2), p=[0.1, 0.6, 0.3])
    made = baselines({WORD_COUNT: rng.permutation(300).astype(float)}, people, FIVE)[WORD_COUNT]
    assert np.mean(made == 4) == pytest.approx(np.mean(people == 4), abs=0.02)
    found = judge_kappa(made, people)
    assert isinstance(found, PairwiseKappa)
    assert abs(found.value) < 0.2


def test_a_count_that_never_varies_and_a_scale_without_order_give_no_baseline() -> None:
    people = np.array([[1.0], [2.0], [3.0]])
    assert WORD_COUNT not in baselines({WORD_COUNT: np.full(3, 7.0)}, people, FIVE)
    colours = Scale((0.0, 1.0, 2.0), ("red", "green", "blue"), ordered=False)
    assert set(baselines({WORD_COUNT: np.arange(3.0)}, people - 1, colours)) == {CONSTANT}


def test_nobodys_ratings_give_no_baseline() -> None:
    assert baselines({}, np.full((4, 2), np.nan), FIVE) == {}
