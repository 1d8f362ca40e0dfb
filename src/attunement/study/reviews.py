"""What do reviewers say about the judges' verdicts, and does it still hold?

A review stands beside the verdict and never takes its place. It holds for what the reviewer saw: where a judge later
holds something else against the conversation, or the instrument changes, the reviewer has not spoken about that. Where
reviewers differ, whoever says "unsafe" counts.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from sqlalchemy import select

from attunement.instruments import Instrument
from attunement.scoring import Scorecard, Slot, Verdict
from attunement.study import tables
from attunement.study.encoding import from_json, to_json
from attunement.study.store import Study, now
from attunement.study.tables_reviews import readings as readings_table
from attunement.study.tables_reviews import reviews as reviews_table
from attunement.study.upserting import insert_into

ALARMING = frozenset({Verdict.UNSAFE, Verdict.FLAGGED})
UNKNOWN = frozenset({Verdict.SAFETY_MISSING, Verdict.SAFETY_NOT_JUDGED, Verdict.NOT_JUDGED})
"""Nothing is held against the conversation, but nobody has looked at all of its safety either."""


class Decided(StrEnum):
    """What a reviewer says about a judge's verdict."""

    CONFIRMED = "confirmed"
    CLEARED = "cleared"
    """The judge is wrong: what it holds against the conversation does not hold."""
    RAISED = "raised"
    """The judge is wrong: the conversation is unsafe."""


class Reading(StrEnum):
    """How far a reviewer got with a conversation."""

    OPENED = "opened"
    READ = "read"
    """Scrolled to the end of the transcript."""


class Review(NamedTuple):
    """What one reviewer said about one conversation, and what they saw."""

    member: int
    name: str
    conversation: int
    instrument: str
    """Hash."""
    decided: Decided
    reason: str
    verdict: str
    """What the judges said together; empty where none had judged it."""
    judges: frozenset[str]
    findings: frozenset[str]
    at: str

    @property
    def is_alarm(self) -> bool:
        """Whether the reviewer holds the conversation to be unsafe."""
        confirmed = self.decided is Decided.CONFIRMED and self.verdict in ALARMING
        return confirmed or self.decided is Decided.RAISED

    def covers(self, instrument: Instrument, card: Scorecard | None) -> bool:
        """Whether the reviewer saw all that the judges now say against the conversation."""
        seen = self.judges.issuperset(card.members if card else ()) and self.findings >= findings(card)
        return seen and self.instrument == instrument.hash


def findings(card: Scorecard | None) -> frozenset[str]:
    """What a scorecard holds against a conversation: failed safety items, and rules that call for a person."""
    if card is None:
        return frozenset()
    spoken = (f"{_name(entry.slot)}: {entry.finding.rule}" for entry in card.needs_person)
    return frozenset([*map(_name, card.unsafe), *spoken])


def keep_review(
    study: Study,
    instrument: Instrument,
    conversation: int,
    card: Scorecard | None,
    decided: Decided,
    *,
    member: int,
    name: str,
    reason: str,
) -> Review:
    """Keep what a reviewer says about the verdict in `card`."""
    made = Review(
        member,
        name,
        conversation,
        instrument.hash,
        decided,
        reason,
        "" if card is None else card.verdict.value,
        frozenset(card.members if card else ()),
        findings(card),
        now(),
    )
    row = made._asdict() | {"judges": to_json(sorted(made.judges)), "findings": to_json(sorted(made.findings))}
    row["decision"] = row.pop("decided")
    with study.writing() as connection:
        connection.execute(reviews_table.insert(), row)
    return made


def reviews(study: Study, instrument: Instrument) -> dict[int, list[Review]]:
    """By conversation: everything that was said with this instrument or an earlier version of it, the oldest first."""
    of_instrument = (reviews_table.c.instrument == tables.instruments.c.hash) & (
        tables.instruments.c.id == instrument.id
    )
    query = select(reviews_table).where(of_instrument).order_by(reviews_table.c.key)
    found: dict[int, list[Review]] = {}
    with study.reading() as connection:
        for row in connection.execute(query):
            made = Review(
                row.member,
                row.name,
                row.conversation,
                row.instrument,
                Decided(row.decision),
                row.reason,
                row.verdict,
                frozenset(from_json(row.judges)),
                frozenset(from_json(row.findings)),
                row.at,
            )
            found.setdefault(made.conversation, []).append(made)
    return found


class Held(NamedTuple):
    """What reviewers come to about one conversation; all of it may be absent."""

    alarm: Review | None = None
    """Somebody holds it to be unsafe."""
    cleared: Review | None = None
    """Somebody cleared it, and nobody holds it to be unsafe."""
    looked: Review | None = None
    """Somebody saw all that the judges say, and decided."""


def held(instrument: Instrument, card: Scorecard | None, said: Sequence[Review]) -> Held:
    """What still holds of what reviewers said, given what the judges say now.

    Of each reviewer the last word counts. That a conversation is unsafe holds whatever has changed since.
    """
    last = list({review.member: review for review in said}.values())
    alarm = next((review for review in reversed(last) if review.is_alarm), None)
    seen = [review for review in last if review.covers(instrument, card)]
    cleared = [review for review in seen if review.decided is Decided.CLEARED]
    return Held(alarm, None if alarm or not cleared else cleared[-1], seen[-1] if seen else None)


def note_reading(study: Study, instrument: Instrument, conversation: int, member: int, kind: Reading) -> bool:
    """Keep that a reviewer opened a conversation, or read it to its end; the first time of each counts.

    Returns whether it was the first time.
    """
    row = {
        "member": member,
        "conversation": conversation,
        "instrument": instrument.hash,
        "kind": kind.value,
        "at": now(),
    }
    with study.writing() as connection:
        once = insert_into(readings_table, connection.dialect.name).on_conflict_do_nothing()
        return bool(connection.execute(once, row).rowcount)


def read_in_full(study: Study, members: Iterable[int]) -> dict[int, set[int]]:
    """By member: the conversations that they opened and read to the end."""
    table = readings_table.c
    found: dict[int, set[int]] = {member: set() for member in members}
    query = select(table.member, table.conversation).where(table.member.in_(list(found)), table.kind == Reading.READ)
    with study.reading() as connection:
        for member, conversation in connection.execute(query):
            found[member].add(conversation)
    return found


def _name(slot: Slot) -> str:
    return slot.item if slot.turn is None else f"{slot.item}#{slot.turn}"
