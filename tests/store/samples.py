"""Small studies that the tests of this folder start from."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attunement.conversations import Conversation
from attunement.instruments import Value, load
from attunement.ratings import Outcome, RaterKind
from attunement.store import AnswerRecord, Rater, StoredRating, Study
from tests.builders import rating, talk

COACHING = load("coaching-v1")
EMPATHY = load("empathy-v2")


def talks(count: int) -> list[Conversation]:
    """So many conversations, each with words of its own."""
    return [talk((f"I feel {number}.", f"Tell me more about {number}."), id=f"c{number}") for number in range(count)]


def keep_rating(
    study: Study, rater: Rater, conversation: Conversation, item: str, answer: Value | Outcome, **more: object
) -> None:
    """Keep one rating of a conversation that is in the study."""
    (key,) = study.save_conversations([conversation])
    made = rating(COACHING, item, answer, conversation=conversation.identity, rater=rater.name, **more)
    study.write([], [StoredRating(key, rater.key, made)])


def fill(place: str | Path, conversations: Sequence[Conversation] | None = None) -> Study:
    """An open study in which the judge `j` met every criterion of each conversation, with an answer behind each."""
    study = Study(place, create=True)
    study.save_instrument(COACHING)
    judge = study.save_rater("j", RaterKind.MODEL, {"temperature": 0})
    kept = talks(3) if conversations is None else conversations
    for key, conversation in zip(study.save_conversations(kept), kept, strict=True):
        answers: list[AnswerRecord] = []
        ratings: list[StoredRating] = []
        for item in COACHING.items:
            prompt = f"{conversation.fingerprint()}-{item.id}"
            answers.append(AnswerRecord(prompt, judge.key, 0, text=f"said about {item.id}", cost=0.25, at="2026-01-01"))
            made = rating(COACHING, item.id, "YES", conversation=conversation.identity, asked=prompt, reasoning="Fine.")
            ratings.append(StoredRating(key, judge.key, made))
        study.write(answers, ratings)
    return study


def lines(path: Path, records: list[dict[str, Any]]) -> Path:
    """A JSONL file with these records."""
    path.write_text("".join(f"{json.dumps(record)}\n" for record in records), "utf-8")
    return path
