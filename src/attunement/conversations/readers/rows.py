"""Tables in which several rows make one conversation: one message a row, or one numbered exchange a row.

Rows that belong together follow each other: they have the same conversation id and name no two systems. A column with
a turn number puts them in order. A table of messages without a conversation id is one conversation.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from attunement.conversations.readers import names
from attunement.conversations.readers.exchanges import ExchangeList
from attunement.conversations.readers.fields import Fields
from attunement.conversations.readers.flat import flat_record
from attunement.conversations.readers.jsonfile import parse_exactly
from attunement.conversations.readers.messages import MessageList, message_keys
from attunement.conversations.readers.record import BadRecord, Record, is_object, surely_exact
from attunement.conversations.readers.talk import Talk

_BLANK = (None, "")


class RowShape(NamedTuple):
    """How one row holds its part of the talk, and which columns put rows together."""

    part: MessageList | ExchangeList
    keys: tuple[str, ...]
    id: str | None
    system: str | None
    number: str | None

    def talk(self, record: Any, exact: bool) -> Talk:
        """What was said in the rows of `record`; `exact` says that no number in there was rounded."""
        return self.part.talk(record.rows, exact)


class RowGroup(dict[str, Any]):
    """The columns of rows that belong together, as one record, with the rows themselves.

    A column that says one thing only, wherever it says anything, says it once; another is the list of what it says.
    """

    def __init__(self, shape: RowShape, rows: list[dict[str, Any]]) -> None:
        super().__init__()
        self.shape = shape
        self.rows = rows
        for key in dict.fromkeys(key for row in rows for key in row):
            cells = [row.get(key) for row in rows]
            filled = [cell for cell in cells if cell not in _BLANK]
            self[key] = next(iter(filled), cells[0]) if all(cell == filled[0] for cell in filled) else cells


def row_shape(row: Any, fields: Fields, forced: bool = False) -> RowShape | None:
    """How `row` holds its part of a conversation, or None where it is a conversation of its own.

    `forced` also takes a row whose speaker is not known for a message.
    """
    if not is_object(row):
        return None
    conversations = names.present((fields.id,) if fields.id else names.CONVERSATION_ID, row)
    numbers = names.present(names.TURN_NUMBER, row)[:1]
    systems = names.present((fields.system,) if fields.system else names.SYSTEM, row)
    part: MessageList | ExchangeList
    if (keys := message_keys(row)) and (forced or names.side_of(row[keys[0]])):
        part = MessageList((), *keys)
        conversations = conversations or names.present(names.ID, row)
    elif conversations and numbers and (flat := flat_record(row, fields.prompt, fields.response)) and not flat.history:
        keys = (flat.prompts[0], flat.response)
        part = ExchangeList((), *keys)
    else:
        return None
    spare = [system for system in systems if system not in keys]
    return RowShape(part, keys, _first(conversations), _first(spare), _first(numbers))


def grouped(records: Iterable[Record], shape: RowShape) -> Iterator[Record]:
    """Put the rows of `records` together, so that each record is one conversation."""
    rows: list[Record] = []
    for record in records:
        if not record.exact and not surely_exact(record.value):
            record = record._replace(value=parse_exactly(record.raw), exact=True)
        if not is_object(record.value):
            yield record
            continue
        if rows and not _together(rows, record, shape):
            yield _group(rows, shape)
            rows = []
        rows.append(record)
    if rows:
        yield _group(rows, shape)


def _together(rows: list[Record], record: Record, shape: RowShape) -> bool:
    if shape.id is not None and rows[-1].value.get(shape.id) != record.value.get(shape.id):
        return False
    if shape.system is None or record.value.get(shape.system) in _BLANK:
        return True
    named = [row.value.get(shape.system) for row in rows if row.value.get(shape.system) not in _BLANK]
    return not named or named[0] == record.value[shape.system]


def _group(rows: list[Record], shape: RowShape) -> Record:
    value: RowGroup | BadRecord
    try:
        value = RowGroup(shape, _in_order([row.value for row in rows], shape.number))
    except (KeyError, TypeError, ValueError):
        value = BadRecord(f"the turns of this conversation are not numbered in the column '{shape.number}'")
    whole = [row.raw if isinstance(row.raw, str) else row.raw.decode("utf-8", "surrogateescape") for row in rows]
    return Record(rows[0].line, value, "".join(whole))


def _in_order(rows: list[dict[str, Any]], number: str | None) -> list[dict[str, Any]]:
    # Sorting keeps rows with one number in the order of the file, as where both messages of a turn have it.
    return rows if number is None or len(rows) == 1 else sorted(rows, key=lambda row: float(row[number]))


def _first(keys: list[str]) -> str | None:
    return keys[0] if keys else None
