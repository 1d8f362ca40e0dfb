"""One record becomes one conversation, or says why it cannot.

The shape and the fields of a record are looked up once and remembered for all records with the same fields. Where a
record does not fit what is remembered, it is recognised anew before it is called bad.
"""

from dataclasses import replace
from typing import Any, NamedTuple

from attunement.conversations.model import Conversation, Origin, fingerprint
from attunement.conversations.readers.chat import ChatText
from attunement.conversations.readers.fields import About, Fields, Layout, lay_out, read_about
from attunement.conversations.readers.formats import Format
from attunement.conversations.readers.jsonfile import parse_exactly
from attunement.conversations.readers.recognition import Shape, recognise
from attunement.conversations.readers.record import BadRecord, InexactNumber, Record, is_object
from attunement.conversations.readers.rows import RowGroup
from attunement.conversations.readers.talk import Talk, join

_LAYOUTS_KEPT = 64  # a file whose records all have different fields must not fill the memory with layouts
_ID_DIGITS = 16  # of the content's hash: among a million conversations, two share them once in 40 million times
_FIELDS_SHOWN = 12
_NOTHING = About(None, None, None, Origin.UNKNOWN, {})


class NoSystem(BadRecord):
    """Nothing says which system took part. One option mends it for the whole file, so it is never skipped."""


class Assembled(NamedTuple):
    """A conversation, and whether a last message without a reply was left out of it."""

    conversation: Conversation
    unanswered: bool


class _Understood(NamedTuple):
    shape: Shape
    layout: Layout


class Assembler:
    """Makes the conversations of one file.

    Args:
        wanted: The shape of the records, or None to recognise it.
        fields: Names of fields, where the usual ones are not to be taken.
        system: The system of conversations that do not name theirs.
        stem: The id of a conversation that is the whole file.
    """

    def __init__(self, wanted: Format | None, fields: Fields, system: str | None, stem: str | None) -> None:
        self._wanted = wanted
        self._fields = fields
        self._system = system
        self._stem = stem
        self._understood: dict[tuple[str, ...], _Understood] = {}

    def assemble(self, record: Record) -> Assembled:
        """The conversation in `record`.

        Raises:
            BadRecord: There is none, or it cannot be read.
        """
        if isinstance(record.value, BadRecord):
            raise record.value
        try:
            talk, about = self._read(record.value, record.exact)
        except InexactNumber:
            talk, about = self._read(parse_exactly(record.raw), exact=True)
        if all(not turn.assistant or turn.assistant.isspace() for turn in talk.turns):
            raise BadRecord("there is no reply of the assistant")
        system = about.system or self._system
        if system is None:
            raise NoSystem("nothing says which system took part in this conversation; name it with --system NAME")
        conversation = Conversation(
            id=about.id or self._id_for(record.value) or fingerprint(talk.turns)[:_ID_DIGITS],
            system=system,
            turns=talk.turns,
            metadata=about.metadata,
            instructions=join(about.instructions or "", talk.instructions or "") or None,
            origin=about.origin,
        )
        return Assembled(conversation, talk.unanswered)

    def _id_for(self, value: Any) -> str | None:
        if self._fields.id is not None:
            raise BadRecord(f"there is no id in a field '{self._fields.id}'")
        whole_file = isinstance(value, ChatText) or (isinstance(value, RowGroup) and value.shape.id is None)
        return self._stem if whole_file else None

    def _read(self, value: Any, exact: bool) -> tuple[Talk, About]:
        keys = tuple(value) if is_object(value) else ()
        remembered = self._understood.get(keys)
        if remembered is None:
            understood = self._understand(value, keys)
            if understood is None:
                raise BadRecord(self._unknown(value))
        else:
            try:
                return _read_as(remembered, value, exact)
            except BadRecord:
                understood = self._understand(value, keys)
                if understood is None or understood == remembered:
                    raise
        if len(self._understood) >= _LAYOUTS_KEPT:
            self._understood.clear()
        self._understood[keys] = understood
        return _read_as(understood, value, exact)

    def _understand(self, value: Any, keys: tuple[str, ...]) -> _Understood | None:
        shape = recognise(value, self._wanted, self._fields)
        if shape is None:
            return None
        fields = self._fields
        if isinstance(value, RowGroup) and value.shape.id is not None:
            fields = replace(fields, id=value.shape.id)
        return _Understood(shape, lay_out(keys, shape.keys, fields))

    def _unknown(self, value: Any) -> str:
        any_shape = self._wanted is None or self._wanted.is_kind
        shape = "conversation" if any_shape else f"conversation in the shape '{self._wanted}'"
        if not is_object(value):
            return f"this is no {shape}"
        given = ", ".join(f"'{key}'" for key in tuple(value)[:_FIELDS_SHOWN])
        return (
            f"no {shape} is recognised in the fields {given}; name the shape with --format, "
            "or the fields with --prompt-field and --response-field"
        )


def _read_as(understood: _Understood, value: Any, exact: bool) -> tuple[Talk, About]:
    talk = understood.shape.talk(value, exact)
    about = read_about(value, understood.layout, exact) if is_object(value) else _NOTHING
    return talk, about
