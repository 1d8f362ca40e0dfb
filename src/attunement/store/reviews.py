"""Reviewers' decisions and sign-offs, and whether they still hold.

A review is shown next to the verdict and never replaces it. It holds for what the reviewer saw: where a judge later
finds something else, or the instrument changes, the reviewer has not spoken about that. Where reviewers differ,
"unsafe" counts.

A sign-off is given for one instrument, the judges that were run with it and the systems in the study. When one of
them changes, it lapses; it stays in the study as it was given. Where several people signed, "do not release" counts.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from sqlalchemy import Table, select

from attunement.instruments import Instrument
from attunement.ratings import RaterKind, Round
from attunement.scoring import Scorecard, Verdict, is_signals
from attunement.store import schema
from attunement.store.rows import column_values, from_json, insert_into, record_of, to_json
from attunement.store.study import Study, now

ALARMING = frozenset({Verdict.UNSAFE, Verdict.FLAGGED})
UNKNOWN = frozenset({Verdict.SAFETY_MISSING, Verdict.SAFETY_NOT_JUDGED, Verdict.NOT_JUDGED})
"""Nothing was found against the conversation, but nobody has looked at all of its safety either."""


class ReviewDecision(StrEnum):
    """A reviewer's decision about the judges' verdict."""

    CONFIRMED = "confirmed"
    CLEARED = "cleared"  # the judges are wrong: their findings do not hold
    RAISED = "raised"  # the judges are wrong: the conversation is unsafe


class ReadingStage(StrEnum):
    """How far a reviewer got with a conversation."""

    OPENED = "opened"
    READ = "read"  # scrolled to the end of the transcript


class Review(NamedTuple):
    """One reviewer's decision about one conversation, and what they saw."""

    member: int
    name: str
    conversation: int
    instrument: str  # hash
    decision: ReviewDecision
    reason: str
    verdict: str  # of the judges together; empty where none had judged it
    judges: frozenset[str]
    findings: frozenset[str]
    at: str

    @property
    def is_alarm(self) -> bool:
        """Whether the reviewer considers the conversation unsafe."""
        confirmed = self.decision is ReviewDecision.CONFIRMED and self.verdict in ALARMING
        return confirmed or self.decision is ReviewDecision.RAISED

    def covers(self, instrument: Instrument, card: Scorecard | None) -> bool:
        """Whether the reviewer saw all that the judges now find."""
        seen = self.judges.issuperset(card.members if card else ()) and self.findings >= adverse_findings(card)
        return seen and self.instrument == instrument.hash


def adverse_findings(card: Scorecard | None) -> frozenset[str]:
    """What a scorecard has against a conversation: failed safety items, and rules that call for a person."""
    if card is None:
        return frozenset()
    return frozenset([*map(str, card.unsafe), *(f"{entry.slot}: {entry.finding.rule}" for entry in card.needs_person)])


def save_review(
    study: Study,
    instrument: Instrument,
    conversation: int,
    card: Scorecard | None,
    decision: ReviewDecision,
    *,
    member: int,
    name: str,
    reason: str,
) -> Review:
    """Save a reviewer's decision about the verdict in `card`."""
    verdict, judges = ("", frozenset[str]()) if card is None else (card.verdict.value, frozenset(card.members))
    findings = adverse_findings(card)
    made = Review(member, name, conversation, instrument.hash, decision, reason, verdict, judges, findings, now())
    with study.writing() as connection:
        connection.execute(schema.reviews.insert(), column_values(made._asdict()))
    return made


def reviews(study: Study, instrument: Instrument) -> dict[int, list[Review]]:
    """By conversation: all reviews with this instrument or an earlier version of it, the oldest first."""
    found: dict[int, list[Review]] = {}
    for row in _with_any_version(study, schema.reviews, instrument):
        found.setdefault(row["conversation"], []).append(record_of(Review, row))
    return found


def _with_any_version(study: Study, table: Table, instrument: Instrument) -> list[Any]:
    instruments = schema.instruments.c
    query = select(table).where(table.c.instrument == instruments.hash, instruments.id == instrument.id)
    with study.reading() as connection:
        return list(connection.execute(query.order_by(table.c.key)).mappings())


class ReviewStatus(NamedTuple):
    """What the reviews of one conversation amount to; all of it may be absent."""

    alarm: Review | None = None  # somebody considers it unsafe
    cleared: Review | None = None  # somebody cleared it, and nobody considers it unsafe
    reviewed: Review | None = None  # somebody saw all that the judges say, and decided


def review_status(instrument: Instrument, card: Scorecard | None, given: Sequence[Review]) -> ReviewStatus:
    """What still holds of the reviews, given what the judges say now.

    Of each reviewer the last one counts. That a conversation is unsafe holds whatever has changed since.
    """
    last = list({review.member: review for review in given}.values())
    alarm = next((review for review in reversed(last) if review.is_alarm), None)
    seen = [review for review in last if review.covers(instrument, card)]
    cleared = [review for review in seen if review.decision is ReviewDecision.CLEARED]
    return ReviewStatus(alarm, None if alarm or not cleared else cleared[-1], seen[-1] if seen else None)


def save_reading(study: Study, instrument: Instrument, conversation: int, member: int, kind: ReadingStage) -> bool:
    """Save that a reviewer opened a conversation, or read it to its end. Returns whether it was the first time."""
    row = {"member": member, "conversation": conversation, "instrument": instrument.hash, "kind": kind.value}
    with study.writing() as connection:
        once = insert_into(schema.readings, connection.dialect.name).on_conflict_do_nothing()
        return bool(connection.execute(once, row | {"at": now()}).rowcount)


def read_in_full(study: Study, members: Iterable[int]) -> dict[int, set[int]]:
    """By member: the conversations that they read to the end."""
    table = schema.readings.c
    found: dict[int, set[int]] = {member: set() for member in members}
    query = select(table.member, table.conversation).where(table.member.in_(list(found)))
    with study.reading() as connection:
        for member, conversation in connection.execute(query.where(table.kind == ReadingStage.READ)):
            found[member].add(conversation)
    return found


class ReleaseDecision(StrEnum):
    """What somebody signs."""

    RELEASE = "release"
    CONDITIONS = "release with conditions"
    NO_RELEASE = "do not release"


class SignOffBasis(NamedTuple):
    """What a signature is given for. Judges and systems have a mark that changes with their settings."""

    instrument: str  # hash
    version: str  # id and version, for people
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
    """How much had been read and decided: see `annotation.review`."""


_DIGITS = 12  # of a mark


def sign_off_basis(study: Study, instrument: Instrument) -> SignOffBasis:
    """What a signature given now would be for: judges with ratings of these items, and the systems' instructions."""
    rating, rater, conversation = schema.ratings.c, schema.raters.c, schema.conversations.c
    asked = rating.item_hash.in_(list(instrument.item_hashes.values())) & (rating.round == Round.MAIN)
    judges = select(rater.name, rater.mark).where(
        rater.kind == RaterKind.MODEL, rater.key.in_(select(rating.rater).where(asked))
    )
    instructions: dict[str, set[str]] = {}
    with study.reading() as connection:
        judge_marks = {name: mark[:_DIGITS] for name, mark in connection.execute(judges) if not is_signals(name)}
        for system, text in connection.execute(select(conversation.system, conversation.instructions).distinct()):
            instructions.setdefault(system, set()).add(text or "")
    system_marks = {
        system: hashlib.sha256(to_json(sorted(texts)).encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
        for system, texts in sorted(instructions.items())
    }
    return SignOffBasis(instrument.hash, f"{instrument.id} {instrument.version}", judge_marks, system_marks)


def save_sign_off(
    study: Study,
    basis: SignOffBasis,
    decision: ReleaseDecision,
    *,
    member: int,
    name: str,
    role: str,
    conditions: str,
    numbers: Mapping[str, int],
) -> SignOff:
    """Save a signature. Earlier ones stay; of each person the last one counts."""
    made = SignOff(member, name, role, now(), study.place, decision, conditions, basis, dict(numbers))
    row = column_values(made._asdict() | {"basis": basis._asdict()})
    with study.writing() as connection:
        connection.execute(schema.sign_offs.insert(), {**row, "instrument": basis.instrument})
    return made


def sign_offs(study: Study, instrument: Instrument) -> list[SignOff]:
    """All signatures for any version of this instrument, the oldest first."""
    return [
        record_of(SignOff, row, basis=SignOffBasis(**from_json(row["basis"])))
        for row in _with_any_version(study, schema.sign_offs, instrument)
    ]


def changes_since(signed: SignOff, present: SignOffBasis) -> list[str]:
    """What has changed since somebody signed, one phrase each; where there is nothing, the signature holds."""
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
    """What the signatures amount to."""

    deciding: SignOff | None  # the signature that counts; None where none holds
    lapsed: SignOff | None  # where none holds: the last one that was given, if there is one
    why: tuple[str, ...] = ()  # why that one lapsed


def sign_off_status(given: Sequence[SignOff], present: SignOffBasis) -> SignOffStatus:
    """The signature that counts now: of each person the last one, and "do not release" before all others."""
    last = {signature.member: signature for signature in given}.values()
    holding = sorted((one for one in last if not changes_since(one, present)), key=lambda one: one.at)
    for decision in (ReleaseDecision.NO_RELEASE, ReleaseDecision.CONDITIONS, ReleaseDecision.RELEASE):
        if those := [one for one in holding if one.decision is decision]:
            return SignOffStatus(those[-1], None)
    if not given:
        return SignOffStatus(None, None)
    return SignOffStatus(None, given[-1], tuple(changes_since(given[-1], present)))
