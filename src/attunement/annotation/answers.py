"""Check what a rater sent, and find the words they marked.

Nothing is taken on trust: an answer must stand on the item's scale, and marked words must stand in the transcript.

A browser does not show every text as it was kept: line ends become one kind, and some characters cannot be sent at
all. Raters therefore mark words in the text as it is shown, and what they marked is carried back to the text as kept.
Positions count characters, as Python does.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from attunement import evidence
from attunement.conversations import Unit
from attunement.errors import InputError
from attunement.evidence import CitationStatus, Finding
from attunement.instruments import Instrument, Item, Value
from attunement.ratings import ABSTAINED, Outcome, State
from attunement.scoring import is_failure

_UNSENDABLE = re.compile("[\x00\ud800-\udfff]")


def shown(text: str) -> str:
    """`text` as a page shows it."""
    return _UNSENDABLE.sub("�", text.replace("\r\n", "\n").replace("\r", "\n"))


def as_kept(text: str, start: int, end: int) -> tuple[int, int]:
    """Where the characters from `start` to `end` of `shown(text)` stand in `text`."""
    if "\r\n" not in text:
        return start, end
    kept = [at for at, sign in enumerate(text) if not (sign == "\n" and at and text[at - 1] == "\r")]
    kept.append(len(text))
    return kept[start], kept[end]


LONGEST_COMMENT = 10_000


class Span(BaseModel):
    """Words of a message that a rater marked, as characters of the text that the page shows."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    turn: int = Field(ge=1)
    speaker: Literal["user", "assistant"]
    start: int = Field(ge=0)
    end: int = Field(ge=1)


class Change(BaseModel):
    """All that a page knows about one item of a unit after something in it was changed."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    item: str = Field(max_length=200)
    number: int = Field(ge=1, le=2**31 - 1)
    """Counts the changes of a unit, so that one that arrives late changes nothing."""
    state: Literal["value", "na", "abstained"] | None = None
    value: Value | None = None
    comment: str = Field(default="", max_length=LONGEST_COMMENT)
    evidence: tuple[Span, ...] = Field(default=(), max_length=50)


class Draft(NamedTuple):
    """What stands on a page for one item."""

    item: str
    outcome: Outcome | None
    comment: str = ""
    evidence: tuple[dict[str, Any], ...] = ()
    number: int = 0


class Missing(NamedTuple):
    """What a unit lacks before it can be submitted."""

    item: str
    what: Literal["answer", "note"]


def due_items(instrument: Instrument, unit: Unit) -> tuple[str, ...]:
    """What is asked about `unit`: all that has enough turns, and what judges the whole at the end."""
    due = [item for item in instrument.items if item.minimum_turns <= len(unit.turns)]
    return tuple(item.id for item in sorted(due, key=lambda item: item.holistic))


def answers_of(instrument: Instrument, item: Item) -> tuple[Value, ...]:
    """The answers that a person can give: NA is not offered where the item rules it out."""
    return tuple(answer for answer in instrument.scale.answers if answer != "NA" or item.na_valid)


def read(change: Change, instrument: Instrument, unit: Unit, items: Sequence[str]) -> Draft:
    """The draft that a change amounts to.

    Raises:
        InputError: The item is not asked, the answer is not on its scale, or the marked words do not exist.
    """
    if change.item not in items:
        raise InputError(f"{change.item!r} is not asked about this unit")
    item = instrument.item(change.item)
    return Draft(
        change.item,
        _outcome(change, instrument, item),
        change.comment,
        tuple(_quoted(span, unit) for span in change.evidence),
        change.number,
    )


def needs_note(instrument: Instrument, item: Item, outcome: Outcome | None) -> bool:
    """Whether the answer must be explained: only where it fails the gate.

    To ask at the ends of every scale would teach raters to avoid them.
    """
    return outcome is not None and item.id in instrument.gate_ids and is_failure(instrument, item, outcome)


def missing(instrument: Instrument, items: Iterable[str], drafts: Mapping[str, Draft]) -> list[Missing]:
    """What has to be added before the unit can be submitted, in the order of the page."""
    found: list[Missing] = []
    for id in items:
        draft = drafts.get(id)
        if draft is None or draft.outcome is None:
            found.append(Missing(id, "answer"))
        elif needs_note(instrument, instrument.item(id), draft.outcome) and not draft.comment.strip():
            found.append(Missing(id, "note"))
    return found


def findings(draft: Draft, unit: Unit) -> tuple[dict[str, Any], ...]:
    """The marked words in the form in which ratings keep evidence, with their place in the text as it was kept."""
    return tuple(evidence.to_json(_finding(span, unit)) for span in draft.evidence)


def _outcome(change: Change, instrument: Instrument, item: Item) -> Outcome | None:
    if change.state is None or change.state == State.ABSTAINED:
        return ABSTAINED if change.state else None
    value = "NA" if change.state == State.NA else change.value
    if value not in answers_of(instrument, item) or (value == "NA") != (change.state == State.NA):
        raise InputError(f"{value!r} is no answer to {item.id}")
    return Outcome.of(value)


def _quoted(span: Span, unit: Unit) -> dict[str, Any]:
    words = ""
    if span.turn <= len(unit.turns) and span.start < span.end:
        words = shown(getattr(unit.turns[span.turn - 1], span.speaker))[span.start : span.end]
    if not words or len(words) != span.end - span.start:
        raise InputError("the marked words are not in this transcript")
    return {**span.model_dump(), "quote": words}


def _finding(span: Mapping[str, Any], unit: Unit) -> Finding:
    turn: int = span["turn"]
    message: str = getattr(unit.turns[turn - 1], span["speaker"])
    start, end = as_kept(message, span["start"], span["end"])
    return Finding(
        CitationStatus.FOUND,
        (turn,),
        message[start:end],
        found_turn=turn,
        speaker=span["speaker"],
        start=start,
        end=end,
    )
