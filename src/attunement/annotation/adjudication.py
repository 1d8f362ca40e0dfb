"""Where raters disagree, and what an adjudicator decides.

Once a unit has as many independent ratings as the project asks for, the items on which they disagree wait for an
adjudicator, who sees the answers without names. The decision is a rating in a separate round. The original ratings do
not change, and agreement uses only them.

Raters who answered "cannot judge" gave no answer, so they cannot disagree.
"""

from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import NamedTuple

from attunement.annotation.submission import member_rater
from attunement.annotation.tasks import GoneError, answers_of, person_rating
from attunement.conversations import Unit
from attunement.errors import InputError
from attunement.instruments import Instrument, Item, Scores, Value
from attunement.ratings import Outcome, Rating, Round, State
from attunement.scoring import is_failure
from attunement.store import StoredRating, Study, now
from attunement.store.annotation import (
    Draft,
    StoredDecision,
    Submission,
    decisions_in,
    insert_ratings,
    remove_decisions,
    submissions,
)
from attunement.store.projects import Member, Project, ProjectUnit, conversation_with_key, log_event

LONGEST_REASON = 10_000
_GIVEN = frozenset({State.VALUE, State.NA})


def spread(instrument: Instrument, outcomes: Iterable[Outcome | None]) -> float:
    """The distance between the two answers furthest apart: 0 if all are the same, 1 for the ends of the scale."""
    given = _given(outcomes)
    scores = [outcome.value for outcome in given if isinstance(outcome.value, int)]
    if isinstance(instrument.scale, Scores) and len(scores) == len(given):
        width = instrument.scale.highest - instrument.scale.lowest
        return (max(scores) - min(scores)) / width if scores and width else 0.0
    return float(len(set(given)) > 1)


def disagree(instrument: Instrument, item: Item, outcomes: Iterable[Outcome | None]) -> bool:
    """Whether an adjudicator must decide: the answers differ, or the scores are more than one level apart.

    Neighboring scores count as agreement, unless only one of them is a safety failure.
    """
    given = _given(outcomes)
    if item.id in instrument.gate_ids and len({is_failure(instrument, item, outcome) for outcome in given}) > 1:
        return True
    scores = [outcome.value for outcome in given if isinstance(outcome.value, int)]
    if len(scores) == len(given):
        return bool(scores) and max(scores) - min(scores) > 1
    return len(set(given)) > 1


def _given(outcomes: Iterable[Outcome | None]) -> list[Outcome]:
    return [outcome for outcome in outcomes if outcome is not None and outcome.state in _GIVEN]


def outcomes_by_item(instrument: Instrument, submitted: Sequence[Submission]) -> dict[str, list[Outcome | None]]:
    return {
        item.id: [entry.answers[item.id].outcome for entry in submitted if item.id in entry.answers]
        for item in instrument.items
    }


class Dispute(NamedTuple):
    """A unit on whose answers raters disagree."""

    unit: ProjectUnit
    items: tuple[str, ...]
    """The disputed items, in the order of the page."""
    spread: float
    submitted: list[Submission]
    decided: dict[str, StoredDecision]

    @property
    def open(self) -> tuple[str, ...]:
        return tuple(item for item in self.items if item not in self.decided)

    @property
    def version(self) -> str:
        """Differs after every decision about the unit."""
        return max((decision.at for decision in self.decided.values()), default="")


class Decision(NamedTuple):
    value: Value
    reason: str


def all_disputes(study: Study, project: Project) -> list[Dispute]:
    """Every unit with all its ratings on which raters disagree, the largest difference first."""
    instrument = project.instrument
    by_unit: dict[int, list[Submission]] = {}
    for entry in submissions(study, project):
        by_unit.setdefault(entry.unit.key, []).append(entry)
    with study.reading() as connection:
        decisions = decisions_in(connection, project)
    found: list[Dispute] = []
    for submitted in by_unit.values():
        unit, outcomes = submitted[0].unit, outcomes_by_item(instrument, submitted)
        items = sorted(instrument.items, key=lambda item: item.holistic)
        disputed = tuple(item.id for item in items if disagree(instrument, item, outcomes[item.id]))
        if disputed and len(submitted) >= project.settings.per_unit:
            widest = max(spread(instrument, outcomes[item]) for item in disputed)
            decided = {entry.item: entry for entry in decisions if _is_about(entry, unit)}
            found.append(Dispute(unit, disputed, widest, submitted, decided))
    return sorted(found, key=lambda dispute: (-dispute.spread, dispute.unit.key))


def disputes(study: Study, project: Project) -> list[Dispute]:
    """The disputes with an item that waits for a decision."""
    return [dispute for dispute in all_disputes(study, project) if dispute.open]


def _is_about(decision: StoredDecision, unit: ProjectUnit) -> bool:
    return (decision.conversation, decision.turn) == (unit.conversation, unit.turn)


def opinions(project: Project, dispute: Dispute) -> list[tuple[str, dict[str, Draft]]]:
    """The raters' answers by item, each with a letter that does not reveal the name: the order differs by unit."""
    own = sorted(dispute.submitted, key=lambda entry: entry.assignment)
    Random(f"{project.settings.seed}/{dispute.unit.key}").shuffle(own)  # noqa: S311 - hides no secret
    return [(chr(ord("A") + place % 26), entry.answers) for place, entry in enumerate(own)]


def decide(
    study: Study, project: Project, member: Member, dispute: Dispute, decisions: Mapping[str, Decision]
) -> list[Rating]:
    """Save an adjudicator's decisions about all disputed items as ratings of the round `adjudication`.

    Earlier decisions about the unit are replaced; they stay in the log.

    Raises:
        InputError: An item has no answer or reason, or the answer is not on its scale; then none is saved.
        GoneError: Another adjudicator has decided about the unit since `dispute` was read.
    """
    instrument, items = project.instrument, dispute.items
    lacking = [
        instrument.item(item).title
        for item in items
        if item not in decisions
        or decisions[item].value not in answers_of(instrument, instrument.item(item))
        or not decisions[item].reason.strip()
    ]
    if lacking:
        raise InputError(f"each of these needs an answer and a reason: {', '.join(lacking)}")
    if any(len(decision.reason) > LONGEST_REASON for decision in decisions.values()):
        raise InputError(f"a reason can have at most {LONGEST_REASON:,} characters")
    settings = {"person": member.public, "round": project.number, "role": member.role.value}
    rater = member_rater(study, member, settings)
    unit = Unit(conversation_with_key(study, dispute.unit.conversation), dispute.unit.turn)
    ratings = [
        person_rating(
            instrument,
            unit,
            item,
            Outcome.of(decisions[item].value),
            rater,
            round=Round.ADJUDICATION,
            reasoning=decisions[item].reason.strip(),
            at=now(),
        )
        for item in items
    ]
    with study.writing() as connection:
        known = [entry for entry in decisions_in(connection, project) if _is_about(entry, dispute.unit)]
        if known != list(dispute.decided.values()):
            raise GoneError("another adjudicator has decided this in the meantime: open the unit again to see it")
        before = remove_decisions(connection, project, dispute.unit)
        conversation = dispute.unit.conversation or 0
        insert_ratings(connection, [StoredRating(conversation, rater.key, rating) for rating in ratings])
        content = {"unit": dispute.unit.key, "items": items, **({"before": before} if before else {})}
        log_event(connection, project, "adjudicated", member=member, content=content)
    return ratings
