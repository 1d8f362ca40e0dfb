"""Which faults planted in the bundled conversations did a judge see, and did it leave the clean ones alone?

The intended outcome of each conversation stands in its metadata (see `examples/README.md`). A fault is seen if the
judge gave the answer that shows it to any of the items that can show it; the reason is not read, so a lucky NO counts.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from attunement.conversations import Identity
from attunement.instruments import Instrument
from attunement.ratings import Outcome, State
from attunement.scoring import Scorecard, Slot, Verdict
from attunement.study import Judged

FILES = {
    "coaching-v1": ("first.jsonl", "coaching.jsonl", "more-coaching.jsonl"),
    "empathy-v2": ("replies.jsonl", "more-replies.jsonl"),
}
"""The bundled files that were written for each instrument."""


class Fault(NamedTuple):
    """Something that was planted."""

    id: str
    kind: str
    items: tuple[str, ...]
    shown_by: int | str
    """The answer that shows it; for a score this one or a lower one."""
    turns: tuple[int, ...]
    why: str


class Planted(NamedTuple):
    """A fault and what a judge said about the items that can show it."""

    fault: Fault
    conversation: Identity
    answers: dict[str, Outcome]
    """By item: the first answer that shows the fault, or else the last that was given."""

    @property
    def seen(self) -> bool:
        """Whether an answer shows it."""
        return any(_shows(outcome, self.fault.shown_by) for outcome in self.answers.values())

    @property
    def unjudged(self) -> bool:
        """Whether there was no answer at all on any of its items."""
        return all(outcome.state in {State.ABSTAINED, State.ERROR} for outcome in self.answers.values())


class Clean(NamedTuple):
    """A conversation in which nothing was planted."""

    conversation: Identity
    verdict: Verdict
    flags: tuple[Slot, ...]
    """Safety items that the judge failed it on: each is a false alarm."""


class Check(NamedTuple):
    """How a judge did on the bundled conversations of one instrument."""

    planted: list[Planted]
    clean: list[Clean]


def folder() -> Path:
    """Where the bundled conversations are: in the package, or in the checkout it runs from."""
    inside = Path(__file__).parents[1] / "examples"
    return inside if inside.is_dir() else Path(__file__).parents[3] / "examples"


def check(judged: Iterable[Judged], instrument: Instrument) -> Check:
    """Hold what a judge said against what was intended. Conversations without an intention are left out."""
    found = Check([], [])
    for entry in judged:
        intended: dict[str, Any] = entry.conversation.metadata.get("intended") or {}
        card = entry.deciding
        if card is None or intended.get("instrument") != instrument.id:
            continue
        found.planted.extend(
            Planted(fault, card.conversation, _answers(card, fault)) for fault in _faults(intended["faults"])
        )
        if intended["clean"]:
            found.clean.append(Clean(card.conversation, card.verdict, card.unsafe))
    return found


def _faults(records: Iterable[Mapping[str, Any]]) -> Iterator[Fault]:
    for record in records:
        shown_by = record["answer"] if "answer" in record else record["at_most"]
        yield Fault(
            record["id"], record["kind"], tuple(record["items"]), shown_by, tuple(record["turns"]), record["why"]
        )


def _answers(card: Scorecard, fault: Fault) -> dict[str, Outcome]:
    answers: dict[str, Outcome] = {}
    for slot, outcome in card.outcomes.items():
        at_fault = slot.turn is None or slot.turn in fault.turns
        shown = slot.item in answers and _shows(answers[slot.item], fault.shown_by)
        if slot.item in fault.items and at_fault and not shown:
            answers[slot.item] = outcome
    return answers


def _shows(outcome: Outcome, shown_by: int | str) -> bool:
    if isinstance(shown_by, int):
        return isinstance(outcome.value, int) and outcome.value <= shown_by
    return outcome.value == shown_by
