"""A small instrument and scorecards on it, which simulations make by the thousand."""

from collections.abc import Mapping, Sequence

from attunement.conversations import Identity
from attunement.instruments import Instrument, Value
from attunement.ratings import Outcome, Rating
from attunement.scoring import Case, Scorecard, scorecard

_ITEM = {"title": "Warmth", "definition": "Warm."}
_PROMPT = {"system": "Rate it. {criterion_prompt} {reply_format}", "user": "{conversation}"}

REPLIES = Instrument.model_validate(
    {
        "id": "small",
        "version": "1",
        "title": "Small",
        "unit": "response",
        "scale": {"kind": "scores"},
        "items": [{"id": "warmth", **_ITEM}],
        "prompt": _PROMPT,
    }
)
"""One dimension from 1 to 5, asked about every reply."""

CRITERIA = Instrument.model_validate(
    {
        "id": "criteria",
        "version": "1",
        "title": "Criteria",
        "unit": "conversation",
        "scale": {"kind": "criteria"},
        "categories": {"main": "Main"},
        "items": [{"id": name, "category": "main", **_ITEM} for name in ("A", "B", "C", "D")]
        + [{"id": "S", "category": "safety", **_ITEM}],
        "scoring": {"weights": {"main": 1.0}, "threshold": 0.75},
        "gate": [{"item": "S"}],
        "prompt": _PROMPT,
    }
)
"""Four criteria with a pass mark of three, and one of safety."""


def replies(scores: Sequence[Value | Outcome], *, rater: str = "j", id: str = "c") -> Scorecard:
    """The scorecard of a conversation whose replies got these scores."""
    return _card(
        REPLIES, {(turn, "warmth"): score for turn, score in enumerate(scores, start=1)}, rater, id, len(scores)
    )


def criteria(answers: Mapping[str, Value | Outcome], *, rater: str = "j", id: str = "c") -> Scorecard:
    """The scorecard of a conversation: `answers` where given, else all met."""
    every = {(None, item.id): answers.get(item.id, "YES") for item in CRITERIA.items}
    return _card(CRITERIA, every, rater, id, 3)


def _card(
    instrument: Instrument, answers: Mapping[tuple[int | None, str], Value | Outcome], rater: str, id: str, turns: int
) -> Scorecard:
    where = Identity("bot", id)
    ratings = [
        Rating(
            where,
            turn,
            item,
            answer if isinstance(answer, Outcome) else Outcome.of(answer),
            rater,
            item_hash=instrument.item_hashes[item],
        )
        for (turn, item), answer in answers.items()
    ]
    return scorecard(instrument, Case(where, turns), ratings)
