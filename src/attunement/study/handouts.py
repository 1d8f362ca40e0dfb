"""Which unit does the random word in a file stand for?

Files that leave a study to be rated elsewhere name neither a system nor a conversation. Each unit gets a word of chance
that is kept here, with the version of the instrument that its raters read.
"""

import secrets
from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from attunement.errors import StudyError
from attunement.instruments import Instrument
from attunement.study.store import Study, now
from attunement.study.tables_handouts import hand_outs, handed_units

_BYTES = 8
"""Bytes of chance in a token: nobody meets another's by accident."""


class Handed(NamedTuple):
    """What a token stands for."""

    conversation: int
    """The key of the conversation."""
    turn: int | None
    instrument: str
    """The hash of the instrument that its raters read."""


def keep_hand_out(
    study: Study, instrument: Instrument, format: str, units: Sequence[tuple[int, int | None]]
) -> list[str]:
    """Keep that these units, by the key of the conversation and the turn, were handed out; returns a token for each.

    Raises:
        StudyError: A conversation was forgotten in the meantime.
    """
    # A letter comes first, because a spreadsheet takes 12345678 or 1e10 for a number.
    tokens = [f"u{secrets.token_hex(_BYTES)}" for _ in units]
    study.keep_instrument(instrument)
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


def handed(study: Study) -> dict[str, Handed]:
    """Everything that was handed out, by token."""
    units, outs = handed_units.c, hand_outs.c
    query = select(units.token, units.conversation, units.turn, outs.instrument).where(units.hand_out == outs.key)
    with study.reading() as connection:
        return {
            token: Handed(conversation, turn or None, instrument)
            for token, conversation, turn, instrument in connection.execute(query)
        }
