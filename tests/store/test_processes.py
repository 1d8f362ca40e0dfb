"""Several processes on one study at the same time."""

import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from sqlalchemy import func, select

from attunement.ratings import ErrorKind, Outcome, RaterKind
from attunement.store import AnswerRecord, StoredRating, Study, schema
from tests.builders import rating
from tests.store.samples import COACHING, talks

PROJECT = Path(__file__).parents[2]
CONVERSATIONS, BATCH = 60, 10


def work(place: str, number: int) -> None:
    """What each process does: make or open the study, and write ratings for all conversations, in an order of its own.

    Every third thing fails at first, so that errors are replaced while others replace them too.
    """
    order = random.Random(number)
    with Study(place, create=True) as study:
        study.save_instrument(COACHING)
        judge = study.save_rater("j", RaterKind.MODEL, {})
        conversations = talks(CONVERSATIONS)
        order.shuffle(conversations)
        for start in range(0, CONVERSATIONS, BATCH):
            batch = conversations[start : start + BATCH]
            keys = study.save_conversations(batch)
            for attempt in (1, 2):
                answers: list[AnswerRecord] = []
                ratings: list[StoredRating] = []
                for key, conversation in zip(keys, batch, strict=True):
                    for place_, item in enumerate(COACHING.items):
                        asked = f"{conversation.id}-{item.id}"
                        outcome = Outcome.of("YES")
                        if attempt == 1 and place_ % 3 == number % 3:
                            outcome = Outcome.failed(ErrorKind.SERVER)
                        made = rating(
                            COACHING,
                            item.id,
                            outcome,
                            conversation=conversation.identity,
                            asked=asked,
                            reasoning=f"by {number}",
                        )
                        answers.append(AnswerRecord(asked, judge.key, 0, text=f"by {number}", error=outcome.error))
                        ratings.append(StoredRating(key, judge.key, made))
                order.shuffle(answers)
                order.shuffle(ratings)
                study.write(answers, ratings)


@pytest.mark.slow
def test_processes_that_write_at_once_lose_nothing_and_keep_nothing_twice(study_place: str) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.store.test_processes", study_place, str(number)],
            cwd=PROJECT,
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(3)
    ]
    complaints = [process.communicate()[1] for process in processes]
    assert complaints == [""] * 3
    assert [process.returncode for process in processes] == [0] * 3

    expected = CONVERSATIONS * len(COACHING.items)
    with Study(study_place) as study, study.reading() as connection:
        assert study.conversation_count() == CONVERSATIONS
        assert len(study.raters()) == len(study.instruments()) == 1
        (judge,) = study.raters()
        made = list(study.ratings())
        assert len(made) == expected
        assert {kept.outcome for kept in made} == {Outcome.of("YES")}
        assert len(study.answered([kept.asked for kept in made], judge)) == expected
        # What one process wrote as a value was not changed by another: answer and rating are of the same hand.
        by = Counter(kept.reasoning for kept in made)
        assert by.total() == expected
        assert connection.scalar(select(func.count()).select_from(schema.answers)) == expected


@pytest.mark.slow
def test_many_processes_that_make_one_study_at_once_all_succeed(study_place: str) -> None:
    opening = "import sys; from attunement.store import Study; Study(sys.argv[1], create=True).close()"
    processes = [
        subprocess.Popen([sys.executable, "-c", opening, study_place], stderr=subprocess.PIPE, text=True)
        for _ in range(12)
    ]
    assert [process.communicate()[1] for process in processes] == [""] * 12


if __name__ == "__main__":
    work(sys.argv[1], int(sys.argv[2]))
