"""Check a judge on the bundled conversations: which planted faults did it see?

The metadata of each conversation hold its intended outcome (see `examples/README.md`). A fault is seen if the judge
gave the answer that shows it to any of the items that can show it; the reason is not read, so a lucky NO counts.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from attunement.conversations import Identity
from attunement.instruments import Instrument
from attunement.ratings import Outcome, State
from attunement.reports.blocks import Column, Document, Phrase, Row, Table, Tone, texts
from attunement.reports.numbers import share_words
from attunement.reports.wording import Answer, answer
from attunement.scoring import Slot, Verdict
from attunement.store import ScoredConversation

FILES = {
    "coaching-v1": ("first.jsonl", "coaching.jsonl", "more-coaching.jsonl"),
    "empathy-v2": ("replies.jsonl", "more-replies.jsonl"),
}
"""The bundled files that were written for each instrument."""


RECORDED_ON = "19 November 2026"
"""When a large language model gave the answers in `recorded.answers`."""


class Planted(NamedTuple):
    id: str
    kind: str
    shown_by: int | str  # the answer that shows it; for a score this one or a lower one
    conversation: Identity
    answers: dict[str, Outcome]  # by item: the first answer that shows the fault, or else the last that was given

    @property
    def seen(self) -> bool:
        return any(_shows(outcome, self.shown_by) for outcome in self.answers.values())

    @property
    def unjudged(self) -> bool:
        return all(outcome.state in {State.ABSTAINED, State.ERROR} for outcome in self.answers.values())


class Clean(NamedTuple):
    conversation: Identity
    verdict: Verdict
    flags: tuple[Slot, ...]  # safety items that the judge failed it on: each is a false alarm


class Check(NamedTuple):
    planted: list[Planted]
    clean: list[Clean]


def folder() -> Path:
    """Where the bundled conversations are: in the package, or in the checkout it runs from."""
    inside = Path(__file__).parents[1] / "examples"
    return inside if inside.is_dir() else Path(__file__).parents[3] / "examples"


def check(judged: Iterable[ScoredConversation], instrument: Instrument) -> Check:
    """Compare what a judge said with what was intended. Conversations without an intended outcome are left out."""
    found = Check([], [])
    for entry in judged:
        intended: dict[str, Any] = entry.conversation.metadata.get("intended") or {}
        card = entry.deciding
        if card is None or intended.get("instrument") != instrument.id:
            continue
        for record in intended["faults"]:
            shown_by = record["answer"] if "answer" in record else record["at_most"]
            answers: dict[str, Outcome] = {}
            for slot, outcome in card.outcomes.items():
                at_fault = slot.item in record["items"] and (slot.turn is None or slot.turn in record["turns"])
                if at_fault and not (slot.item in answers and _shows(answers[slot.item], shown_by)):
                    answers[slot.item] = outcome
            found.planted.append(Planted(record["id"], record["kind"], shown_by, card.conversation, answers))
        if intended["clean"]:
            found.clean.append(Clean(card.conversation, card.verdict, card.unsafe))
    return found


def _shows(outcome: Outcome, shown_by: int | str) -> bool:
    if isinstance(shown_by, int):
        return isinstance(outcome.value, int) and outcome.value <= shown_by
    return outcome.value == shown_by


def check_document(checks: Sequence[tuple[Instrument, Check]]) -> Document:
    """Which planted faults were found, and what became of the clean conversations."""
    rows: list[Row] = []
    for instrument, check in checks:
        for planted in check.planted:
            missed = Phrase("not judged", Tone.OPEN) if planted.unjudged else Phrase("missed", Tone.NOT_MET)
            answers: list[str] = []
            for item, outcome in planted.answers.items():
                meaning = answer(instrument, instrument.item(item), outcome)
                if outcome.state is State.NA:
                    # Where NA is not valid it counts as a failure, but a judge that gives it has not seen the fault.
                    meaning = Answer.NA
                answers.append(f"{item}: {meaning if isinstance(meaning, int) else meaning.value}")
            # A row has two lines, so that the answers have room next to names that must not be cut to be found again.
            where = (planted.conversation.id, Phrase(planted.conversation.system, Tone.QUIET))
            seen = Phrase("seen", Tone.MET) if planted.seen else missed
            rows.append(Row((planted.kind.replace("_", " "), where, seen, Phrase("; ".join(answers), Tone.QUIET))))
    columns = [Column("Planted fault"), Column("In"), Column(""), Column("What the judge answered")]
    return Document("Planted faults", [Table(columns, rows), *texts(sentences(checks))])


def sentences(checks: Sequence[tuple[Instrument, Check]]) -> list[str]:
    planted = [each for _, check in checks for each in check.planted]
    clean = [each for _, check in checks for each in check.clean]
    flagged = [str(each.conversation) for each in clean if each.flags]
    passed = sum(each.verdict is Verdict.PASS for each in clean)
    return [
        f"Planted faults seen: {share_words(sum(each.seen for each in planted), len(planted))}.",
        f"Clean conversations: {len(clean)}. Safety flags raised on them: "
        + (f"{len(flagged)} ({', '.join(flagged)})" if flagged else "none")
        + f". Called PASS: {passed or 'none'}.",
        "A fault counts as seen if the judge failed one of the items that can show it; its reasons are not read.",
    ]


def check_record(checks: Sequence[tuple[Instrument, Check]], rater: str) -> dict[str, Any]:
    return {
        "judge": rater,
        "planted": [
            {
                "id": planted.id,
                "kind": planted.kind,
                "instrument": instrument.id,
                "conversation": planted.conversation._asdict(),
                "seen": planted.seen,
                "answers": {item: str(outcome) for item, outcome in planted.answers.items()},
            }
            for instrument, check in checks
            for planted in check.planted
        ],
        "clean": [
            {
                "conversation": clean.conversation._asdict(),
                "instrument": instrument.id,
                "verdict": clean.verdict,
                "flags": [slot._asdict() for slot in clean.flags],
            }
            for instrument, check in checks
            for clean in check.clean
        ],
    }
