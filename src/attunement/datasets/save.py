"""A data set that was read goes into a study: all of it in one transaction, or nothing.

This is a way of its own beside `Study.write` because a set may hold hundreds of thousands of answers: rows go to the
database as they are made, and a run that is stopped in the middle leaves no half of a set behind. What the study has
already stands; loading a set twice changes nothing.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection, Table, bindparam, select

from attunement.conversations import Conversation, Identity, Responses, UnitKind
from attunement.datasets.base import DatasetAnswer, LoadedDataset, Part
from attunement.ratings import Rating
from attunement.store import Rater, Study, schema
from attunement.store.rows import conversation_row, identity_hash, insert_into, rating_row

T = TypeVar("T")

_BATCH = 2000
"""Rows that are made at a time; keys go into queries in smaller numbers."""
_MANY = 500


class SavedDataset(NamedTuple):
    """What loading did."""

    conversations: int
    ratings: int
    new_ratings: int


def save_dataset(loaded: LoadedDataset, study: Study) -> SavedDataset:
    """Keep the whole set in `study`.

    Raises:
        StudyError: The study holds other words under the name of a conversation. Nothing is kept then.
    """
    conversations = [conversation for part in loaded.parts for conversation in part.conversations]
    study.keys(conversations)  # refuses other words under a known name, before anything is written
    raters = {who.name: study.save_rater(who.name, who.kind, who.settings) for who in loaded.raters}
    for part in loaded.parts:
        study.save_instrument(part.instrument)
        if part.instrument.unit is UnitKind.RESPONSE:
            study.save_responses(part.instrument.id, Responses.ALL)
    with study.writing() as connection:
        keys = _keep_conversations(connection, conversations)
        new = sum(_keep_ratings(connection, part, keys, raters) for part in loaded.parts)
    return SavedDataset(len(keys), sum(len(part.answers) for part in loaded.parts), new)


def _keep_conversations(connection: Connection, conversations: Sequence[Conversation]) -> dict[Identity, int]:
    table = schema.conversations
    for batch in _batches(conversations, _BATCH):
        connection.execute(_insert(connection, table), [conversation_row(conversation) for conversation in batch])
    keys: dict[Identity, int] = {}
    for batch in _batches(conversations, _MANY):
        names = {identity_hash(conversation.identity): conversation.identity for conversation in batch}
        found = connection.execute(select(table.c.identity, table.c.key).where(table.c.identity.in_(list(names))))
        keys.update((names[identity], key) for identity, key in found)
    return keys


def _keep_ratings(connection: Connection, part: Part, keys: dict[Identity, int], raters: dict[str, Rater]) -> int:
    insert = _insert(connection, schema.ratings)
    counting = {"preserve_rowcount": True}
    new = 0
    for batch in _batches(part.answers, _BATCH):
        rows = [
            rating_row(_rating(answer, part, raters), keys[answer.conversation], raters[answer.rater].key)
            for answer in batch
        ]
        new += connection.execute(insert, rows, execution_options=counting).rowcount
    return new


def _rating(answer: DatasetAnswer, part: Part, raters: dict[str, Rater]) -> Rating:
    rater = raters[answer.rater]
    item_hash = part.instrument.item_hashes[answer.item]
    return Rating(
        conversation=answer.conversation,
        turn=answer.turn,
        item=answer.item,
        outcome=answer.outcome,
        rater=rater.name,
        rater_kind=rater.kind,
        repeat=answer.repeat,
        reasoning=answer.reasoning,
        item_hash=item_hash,
        asked=item_hash,  # how it was asked elsewhere is not known; what was asked is
        instrument=part.instrument.hash,
        detail=answer.detail,
    )


def _insert(connection: Connection, table: Table) -> Any:
    values: dict[str, Any] = {column.name: bindparam(column.name) for column in table.c if column.name != "key"}
    return insert_into(table, connection.dialect.name).values(values).on_conflict_do_nothing()


def _batches(entries: Iterable[T], size: int) -> Iterator[list[T]]:
    source = iter(entries)
    while batch := list(islice(source, size)):
        yield batch
