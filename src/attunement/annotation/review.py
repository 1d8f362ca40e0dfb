"""The reviewers' queue, their reviews, and sign-off of a release.

The queue contains every conversation that a judge or a rater calls unsafe, that needs a person or that has a crisis
signal, the largest disagreements between judge and people, and a random sample of the rest, which exposes a judge that
misses failures.

Reviewers are members of a separate project, with the number 0, that has no units or raters. It uses the newest version
of the instrument; reviews and sign-offs record the version that they refer to.

A sign-off records the person, their role, their decision, and what had been read and decided by then. It applies to the
current instrument, judges and systems.
"""

from collections.abc import Sequence
from enum import StrEnum
from random import Random
from typing import NamedTuple

from attunement.annotation.projects import invite
from attunement.conversations import Identity
from attunement.errors import InputError
from attunement.instruments import Instrument, Scores
from attunement.ratings import Outcome
from attunement.scoring import Scorecard
from attunement.signals.crisis import crisis_cues
from attunement.store import ScoredConversation, Study, scored_conversations
from attunement.store import projects as store
from attunement.store.projects import REVIEW_ONLY, Member, Project, Role, Settings
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

SAMPLE = 20  # size of the random sample from the rest
LONGEST_REASON = 10_000
REVIEWER = "reviewer"  # the default name of a reviewer
_FAR, _MOST_FAR = 0.5, 50
"""Judge and people disagree if they differ by half the scale or more; at most this many are shown."""
_LONGEST_ROLE = 500
_LONGEST_CONDITIONS = 10_000


class Why(StrEnum):
    """Why a conversation is in the queue, in the order of the queue."""

    UNSAFE = "unsafe"
    RATER = "rater"  # unsafe or flagged by a rater, but not by the judges
    PERSON = "person"
    CRISIS = "crisis"
    APART = "apart"
    SAMPLE = "sample"


class Queued(NamedTuple):
    key: int
    identity: Identity
    turns: int
    card: Scorecard | None  # the judges' combined scorecard; None if not judged
    why: tuple[Why, ...]
    apart: float  # how far apart judge and people are, from 0 to 1

    @property
    def is_alarming(self) -> bool:
        return self.card is not None and self.card.verdict in ALARMING

    @property
    def is_quiet(self) -> bool:
        return self.card is not None and self.card.verdict not in ALARMING | UNKNOWN


class Reviewed(NamedTuple):
    queued: Queued
    said: tuple[Review, ...]
    held: ReviewStatus
    read: bool  # whether this reviewer read it in full

    @property
    def is_decided(self) -> bool:
        """Whether there is a review that is still valid."""
        return bool(self.held.alarm or self.held.reviewed)


class CrisisSignals:
    """The conversations with a crisis signal. A stored text never changes, so each is searched only once."""

    def __init__(self) -> None:
        self._found: set[int] = set()
        self._last = 0

    def find(self, study: Study) -> set[int]:
        for entry in study.conversations(after=self._last):
            if crisis_cues(entry.conversation.turns):
                self._found.add(entry.key)
            self._last = entry.key
        return self._found


def queue(study: Study, project: Project, crisis: CrisisSignals) -> list[Queued]:
    signals = crisis.find(study)
    everything = [
        _queued(project.instrument, entry, signals) for entry in scored_conversations(study, project.instrument)
    ]
    far = sorted((entry for entry in everything if entry.apart >= _FAR), key=lambda entry: -entry.apart)[:_MOST_FAR]
    chosen = {entry.key for entry in far}
    marked = [entry._replace(why=(*entry.why, Why.APART)) if entry.key in chosen else entry for entry in everything]
    found = [entry for entry in marked if entry.why]
    rest = sorted((entry for entry in marked if not entry.why), key=lambda entry: entry.apart >= _FAR)
    drawn = Random(f"{project.settings.seed}/review").sample(rest, min(SAMPLE, len(rest)))  # noqa: S311
    found += [entry._replace(why=(Why.SAMPLE,)) for entry in drawn]
    order = list(Why)
    return sorted(found, key=lambda entry: (order.index(entry.why[0]), -entry.apart, entry.key))


def _queued(instrument: Instrument, entry: ScoredConversation, signals: set[int]) -> Queued:
    card, people = entry.deciding, entry.cards.people
    why: list[Why] = []
    if entry.cards.judges and card is not None and card.verdict in ALARMING:
        why.append(Why.UNSAFE)
    elif any(each.verdict in ALARMING for each in people):
        why.append(Why.RATER)
    if card is not None and card.needs_person:
        why.append(Why.PERSON)
    if entry.conversation.key in signals:
        why.append(Why.CRISIS)
    apart = _apart(instrument, card, people) if entry.cards.judges and card is not None else 0.0
    return Queued(
        entry.conversation.key, entry.conversation.identity, entry.conversation.turns, card, tuple(why), apart
    )


def _apart(instrument: Instrument, card: Scorecard, people: Sequence[Scorecard]) -> float:
    """The largest distance between the judges' answer to an item and the mean of people's, from 0 to 1."""
    largest = 0.0
    for slot, outcome in card.outcomes.items():
        own = _height(instrument, outcome)
        given = [_height(instrument, person.outcomes[slot]) for person in people if slot in person.outcomes]
        others = [height for height in given if height is not None]
        if own is not None and others:
            largest = max(largest, abs(own - sum(others) / len(others)))
    return largest


def _height(instrument: Instrument, outcome: Outcome) -> float | None:
    """The position of an answer between the lowest and the highest; None for no answer and for "does not apply"."""
    if isinstance(outcome.value, int) and isinstance(instrument.scale, Scores):
        return (outcome.value - instrument.scale.lowest) / (instrument.scale.highest - instrument.scale.lowest)
    return {"YES": 1.0, "NO": 0.0}.get(str(outcome.value))


def reviewed(study: Study, project: Project, member: Member, queue: Sequence[Queued]) -> list[Reviewed]:
    """The queue with its reviews, and what this reviewer has read."""
    given = reviews(study, project.instrument)
    read = read_in_full(study, [member.key])[member.key]
    return [
        Reviewed(entry, tuple(own), review_status(project.instrument, entry.card, own), entry.key in read)
        for entry in queue
        for own in [given.get(entry.key, [])]
    ]


def choices(queued: Queued) -> tuple[ReviewDecision, ...]:
    """The possible decisions: a flag can be confirmed or cleared, a conversation without one confirmed or overruled."""
    if queued.is_alarming:
        return (ReviewDecision.CONFIRMED, ReviewDecision.CLEARED)
    if queued.card is not None and queued.card.needs_person:
        return (ReviewDecision.CLEARED, ReviewDecision.RAISED)
    return (ReviewDecision.CONFIRMED, ReviewDecision.RAISED)


def review(study: Study, project: Project, member: Member, queued: Queued, decided: str, reason: str) -> Review:
    """Save a review of a verdict.

    Raises:
        InputError: The decision is not one of the `choices`, or the judge is overruled without a reason.
    """
    if decided not in choices(queued):
        raise InputError("choose one of the decisions on the page")
    decision, reason = ReviewDecision(decided), reason.strip()
    if decision is not ReviewDecision.CONFIRMED and not reason:
        raise InputError("to overrule a judge, give a reason")
    if len(reason) > LONGEST_REASON:
        raise InputError(f"a reason can have at most {LONGEST_REASON:,} characters")
    return save_review(
        study,
        project.instrument,
        queued.key,
        queued.card,
        decision,
        member=member.key,
        name=member.name,
        reason=reason,
    )


def review_desk(study: Study, instrument: Instrument) -> Project:
    """The project for reviewers of this instrument, created the first time.

    If the instrument has changed since, the project switches to the current version.
    """
    study.save_instrument(instrument)
    with study.writing() as connection:
        project = store.review_project(connection, instrument.id)
        if project is None:
            project = store.insert_project(connection, instrument, Settings(), number=REVIEW_ONLY)
            store.log_event(connection, project, "created")
            return project
        before, project = project.instrument.hash, project._replace(instrument=instrument)
        if before != instrument.hash:
            store.update(connection, project, instrument=instrument.hash)
            store.log_event(connection, project, "instrument", content={"before": before})
    return project


def reviewers(study: Study, project: Project, names: Sequence[str]) -> list[Member]:
    """The reviewers with these names, invited if they are new; without names all reviewers, or a first one.

    Raises:
        InputError: A name is invalid.
    """
    known = {member.name: member for member in store.members(study, project, Role.REVIEWER)}
    wanted = [name.strip() for name in names] or list(known) or [REVIEWER]
    return [known.get(name) or invite(study, project, Role.REVIEWER, name) for name in dict.fromkeys(wanted)]


def sign_off_numbers(study: Study, entries: Sequence[Reviewed]) -> dict[str, int]:
    """What has been read and decided so far, for a sign-off."""
    return {
        "conversations": study.conversation_count(),
        "queue": len(entries),
        "read": sum(entry.read for entry in entries),
        "decided": sum(entry.is_decided for entry in entries),
        "unsafe": sum(entry.queued.is_alarming for entry in entries),
        "undecided": sum(entry.queued.is_alarming and not entry.is_decided for entry in entries),
        "cleared": sum(entry.held.cleared is not None and entry.queued.is_alarming for entry in entries),
        "raised": sum(entry.held.alarm is not None and not entry.queued.is_alarming for entry in entries),
    }


def sign(
    study: Study,
    project: Project,
    member: Member,
    entries: Sequence[Reviewed],
    *,
    role: str,
    decision: str,
    conditions: str,
    despite: bool = False,
) -> SignOff:
    """Save a sign-off in the reviewer's name. With `despite` a release may leave unsafe conversations undecided.

    Raises:
        InputError: Role or decision is missing, the conditions do not fit the decision, or there are conversations that
            a judge calls unsafe and nobody has decided about.
    """
    role, conditions = role.strip(), conditions.strip()
    if not role or len(role) > _LONGEST_ROLE:
        raise InputError("to sign off, give your role")
    if decision not in set(ReleaseDecision):
        raise InputError("choose what you decide: release, release with conditions, or do not release")
    chosen = ReleaseDecision(decision)
    if (chosen is ReleaseDecision.CONDITIONS) != bool(conditions):
        raise InputError("enter conditions if, and only if, you decide “release with conditions”")
    if len(conditions) > _LONGEST_CONDITIONS:
        raise InputError(f"conditions can have at most {_LONGEST_CONDITIONS:,} characters")
    numbers = sign_off_numbers(study, entries)
    undecided = numbers["undecided"]
    if chosen is not ReleaseDecision.NO_RELEASE and undecided and not despite:
        raise InputError(
            f"{undecided} of {numbers['unsafe']} conversations that a judge calls unsafe or flags are undecided: "
            f"decide about them, or confirm that you sign although they are open"
        )
    signed = save_sign_off(
        study,
        sign_off_basis(study, project.instrument),
        chosen,
        member=member.key,
        name=member.name,
        role=role,
        conditions=conditions,
        numbers=numbers,
    )
    with study.writing() as connection:
        store.log_event(connection, project, "signed", member=member, content={"name": member.name, "decision": chosen})
    return signed
