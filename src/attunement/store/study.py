"""A study: one SQLite file by default, a PostgreSQL database for a team.

The study is the checkpoint and the cache. Unique keys decide whether something was asked already, so a second answer
is impossible, and several processes may work on one study at the same time. An answer is never changed once it is
saved; only an ERROR may be replaced by the result of a later run.
"""

import hashlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import lru_cache
from itertools import islice
from operator import itemgetter
from pathlib import Path
from time import time_ns
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from sqlalchemy import ColumnElement, Connection, Row, Select, Table, case, delete, exists, func, select

from attunement.conversations import Conversation, Identity, Origin, Responses
from attunement.errors import StudyError
from attunement.instruments import Instrument
from attunement.ratings import Mark, RaterKind, Rating, Round, State
from attunement.store import connection as database
from attunement.store import schema
from attunement.store.rows import (
    ANSWER_COLUMNS,
    RATING_COLUMNS,
    SCORED_COLUMNS,
    AnswerRecord,
    ConversationSummary,
    Rated,
    Rater,
    StoredConversation,
    StoredRating,
    Upsert,
    answer_of,
    answer_values,
    conversation_of,
    conversation_row,
    from_json,
    identity_hash,
    insert_into,
    outcome_of,
    rating_of,
    rating_row,
    rating_values,
    scored_rating_of,
    to_json,
)

if TYPE_CHECKING:
    from attunement.store.scorecards import ScoredConversation

T = TypeVar("T")
Keyed = TypeVar("Keyed", StoredConversation, ConversationSummary)

_MANY = 500  # keys in one query: well under the number of variables that SQLite takes
_BATCH = 2000  # rows that are made at a time


class Deletion(NamedTuple):
    """What was deleted with a conversation."""

    ratings: int
    complete: bool  # False: copies of the text remain in the file until the last process that uses it has closed it


class Study:
    """An open study: a context manager. Errors of the database become StudyErrors of one sentence."""

    def __init__(self, place: str | Path, *, create: bool = False) -> None:
        """Open the study at a path or a `postgresql://` address; with `create` make it if it does not exist."""
        self.place = database.shown_place(place)  # as people may see it: without a password
        self.address = str(place)  # may contain a password
        self._engine = database.connect(place)
        try:
            database.prepare(self._engine, place, create=create)
        except BaseException:
            self.close()
            raise
        # Made once: to build such a statement takes as long as writing a dozen ratings.
        self._upsert_answers = Upsert(schema.answers, _ANSWER_KEY, self._engine.dialect, summed=_PAID)
        self._upsert_ratings = Upsert(schema.ratings, _RATING_KEY, self._engine.dialect)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        names = ", ".join(dict.fromkeys(instrument.id for instrument in self.instruments()))
        return f"Study({self.place!r}: {self.conversation_count():,} conversations; instruments: {names or 'none'})"

    def close(self) -> None:
        self._engine.dispose()

    def write_beside_others(self, work: Callable[[Connection], T]) -> T:
        """Do `work` in a transaction that only adds rows, next to those of other processes."""
        with database.database_errors(self.place, "written"):
            return database.write_beside_others(self._engine, work)

    def _insert(self, table: Table) -> Any:
        return insert_into(table, self._engine.dialect.name)

    # For notebooks

    def scorecards(self, instrument: str | None = None) -> "Iterator[ScoredConversation]":
        """Every conversation with its scorecards; name the `instrument` if the study has several."""
        from attunement.store.scorecards import chosen_instrument, scored_conversations

        yield from scored_conversations(self, chosen_instrument(self, instrument))

    def ratings_frame(self) -> Any:
        """Every rating as a row, in a pandas data frame, or an Arrow table if pandas is not installed."""
        from attunement.store import export

        return export.data_frame(export.ratings(self))

    def scorecards_frame(self, instrument: str | None = None) -> Any:
        """Every scorecard as a row, in the same kind of table as `ratings_frame`."""
        from attunement.store import export
        from attunement.store.scorecards import chosen_instrument

        return export.data_frame(export.scorecards(self, chosen_instrument(self, instrument)))

    @contextmanager
    def reading(self) -> Generator[Connection]:
        """A connection that sees the study as it is at its first query."""
        errors = database.database_errors(self.place, "read")
        with errors, database.damage_errors(self.place), self._engine.connect() as connection:
            yield connection

    def all(self, query: Select[*tuple[Any, ...]]) -> Sequence[Any]:
        """All rows of a query."""
        with self.reading() as connection:
            return connection.execute(query).all()

    def stream(self, query: Select[*tuple[Any, ...]]) -> Iterator[Any]:
        """The rows of a query, a thousand of them in memory at a time."""
        with self.reading() as connection, connection.execution_options(yield_per=1000).execute(query) as rows:
            yield from rows

    @contextmanager
    def writing(self) -> Generator[Connection]:
        """A transaction: all of it is saved, or nothing."""
        with database.database_errors(self.place, "written"), database.writing(self._engine) as connection:
            yield connection

    # Instruments and raters

    def save_instrument(self, instrument: Instrument, *, judged_with: bool = False) -> None:
        """Save the instrument; `judged_with` makes it the newest of its versions, even if it was there already."""
        row = {"hash": instrument.hash, "id": instrument.id, "version": instrument.version, "added": now()}
        row["content"] = to_json(instrument.canonical())
        with self.writing() as connection:
            insert = self._insert(schema.instruments)
            again = insert.on_conflict_do_update(index_elements=["hash"], set_={"added": insert.excluded.added})
            connection.execute(again if judged_with else insert.on_conflict_do_nothing(), row)

    def instruments(self) -> list[Instrument]:
        """All instruments of the study, the one that was judged with last at the end."""
        query = select(schema.instruments.c.content).order_by(schema.instruments.c.added, schema.instruments.c.key)
        return list(self._each(query, lambda row: Instrument.model_validate(from_json(row.content))))

    def save_rater(self, name: str, kind: RaterKind, settings: dict[str, Any], *, known_as: str | None = None) -> Rater:
        """The rater with these settings, saved if it is new.

        The same name with other settings is another rater; a part of its mark is then added to its name. `known_as` is
        the name it had in another study.
        """
        mark = _mark(name, kind, settings)
        row = {"mark": mark, "kind": kind, "settings": to_json(settings), "refused": "{}"}
        with self.writing() as connection:
            for shown in (known_as or name, f"{name} @{mark[:_MARK_DIGITS]}"):
                connection.execute(self._insert(schema.raters).on_conflict_do_nothing(), {**row, "name": shown})
                kept = connection.execute(select(schema.raters).where(schema.raters.c.mark == mark)).first()
                if kept is not None:
                    return _rater(kept)
        raise StudyError(f"{self.place} has raters under all names that {name!r} could get: give it another name")

    def find_rater(self, name: str, kind: RaterKind, settings: dict[str, Any]) -> Rater | None:
        query = select(schema.raters).where(schema.raters.c.mark == _mark(name, kind, settings))
        return next(iter([*self._each(query, _rater)]), None)

    def save_refused(self, rater: Rater, refused: dict[str, str]) -> None:
        """Save what the rater's server did not accept."""
        with self.writing() as connection:
            change = schema.raters.update().where(schema.raters.c.key == rater.key)
            connection.execute(change.values(refused=to_json(refused)))

    def raters(self) -> list[Rater]:
        """All raters, in the order in which they joined."""
        return list(self._each(select(schema.raters).order_by(schema.raters.c.key), _rater))

    def mark_counts(self, mark: Mark) -> dict[str, tuple[int, int]]:
        """By rater: how many of its answers of the main round have `mark`, and how many there are."""
        ratings, raters = schema.ratings.c, schema.raters.c
        carrying = func.sum(case((ratings.marks.contains(mark.value), 1), else_=0))
        query = (
            select(raters.name, carrying, func.count())
            .where(ratings.rater == raters.key, ratings.round == Round.MAIN)
            .where(ratings.state.in_([State.VALUE, State.NA]))
            .group_by(raters.key, raters.name)
            .order_by(raters.key)
        )
        return dict(self._each(query, lambda row: (row[0], (row[1], row[2]))))

    def responses(self, instrument: str) -> Responses:
        """Which replies of a conversation this instrument is asked about in this study."""
        with self.reading() as connection:
            name = f"responses of {instrument}"
            value = connection.scalar(select(schema.about.c.value).where(schema.about.c.name == name))
            return Responses(value) if value else Responses.ALL

    def save_responses(self, instrument: str, responses: Responses) -> None:
        """Save which replies a run asks about. Once a run asked about all, a reply without an answer is missing."""
        row = {"name": f"responses of {instrument}", "value": responses.value}
        insert = self._insert(schema.about)
        if responses is Responses.ALL:
            insert = insert.on_conflict_do_update(index_elements=["name"], set_={"value": insert.excluded.value})
        else:
            insert = insert.on_conflict_do_nothing()
        with self.writing() as connection:
            connection.execute(insert, row)

    # Conversations

    def save_conversations(self, conversations: Sequence[Conversation]) -> list[int]:
        """Save these conversations and return their keys, in order.

        One that is there already must have the same text, because it was rated; otherwise none is saved.
        """
        found = self.keys(conversations)
        new = [conversation for conversation in conversations if conversation.identity not in found]
        if new:
            rows = [conversation_row(conversation) for conversation in new]

            def save(connection: Connection) -> dict[Identity, int]:
                connection.execute(self._insert(schema.conversations).on_conflict_do_nothing(), rows)
                return self._keys(connection, new)

            found.update(self.write_beside_others(save))
        return [found[conversation.identity] for conversation in conversations]

    def save_all(
        self, conversations: Sequence[Conversation], ratings: Iterable[Rating], raters: Sequence[Rater]
    ) -> int:
        """Save conversations and their ratings in one transaction, as they are made; what is there already stays.

        Returns how many ratings are new.
        """
        rater_keys = {rater.name: rater.key for rater in raters}
        new, source = 0, iter(ratings)
        with self.writing() as connection:
            for chunk in _chunks(conversations):
                rows = [conversation_row(conversation) for conversation in chunk]
                connection.execute(self._insert(schema.conversations).on_conflict_do_nothing(), rows)
            keys = self._keys(connection, conversations)
            insert = self._insert(schema.ratings).on_conflict_do_nothing()
            while batch := list(islice(source, _BATCH)):
                rows = [rating_row(rating, keys[rating.conversation], rater_keys[rating.rater]) for rating in batch]
                new += connection.execute(insert, rows, execution_options={"preserve_rowcount": True}).rowcount
        return new

    def keys(self, conversations: Sequence[Conversation]) -> dict[Identity, int]:
        """The keys of those of these conversations that are in the study; they must have the same text there."""
        with self.reading() as connection:
            return self._keys(connection, conversations)

    def _keys(self, connection: Connection, conversations: Sequence[Conversation]) -> dict[Identity, int]:
        table = schema.conversations.c
        hashed = [(identity_hash(conversation.identity), conversation) for conversation in conversations]
        hashes = dict(hashed)
        found: dict[str, tuple[int, str]] = {}
        for chunk in _chunks(list(hashes)):
            query = select(table.identity, table.key, table.fingerprint).where(table.identity.in_(chunk))
            found.update((identity, (key, words)) for identity, key, words in connection.execute(query))
        for identity, conversation in hashed:
            there = found.get(identity)
            if there and there[1] != conversation.fingerprint():
                raise StudyError(
                    f"{conversation.identity} is in {self.place} with different text: give the new conversation "
                    f"another id, use another study, or remove the old one with: attune delete {self.place} "
                    f"{conversation.identity}"
                )
        return {hashes[identity].identity: key for identity, (key, _) in found.items()}

    def conversation_count(self) -> int:
        return self.all(select(func.count()).select_from(schema.conversations))[0][0]

    def conversations(self, *, after: int = 0) -> Iterator[StoredConversation]:
        """All conversations in the order in which they were saved, in pages, so that memory stays flat."""
        for page in self._pages(select(schema.conversations), _stored, _MANY, after):
            yield from page

    def summaries(self, size: int) -> Iterator[list[ConversationSummary]]:
        """All conversations without their text, in order, `size` at a time."""
        table = schema.conversations.c
        columns = select(table.key, table.system, table.id, table.turn_count, table.metadata, table.origin)
        return self._pages(columns, _summary, size)

    def _pages(
        self, query: Select[*tuple[Any, ...]], made: Callable[[Any], Keyed], size: int, after: int = 0
    ) -> Iterator[list[Keyed]]:
        key = schema.conversations.c.key
        while page := list(self._each(query.where(key > after).order_by(key).limit(size), made)):
            yield page
            if len(page) < size:
                return
            after = page[-1].key

    def by_identity(self, identities: Sequence[Identity]) -> dict[Identity, StoredConversation]:
        """Those of the conversations with these identities that are in the study."""
        table = schema.conversations
        found = self._each(select(table), _stored, table.c.identity, list(map(identity_hash, identities)))
        return {stored.conversation.identity: stored for stored in found}

    def find(self, name: str) -> list[StoredConversation]:
        """The conversations with this id, or this `system/id`."""
        table = schema.conversations
        parts = name.split("/")  # a system or an id may itself contain a slash, so each one is tried
        pairs = [Identity("/".join(parts[:place]), "/".join(parts[place:])) for place in range(1, len(parts))]
        meant = (table.c.id == name) | table.c.identity.in_([identity_hash(pair) for pair in pairs])
        return list(self._each(select(table).where(meant).order_by(table.c.key), _stored))

    def delete(self, key: int) -> Deletion:
        """Delete a conversation with everything derived from it.

        An answer that also serves another conversation with the same text stays. One that serves none is deleted: a
        killed run may have left it before any rating connected it with a conversation.
        """
        ratings, answers = schema.ratings.c, schema.answers.c
        with self.writing() as connection:
            gone = connection.execute(delete(schema.ratings).where(ratings.conversation == key)).rowcount
            serves = exists().where(
                ratings.asked == answers.prompt, ratings.rater == answers.rater, ratings.repeat == answers.repeat
            )
            connection.execute(delete(schema.answers).where(~serves))
            connection.execute(delete(schema.conversations).where(schema.conversations.c.key == key))
        with database.database_errors(self.place, "written"):
            return Deletion(gone, complete=database.empty_log(self._engine))

    # Answers and ratings

    def rated(self, conversations: Sequence[int], rater: Rater) -> Iterator[Rated]:
        """What this rater has rated, in the main round, of the conversations with these keys."""
        table = schema.ratings.c
        query = select(
            table.conversation, table.turn, table.item, table.asked, table.repeat, table.state, table.value, table.error
        ).where(table.rater == rater.key, table.round == Round.MAIN)
        return self._each(query, _rated, table.conversation, conversations)

    def finished(self, conversations: Sequence[int], rater: Rater, scope: str) -> dict[int, int]:
        """Those of these conversations for which all of `scope` is answered, and in how many questions."""
        table = schema.finished.c
        query = select(table.conversation, table.questions).where(table.rater == rater.key, table.scope == scope)
        return dict(self._each(query, tuple[int, int], table.conversation, conversations))

    def save_finished(self, rater: int, scope: str, questions: Mapping[int, int]) -> None:
        """Save that all of `scope` is answered for these conversations, each with so many questions."""
        rows = [
            {"conversation": conversation, "rater": rater, "scope": scope, "questions": count}
            for conversation, count in questions.items()
        ]
        insert = self._insert(schema.finished).on_conflict_do_nothing()
        self.write_beside_others(lambda connection: connection.execute(insert, rows))

    def answered(self, prompts: Sequence[str], rater: Rater) -> dict[tuple[str, int], AnswerRecord]:
        """The answers this rater has given to these prompts, by prompt hash and repeat, without errors."""
        table = schema.answers.c
        query = select(*ANSWER_COLUMNS).where(table.rater == rater.key, table.error.is_(None))
        answers = self._each(query, answer_of, table.prompt, prompts)
        return {(answer.prompt, answer.repeat): answer for answer in answers}

    def asked(self, prompts: Sequence[str], rater: Rater) -> set[tuple[str, int]]:
        """Those of these prompts, with their repeats, whose answers by this rater have become ratings."""
        table = schema.ratings.c
        query = select(table.asked, table.repeat).where(table.rater == rater.key, table.error.is_(None)).distinct()
        return set(self._each(query, tuple[str, int], table.asked, prompts))

    def write(self, answers: Iterable[AnswerRecord], ratings: Iterable[StoredRating]) -> int:
        """Save answers and ratings in one transaction. Where there is one already, only an ERROR is replaced.

        Returns how many ratings are new or took the place of an ERROR.
        """
        # In one order, so that two writers of the same answers wait for each other at the first, and not in a circle.
        answer_rows = sorted(map(answer_values, answers), key=itemgetter(0, 1, 2))
        rating_rows = [rating_values(kept.rating, kept.conversation, kept.rater) for kept in ratings]

        def save(connection: Connection) -> int:
            self._upsert_answers.save(connection, answer_rows)
            return self._upsert_ratings.save(connection, rating_rows)

        return self.write_beside_others(save)

    def ratings(self, *, conversations: Sequence[int] | None = None, round: Round | None = None) -> Iterator[Rating]:
        """The ratings of these conversations (or all), ordered by conversation and then by when they were saved."""
        return self._ratings(RATING_COLUMNS, rating_of, conversations, round)

    def scored(self, conversations: Sequence[int], *, round: Round) -> Iterator[tuple[int, int, Rating]]:
        """As `ratings`, with the keys of conversation and rater, and only with what scores are computed from."""
        columns = [schema.ratings.c.conversation, schema.ratings.c.rater, *SCORED_COLUMNS]
        return self._ratings(columns, lambda row: (row[0], row[1], scored_rating_of(row[2:])), conversations, round)

    def _ratings(
        self,
        columns: Sequence[ColumnElement[Any]],
        made: Callable[[Any], T],
        conversations: Sequence[int] | None,
        round: Round | None,
    ) -> Iterator[T]:
        table = schema.ratings.c
        query = select(*columns).select_from(JOINED).order_by(table.conversation, table.key)
        if round is not None:
            query = query.where(table.round == round)
        return self._each(query, made, table.conversation, conversations)

    def _each(
        self,
        query: Select[*tuple[Any, ...]],
        made: Callable[[Any], T],
        column: ColumnElement[Any] | None = None,
        values: Sequence[Any] | None = None,
    ) -> Iterator[T]:
        """What `made` makes of each row; with `values`, of those in whose `column` one of them is."""
        parts = [None] if column is None or values is None else _chunks(values)
        with self.reading() as connection:
            for part in parts:
                wanted = query if part is None or column is None else query.where(column.in_(part))
                with connection.execution_options(yield_per=1000).execute(wanted) as rows:
                    for row in rows:
                        yield made(row)


JOINED = schema.ratings.join(schema.conversations, schema.ratings.c.conversation == schema.conversations.c.key).join(
    schema.raters, schema.ratings.c.rater == schema.raters.c.key
)
"""Ratings with their conversations and raters."""

_ANSWER_KEY = ["prompt", "rater", "repeat"]
_RATING_KEY = ["conversation", "rater", "item", "turn", "asked", "repeat", "round"]

_PAID = ["prompt_tokens", "completion_tokens", "cached_tokens", "cost", "attempts"]
"""What an answer has taken, together with the ERRORs that it replaced."""

_MARK_DIGITS = 6


def now() -> str:
    """The time as studies store it: in ISO 8601, to the millisecond."""
    second, millisecond = divmod(time_ns() // 1_000_000, 1000)
    return f"{_second(second)}.{millisecond:03}+00:00"


@lru_cache(1)  # many answers come in within a second, and its name takes longer than the rest
def _second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")


def original_name(name: str, kind: RaterKind, settings: dict[str, Any]) -> str:
    """The name a rater was given, without the part of its mark that a study may have added."""
    given, at, digits = name.rpartition(" @")
    return given if at and _mark(given, kind, settings)[:_MARK_DIGITS] == digits else name


def _mark(name: str, kind: RaterKind, settings: dict[str, Any]) -> str:
    return hashlib.sha256(to_json([kind, name, settings], sorted=True).encode()).hexdigest()


def _rater(row: Row[Any]) -> Rater:
    return Rater(row.key, row.name, RaterKind(row.kind), from_json(row.settings), from_json(row.refused))


def _stored(row: Row[Any]) -> StoredConversation:
    return StoredConversation(row.key, conversation_of(row))


def _summary(row: Row[Any]) -> ConversationSummary:
    identity = Identity(row.system, row.id)
    return ConversationSummary(row.key, identity, row.turn_count, from_json(row.metadata), Origin(row.origin))


def _rated(row: Sequence[Any]) -> Rated:
    conversation, turn, item, asked, repeat, *outcome = row
    return Rated(conversation, turn or None, item, asked, repeat, outcome_of(*outcome))


def _chunks(values: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(values), _MANY):
        yield values[start : start + _MANY]
