"""Which conversations were drawn for people to rate, and with what probability?

A sample is written once and never changed: a larger one is a new sample that holds the old one. Where a conversation
is forgotten, it leaves its samples; the probabilities of the others stay what they were.
"""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from sqlalchemy import Row, func, select
from sqlalchemy.exc import IntegrityError

from attunement.errors import StudyError
from attunement.ratings import RaterKind, Round
from attunement.study import tables
from attunement.study.encoding import from_json, to_json
from attunement.study.store import Study, now, unmarked
from attunement.study.tables_samples import sample_frame
from attunement.study.tables_samples import samples as samples_table

Split = Literal["develop", "certify"]


class Drawn(NamedTuple):
    """That a conversation is in a sample."""

    stratum: str
    probability: float
    """Of being in the sample; of being in `certify` it is this times the share `certify` of the design."""
    split: Split | None


class Waiting(NamedTuple):
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
    units: dict[int, Drawn]
    """What was drawn, by the key of the conversation."""


def keep_sample(
    study: Study,
    *,
    name: str | None,
    instrument: str,
    seed: int,
    design: dict[str, Any],
    units: Mapping[int, Drawn],
    waiting: Mapping[int, Waiting] | None = None,
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
            kept[key].units[conversation] = Drawn(*drawn)
    return list(kept.values())


def latest_sample(study: Study, instrument_id: str) -> Sample | None:
    """The newest sample for this instrument, if there is one."""
    return next((sample for sample in reversed(samples(study)) if sample.instrument == instrument_id), None)


def waiting(study: Study, sample: Sample) -> dict[int, Waiting]:
    """Those who could have been drawn into the sample and were not, by the key of the conversation."""
    frame = sample_frame.c
    columns = select(frame.conversation, frame.stratum, frame.probability).order_by(frame.conversation)
    with study.reading() as connection:
        rows = connection.execute(columns.where(frame.sample == sample.key, ~frame.drawn))
        return {key: Waiting(stratum, probability) for key, stratum, probability in rows}


def runs_on_certify(study: Study, sample: Sample) -> dict[str, int]:
    """How many versions of each judge have rated conversations of the sample's `certify` split.

    A version is a judge with its settings and the version of the instrument it was asked with. The more versions were
    tried on `certify`, the less the figures of the best one say about new conversations. Judges are named as they were
    given, without the mark that tells their settings apart.
    """
    frame, ratings, raters, instruments = sample_frame.c, tables.ratings.c, tables.raters.c, tables.instruments.c
    certify = select(frame.conversation).where(frame.sample == sample.key, frame.split == "certify")
    versions = (
        select(raters.name, raters.settings, func.count(ratings.instrument.distinct()))
        .select_from(
            tables.ratings.join(tables.raters, ratings.rater == raters.key).join(
                tables.instruments, ratings.instrument == instruments.hash
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
            judge = unmarked(name, RaterKind.MODEL, from_json(settings))
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
