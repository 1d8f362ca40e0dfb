"""What a run remembers as finished saves a look, and never hides a question."""

from typing import Any

import pytest
from sqlalchemy import func, select

from attunement import api
from attunement.conversations import Conversation
from attunement.instruments import Instrument, load
from attunement.store import Study, schema
from tests.builders import talk
from tests.fake_judge import Behaviour, FakeJudge

COACHING = load("coaching-v1")
SMALL = ["CQ8", "CQ9", "CQ1", "CQ3"]


def chats(count: int) -> list[Conversation]:
    return [
        talk(*[(f"I worry about exam {n}, part {t}.", f"Exam {n} sounds heavy.") for t in range(3)], id=f"c{n}")
        for n in range(count)
    ]


def judge(fake: FakeJudge, count: int, place: str, **settings: Any) -> api.Result:
    defaults: dict[str, Any] = {"judges": "openai:fake", "base_url": fake.url, "instrument": COACHING, "items": SMALL}
    return api.judge(chats(count), place, **{**defaults, **settings})


def finished(place: str) -> int:
    with Study(place) as study, study.reading() as connection:
        return connection.scalar(select(func.count()).select_from(schema.finished)) or 0


def test_a_finished_conversation_is_not_looked_through_again(study_place: str, monkeypatch: pytest.MonkeyPatch):
    with FakeJudge() as fake:
        judge(fake, 3, study_place)
        looked: list[int] = []
        rated = Study.rated
        monkeypatch.setattr(Study, "rated", lambda self, keys, rater: looked.extend(keys) or rated(self, keys, rater))
        again = judge(fake, 4, study_place)
    assert finished(study_place) == 4
    assert len(looked) == 1
    assert (again.progress.already_done, again.progress.calls) == (3 * len(SMALL), len(SMALL))


def test_other_questions_are_asked_of_a_finished_conversation(study_place: str):
    with FakeJudge() as fake:
        judge(fake, 2, study_place)
        assert judge(fake, 2, study_place, items=[*SMALL, "CQ6"]).progress.calls == 2
        assert judge(fake, 2, study_place, repeats=2).progress.calls == 2 * len(SMALL)
        items = tuple(
            item.model_copy(update={"definition": "Other words."}) if item.id == "CQ1" else item
            for item in COACHING.items
        )
        reworded = Instrument.model_validate(COACHING.model_copy(update={"items": items}).model_dump())
        assert judge(fake, 2, study_place, instrument=reworded).progress.calls == 2


def test_a_conversation_with_an_error_is_finished_only_when_it_is_answered(study_place: str):
    with FakeJudge(Behaviour(answer=lambda asked: "no JSON")) as fake:
        judge(fake, 2, study_place)
        assert finished(study_place) == 0
        fake.behaviour = Behaviour()
        assert judge(fake, 2, study_place, retry_errors=True).progress.answered == 2 * len(SMALL)
    assert finished(study_place) == 2


def test_what_is_forgotten_is_not_finished(study_place: str):
    with FakeJudge() as fake:
        judge(fake, 2, study_place)
        with Study(study_place) as study:
            study.delete(study.find("c0")[0].key)
        assert finished(study_place) == 1
        assert judge(fake, 2, study_place).progress.calls == len(SMALL)
