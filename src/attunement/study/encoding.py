"""How records become rows and back, whatever text they hold."""

import json
from collections.abc import Mapping
from typing import Any

import orjson
from sqlalchemy import RowMapping

from attunement.conversations import Conversation, Identity, Origin, Turn
from attunement.instruments import Value
from attunement.ratings import Consistency, ErrorKind, Mark, Outcome, RaterKind, Rating, Round, RuleFinding, State


def to_json(value: Any) -> str:
    """JSON text; lone surrogates, which orjson refuses, are written as escapes."""
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    except TypeError:
        return json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"))


def from_json(text: str) -> Any:
    """The value behind `to_json`."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return json.loads(text)


def conversation_row(conversation: Conversation) -> dict[str, Any]:
    """The row of a conversation, without its key."""
    return {
        "system": conversation.system,
        "id": conversation.id,
        "fingerprint": conversation.fingerprint(),
        "turns": to_json(conversation.turns),
        "turn_count": len(conversation.turns),
        "metadata": to_json(dict(conversation.metadata)),
        "instructions": conversation.instructions,
        "origin": conversation.origin.value,
    }


def conversation_of(row: RowMapping) -> Conversation:
    """The conversation in a row."""
    return Conversation(
        id=row["id"],
        system=row["system"],
        turns=tuple(Turn(*pair) for pair in from_json(row["turns"])),
        metadata=from_json(row["metadata"]),
        instructions=row["instructions"],
        origin=Origin(row["origin"]),
    )


def rating_row(rating: Rating, conversation: int, rater: int) -> dict[str, Any]:
    """The row of a rating whose conversation and rater have these keys."""
    return {
        "conversation": conversation,
        "turn": rating.turn or 0,
        "item": rating.item,
        "item_hash": rating.item_hash,
        "asked": rating.asked,
        "rater": rater,
        "repeat": rating.repeat,
        "round": rating.round.value,
        "state": rating.outcome.state.value,
        "value": None if rating.outcome.value is None else str(rating.outcome.value),
        "error": rating.outcome.error and rating.outcome.error.value,
        "reasoning": rating.reasoning,
        "evidence": to_json(rating.evidence) if rating.evidence else "[]",
        "rules": to_json([rule._asdict() for rule in rating.rules]) if rating.rules else "[]",
        "marks": " ".join(sorted(rating.marks)),
        "detail": rating.detail,
        "instrument": rating.instrument,
        "at": rating.at,
    }


def rating_of(row: RowMapping) -> Rating:
    """The rating in a row that is joined with its conversation (`system`, `id`) and rater (`name`, `kind`)."""
    return Rating(
        conversation=Identity(row["system"], row["id"]),
        turn=row["turn"] or None,
        item=row["item"],
        outcome=outcome_of(row["state"], row["value"], row["error"]),
        rater=row["name"],
        rater_kind=RaterKind(row["kind"]),
        repeat=row["repeat"],
        round=Round(row["round"]),
        reasoning=row["reasoning"],
        evidence=tuple(from_json(row["evidence"])),
        rules=tuple(_rule(rule) for rule in from_json(row["rules"])),
        marks=frozenset(Mark(mark) for mark in row["marks"].split()),
        item_hash=row["item_hash"],
        asked=row["asked"],
        instrument=row["instrument"],
        detail=row["detail"],
        at=row["at"],
    )


def outcome_of(state: str, value: str | None, error: str | None) -> Outcome:
    """The outcome in three columns. Scores are kept as text beside YES and NO."""
    answer: Value | None = int(value) if value is not None and value.lstrip("-").isdigit() else value
    return Outcome(State(state), answer, ErrorKind(error) if error else None)


def _rule(fields: Mapping[str, Any]) -> RuleFinding:
    finding = RuleFinding(**fields)
    return finding._replace(consistency=Consistency(finding.consistency))
