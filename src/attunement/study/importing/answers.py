"""Answers that were made elsewhere: what does a row say, and is it an answer on the instrument's scale?

A long table has an item and an answer in each row. A score record has many answers in one row: in an object `scores`,
and in fields that are called like an item. Nothing is guessed: what is not on the scale is no answer.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from attunement.conversations.readers.record import BadRecord, is_object
from attunement.instruments import Instrument, Value
from attunement.instruments.model import Scores
from attunement.ratings import ABSTAINED, MISSING, ErrorKind, Outcome
from attunement.study.importing.columns import Columns, find

LARGEST = 2**31 - 1
"""The largest whole number that both databases take."""


class Given(NamedTuple):
    """One answer as a row gives it."""

    conversation: str
    system: str | None
    turn: int | None
    item: str
    outcome: Outcome | None
    """None where the answer is left blank: that is no answer, and no error of the rater."""
    rater: str | None
    repeat: int
    reasoning: str
    detail: str
    settings: dict[str, Any]
    at: str


def answers(fields: Mapping[str, Any], instrument: Instrument, columns: Columns) -> Iterator[Given]:
    """The answers in a row.

    Raises:
        BadRecord: The row does not say what it is about.
    """
    found = find(columns, tuple(fields))
    said = {what: None if column is None else fields[column] for what, column in found.items()}
    conversation = _text(said["conversation"])
    if not conversation:
        raise BadRecord("nothing says which conversation is meant; name the column with --conversation-column")
    reasoning = _text(said["reasoning"]) or ""
    temperature = said["temperature"]
    for item, value in _values(fields, found, instrument):
        outcome = read_answer(value, instrument)
        failed = outcome is not None and outcome.error is not None
        off_scale = failed and outcome != MISSING
        yield Given(
            conversation=conversation,
            system=_text(said["system"]),
            turn=_number(said["turn"], "turn"),
            item=item,
            outcome=outcome,
            rater=_text(said["rater"]),
            repeat=_number(said["repeat"], "repeat") or 0,
            reasoning="" if failed else reasoning,
            detail=f"{_shown(value)} is no answer on the scale" if off_scale else reasoning if failed else "",
            settings={} if temperature in (None, "") else {"temperature": temperature},
            at=_text(said["at"]) or "",
        )


def _values(
    fields: Mapping[str, Any], found: Mapping[str, str | None], instrument: Instrument
) -> Iterator[tuple[str, Any]]:
    known = {item.id for item in instrument.items}
    if found["item"] is not None and found["answer"] is not None:
        item = _text(fields[found["item"]])
        if item not in known:
            raise BadRecord(f"{instrument.id} has no item {_shown(fields[found['item']])}")
        yield item, fields[found["answer"]]
        return
    scores = fields.get("scores")
    inner: dict[str, Any] = scores if is_object(scores) else {}
    if unknown := [item for item in inner if item not in known]:
        raise BadRecord(f"{instrument.id} has no item {_shown(unknown[0])}")
    values = {**inner, **{item: fields[item] for item in fields if item in known}}
    if not values:
        raise BadRecord(
            "no answer is recognised; name the columns with --item-column and --answer-column "
            f"(there are {', '.join(map(repr, list(fields)[:12]))})"
        )
    yield from values.items()


def read_answer(value: Any, instrument: Instrument) -> Outcome | None:
    """The outcome that stands in a cell; None for a blank one, and an ERROR for what is not on the scale.

    Tables spell answers in their own ways: "yes", "N/A", and 4.0 for 4 where a column has gaps. Nothing else is taken
    for an answer; that 4.5, true or "maybe" were meant as one would be a guess.
    """
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    word = value.strip().upper() if isinstance(value, str) else ""
    if word == "ERROR":
        return MISSING
    if word == "ABSTAINED":
        return ABSTAINED
    answer: Value | None = _score(value) if isinstance(instrument.scale, Scores) else word.replace("N/A", "NA")
    return Outcome.of(answer) if answer in instrument.scale.answers else Outcome.failed(ErrorKind.MALFORMED)


def _score(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return int(number) if number.is_integer() else None


def _text(value: Any) -> str | None:
    """The text in a cell, or a number as text, as ids often are; None where there is nothing."""
    if isinstance(value, str):
        return value or None
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _number(value: Any, what: str) -> int | None:
    if value is None or value == "":
        return None
    number = _score(value)
    if number is None or not 0 <= number <= LARGEST:
        raise BadRecord(f"{what} is {_shown(value)}, which is no number to count with")
    return number


def _shown(value: Any) -> str:
    return f"{str(value)[:40]!r}"
