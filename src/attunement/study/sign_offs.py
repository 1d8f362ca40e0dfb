"""Who signed off on what, and does the signature still hold?

A sign-off is given for one instrument, the judges that were run with it and the systems in the study. When one of them
changes it lapses; it stays in the study as it was given. Where several people signed, "do not release" counts.
"""

import hashlib
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from sqlalchemy import Connection, select

from attunement.instruments import Instrument
from attunement.ratings import RaterKind, Round
from attunement.scoring import is_signals
from attunement.study import tables
from attunement.study.encoding import from_json, to_json
from attunement.study.store import Study, now
from attunement.study.tables_reviews import sign_offs as table

_DIGITS = 12


class Release(StrEnum):
    """What somebody signs."""

    RELEASE = "release"
    CONDITIONS = "release with conditions"
    NO_RELEASE = "do not release"


class Basis(NamedTuple):
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
    decision: Release
    conditions: str
    basis: Basis
    numbers: dict[str, int]
    """What had been read and decided: see `people.sign_off`."""


def basis(study: Study, instrument: Instrument) -> Basis:
    """What a signature given now would be for."""
    with study.reading() as connection:
        return Basis(
            instrument.hash,
            f"{instrument.id} {instrument.version}",
            _judges(connection, instrument),
            _systems(connection),
        )


def keep_sign_off(
    study: Study,
    given_for: Basis,
    decision: Release,
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
    of_instrument = (table.c.instrument == tables.instruments.c.hash) & (tables.instruments.c.id == instrument.id)
    with study.reading() as connection:
        return [
            SignOff(
                row.member,
                row.name,
                row.role,
                row.at,
                row.study,
                Release(row.decision),
                row.conditions,
                Basis(**from_json(row.basis)),
                from_json(row.numbers),
            )
            for row in connection.execute(select(table).where(of_instrument).order_by(table.c.key))
        ]


def changed(signed: SignOff, present: Basis) -> list[str]:
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


class Signed(NamedTuple):
    """What the signatures come to."""

    deciding: SignOff | None
    """The signature that counts; None where none holds."""
    lapsed: SignOff | None
    """Where none holds: the last one that was given, if there is one."""
    why: tuple[str, ...] = ()
    """Why that one lapsed."""


def signed(given: Sequence[SignOff], present: Basis) -> Signed:
    """The signature that counts now: of each person the last one, and "do not release" before all others."""
    last = {signature.member: signature for signature in given}.values()
    holding = sorted((one for one in last if not changed(one, present)), key=lambda one: one.at)
    against = [one for one in holding if one.decision is Release.NO_RELEASE]
    if holding:
        with_conditions = [one for one in holding if one.decision is Release.CONDITIONS]
        return Signed((against or with_conditions or holding)[-1], None)
    if not given:
        return Signed(None, None)
    return Signed(None, given[-1], tuple(changed(given[-1], present)))


def _judges(connection: Connection, instrument: Instrument) -> dict[str, str]:
    """The judges with ratings of these items, and the marks of their settings."""
    rating, rater = tables.ratings.c, tables.raters.c
    asked = rating.item_hash.in_(list(instrument.item_hashes.values())) & (rating.round == Round.MAIN)
    query = select(rater.name, rater.mark).where(
        rater.kind == RaterKind.MODEL, rater.key.in_(select(rating.rater).where(asked))
    )
    return {name: mark[:_DIGITS] for name, mark in connection.execute(query) if not is_signals(name)}


def _systems(connection: Connection) -> dict[str, str]:
    """The systems, and the marks of the instructions that they were given."""
    talk = tables.conversations.c
    instructions: dict[str, set[str]] = {}
    for system, text in connection.execute(select(talk.system, talk.instructions).distinct()):
        instructions.setdefault(system, set()).add(text or "")
    return {
        system: hashlib.sha256(to_json(sorted(texts)).encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]
        for system, texts in sorted(instructions.items())
    }
