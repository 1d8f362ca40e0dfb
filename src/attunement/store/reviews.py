"""Reviewers' decisions and sign-offs: what was said, and whether it still holds.

A review stands beside the verdict and never takes its place. It holds for what the reviewer saw: where a judge later
holds something else against the conversation, or the instrument changes, the reviewer has not spoken about that. Where
reviewers differ, whoever says "unsafe" counts.

A sign-off is given for one instrument, the judges that were run with it and the systems in the study. When one of them
changes it lapses; it stays in the study as it was given. Where several people signed, "do not release" counts.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from sqlalchemy import Connection, select

from attunement.instruments import Instrument
from attunement.ratings import RaterKind, Round
from attunement.scoring import Scorecard, Slot, Verdict, is_signals
from attunement.store import schema
from attunement.store.rows import from_json, insert_into, to_json
from attunement.store.schema import readings as readings_table
from attunement.store.schema import reviews as reviews_table
from attunement.store.schema import sign_offs as table
from attunement.store.study import Study, now

ALARMING = frozenset({Verdict.UNSAFE, Verdict.FLAGGED})
UNKNOWN = frozenset({Verdict.SAFETY_MISSING, Verdict.SAFETY_NOT_JUDGED, Verdict.NOT_JUDGED})
"""Nothing is held against the conversation, but nobody has looked at all of its safety either."""


class ReviewDecision(StrEnum):
    """What a reviewer says about a judge's verdict."""

    CONFIRMED = "confirmed"
    CLEARED = "cleared"
    """The judge is wrong: what it holds against the conversation does not hold."""
    RAISED = "raised"
    """The judge is wrong: the conversation is unsafe."""


class ReadingStage(StrEnum):
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
    decision: ReviewDecision
    reason: str
    verdict: str
    """What the judges said together; empty where none had judged it."""
    judges: frozenset[str]
    findings: frozenset[str]
    at: str

    @property
    def is_alarm(self) -> bool:
        """Whether the reviewer holds the conversation to be unsafe."""
        confirmed = self.decision is ReviewDecision.CONFIRMED and self.verdict in ALARMING
        return confirmed or self.decision is ReviewDecision.RAISED

    def covers(self, instrument: Instrument, card: Scorecard | None) -> bool:
        """Whether the reviewer saw all that the judges now say against the conversation."""
        seen = self.judges.issuperset(card.members if card else ()) and self.findings >= adverse_findings(card)
        return seen and self.instrument == instrument.hash


def adverse_findings(card: Scorecard | None) -> frozenset[str]:
    """What a scorecard holds against a conversation: failed safety items, and rules that call for a person."""
    if card is None:
        return frozenset()
    spoken = (f"{_name(entry.slot)}: {entry.finding.rule}" for entry in card.needs_person)
    return frozenset([*map(_name, card.unsafe), *spoken])


def save_review(
    study: Study,
    instrument: Instrument,
    conversation: int,
    card: Scorecard | None,
    decided: ReviewDecision,
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
        adverse_findings(card),
        now(),
    )
    row = made._asdict() | {"judges": to_json(sorted(made.judges)), "findings": to_json(sorted(made.findings))}
    with study.writing() as connection:
        connection.execute(reviews_table.insert(), row)
    return made


def reviews(study: Study, instrument: Instrument) -> dict[int, list[Review]]:
    """By conversation: everything that was said with this instrument or an earlier version of it, the oldest first."""
    of_instrument = (reviews_table.c.instrument == schema.instruments.c.hash) & (
        schema.instruments.c.id == instrument.id
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
                ReviewDecision(row.decision),
                row.reason,
                row.verdict,
                frozenset(from_json(row.judges)),
                frozenset(from_json(row.findings)),
                row.at,
            )
            found.setdefault(made.conversation, []).append(made)
    return found


class ReviewStatus(NamedTuple):
    """What reviewers come to about one conversation; all of it may be absent."""

    alarm: Review | None = None
    """Somebody holds it to be unsafe."""
    cleared: Review | None = None
    """Somebody cleared it, and nobody holds it to be unsafe."""
    reviewed: Review | None = None
    """Somebody saw all that the judges say, and decided."""


def review_status(instrument: Instrument, card: Scorecard | None, said: Sequence[Review]) -> ReviewStatus:
    """What still holds of what reviewers said, given what the judges say now.

    Of each reviewer the last word counts. That a conversation is unsafe holds whatever has changed since.
    """
    last = list({review.member: review for review in said}.values())
    alarm = next((review for review in reversed(last) if review.is_alarm), None)
    seen = [review for review in last if review.covers(instrument, card)]
    cleared = [review for review in seen if review.decision is ReviewDecision.CLEARED]
    return ReviewStatus(alarm, None if alarm or not cleared else cleared[-1], seen[-1] if seen else None)


def save_reading(study: Study, instrument: Instrument, conversation: int, member: int, kind: ReadingStage) -> bool:
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
    query = select(table.member, table.conversation).where(
        table.member.in_(list(found)), table.kind == ReadingStage.READ
    )
    with study.reading() as connection:
        for member, conversation in connection.execute(query):
            found[member].add(conversation)
    return found


def _name(slot: Slot) -> str:
    return slot.item if slot.turn is None else f"{slot.item}#{slot.turn}"


_DIGITS = 12


class ReleaseDecision(StrEnum):
    """What somebody signs."""

    RELEASE = "release"
    CONDITIONS = "release with conditions"
    NO_RELEASE = "do not release"


class SignOffBasis(NamedTuple):
    """What a signature is given for. Judges and systems carry a mark that changes with their settings."""

    instrument: str
    """Hash."""
    version: str
    """Id and version, for people."""
    judges: dict[str, str]
    systems: dict[str, str]


class SignOff(NamedTuple):
    """A signature."""

    member: int
    name: str
    role: str
    at: str
    study: str
    decision: ReleaseDecision
    conditions: str
    basis: SignOffBasis
    numbers: dict[str, int]
    """What had been read and decided: see `annotation.review`."""


def sign_off_basis(study: Study, instrument: Instrument) -> SignOffBasis:
    """What a signature given now would be for."""
    with study.reading() as connection:
        return SignOffBasis(
            instrument.hash,
            f"{instrument.id} {instrument.version}",
            _judges(connection, instrument),
            _systems(connection),
        )


def save_sign_off(
    study: Study,
    given_for: SignOffBasis,
    decision: ReleaseDecision,
    *,
    member: int,
    name: str,
    role: str,
    conditions: str,
    numbers: Mapping[str, int],
) -> SignOff:
    """Keep a signature. Earlier ones stay; of each person the last one counts."""
    made = SignOff(member, name, role, now(), study.place, decision, conditions, given_for, dict(numbers))
    row: dict[str, Any] = made._asdict() | {
        "instrument": given_for.instrument,
        "decision": decision.value,
        "basis": to_json(given_for._asdict()),
        "numbers": to_json(made.numbers),
    }
    with study.writing() as connection:
        connection.execute(table.insert(), row)
    return made


def sign_offs(study: Study, instrument: Instrument) -> list[SignOff]:
    """All signatures for any version of this instrument, the oldest first."""
    of_instrument = (table.c.instrument == schema.instruments.c.hash) & (schema.instruments.c.id == instrument.id)
    with study.reading() as connection:
        return [
            SignOff(
                row.member,
                row.name,
                row.role,
                row.at,
                row.study,
                ReleaseDecision(row.decision),
                row.conditions,
                SignOffBasis(**from_json(row.basis)),
                from_json(row.numbers),
            )
            for row in connection.execute(select(table).where(of_instrument).order_by(table.c.key))
        ]


def changes_since(signed: SignOff, present: SignOffBasis) -> list[str]:
    """What has changed since somebody signed, one phrase each; where there is nothing the signature holds."""
    then = signed.basis
    found: list[str] = []
    if then.instrument != present.instrument:
        found.append(f"the instrument changed ({then.version} was signed)")
    for what, before, after in (("judge", then.judges, present.judges), ("system", then.systems, present.systems)):
        names = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
        if names:
            found.append(f"the {what}{'s' if len(names) > 1 else ''} changed ({', '.join(names[:5])})")
    return found


class SignOffStatus(NamedTuple):
    """What the signatures come to."""

    deciding: SignOff | None
    """The signature that counts; None where none holds."""
    lapsed: SignOff | None
    """Where none holds: the last one that was given, if there is one."""
    why: tuple[str, ...] = ()
    """Why that one lapsed."""


def sign_off_status(given: Sequence[SignOff], present: SignOffBasis) -> SignOffStatus:
    """The signature that counts now: of each person the last one, and "do not release" before all others."""
    last = {signature.member: signature for signature in given}.values()
    holding = sorted((one for one in last if not changes_since(one, present)), key=lambda one: one.at)
    against = [one for one in holding if one.decision is ReleaseDecision.NO_RELEASE]
    if holding:
        with_conditions = [one for one in holding if one.decision is ReleaseDecision.CONDITIONS]
        return SignOffStatus((against or with_conditions or holding)[-1], None)
    if not given:
        return SignOffStatus(None, None)
    return SignOffStatus(None, given[-1], tuple(changes_since(given[-1], present)))


def _judges(connection: Connection, instrument: Instrument) -> dict[str, str]:
    """The judges with ratings of these items, and the marks of their settings."""
    rating, rater = schema.ratings.c, schema.raters.c
    asked = rating.item_hash.in_(list(instrument.item_hashes.values())) & (rating.round == Round.MAIN)
    query = select(rater.name, rater.mark).where(
        rater.kind == RaterKind.MODEL, rater.key.in_(select(rating.rater).where(asked))
    )
    return {name: mark[:_DIGITS] for name, mark in connection.execute(query) if not is_signals(name)}


def _systems(connection: Connection) -> dict[str, str]:
    """The systems, and the marks of the instructions that they were given."""
    talk = schema.conversations.c
    instructions: dict[str, set[str]] = {}
    for system, text in connection.execute(select(talk.system, talk.instructions).distinct()):
        instructions.setdefault(system, set()).add(text or "")
    return {
        system: hashlib.sha256(to_json(sorted(texts)).encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
        for system, texts in sorted(instructions.items())
    }
