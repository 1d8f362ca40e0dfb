"""The place where everything is kept: one SQLite file by default, a PostgreSQL database for a team.

The store is the checkpoint and the cache. Whether something was asked already is decided by its unique keys, so a
second answer is impossible, and several processes may work on one study at the same time. An answer that was kept is
never changed; only an ERROR may be replaced by what a later run learns.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, Self, TypeVar

from sqlalchemy import ColumnElement, Connection, Row, Select, Table, bindparam, delete, func, select, tuple_
from sqlalchemy.dialects import postgresql, sqlite

from attunement.conversations import Conversation, Identity, Origin, Responses
from attunement.errors import StudyError
from attunement.instruments import Instrument
from attunement.ratings import ErrorKind, Outcome, RaterKind, Rating, Round
from attunement.study import tables
from attunement.study.connecting import connect
from attunement.study.encoding import (
    conversation_of,
    conversation_row,
    from_json,
    outcome_of,
    rating_of,
    rating_row,
    to_json,
)

T = TypeVar("T")

_MANY = 500
"""How many keys go into one query: well under the number of variables that SQLite takes."""


class Rater(NamedTuple):
    """Who answers, as the study knows them."""

    key: int
    name: str
    kind: RaterKind
    settings: dict[str, Any]
    refused: dict[str, str]


class AnswerRecord(NamedTuple):
    """What a judge said to one prompt, and what it cost."""

    prompt: str
    rater: int
    repeat: int
    text: str = ""
    error: ErrorKind | None = None
    detail: str = ""
    model: str | None = None
    finish_reason: str | None = None
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = None
    latency: float | None = None
    attempts: int = 1
    logprobs: Any = None
    at: str = ""


class KeptRating(NamedTuple):
    """A rating with the keys under which it is kept."""

    conversation: int
    rater: int
    rating: Rating


class Rated(NamedTuple):
    """That something was rated already."""

    conversation: int
    turn: int | None
    item: str
    asked: str
    repeat: int
    outcome: Outcome


class Summary(NamedTuple):
    """What is known of a conversation without its words."""

    key: int
    identity: Identity
    turns: int
    metadata: dict[str, Any]
    origin: Origin


class Kept(NamedTuple):
    """A conversation in the study and its key."""

    key: int
    conversation: Conversation


class Study:
    """An open study. Use it as a context manager, or close it."""

    def __init__(self, place: str | Path, *, create: bool = False) -> None:
        """Open the study at a path or a `postgresql://` address; with `create` make it if it is not there."""
        self.place = str(place)
        self._engine = connect(place, create=create)
        self._insert = postgresql.insert if self._engine.dialect.name == "postgresql" else sqlite.insert

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()

    # Instruments and raters

    def keep_instrument(self, instrument: Instrument) -> None:
        """Keep the instrument in full."""
        row = {
            "hash": instrument.hash,
            "id": instrument.id,
            "version": instrument.version,
            "content": to_json(instrument.canonical()),
            "added": now(),
        }
        with self._engine.begin() as connection:
            connection.execute(self._insert(tables.instruments).on_conflict_do_nothing(), row)

    def instruments(self) -> list[Instrument]:
        """All instruments of the study, the oldest first."""
        order = select(tables.instruments.c.content).order_by(tables.instruments.c.added)
        with self._engine.connect() as connection:
            return [Instrument.model_validate(from_json(content)) for content in connection.scalars(order)]

    def keep_rater(self, name: str, kind: RaterKind, settings: dict[str, Any]) -> Rater:
        """The rater with these settings, kept if it is new.

        The same name with other settings is another rater; its name then carries a part of its mark.
        """
        mark = _mark(name, kind, settings)
        with self._engine.begin() as connection:
            for known_as in (name, f"{name} @{mark[:6]}"):
                row = {"mark": mark, "name": known_as, "kind": kind, "settings": to_json(settings), "refused": "{}"}
                connection.execute(self._insert(tables.raters).on_conflict_do_nothing(), row)
                kept = connection.execute(select(tables.raters).where(tables.raters.c.mark == mark)).first()
                if kept is not None:
                    return _rater(kept)
        raise StudyError(f"{self.place}: the rater {name!r} cannot be kept; two of the same mark exist")

    def find_rater(self, name: str, kind: RaterKind, settings: dict[str, Any]) -> Rater | None:
        """The rater with these settings, if the study knows it."""
        with self._engine.connect() as connection:
            known = tables.raters.c.mark == _mark(name, kind, settings)
            row = connection.execute(select(tables.raters).where(known)).first()
        return None if row is None else _rater(row)

    def note_refused(self, rater: Rater, refused: dict[str, str]) -> None:
        """Record what the rater's server did not accept."""
        with self._engine.begin() as connection:
            change = tables.raters.update().where(tables.raters.c.key == rater.key)
            connection.execute(change.values(refused=to_json(refused)))

    def raters(self) -> list[Rater]:
        """All raters, in the order in which they joined."""
        with self._engine.connect() as connection:
            return [_rater(row) for row in connection.execute(select(tables.raters).order_by(tables.raters.c.key))]

    def responses(self, instrument: str) -> Responses:
        """Which replies of a conversation this instrument is asked about in this study."""
        with self._engine.connect() as connection:
            name = f"responses of {instrument}"
            value = connection.scalar(select(tables.about.c.value).where(tables.about.c.name == name))
        return Responses(value) if value else Responses.ALL

    def note_responses(self, instrument: str, responses: Responses) -> None:
        """Record which replies a run asks about. Once all were wanted, one that is not there is missing."""
        row = {"name": f"responses of {instrument}", "value": responses.value}
        insert = self._insert(tables.about)
        if responses is Responses.ALL:
            insert = insert.on_conflict_do_update(index_elements=["name"], set_={"value": insert.excluded.value})
        else:
            insert = insert.on_conflict_do_nothing()
        with self._engine.begin() as connection:
            connection.execute(insert, row)

    # Conversations

    def keep_conversations(self, conversations: Sequence[Conversation]) -> list[int]:
        """Keep these conversations and return their keys, in order.

        One that is there already must hold the same words: ratings rest on them.
        """
        rows = [conversation_row(conversation) for conversation in conversations]
        if not rows:
            return []
        with self._engine.begin() as connection:
            connection.execute(self._insert(tables.conversations).on_conflict_do_nothing(), rows)
            found = self._keys(connection, [conversation.identity for conversation in conversations])
        for conversation, row in zip(conversations, rows, strict=True):
            if found[conversation.identity][1] != row["fingerprint"]:
                raise StudyError(
                    f"{conversation.identity} is in {self.place} with other words: give the new conversation another "
                    f"id, use another study, or remove the old one with: attune forget {self.place} {conversation.id}"
                )
        return [found[conversation.identity][0] for conversation in conversations]

    def keys(self, conversations: Sequence[Conversation]) -> dict[Identity, int]:
        """The keys of those of these conversations that are in the study."""
        with self._engine.connect() as connection:
            found = self._keys(connection, [conversation.identity for conversation in conversations])
        return {identity: key for identity, (key, _) in found.items()}

    def _keys(self, connection: Connection, identities: Sequence[Identity]) -> dict[Identity, tuple[int, str]]:
        table = tables.conversations.c
        found: dict[Identity, tuple[int, str]] = {}
        for chunk in _chunks(identities):
            wanted = tuple_(table.system, table.id).in_([tuple(identity) for identity in chunk])
            query = select(table.system, table.id, table.key, table.fingerprint).where(wanted)
            for system, id, key, mark in connection.execute(query):
                found[Identity(system, id)] = (key, mark)
        return found

    def conversation_count(self) -> int:
        """How many conversations the study holds."""
        with self._engine.connect() as connection:
            return connection.scalar(select(func.count()).select_from(tables.conversations)) or 0

    def conversations(self, *, after: int = 0) -> Iterator[Kept]:
        """All conversations in the order in which they came in, in pages, so that memory stays flat."""
        table = tables.conversations
        while True:
            page = select(table).where(table.c.key > after).order_by(table.c.key).limit(_MANY)
            with self._engine.connect() as connection:
                rows = connection.execute(page).mappings().all()
            for row in rows:
                yield Kept(row["key"], conversation_of(row))
            if len(rows) < _MANY:
                return
            after = rows[-1]["key"]

    def summaries(self, size: int) -> Iterator[list[Summary]]:
        """All conversations without their words, in order, `size` at a time."""
        table = tables.conversations.c
        columns = select(table.key, table.system, table.id, table.turn_count, table.metadata, table.origin)
        after = 0
        while True:
            page = columns.where(table.key > after).order_by(table.key).limit(size)
            with self._engine.connect() as connection:
                rows = connection.execute(page).all()
            if not rows:
                return
            yield [
                Summary(key, Identity(system, id), turns, from_json(metadata), Origin(origin))
                for key, system, id, turns, metadata, origin in rows
            ]
            after = rows[-1][0]

    def find(self, name: str) -> list[Kept]:
        """The conversations with this id, or this `system/id`."""
        table = tables.conversations
        query = select(table).where(table.c.id == name)
        system, _, id = name.partition("/")
        with self._engine.connect() as connection:
            rows = connection.execute(query).mappings().all()
            if not rows and id:
                both = (table.c.system == system) & (table.c.id == id)
                rows = connection.execute(select(table).where(both)).mappings().all()
        return [Kept(row["key"], conversation_of(row)) for row in rows]

    def forget(self, key: int) -> int:
        """Delete a conversation with everything derived from it; returns the number of ratings that went.

        An answer that also serves another conversation with the same words stays.
        """
        ratings, answers = tables.ratings, tables.answers
        with self._engine.begin() as connection:
            asked = select(ratings.c.asked).where(ratings.c.conversation == key).distinct()
            prompts = list(connection.scalars(asked))
            gone = connection.execute(delete(ratings).where(ratings.c.conversation == key)).rowcount
            for chunk in _chunks(prompts):
                still = set(connection.scalars(select(ratings.c.asked).where(ratings.c.asked.in_(chunk)).distinct()))
                lost = [prompt for prompt in chunk if prompt not in still]
                connection.execute(delete(answers).where(answers.c.prompt.in_(lost)))
            connection.execute(delete(tables.conversations).where(tables.conversations.c.key == key))
        return gone

    # Answers and ratings

    def rated(self, conversations: Sequence[int], rater: Rater) -> Iterator[Rated]:
        """What this rater has rated, in the main round, of the conversations with these keys."""
        table = tables.ratings.c
        columns = select(
            table.conversation, table.turn, table.item, table.asked, table.repeat, table.state, table.value, table.error
        )
        with self._engine.connect() as connection:
            for chunk in _chunks(conversations):
                own = (table.rater == rater.key) & (table.round == Round.MAIN) & table.conversation.in_(chunk)
                for conversation, turn, item, asked, repeat, *outcome in connection.execute(columns.where(own)):
                    yield Rated(conversation, turn or None, item, asked, repeat, outcome_of(*outcome))

    def answered(self, prompts: Sequence[str], rater: Rater) -> dict[tuple[str, int], AnswerRecord]:
        """The answers this rater has given to these prompts, by prompt hash and repeat. Errors are no answers."""
        table = tables.answers.c
        found: dict[tuple[str, int], AnswerRecord] = {}
        with self._engine.connect() as connection:
            for chunk in _chunks(prompts):
                own = (table.rater == rater.key) & table.prompt.in_(chunk) & table.error.is_(None)
                for row in connection.execute(select(tables.answers).where(own)).mappings():
                    found[row["prompt"], row["repeat"]] = AnswerRecord(
                        **{name: row[name] for name in AnswerRecord._fields}
                    )
        return found

    def write(self, answers: Iterable[AnswerRecord], ratings: Iterable[KeptRating]) -> None:
        """Keep answers and ratings in one transaction. Where there is one already, only an ERROR is replaced."""
        answer_rows = [_answer_row(answer) for answer in answers]
        rating_rows = [rating_row(kept.rating, kept.conversation, kept.rater) for kept in ratings]
        with self._engine.begin() as connection:
            if answer_rows:
                connection.execute(self._upsert(tables.answers), answer_rows)
            if rating_rows:
                connection.execute(self._upsert(tables.ratings), rating_rows)

    def _upsert(self, table: Table) -> Any:
        key = _KEYS[table.name]
        names = [column.name for column in table.c]
        insert = self._insert(table).values({name: bindparam(name) for name in names if name != "key"})
        news = {name: insert.excluded[name] for name in names if name not in {"key", *key}}
        return insert.on_conflict_do_update(index_elements=key, set_=news, where=table.c.error.is_not(None))

    def ratings(self, *, conversations: Sequence[int] | None = None, round: Round | None = None) -> Iterator[Rating]:
        """The ratings of these conversations (or all), ordered by conversation and then by when they came in."""
        for _, rating in self.ratings_by_conversation(conversations=conversations, round=round):
            yield rating

    def ratings_by_conversation(
        self, *, conversations: Sequence[int] | None = None, round: Round | None = None
    ) -> Iterator[tuple[int, Rating]]:
        """As `ratings`, each with the key of its conversation."""
        rating, conversation, rater = tables.ratings, tables.conversations, tables.raters
        joined = rating.join(conversation, rating.c.conversation == conversation.c.key).join(
            rater, rating.c.rater == rater.c.key
        )
        query = select(rating, conversation.c.system, conversation.c.id, rater.c.name, rater.c.kind).select_from(joined)
        if round is not None:
            query = query.where(rating.c.round == round)
        query = query.order_by(rating.c.conversation, rating.c.key)
        chunks: Iterable[ColumnElement[bool] | None] = (
            [None] if conversations is None else (rating.c.conversation.in_(chunk) for chunk in _chunks(conversations))
        )
        with self._engine.connect() as connection:
            for condition in chunks:
                part: Select[Any] = query if condition is None else query.where(condition)
                rows = connection.execution_options(yield_per=1000).execute(part)
                for row in rows.mappings():
                    yield row["conversation"], rating_of(row)


_KEYS = {
    "answers": ["prompt", "rater", "repeat"],
    "ratings": ["conversation", "rater", "item", "turn", "asked", "repeat", "round"],
}


def now() -> str:
    """The time, as studies keep it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _mark(name: str, kind: RaterKind, settings: dict[str, Any]) -> str:
    return hashlib.sha256(to_json([kind, name, settings]).encode()).hexdigest()


def _rater(row: Row[Any]) -> Rater:
    return Rater(row.key, row.name, RaterKind(row.kind), from_json(row.settings), from_json(row.refused))


def _answer_row(answer: AnswerRecord) -> dict[str, Any]:
    row = answer._asdict()
    row["logprobs"] = None if answer.logprobs is None else to_json(answer.logprobs)
    return row


def _chunks(values: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(values), _MANY):
        yield values[start : start + _MANY]
