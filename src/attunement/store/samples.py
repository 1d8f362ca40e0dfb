"""Samples, exports for other rating tools and practice answers of a study.

A sample is written once and never changed: a larger one is a new sample that contains the old one. Where a
conversation is deleted, it leaves its samples; the probabilities of the others stay as they were.

Files for other rating tools name neither a system nor a conversation. Each unit gets a random token, which is saved
here with the version of the instrument that its raters read.
"""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from sqlalchemy import func, select
from sqlalchemy.exc import IntegrityError

from attunement.errors import StudyError
from attunement.instruments import Instrument
from attunement.ratings import RaterKind, Round
from attunement.store import schema
from attunement.store.export import Export, Record, columns
from attunement.store.rows import from_json, outcome_of, to_json
from attunement.store.study import Study, now, original_name

Split = Literal["develop", "certify"]


class SampledConversation(NamedTuple):
    """That a conversation is in a sample."""

    stratum: str
    probability: float
    """Of being in the sample; of being in `certify` it is this times the share `certify` of the design."""
    split: Split | None


class NotDrawn(NamedTuple):
    """That a conversation could have been drawn and was not."""

    stratum: str
    probability: float


class Sample(NamedTuple):
    """Conversations drawn at random for people to rate with one instrument."""

    key: int
    name: str
    instrument: str  # id
    seed: int
    design: dict[str, Any]
    """How it was drawn: `size`, `by`, `all_flagged`, `certify` (the share), `extends` (the name of a sample),
    `instrument` (its hash) and `strata` (by name, how many were `there` and how many `drawn`)."""
    at: str
    units: dict[int, SampledConversation]  # by the key of the conversation


def save_sample(
    study: Study,
    *,
    name: str | None,
    instrument: str,
    seed: int,
    design: dict[str, Any],
    units: Mapping[int, SampledConversation],
    waiting: Mapping[int, NotDrawn] | None = None,
) -> Sample:
    """Save a sample; without a name it becomes `sample-1`, `sample-2` and so on.

    `waiting` are the conversations that could have been drawn too; without them the sample cannot be extended.

    Raises:
        StudyError: There is a sample of this name: it is never overwritten.
    """
    rows = [{"conversation": key, "drawn": True, **drawn._asdict()} for key, drawn in units.items()]
    rows += [
        {"conversation": key, "drawn": False, "split": None, **entry._asdict()}
        for key, entry in (waiting or {}).items()
    ]
    table = schema.samples
    with study.writing() as connection:
        names = set(connection.scalars(select(table.c.name)))
        if name in names:
            raise StudyError(
                f"{study.place} has a sample {name!r} already, and samples are not overwritten: give another name"
            )
        name = name or next(free for number in range(1, len(names) + 2) if (free := f"sample-{number}") not in names)
        at = now()
        row = {"name": name, "instrument": instrument, "seed": seed, "design": to_json(design), "at": at}
        key = connection.execute(table.insert().returning(table.c.key), row).scalar_one()
        try:
            if rows:
                connection.execute(schema.sample_frame.insert(), [{**entry, "sample": key} for entry in rows])
        except IntegrityError:
            raise StudyError(f"{study.place} no longer has all conversations of the sample: draw it again") from None
    return Sample(key, name, instrument, seed, design, at, dict(units))


def samples(study: Study) -> list[Sample]:
    """All samples of the study, the oldest first."""
    table, frame = schema.samples, schema.sample_frame.c
    drawn = select(frame.sample, frame.conversation, frame.stratum, frame.probability, frame.split).where(frame.drawn)
    with study.reading() as connection:
        found = {
            row.key: Sample(row.key, row.name, row.instrument, row.seed, from_json(row.design), row.at, {})
            for row in connection.execute(select(table).order_by(table.c.key))
        }
        for key, conversation, *values in connection.execute(drawn.order_by(frame.sample, frame.conversation)):
            found[key].units[conversation] = SampledConversation(*values)
    return list(found.values())


def latest_sample(study: Study, instrument_id: str) -> Sample | None:
    """The newest sample for this instrument, if there is one."""
    return next((sample for sample in reversed(samples(study)) if sample.instrument == instrument_id), None)


def not_drawn(study: Study, sample: Sample) -> dict[int, NotDrawn]:
    """The conversations that could have been drawn into the sample and were not, by key."""
    frame = schema.sample_frame.c
    query = select(frame.conversation, frame.stratum, frame.probability).order_by(frame.conversation)
    with study.reading() as connection:
        rows = connection.execute(query.where(frame.sample == sample.key, ~frame.drawn))
        return {key: NotDrawn(stratum, probability) for key, stratum, probability in rows}


def versions_tried_on_certify(study: Study, sample: Sample) -> dict[str, int]:
    """How many versions of each judge have rated conversations of the sample's `certify` split.

    A version is a judge with its settings and the version of the instrument it was asked with. The more versions were
    tried on `certify`, the less the result of the best one says about new conversations. Judges have the names that
    they were given, without the mark that tells their settings apart.
    """
    frame, ratings, raters, instruments = schema.sample_frame.c, schema.ratings.c, schema.raters.c, schema.instruments.c
    certify = select(frame.conversation).where(frame.sample == sample.key, frame.split == "certify")
    versions = (
        select(raters.name, raters.settings, func.count(ratings.instrument.distinct()))
        .where(ratings.rater == raters.key, ratings.instrument == instruments.hash)
        .where(ratings.conversation.in_(certify), ratings.round == Round.MAIN)
        .where(raters.kind == RaterKind.MODEL, instruments.id == sample.instrument)
        .group_by(raters.key, raters.name, raters.settings)
        .order_by(raters.key)
    )
    counts: dict[str, int] = {}
    with study.reading() as connection:
        for name, settings, count in connection.execute(versions):
            judge = original_name(name, RaterKind.MODEL, from_json(settings))
            counts[judge] = counts.get(judge, 0) + count
    return counts


_TOKEN_BYTES = 8  # of chance: no two tokens are the same by accident


class TokenTarget(NamedTuple):
    """The unit that a token stands for."""

    conversation: int  # key
    turn: int | None
    instrument: str
    """The hash of the instrument that its raters read."""


def save_exported_units(
    study: Study, instrument: Instrument, format: str, units: Sequence[tuple[int, int | None]]
) -> list[str]:
    """Save that these units, by key of the conversation and turn, were exported; returns a token for each.

    Raises:
        StudyError: A conversation was deleted in the meantime.
    """
    # A letter comes first, because a spreadsheet takes 12345678 or 1e10 for a number.
    tokens = [f"u{secrets.token_hex(_TOKEN_BYTES)}" for _ in units]
    study.save_instrument(instrument)
    with study.writing() as connection:
        row = {"instrument": instrument.hash, "format": format, "at": now()}
        key = connection.execute(schema.hand_outs.insert().returning(schema.hand_outs.c.key), row).scalar_one()
        rows = [
            {"token": token, "hand_out": key, "conversation": conversation, "turn": turn or 0}
            for token, (conversation, turn) in zip(tokens, units, strict=True)
        ]
        try:
            if rows:
                connection.execute(schema.handed_units.insert(), rows)
        except IntegrityError:
            raise StudyError(f"{study.place} no longer has all of these conversations: try again") from None
    return tokens


def exported_units(study: Study) -> dict[str, TokenTarget]:
    """All units that were exported, by token."""
    units, exports = schema.handed_units.c, schema.hand_outs.c
    query = select(units.token, units.conversation, units.turn, exports.instrument).where(units.hand_out == exports.key)
    with study.reading() as connection:
        return {
            token: TokenTarget(conversation, turn or None, instrument)
            for token, conversation, turn, instrument in connection.execute(query)
        }


PRACTICE_COLUMNS = columns(
    "project project_number:integer rater round attempt:integer example item title outcome value:value known:value "
    "reasoning evidence:json instrument instrument_version instrument_hash item_hash at"
)


def practice_answers(study: Study) -> Export:
    """Every answer to a worked example, in practice and among the units, in the order in which they came in.

    Each has its round, and the instrument's own answer next to the rater's.
    """
    return Export(PRACTICE_COLUMNS, _practice_records(study))


def _practice_records(study: Study) -> Iterator[Record]:
    instruments = {instrument.hash: instrument for instrument in study.instruments()}
    practice, assignment, unit = schema.practice, schema.assignments.c, schema.project_units.c
    project, member = schema.projects.c, schema.members.c
    # Before the first unit of the work is submitted, a member is not a rater of the study yet.
    name = func.coalesce(schema.raters.c.name, member.name).label("rater")
    query = (
        select(practice, assignment.attempt, unit.example, name, project.name, project.number, project.instrument)
        .select_from(
            practice.join(schema.assignments, practice.c.assignment == assignment.key)
            .join(schema.project_units, assignment.unit == unit.key)
            .join(schema.projects, assignment.project == project.key)
            .join(schema.members, assignment.member == member.key)
            .outerjoin(schema.raters, member.rater == schema.raters.c.key)
        )
        .order_by(practice.c.at, practice.c.assignment, practice.c.item)
    )
    with study.reading() as connection, connection.execution_options(yield_per=1000).execute(query) as rows:
        for row in rows.mappings():
            instrument, outcome = instruments[row["instrument"]], outcome_of(row["state"], row["value"], None)
            yield {
                **{name: row[name] for name in ("rater", "round", "attempt", "example", "item", "reasoning", "at")},
                "project": row["name"],
                "project_number": row["number"],
                "title": instrument.item(row["item"]).title,
                "outcome": outcome.state.value,
                "value": outcome.value,
                "known": None if row["known"] is None else from_json(row["known"]),
                "evidence": from_json(row["evidence"]),
                "instrument": instrument.id,
                "instrument_version": instrument.version,
                "instrument_hash": instrument.hash,
                "item_hash": instrument.item_hashes[row["item"]],
            }
