"""Ratings that Attunement exported, read back as they were."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from attunement.conversations import Identity
from attunement.conversations.readers.record import BadRecord
from attunement.ratings import Mark, RaterKind, Rating, Round
from attunement.study.encoding import from_json, outcome_of, rule_of
from attunement.study.exporting import RATING
from attunement.study.importing.answers import LARGEST
from attunement.study.records import AnswerRecord
from attunement.study.table_files import Column

_NEEDED = frozenset(column.name for column in RATING)


class Exported(NamedTuple):
    """A rating, its rater's settings, and the judge's answer behind it if there is one, its rater still unknown."""

    rating: Rating
    settings: dict[str, Any]
    answer: AnswerRecord | None


def is_exported(fields: Mapping[str, Any]) -> bool:
    """Whether these are the columns of an export."""
    return fields.keys() >= _NEEDED


def exported(fields: Mapping[str, Any]) -> Exported:
    """What was exported as `fields`.

    Raises:
        BadRecord: Something in it is not what an export writes.
    """
    try:
        said = {column.name: _value(fields[column.name], column) for column in RATING}
        return _made(said)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise BadRecord(f"this is not as Attunement exported it ({' '.join(str(error).split())[:120]})") from error


def _made(said: dict[str, Any]) -> Exported:
    rating = Rating(
        conversation=Identity(said["system"], said["conversation"]),
        turn=said["turn"],
        item=said["item"],
        outcome=outcome_of(said["outcome"], said["value"], said["error"]),
        rater=said["rater"],
        rater_kind=RaterKind(said["rater_kind"]),
        repeat=said["repeat"],
        round=Round(said["round"]),
        reasoning=said["reasoning"],
        evidence=tuple(said["evidence"]),
        rules=tuple(rule_of(rule) for rule in said["rules"]),
        marks=frozenset(Mark(mark) for mark in said["marks"]),
        item_hash=said["item_hash"],
        asked=said["asked"],
        instrument=said["instrument_hash"],
        detail=said["detail"],
        at=said["at"],
    )
    return Exported(rating, dict(said["rater_settings"]), _answer(said, rating))


def _answer(said: dict[str, Any], rating: Rating) -> AnswerRecord | None:
    if said["attempts"] is None:
        return None
    return AnswerRecord(
        prompt=rating.asked,
        rater=0,
        repeat=rating.repeat,
        text=said["reply"],
        error=rating.outcome.error,
        detail=rating.detail,
        model=said["model"],
        finish_reason=said["finish_reason"],
        prompt_tokens=said["prompt_tokens"],
        completion_tokens=said["completion_tokens"],
        cached_tokens=said["cached_tokens"],
        cost=said["cost"],
        latency=said["latency"],
        attempts=said["attempts"],
        logprobs=said["logprobs"],
        at=rating.at,
    )


def _value(value: Any, column: Column) -> Any:
    """The value of a cell; what a table holds as text becomes what it was."""
    if value is None or value == "":
        # A table writes nothing both for no text and for an empty one.
        return "" if column.kind == "text" and column.name not in _MAY_BE_ABSENT else None
    match column.kind:
        case "value":
            return str(value)
        case "text":
            return _of(str, value, column)
        case "integer":
            number = _of(int, int(value) if isinstance(value, str) else value, column)
            if not 0 <= number <= LARGEST:
                raise ValueError(f"{column.name} is {number}")
            return number
        case "number":
            return float(value)
        case _:
            return from_json(value) if isinstance(value, str) else value


_MAY_BE_ABSENT = frozenset({"error", "model", "finish_reason"})


def _of(kind: type, value: Any, column: Column) -> Any:
    if type(value) is not kind:
        raise ValueError(f"{column.name} is {str(value)[:40]!r}")
    return value
