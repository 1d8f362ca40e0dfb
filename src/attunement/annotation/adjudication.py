"""Where raters disagree, and what was decided.

Once a unit has as many independent ratings as the project asks for, the items on which they disagree wait for an
adjudicator, who sees the answers without names. The decision is a rating of its own round; the ratings it is about
stay what they are, and agreement rests on them alone.

Who could not judge has said nothing and disagrees with nobody.
"""

from collections.abc import Iterable, Mapping, Sequence
from random import Random
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, select

from attunement.annotation.answers import Draft, answers_of
from attunement.annotation.projects import record
from attunement.annotation.records import GoneError, Member, Project, ProjectUnit, Role
from attunement.annotation.tasks import Handed, handed_in
from attunement.conversations import Unit
from attunement.errors import InputError
from attunement.instruments import Instrument, Item, Scores, Value
from attunement.ratings import Outcome, RaterKind, Rating, Round, State
from attunement.scoring import is_failure
from attunement.store import Rater, Study, now, schema
from attunement.store.rows import conversation_of, rating_row

_SPOKEN = frozenset({State.VALUE, State.NA})


def spread(instrument: Instrument, outcomes: Iterable[Outcome | None]) -> float:
    """The distance between the two answers furthest apart: 0 where all are the same, 1 for the ends of the scale."""
    spoken = _spoken(outcomes)
    scores = [outcome.value for outcome in spoken if isinstance(outcome.value, int)]
    if isinstance(instrument.scale, Scores) and len(scores) == len(spoken):
        width = instrument.scale.highest - instrument.scale.lowest
        return (max(scores) - min(scores)) / width if scores and width else 0.0
    return float(len(set(spoken)) > 1)


def disagree(instrument: Instrument, item: Item, outcomes: Iterable[Outcome | None]) -> bool:
    """Whether somebody has to decide: answers that differ, or scores more than one level apart.

    Scores next to each other are what boundary rules are for, and no disagreement, unless only one of them is a safety
    failure.
    """
    spoken = _spoken(outcomes)
    failing = {is_failure(instrument, item, outcome) for outcome in spoken}
    if item.id in instrument.gate_ids and len(failing) > 1:
        return True
    scores = [outcome.value for outcome in spoken if isinstance(outcome.value, int)]
    if len(scores) == len(spoken):
        return bool(scores) and max(scores) - min(scores) > 1
    return len(set(spoken)) > 1


def _spoken(outcomes: Iterable[Outcome | None]) -> list[Outcome]:
    return [outcome for outcome in outcomes if outcome is not None and outcome.state in _SPOKEN]


LONGEST_REASON = 10_000


class Dispute(NamedTuple):
    """A unit on which raters disagree, and where."""

    unit: ProjectUnit
    items: tuple[str, ...]
    """The items that nobody has decided yet, in the order of the page."""
    spread: float
    ratings: int


class Opinion(NamedTuple):
    """What one of the raters answered, by item; the letter says nothing about who they are."""

    letter: str
    answers: dict[str, Draft]


class Decision(NamedTuple):
    """What an adjudicator decides about one item."""

    value: Value
    reason: str


def disputes(study: Study, project: Project) -> list[Dispute]:
    """What waits for a decision, the largest disagreement first."""
    by_unit: dict[int, list[Handed]] = {}
    for handed in handed_in(study, project):
        by_unit.setdefault(handed.unit.key, []).append(handed)
    with study.reading() as connection:
        decided = _decided(connection, project)
    found = [
        dispute
        for all_of in by_unit.values()
        if len(all_of) >= project.settings.per_unit and (dispute := _dispute(project.instrument, all_of, decided))
    ]
    return sorted(found, key=lambda dispute: (-dispute.spread, dispute.unit.key))


def decided_count(study: Study, project: Project) -> int:
    """How many answers adjudicators have decided in this project."""
    with study.reading() as connection:
        return len(_decided(connection, project))


def opinions(study: Study, project: Project, dispute: Dispute) -> list[Opinion]:
    """The answers of the raters without their names, in an order that differs from unit to unit."""
    own = [handed for handed in handed_in(study, project) if handed.unit.key == dispute.unit.key]
    Random(f"{project.settings.seed}/{dispute.unit.key}").shuffle(own)  # noqa: S311 - hides no secret
    return [Opinion(chr(ord("A") + place % 26), handed.answers) for place, handed in enumerate(own)]


def unit_in(study: Study, unit: ProjectUnit) -> Unit:
    """The words that a unit of the study is about."""
    table = schema.conversations
    with study.reading() as connection:
        row = connection.execute(select(table).where(table.c.key == unit.conversation)).mappings().one()
    return Unit(conversation_of(row), unit.turn)


def decide(
    study: Study, project: Project, member: Member, dispute: Dispute, decisions: Mapping[str, Decision]
) -> list[Rating]:
    """Keep an adjudicator's decisions as ratings of the round `adjudication`.

    Raises:
        InputError: An item lacks an answer or a reason, or the answer is not on its scale; then none is kept.
        GoneError: Somebody else decided one of them in the meantime.
    """
    _check(project.instrument, dispute.items, decisions)
    rater = _rater(study, project, member)
    unit = unit_in(study, dispute.unit)
    made = [_rating(project, rater, unit, item, decisions[item]) for item in dispute.items]
    with study.writing() as connection:
        place = (dispute.unit.conversation, dispute.unit.turn or 0)
        if _decided(connection, project) & {(*place, item) for item in dispute.items}:
            raise GoneError("somebody else has decided this in the meantime")
        rows = [rating_row(rating, dispute.unit.conversation or 0, rater.key) for rating in made]
        connection.execute(schema.ratings.insert(), rows)
        record(
            connection,
            project,
            "adjudicated",
            member=member,
            content={"unit": dispute.unit.key, "items": list(dispute.items)},
        )
    return made


def missing_in(instrument: Instrument, items: Sequence[str], decisions: Mapping[str, Decision]) -> list[str]:
    """The items without an answer on their scale, or without a reason."""
    return [
        item
        for item in items
        if item not in decisions
        or decisions[item].value not in answers_of(instrument, instrument.item(item))
        or not decisions[item].reason.strip()
    ]


def _dispute(instrument: Instrument, all_of: Sequence[Handed], decided: set[tuple[int, int, str]]) -> Dispute | None:
    unit = all_of[0].unit
    outcomes = {
        item.id: [handed.answers[item.id].outcome for handed in all_of if item.id in handed.answers]
        for item in instrument.items
    }
    contested = [item for item in instrument.items if disagree(instrument, item, outcomes[item.id])]
    ordered = sorted(contested, key=lambda item: item.holistic)
    open_ = [item.id for item in ordered if (unit.conversation, unit.turn or 0, item.id) not in decided]
    if not open_:
        return None
    return Dispute(unit, tuple(open_), max(spread(instrument, outcomes[item]) for item in open_), len(all_of))


def decided_in(project: Project) -> ColumnElement[bool]:
    """Which ratings are decisions of this project; those of an earlier round are about other answers."""
    rating, member = schema.ratings.c, schema.members.c
    own = select(member.rater).where(member.project == project.key, member.role == Role.ADJUDICATOR)
    return (rating.round == Round.ADJUDICATION) & rating.rater.in_(own.where(member.rater.is_not(None)))


def _decided(connection: Connection, project: Project) -> set[tuple[int, int, str]]:
    """Conversation, turn and item of everything that was decided in the project."""
    rating = schema.ratings.c
    query = select(rating.conversation, rating.turn, rating.item).where(decided_in(project))
    return {(conversation, turn, item) for conversation, turn, item in connection.execute(query)}


def _check(instrument: Instrument, items: Sequence[str], decisions: Mapping[str, Decision]) -> None:
    if lacking := missing_in(instrument, items, decisions):
        titles = ", ".join(instrument.item(item).title for item in lacking)
        raise InputError(f"each of these needs an answer and a reason: {titles}")
    if any(len(decision.reason) > LONGEST_REASON for decision in decisions.values()):
        raise InputError(f"a reason has at most {LONGEST_REASON:,} characters")


def _rater(study: Study, project: Project, member: Member) -> Rater:
    """The adjudicator as a rater of the study, made at the first decision."""
    if member.rater is not None:
        return next(rater for rater in study.raters() if rater.key == member.rater)
    settings = {"person": member.public, "round": project.number, "role": member.role.value}
    rater = study.save_rater(member.name, RaterKind.PERSON, settings)
    with study.writing() as connection:
        query = schema.members.update().where(schema.members.c.key == member.key)
        connection.execute(query.values(rater=rater.key))
    return rater


def _rating(project: Project, rater: Rater, unit: Unit, item: str, decision: Decision) -> Rating:
    wording = project.instrument.item_hashes[item]
    return Rating(
        conversation=unit.conversation.identity,
        turn=unit.turn,
        item=item,
        outcome=Outcome.of(decision.value),
        rater=rater.name,
        rater_kind=RaterKind.PERSON,
        round=Round.ADJUDICATION,
        reasoning=decision.reason.strip(),
        item_hash=wording,
        asked=wording,
        instrument=project.instrument.hash,
        at=now(),
    )
