"""The reviewers' queue, their decisions, and sign-off of a release.

Everything that a judge or a rater holds to be unsafe, everything that needs a person, everything with crisis talk,
the largest disagreements between judge and people, and a random sample of the rest, so that a judge that sees nothing
is found out.

They are members of a project of their own, with the number 0, that has neither units nor raters. It follows the newest
version of the instrument: what somebody said or signed keeps the version that it was said about.

A sign-off names the person, their role, what they decided, and what had been read and decided until then. It is given
for the instrument, the judges and the systems as they are now.
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum
from random import Random
from typing import Any, NamedTuple

from sqlalchemy import func, select

from attunement.annotation.changes import invite
from attunement.annotation.projects import insert_project, members, record
from attunement.annotation.records import REVIEW_ONLY, Member, Project, ProjectState, Role, Settings
from attunement.conversations import Identity
from attunement.errors import InputError
from attunement.instruments import Instrument, Scores
from attunement.ratings import Outcome
from attunement.scoring import Scorecard, Slot
from attunement.signals.crisis import crisis_cues
from attunement.store import ScoredConversation, Study, now, schema, scored_conversations
from attunement.store.reviews import (
    ALARMING,
    UNKNOWN,
    ReleaseDecision,
    Review,
    ReviewDecision,
    ReviewStatus,
    SignOff,
    read_in_full,
    review_status,
    reviews,
    save_review,
    save_sign_off,
    sign_off_basis,
)
from attunement.store.schema import projects

SAMPLE = 20
"""Conversations of the rest that are drawn at random."""
_APART, _MOST_APART = 0.5, 50
"""Judge and people disagree from half the scale on; the largest so many are shown."""
LONGEST_REASON = 10_000


class Why(StrEnum):
    """Why a conversation is to be looked at; the order is that of the queue."""

    UNSAFE = "unsafe"
    RATER = "rater"
    """It is unsafe or flagged by the answers of a rater, and not by those of the judges."""
    PERSON = "person"
    CRISIS = "crisis"
    APART = "apart"
    SAMPLE = "sample"


class Queued(NamedTuple):
    """A conversation to be looked at."""

    key: int
    identity: Identity
    turns: int
    card: Scorecard | None
    """What the judges say together; None where none has judged it."""
    why: tuple[Why, ...]
    apart: float
    """How far judge and people lie apart, from 0 to 1."""

    @property
    def is_alarming(self) -> bool:
        """Whether the judges hold it to be unsafe, or flag it."""
        return self.card is not None and self.card.verdict in ALARMING

    @property
    def is_quiet(self) -> bool:
        """Whether the judges looked at all of its safety and hold nothing against it."""
        return self.card is not None and self.card.verdict not in ALARMING | UNKNOWN


class Reviewed(NamedTuple):
    """A queued conversation with what was said and read."""

    queued: Queued
    said: tuple[Review, ...]
    held: ReviewStatus
    read: bool
    """Whether this reviewer read it in full."""

    @property
    def is_decided(self) -> bool:
        """Whether somebody said something that still holds."""
        return bool(self.held.alarm or self.held.reviewed)


class CrisisSignals:
    """Which conversations hold crisis talk. Words never change, so each is looked through once."""

    def __init__(self) -> None:
        self._found: set[int] = set()
        self._last = 0

    def find(self, study: Study) -> set[int]:
        """The keys of the conversations with a signal."""
        for entry in study.conversations(after=self._last):
            if crisis_cues(entry.conversation.turns):
                self._found.add(entry.key)
            self._last = entry.key
        return self._found


def stamp(study: Study) -> tuple[Any, ...]:
    """Changes whenever the queue could."""
    rating, talk = schema.ratings.c, schema.conversations.c
    with study.reading() as connection:
        ratings = connection.execute(select(func.count(), func.max(rating.key), func.max(rating.at))).one()
        talks = connection.execute(select(func.count(), func.max(talk.key))).one()
    return (*ratings, *talks)


def queue(study: Study, project: Project, crisis: CrisisSignals) -> list[Queued]:
    """What there is to look at, in order."""
    instrument = project.instrument
    signals = crisis.find(study)
    found: list[Queued] = []
    rest: list[Queued] = []
    for entry in scored_conversations(study, instrument):
        queued = _queued(instrument, entry, signals)
        (found if queued.why or queued.apart >= _APART else rest).append(queued)
    furthest = sorted((one for one in found if one.apart >= _APART), key=lambda one: -one.apart)[:_MOST_APART]
    chosen = {one.key for one in furthest}
    found = [one._replace(why=(*one.why, Why.APART)) if one.key in chosen else one for one in found]
    rest += [one for one in found if not one.why]
    drawn = Random(f"{project.settings.seed}/review").sample(rest, min(SAMPLE, len(rest)))  # noqa: S311
    found = [one for one in found if one.why] + [one._replace(why=(Why.SAMPLE,)) for one in drawn]
    order = list(Why)
    return sorted(found, key=lambda one: (order.index(one.why[0]), -one.apart, one.key))


def reviewed(study: Study, project: Project, member: Member, queue: Sequence[Queued]) -> list[Reviewed]:
    """The queue with what was said so far, and what this reviewer has read."""
    said = reviews(study, project.instrument)
    read = read_in_full(study, [member.key])[member.key]
    return [with_reviews(project.instrument, queued, said.get(queued.key, ()), read) for queued in queue]


def with_reviews(instrument: Instrument, queued: Queued, said: Sequence[Review], read: Iterable[int]) -> Reviewed:
    """One conversation with what was said about it."""
    return Reviewed(queued, tuple(said), review_status(instrument, queued.card, said), queued.key in set(read))


def choices(queued: Queued) -> tuple[ReviewDecision, ...]:
    """What a reviewer can say: an alarm can be confirmed or cleared, silence confirmed or overruled."""
    if queued.is_alarming:
        return (ReviewDecision.CONFIRMED, ReviewDecision.CLEARED)
    if queued.card is not None and queued.card.needs_person:
        return (ReviewDecision.CLEARED, ReviewDecision.RAISED)
    return (ReviewDecision.CONFIRMED, ReviewDecision.RAISED)


def review(study: Study, project: Project, member: Member, queued: Queued, decided: str, reason: str) -> Review:
    """Keep what a reviewer says about a verdict.

    Raises:
        InputError: It is none of the `choices`, or the judge is overruled without a reason.
    """
    if decided not in choices(queued):
        raise InputError("choose one of the decisions on the page")
    chosen, reason = ReviewDecision(decided), reason.strip()
    if chosen is not ReviewDecision.CONFIRMED and not reason:
        raise InputError("who overrules a judge says why: give a reason")
    if len(reason) > LONGEST_REASON:
        raise InputError(f"a reason has at most {LONGEST_REASON:,} characters")
    return save_review(
        study,
        project.instrument,
        queued.key,
        queued.card,
        chosen,
        member=member.key,
        name=member.name,
        reason=reason,
    )


def _queued(instrument: Instrument, entry: ScoredConversation, signals: set[int]) -> Queued:
    card = entry.deciding
    summary = entry.conversation
    people = entry.cards.people
    why: list[Why] = []
    if entry.cards.judges and card is not None and card.verdict in ALARMING:
        why.append(Why.UNSAFE)
    elif any(each.verdict in ALARMING for each in people):
        why.append(Why.RATER)
    if card is not None and card.needs_person:
        why.append(Why.PERSON)
    if summary.key in signals:
        why.append(Why.CRISIS)
    return Queued(
        summary.key,
        summary.identity,
        summary.turns,
        card,
        tuple(why),
        _apart(instrument, card, people) if entry.cards.judges else 0.0,
    )


def _apart(instrument: Instrument, card: Scorecard | None, people: Sequence[Scorecard]) -> float:
    """The largest distance between what the judges say of an item and the mean of what people say, from 0 to 1."""
    if card is None or not people:
        return 0.0
    return max((_distance(instrument, slot, outcome, people) for slot, outcome in card.outcomes.items()), default=0.0)


def _distance(instrument: Instrument, slot: Slot, outcome: Outcome, people: Sequence[Scorecard]) -> float:
    own = _height(instrument, outcome)
    given = [_height(instrument, person.outcomes[slot]) for person in people if slot in person.outcomes]
    others = [height for height in given if height is not None]
    return 0.0 if own is None or not others else abs(own - sum(others) / len(others))


def _height(instrument: Instrument, outcome: Outcome) -> float | None:
    """Where an answer lies between the lowest and the highest; None for no answer and for "does not apply"."""
    if isinstance(outcome.value, int) and isinstance(instrument.scale, Scores):
        return (outcome.value - instrument.scale.lowest) / (instrument.scale.highest - instrument.scale.lowest)
    return {"YES": 1.0, "NO": 0.0}.get(str(outcome.value))


REVIEWER = "reviewer"
"""The name of a reviewer whom nobody named."""


def review_desk(study: Study, instrument: Instrument) -> Project:
    """The project in which reviewers of this instrument meet, made the first time.

    Where the instrument has changed since, the project goes on with it as it is now.
    """
    study.save_instrument(instrument)
    with study.writing() as connection:
        here = (projects.c.name == instrument.id) & (projects.c.number == REVIEW_ONLY)
        row = connection.execute(select(projects).where(here)).first()
        if row is None:
            project = Project(0, instrument.id, REVIEW_ONLY, instrument, ProjectState.OPEN, Settings(), now())
            project = insert_project(connection, project)
            record(connection, project, "created")
            return project
        settings = Settings.model_validate_json(row.settings)
        project = Project(row.key, row.name, row.number, instrument, ProjectState(row.state), settings, row.at)
        if row.instrument != instrument.hash:
            connection.execute(projects.update().where(here).values(instrument=instrument.hash))
            record(connection, project, "instrument", content={"before": row.instrument})
    return project


def reviewers(study: Study, project: Project, names: Sequence[str]) -> list[Member]:
    """The reviewers of these names, invited where they are new; without names all there are, or the first one.

    Raises:
        InputError: A name does not fit.
    """
    known = {member.name: member for member in members(study, project, Role.REVIEWER)}
    wanted = [name.strip() for name in names] or list(known) or [REVIEWER]
    return [known.get(name) or invite(study, project, Role.REVIEWER, name) for name in dict.fromkeys(wanted)]


_LONGEST = 500
_LONGEST_CONDITIONS = 10_000


def numbers_read(study: Study, entries: Sequence[Reviewed]) -> dict[str, int]:
    """What a signature given now would rest on."""
    return {
        "conversations": study.conversation_count(),
        "queue": len(entries),
        "read": sum(entry.read for entry in entries),
        "decided": sum(entry.is_decided for entry in entries),
        "unsafe": sum(entry.queued.is_alarming for entry in entries),
        "cleared": sum(entry.held.cleared is not None and entry.queued.is_alarming for entry in entries),
        "raised": sum(entry.held.alarm is not None and not entry.queued.is_alarming for entry in entries),
    }


def sign(
    study: Study,
    project: Project,
    member: Member,
    entries: Sequence[Reviewed],
    *,
    name: str,
    role: str,
    decision: str,
    conditions: str,
) -> SignOff:
    """Keep a signature.

    Raises:
        InputError: Name, role or decision is missing, or the conditions do not go with the decision.
    """
    name, role, conditions = name.strip(), role.strip(), conditions.strip()
    if not name or not role or len(name) > _LONGEST or len(role) > _LONGEST:
        raise InputError("who signs gives their name and their role")
    if decision not in set(ReleaseDecision):
        raise InputError("choose what you decide: release, release with conditions, or do not release")
    chosen = ReleaseDecision(decision)
    if (chosen is ReleaseDecision.CONDITIONS) != bool(conditions):
        raise InputError("conditions go with the decision “release with conditions”, and it needs them")
    if len(conditions) > _LONGEST_CONDITIONS:
        raise InputError(f"conditions have at most {_LONGEST_CONDITIONS:,} characters")
    signed = save_sign_off(
        study,
        sign_off_basis(study, project.instrument),
        chosen,
        member=member.key,
        name=name,
        role=role,
        conditions=conditions,
        numbers=numbers_read(study, entries),
    )
    with study.writing() as connection:
        record(connection, project, "signed", member=member, content={"name": name, "decision": chosen})
    return signed
