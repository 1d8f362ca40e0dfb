"""Runs against a fake judge: the conversations, the call and what the study holds afterwards."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from attunement import api
from attunement.conversations import Conversation
from attunement.instruments import load
from attunement.ratings import Rating
from attunement.store import Study
from tests.builders import talk
from tests.fake_judge import Asked, FakeJudge

COACHING = load("coaching-v1")
EMPATHY = load("empathy-v2")
DUE_AT_THREE = sum(item.minimum_turns <= 3 for item in COACHING.items)
SMALL = ["CQ8", "CQ9", "CQ1", "CQ3"]


def chats(count: int, *, system: str = "bot", turns: int = 3) -> list[Conversation]:
    return [
        talk(*[(f"I worry about exam {n}, part {t}.", f"Exam {n} sounds heavy, part {t} too.") for t in range(turns)],
             id=f"c{n}", system=system)
        for n in range(count)
    ]  # fmt: skip


def judge(
    fake: FakeJudge, conversations: list[Conversation] | Iterator[Conversation], place: Path, **settings: Any
) -> api.Result:
    defaults: dict[str, Any] = {"judges": "openai:fake", "base_url": fake.url, "instrument": COACHING}
    return api.judge(conversations, place, **{**defaults, **settings})


def kept(place: Path) -> list[Rating]:
    with Study(place) as study:
        return list(study.ratings())


def answering(answers: dict[str, str], others: str = "YES") -> Callable[[Asked], str]:
    """A judge that gives these answers by criterion."""

    def reply(asked: Asked) -> str:
        criterion = asked.prompt.split("Criterion ID: ")[1].split()[0]
        return json.dumps({"reasoning": "Turn 1: 'sounds heavy'", "answer": answers.get(criterion, others)})

    return reply
