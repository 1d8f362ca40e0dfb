"""Which scorecard decides about each conversation, and what does the gate say: of one alone, and of all of them?

The forms of a report for other programs all begin here, so that no two of them can disagree. A decision that
`attune gate --json` printed can be read back: then a summary shows what the gate really decided, limits and all.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple, cast

from attunement.conversations import Identity
from attunement.errors import InputError, StudyError
from attunement.instruments import Instrument
from attunement.reports.choosing import reworded
from attunement.reports.gate import (
    STOPPED,
    THROUGH,
    UNDECIDED,
    Decision,
    Entry,
    Kind,
    Limits,
    Reason,
    decide,
    decision_record,
)
from attunement.reports.gate_scope import caveats, crisis_talk, entries, version_note
from attunement.reports.html.page import Report
from attunement.reports.tally import Tally
from attunement.reports.wording import reworded_words
from attunement.scoring import Scorecard
from attunement.study import Study, Summary, judged


class Decided(NamedTuple):
    """A conversation and the card that decides about it; None where nobody judged it."""

    summary: Summary
    card: Scorecard | None
    exit_code: int
    """What the gate would say if this were the only conversation."""


class Gate(NamedTuple):
    """What the gate decides over a study."""

    exit_code: int
    accepted: str | None
    """What was accepted beforehand; it is said before anything else."""
    reasons: tuple[Reason, ...]
    notes: tuple[str, ...]
    record: dict[str, Any]
    """As `attune gate --json` prints it."""


WORDS = {
    THROUGH: "The gate lets this through.",
    STOPPED: "The gate stops this: something failed or is unsafe.",
    UNDECIDED: "The gate cannot decide: not everything is known.",
}


def decided(study: Study, made: Report) -> Iterator[Decided]:
    """Every conversation of a report with its deciding card, in order, with flat memory."""
    instrument = made.instrument
    for entry in judged(study, instrument):
        card = entry.deciding
        yield Decided(entry.conversation, card, alone(instrument, entry.conversation.identity, card))


def alone(instrument: Instrument, identity: Identity, card: Scorecard | None) -> int:
    """The exit code of the gate for one conversation on its own."""
    return decide([Entry(identity, card)], Limits(), instrument).exit_code


def gate_of(study: Study, instrument: Instrument) -> Gate:
    """The decision of the gate with its default limits. Where it cannot be made, it is undecided."""
    try:
        decision = decide(entries(study, instrument), Limits(), instrument)
    except StudyError as error:
        reason = Reason(Kind.NOTHING_TO_DECIDE_BY, UNDECIDED, f"The gate was not decided: {error}.")
        decision = Decision(Limits(), Tally(), (reason,))
    notes = caveats(instrument, decision, crisis_talk(study)) + version_note(study, instrument)
    if changed := reworded(study, instrument):
        notes.append(reworded_words(changed))
    record = decision_record(decision) | {"notes": notes}
    return Gate(decision.exit_code, decision.accepted, decision.reasons, tuple(notes), record)


def read_gate(path: Path, study: Study, instrument: Instrument) -> Gate:
    """The decision in a file that `attune gate --json` wrote about this study and instrument.

    Raises:
        InputError: It is no such file, or it is about something else.
    """
    try:
        record = cast("dict[str, Any]", json.loads(path.read_text("utf-8")))
        reasons = tuple(
            Reason(
                Kind(reason["kind"]),
                int(reason["exit_code"]),
                str(reason["text"]),
                tuple(Identity(str(name["system"]), str(name["id"])) for name in reason["conversations"]),
            )
            for reason in record["reasons"]
        )
        made = Gate(record["exit_code"], record["accepted"], reasons, tuple(map(str, record["notes"])), record)
        about: Any = record["instrument"] or {"hash": None}
        mark, number = about["hash"], record["counts"]["conversations"]
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError(f"{path} is no decision of the gate: write it with attune gate --json") from None
    if made.exit_code not in WORDS:
        raise InputError(f"{path} is no decision of the gate: its exit code is {made.exit_code!r}")
    if mark != instrument.hash or number != study.conversation_count():
        raise InputError(
            f"{path} was decided on another instrument or other conversations than {study.place} holds now: run attune "
            "gate --json again"
        )
    return made
