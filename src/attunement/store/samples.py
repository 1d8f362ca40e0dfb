"""Samples, hand-outs, practice answers and calibrators of a study.

A sample is written once and never changed: a larger one is a new sample that holds the old one. Where a conversation
is forgotten, it leaves its samples; the probabilities of the others stay what they were.

Files that leave a study to be rated elsewhere name neither a system nor a conversation. Each unit gets a word of chance
that is kept here, with the version of the instrument that its raters read.

The rows carry their round, as ratings do, and the instrument's own answer beside the rater's.

A calibrator holds numbers over many conversations and nothing of a single one, so it stays when a conversation is
forgotten. Saving under a name that is there makes the next version of it; no version is ever changed.
"""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from sqlalchemy import Row, func, select
from sqlalchemy.exc import IntegrityError

from attunement.errors import StudyError
from attunement.instruments import Instrument
from attunement.ratings import RaterKind, Round
from attunement.store import schema
from attunement.store.export import Column, Export, Record
from attunement.store.rows import from_json, outcome_of, to_json
from attunement.store.schema import calibrators as table
from attunement.store.schema import hand_outs, handed_units, sample_frame
from attunement.store.schema import practice as practice_table
from attunement.store.schema import samples as samples_table
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
    instrument: str
    """The id of the instrument."""
    seed: int
    design: dict[str, Any]
    """How it was drawn: `size`, `by`, `all_flagged`, `certify` (the share), `extends` (the name of a sample),
    `instrument` (its hash) and `strata` (by name, how many were `there` and how many `drawn`)."""
    at: str
    units: dict[int, SampledConversation]
    """What was drawn, by the key of the conversation."""


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
    """Keep a sample; without a name it becomes `sample-1`, `sample-2` and so on.

    `waiting` are the conversations that could have been drawn too; without them the sample cannot be extended.

    Raises:
        StudyError: There is a sample of this name: it is never overwritten.
    """
    rows = [_row(key, *drawn, drawn=True) for key, drawn in units.items()]
    rows += [_row(key, *entry, None, drawn=False) for key, entry in (waiting or {}).items()]
    with study.writing() as connection:
        names = set(connection.scalars(select(samples_table.c.name)))
        if name in names:
            raise StudyError(
                f"{study.place} has a sample {name!r} already, and samples are not overwritten: give another name"
            )
        name = name or next(free for number in range(1, len(names) + 2) if (free := f"sample-{number}") not in names)
        at = now()
        row = {"name": name, "instrument": instrument, "seed": seed, "design": to_json(design), "at": at}
        key = connection.execute(samples_table.insert().returning(samples_table.c.key), row).scalar_one()
        if rows:
            try:
                connection.execute(sample_frame.insert(), [{**entry, "sample": key} for entry in rows])
            except IntegrityError:
                raise StudyError(
                    f"{study.place} does not hold all conversations of the sample any more: draw it again"
                ) from None
    return Sample(key, name, instrument, seed, design, at, dict(units))


def samples(study: Study) -> list[Sample]:
    """All samples of the study, the oldest first."""
    with study.reading() as connection:
        kept = {
            row.key: _sample(row) for row in connection.execute(select(samples_table).order_by(samples_table.c.key))
        }
        frame = sample_frame.c
        columns = select(frame.sample, frame.conversation, frame.stratum, frame.probability, frame.split)
        for key, conversation, *drawn in connection.execute(
            columns.where(frame.drawn).order_by(frame.sample, frame.conversation)
        ):
            kept[key].units[conversation] = SampledConversation(*drawn)
    return list(kept.values())


def latest_sample(study: Study, instrument_id: str) -> Sample | None:
    """The newest sample for this instrument, if there is one."""
    return next((sample for sample in reversed(samples(study)) if sample.instrument == instrument_id), None)


def not_drawn(study: Study, sample: Sample) -> dict[int, NotDrawn]:
    """Those who could have been drawn into the sample and were not, by the key of the conversation."""
    frame = sample_frame.c
    columns = select(frame.conversation, frame.stratum, frame.probability).order_by(frame.conversation)
    with study.reading() as connection:
        rows = connection.execute(columns.where(frame.sample == sample.key, ~frame.drawn))
        return {key: NotDrawn(stratum, probability) for key, stratum, probability in rows}


def versions_tried_on_certify(study: Study, sample: Sample) -> dict[str, int]:
    """How many versions of each judge have rated conversations of the sample's `certify` split.

    A version is a judge with its settings and the version of the instrument it was asked with. The more versions were
    tried on `certify`, the less the figures of the best one say about new conversations. Judges are named as they were
    given, without the mark that tells their settings apart.
    """
    frame, ratings, raters, instruments = sample_frame.c, schema.ratings.c, schema.raters.c, schema.instruments.c
    certify = select(frame.conversation).where(frame.sample == sample.key, frame.split == "certify")
    versions = (
        select(raters.name, raters.settings, func.count(ratings.instrument.distinct()))
        .select_from(
            schema.ratings.join(schema.raters, ratings.rater == raters.key).join(
                schema.instruments, ratings.instrument == instruments.hash
            )
        )
        .where(
            ratings.conversation.in_(certify),
            ratings.round == Round.MAIN,
            raters.kind == RaterKind.MODEL,
            instruments.id == sample.instrument,
        )
        .group_by(raters.key, raters.name, raters.settings)
        .order_by(raters.key)
    )
    counts: dict[str, int] = {}
    with study.reading() as connection:
        for name, settings, count in connection.execute(versions):
            judge = original_name(name, RaterKind.MODEL, from_json(settings))
            counts[judge] = counts.get(judge, 0) + count
    return counts


def _row(conversation: int, stratum: str, probability: float, split: Split | None, *, drawn: bool) -> dict[str, Any]:
    return {
        "conversation": conversation,
        "stratum": stratum,
        "probability": probability,
        "split": split,
        "drawn": drawn,
    }


def _sample(row: Row[Any]) -> Sample:
    return Sample(row.key, row.name, row.instrument, row.seed, from_json(row.design), row.at, {})


_BYTES = 8
"""Bytes of chance in a token: nobody meets another's by accident."""


class TokenTarget(NamedTuple):
    """What a token stands for."""

    conversation: int
    """The key of the conversation."""
    turn: int | None
    instrument: str
    """The hash of the instrument that its raters read."""


def save_exported_units(
    study: Study, instrument: Instrument, format: str, units: Sequence[tuple[int, int | None]]
) -> list[str]:
    """Keep that these units, by the key of the conversation and the turn, were handed out; returns a token for each.

    Raises:
        StudyError: A conversation was forgotten in the meantime.
    """
    # A letter comes first, because a spreadsheet takes 12345678 or 1e10 for a number.
    tokens = [f"u{secrets.token_hex(_BYTES)}" for _ in units]
    study.save_instrument(instrument)
    with study.writing() as connection:
        row = {"instrument": instrument.hash, "format": format, "at": now()}
        key = connection.execute(hand_outs.insert().returning(hand_outs.c.key), row).scalar_one()
        rows = [
            {"token": token, "hand_out": key, "conversation": conversation, "turn": turn or 0}
            for token, (conversation, turn) in zip(tokens, units, strict=True)
        ]
        try:
            if rows:
                connection.execute(handed_units.insert(), rows)
        except IntegrityError:
            raise StudyError(f"{study.place} does not hold all of these conversations any more: try again") from None
    return tokens


def exported_units(study: Study) -> dict[str, TokenTarget]:
    """Everything that was handed out, by token."""
    units, outs = handed_units.c, hand_outs.c
    query = select(units.token, units.conversation, units.turn, outs.instrument).where(units.hand_out == outs.key)
    with study.reading() as connection:
        return {
            token: TokenTarget(conversation, turn or None, instrument)
            for token, conversation, turn, instrument in connection.execute(query)
        }


PRACTICE_COLUMNS = (
    *(Column("project"), Column("project_number", "integer"), Column("rater"), Column("round")),
    *(Column("attempt", "integer"), Column("example"), Column("item"), Column("title")),
    *(Column("outcome"), Column("value", "value"), Column("known", "value"), Column("reasoning")),
    *(Column("evidence", "json"), Column("instrument"), Column("instrument_version")),
    *(Column("instrument_hash"), Column("item_hash"), Column("at")),
)
"""The columns of answers to worked examples."""


def practice_answers(study: Study) -> Export:
    """Every answer to a worked example, in practice and among the units, in the order in which they came in."""
    return Export(PRACTICE_COLUMNS, _records(study))


def _records(study: Study) -> Iterator[Record]:
    instruments = {instrument.hash: instrument for instrument in study.instruments()}
    assignment, unit, project, member = (
        schema.assignments.c,
        schema.project_units.c,
        schema.projects.c,
        schema.members.c,
    )
    # Before the first unit of the work is handed in, a member is no rater of the study yet.
    name = func.coalesce(schema.raters.c.name, member.name).label("rater")
    query = (
        select(practice_table, assignment.attempt, unit.example, name, project.name, project.number, project.instrument)
        .select_from(
            practice_table.join(schema.assignments, practice_table.c.assignment == assignment.key)
            .join(schema.project_units, assignment.unit == unit.key)
            .join(schema.projects, assignment.project == project.key)
            .join(schema.members, assignment.member == member.key)
            .outerjoin(schema.raters, member.rater == schema.raters.c.key)
        )
        .order_by(practice_table.c.at, practice_table.c.assignment, practice_table.c.item)
    )
    with study.reading() as connection, connection.execution_options(yield_per=1000).execute(query) as rows:
        for row in rows.mappings():
            instrument, outcome = instruments[row["instrument"]], outcome_of(row["state"], row["value"], None)
            yield {
                "project": row["name"],
                "project_number": row["number"],
                "rater": row["rater"],
                "round": row["round"],
                "attempt": row["attempt"],
                "example": row["example"],
                "item": row["item"],
                "title": instrument.item(row["item"]).title,
                "outcome": outcome.state.value,
                "value": outcome.value,
                "known": None if row["known"] is None else from_json(row["known"]),
                "reasoning": row["reasoning"],
                "evidence": from_json(row["evidence"]),
                "instrument": instrument.id,
                "instrument_version": instrument.version,
                "instrument_hash": instrument.hash,
                "item_hash": instrument.item_hashes[row["item"]],
                "at": row["at"],
            }


class StoredCalibrator(NamedTuple):
    """A calibrator in a study."""

    name: str
    version: int
    at: str
    content: dict[str, Any]

    def __str__(self) -> str:
        return f"{self.name}@{self.version}"


def save_calibrator(study: Study, name: str, content: Mapping[str, Any]) -> StoredCalibrator:
    """Keep a calibrator under this name, as its next version.

    Raises:
        StudyError: The name is empty or holds an @, which stands before a version.
    """
    if not name.strip() or "@" in name:
        raise StudyError(f"{name!r} is no name for a calibrator: use letters, figures and dashes")
    with study.writing() as connection:
        last = connection.scalar(select(func.max(table.c.version)).where(table.c.name == name)) or 0
        kept = StoredCalibrator(name, last + 1, now(), dict(content))
        row = {"name": name, "version": kept.version, "at": kept.at, "content": to_json(kept.content)}
        connection.execute(table.insert(), row)
    return kept


def calibrators(study: Study) -> list[StoredCalibrator]:
    """All calibrators of the study, the oldest first."""
    with study.reading() as connection:
        rows = connection.execute(select(table).order_by(table.c.key))
        return [StoredCalibrator(row.name, row.version, row.at, from_json(row.content)) for row in rows]


def find_calibrator(study: Study, name: str) -> StoredCalibrator:
    """The newest calibrator of this name, or the version that `NAME@VERSION` says.

    Raises:
        StudyError: There is none; the sentence names those that are there.
    """
    found = calibrators(study)
    for kept in reversed(found):
        if name in {kept.name, str(kept)}:
            return kept
    names = ", ".join(str(kept) for kept in found)
    raise StudyError(
        f"{study.place} has no calibrator {name!r}; "
        + (f"it has {names}" if found else "make one with: attune correct STUDY --save-calibrator NAME")
    )
