"""What goes out to be rated elsewhere: the words of each unit under a random name, in an order of chance.

Neither the system, the id of the conversation, its metadata nor any rating leaves the study.
"""

import secrets
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

from attunement.conversations import Unit, UnitKind, units
from attunement.errors import InputError, StudyError
from attunement.instruments import Instrument
from attunement.people.answers import due_items
from attunement.study import Study
from attunement.study.handouts import keep_hand_out


class Outgoing(NamedTuple):
    """A unit on its way out."""

    token: str
    unit: Unit
    due: tuple[str, ...]
    """The items that are asked about it."""


class Message(NamedTuple):
    """One message of a unit as a rater reads it."""

    turn: int
    speaker: Literal["user", "assistant"]
    text: str
    rated: bool
    """Whether this is the reply that is rated; never so where the whole conversation is."""


def hand_out(study: Study, instrument: Instrument, format: str, keys: Collection[int] | None = None) -> list[Outgoing]:
    """Give every unit of the conversations with these keys (or of all) a token, and put them in an order of chance.

    Replies of one conversation stay together and in order, because they are easier to read so.

    Raises:
        StudyError: There is no conversation.
    """
    wanted = None if keys is None else set(keys)
    found = [
        (kept.key, list(units(kept.conversation, UnitKind(instrument.unit), study.responses(instrument.id))))
        for kept in study.conversations()
        if wanted is None or kept.key in wanted
    ]
    if not found:
        raise StudyError(f"{study.place} holds no conversation to hand out")
    secrets.SystemRandom().shuffle(found)
    flat = [(key, unit) for key, own in found for unit in own]
    tokens = keep_hand_out(study, instrument, format, [(key, unit.turn) for key, unit in flat])
    return [Outgoing(token, unit, due_items(instrument, unit)) for token, (_, unit) in zip(tokens, flat, strict=True)]


def messages(unit: Unit) -> Iterator[Message]:
    """What is said in a unit, message by message. A conversation that the assistant opens has no first message."""
    for number, turn in enumerate(unit.turns, 1):
        if turn.user:
            yield Message(number, "user", turn.user, rated=False)
        yield Message(number, "assistant", turn.assistant, rated=number == unit.turn)


def new_folder(folder: Path) -> Path:
    """Make the folder that files are handed out in.

    Raises:
        InputError: There is something in it already, or it cannot be made.
    """
    try:
        folder.mkdir(exist_ok=True)
        taken = any(folder.iterdir())
    except OSError as error:
        raise InputError(f"the folder {folder} cannot be made: {error.strerror or error}") from error
    if taken:
        raise InputError(f"there are files in {folder} already: name a new folder")
    return folder
