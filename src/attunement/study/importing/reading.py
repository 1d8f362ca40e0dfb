"""What does a row mean, given the conversations and instruments that are known?"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from attunement.conversations import Identity, UnitKind
from attunement.conversations.readers.record import BadRecord
from attunement.instruments import Instrument
from attunement.ratings import RaterKind
from attunement.study.encoding import to_json
from attunement.study.importing.answers import Given, answers
from attunement.study.importing.columns import Columns
from attunement.study.importing.exported import Exported, exported, is_exported
from attunement.study.importing.found import SHOWN, Card, Voice
from attunement.study.importing.rows import Row


@dataclass(frozen=True)
class Wishes:
    """How files of answers are to be understood."""

    system: str | None = None
    """The system that is meant where an answer names none and its conversation's id occurs in several."""
    rater: str | None = None
    """Who gave the answers that do not name anybody."""
    kind: RaterKind = RaterKind.MODEL
    """What the raters are."""
    people: frozenset[str] = frozenset()
    """Raters who are people, whatever `kind` says of the others."""
    columns: Columns = field(default_factory=Columns)
    blind: bool | None = None
    """Whether the people among them knew neither the system nor anybody else's answers; None: nobody says it."""
    versions: tuple[Instrument, ...] = ()
    """Further instruments in whose words exported ratings may have been asked."""


class Foreign(NamedTuple):
    """An answer made elsewhere, about a conversation and an item that are known."""

    card: Card
    turn: int | None
    given: Given


class Reader:
    """Understands rows."""

    def __init__(
        self,
        instrument: Instrument,
        instruments: Sequence[Instrument],
        directory: Mapping[Identity, int],
        wishes: Wishes,
        origin: str,
    ) -> None:
        """`instruments` are those that exported ratings may refer to; `origin` names the files."""
        self.instrument = instrument
        self.instruments = {entry.hash: entry for entry in instruments}
        self.directory = directory
        self._wishes = wishes
        self._origin = origin
        self._by_id: dict[str, list[Identity]] = {}
        for identity in directory:
            self._by_id.setdefault(identity.id, []).append(identity)

    def read(self, row: Row) -> Iterator[Foreign | Exported]:
        """The answers or the exported rating in a row.

        Raises:
            BadRecord: The row cannot be read, or is about something that is not known.
        """
        if row.fields is None:
            raise BadRecord(row.reason)
        if is_exported(row.fields):
            yield self._known(exported(row.fields))
            return
        if {"members", "verdict"} <= row.fields.keys():
            raise BadRecord("these are scorecards, which follow from ratings; import the ratings (attune export)")
        for given in answers(row.fields, self.instrument, self._wishes.columns):
            identity = self._identity(given)
            yield Foreign(Card(identity, self._voice(given), given.repeat), self._turn(identity, given.turn), given)

    def _known(self, entry: Exported) -> Exported:
        rating = entry.rating
        if rating.conversation not in self.directory:
            raise BadRecord(f"there is no conversation {rating.conversation}; give it with --conversations")
        if rating.turn is not None and not 1 <= rating.turn <= self.directory[rating.conversation]:
            raise BadRecord(f"{rating.conversation} has no turn {rating.turn}")
        instrument = self.instruments.get(rating.instrument)
        if instrument is not None and rating.item in instrument.item_hashes:
            return entry
        # Another version may ask this item in the same words: then only weights, rules or other items differ.
        for other in (self.instrument, *self.instruments.values()):
            if other.item_hashes.get(rating.item) == rating.item_hash:
                return entry._replace(rating=rating._replace(instrument=other.hash))
        raise BadRecord(
            f"{rating.item!r} was asked in words that no instrument here has; name the version that has them with a "
            "further --instrument"
        )

    def _identity(self, given: Given) -> Identity:
        if given.system is not None:
            identity = Identity(given.system, given.conversation)
            if identity not in self.directory:
                raise BadRecord(f"there is no conversation {given.conversation!r} of the system {given.system!r}")
            return identity
        found = self._by_id.get(given.conversation, [])
        if not found:
            raise BadRecord(f"there is no conversation {given.conversation!r}")
        if len(found) == 1:
            return found[0]
        for identity in found:
            if identity.system == self._wishes.system:
                return identity
        systems = ", ".join(repr(identity.system) for identity in found[:SHOWN])
        raise BadRecord(f"{given.conversation!r} may be of {systems}; say which in a column 'system', or with --system")

    def _turn(self, identity: Identity, turn: int | None) -> int | None:
        last = self.directory[identity]
        if UnitKind(self.instrument.unit) is UnitKind.CONVERSATION:
            if turn is not None:
                raise BadRecord(f"{self.instrument.id} rates whole conversations, not turn {turn}")
            return None
        if turn is None and last > 1:
            raise BadRecord(f"{identity} has {last} replies; say which one is rated in a column 'turn'")
        if turn is not None and not 1 <= turn <= last:
            raise BadRecord(f"{identity} has no turn {turn}; it has {last}")
        return turn or 1

    def _voice(self, given: Given) -> Voice:
        name = given.rater or self._wishes.rater
        if name is None:
            raise BadRecord("nothing says who gave this answer; name them with --rater, or the column (--rater-column)")
        kind = RaterKind.PERSON if name in self._wishes.people else self._wishes.kind
        settings: dict[str, Any] = {"imported_from": self._origin, **given.settings}
        if kind is RaterKind.PERSON and self._wishes.blind is not None:
            settings["blind"] = self._wishes.blind
        return Voice(name, kind, to_json(settings, sorted=True))
