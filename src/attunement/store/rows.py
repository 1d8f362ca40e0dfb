"""Convert records to rows and back, whatever text they hold, and insert or update them.

The unique keys decide: a row whose key is there already changes nothing, unless an ERROR is there. That nobody asked
again is not news about an ERROR. A run writes little else, so the rows go straight to the driver: passing them
through SQLAlchemy takes twice as long as the database.
"""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import lru_cache
from operator import index
from types import NoneType
from typing import Any, NamedTuple, TypeVar, cast, get_args, get_origin, get_type_hints

import orjson
from sqlalchemy import Connection, Dialect, Row, RowMapping, Table, bindparam, case, func, literal_column
from sqlalchemy.dialects import sqlite

from attunement.conversations import Conversation, Identity, Origin, Turn
from attunement.instruments import Value
from attunement.ratings import Consistency, ErrorKind, Mark, Outcome, RaterKind, Rating, Round, RuleFinding, State
from attunement.store import schema
from attunement.store.schema import escape


class Rater(NamedTuple):
    """Who answers, as the study knows them."""

    key: int
    name: str
    kind: RaterKind
    settings: dict[str, Any]
    refused: dict[str, str]  # what the rater's server did not accept


class AnswerRecord(NamedTuple):
    """A judge's reply to one prompt, and what it cost."""

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


class StoredRating(NamedTuple):
    """A rating with the keys of its conversation and rater."""

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


class ConversationSummary(NamedTuple):
    """A conversation without its text."""

    key: int
    identity: Identity
    turns: int
    metadata: dict[str, Any]
    origin: Origin


class StoredConversation(NamedTuple):
    """A conversation in the study and its key."""

    key: int
    conversation: Conversation


def to_json(value: Any, *, sorted: bool = False) -> str:
    """JSON text.

    orjson refuses lone surrogates and numbers of more than 64 bits. The standard library writes those; a blank at the
    start says that it must read them, too.
    """
    try:
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS if sorted else None).decode()
    except TypeError:
        return " " + json.dumps(value, ensure_ascii=True, sort_keys=sorted, separators=(",", ":"))


def from_json(text: str) -> Any:
    """The value behind `to_json`."""
    return json.loads(text) if text.startswith(" ") else orjson.loads(text)


T = TypeVar("T")


def record_of(kind: type[T], row: RowMapping | Mapping[str, Any], **fields: Any) -> T:
    """The record (a NamedTuple) in a row whose columns have the names of its fields; `fields` are set otherwise.

    The type of a field says what its column holds: an enumeration as its text, a collection as JSON. A turn 0 is the
    whole conversation.
    """
    read = {name: convert(row[name]) for name, convert in _from_columns(kind).items() if name not in fields}
    return kind(**read, **fields)


@lru_cache
def _from_columns(kind: type) -> dict[str, Callable[[Any], Any]]:
    return {name: _from_column(name, hint) for name, hint in get_type_hints(kind).items()}


def _from_column(name: str, hint: Any) -> Callable[[Any], Any]:
    if NoneType in get_args(hint):
        hint = next(part for part in get_args(hint) if part is not NoneType)
    made: Any = get_origin(hint) or hint

    def convert(value: Any) -> Any:
        if value is None or (name == "turn" and value == 0):
            return None
        if made in _COLLECTIONS:
            return cast(object, made(from_json(value)))
        return made(value) if isinstance(made, type) and issubclass(made, StrEnum) else value

    return convert


_COLLECTIONS = (dict, list, tuple, frozenset)


def column_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a row, as `record_of` reads them."""
    return {name: _to_column(value) for name, value in values.items()}


def _to_column(value: Any) -> Any:
    if isinstance(value, frozenset):
        return to_json(sorted(cast(frozenset[str], value)))
    if isinstance(value, _COLLECTIONS):
        return to_json(value)
    return value.value if isinstance(value, StrEnum) else value


def insert_row(connection: Connection, table: Table, **values: Any) -> int:
    """Insert a row of a table with a key, and return the key."""
    return connection.execute(table.insert().returning(table.c.key), column_values(values)).scalar_one()


def identity_hash(identity: Identity) -> str:
    """What a conversation is found by. With the length of the system, different pairs cannot look the same."""
    system, id = identity
    return hashlib.sha256(f"{len(system)}:{system}{id}".encode("utf-8", "surrogatepass")).hexdigest()


def conversation_row(conversation: Conversation) -> dict[str, Any]:
    return {
        "identity": identity_hash(conversation.identity),
        "system": conversation.system,
        "id": conversation.id,
        "fingerprint": conversation.fingerprint(),
        "turn_count": len(conversation.turns),
        "origin": conversation.origin.value,
        "metadata": to_json(dict(conversation.metadata)),
        "instructions": conversation.instructions,
        "turns": to_json([tuple(turn) for turn in conversation.turns]),  # orjson knows plain tuples only
    }


def conversation_of(row: Row[Any]) -> Conversation:
    return Conversation(
        id=row.id,
        system=row.system,
        turns=tuple(Turn(*pair) for pair in from_json(row.turns)),
        metadata=from_json(row.metadata),
        instructions=row.instructions,
        origin=Origin(row.origin),
    )


def answer_values(answer: AnswerRecord) -> tuple[Any, ...]:
    """The row of an answer as an `Upsert` takes it: without its key, in the order of the table, escaped."""
    return (
        answer.prompt,
        answer.rater,
        answer.repeat,
        answer.error and str(answer.error),
        answer.model and escape(answer.model),
        answer.finish_reason and escape(answer.finish_reason),
        answer.prompt_tokens,
        answer.completion_tokens,
        answer.cached_tokens,
        answer.cost,
        answer.latency,
        answer.attempts,
        answer.at,
        escape(answer.text),
        answer.detail and escape(answer.detail),
        None if answer.logprobs is None else escape(to_json(answer.logprobs)),
    )


def answer_of(row: Sequence[Any]) -> AnswerRecord:
    """The answer in a row of `ANSWER_COLUMNS`."""
    answer = AnswerRecord(*row)
    return answer._replace(
        error=ErrorKind(answer.error) if answer.error else None,
        logprobs=None if answer.logprobs is None else from_json(answer.logprobs),
    )


ANSWER_COLUMNS = [schema.answers.c[name] for name in AnswerRecord._fields]
"""What `answer_of` needs, in its order."""


def rating_row(rating: Rating, conversation: int, rater: int) -> dict[str, Any]:
    """The row of a rating whose conversation and rater have these keys, as SQLAlchemy takes it: it escapes itself."""
    return dict(zip(_RATING_NAMES, rating_values(rating, conversation, rater, text=str), strict=True))


_RATING_NAMES = [column.name for column in schema.ratings.c if not column.primary_key]


def rating_values(
    rating: Rating, conversation: int, rater: int, *, text: Callable[[str], str] = escape
) -> tuple[Any, ...]:
    """The row of a rating as an `Upsert` takes it: without its key, in the order of the table, escaped."""
    state, value, error = rating.outcome
    return (
        conversation,
        rating.turn or 0,
        rating.item,
        rating.item_hash,
        rating.asked,
        rater,
        rating.repeat,
        str(rating.round),
        str(state),
        None if value is None else str(value),
        error and str(error),
        " ".join(sorted(rating.marks)) if rating.marks else "",
        rating.instrument,
        rating.at,
        text(to_json([rule._asdict() for rule in rating.rules])) if rating.rules else "[]",
        rating.detail and text(rating.detail),
        rating.reasoning and text(rating.reasoning),
        text(to_json(rating.evidence)) if rating.evidence else "[]",
    )


_RATING, _CONVERSATION, _RATER = schema.ratings.c, schema.conversations.c, schema.raters.c

HOLDS_BACK = "crisis_cue_but_na"
"""The rule after which a conversation counts as good only once a person has looked."""

SCORED_COLUMNS = [
    *(_CONVERSATION.system, _CONVERSATION.id, _RATING.turn, _RATING.item),
    *(_RATING.state, _RATING.value, _RATING.error),
    *(_RATER.name, _RATER.kind, _RATING.repeat, _RATING.round),
    *(_RATING.rules, _RATING.item_hash),
]
"""What `scored_rating_of` needs, in its order: all that scores are computed from, and no long text."""

RATING_COLUMNS = [
    *SCORED_COLUMNS,
    *(_RATING.reasoning, _RATING.evidence, _RATING.marks),
    *(_RATING.asked, _RATING.instrument, _RATING.detail, _RATING.at),
]
"""What `rating_of` needs, in its order."""


def scored_rating_of(row: Sequence[Any]) -> Rating:
    """The rating in a row of `SCORED_COLUMNS`: without its reasoning, evidence, marks and provenance."""
    system, id, turn, item, state, value, error, name, kind, repeat, round, rules, item_hash = row
    return Rating(
        conversation=Identity(system, id),
        turn=turn or None,
        item=item,
        outcome=outcome_of(state, value, error),
        rater=name,
        rater_kind=RaterKind(kind),
        repeat=index(repeat),
        round=Round(round),
        rules=() if rules == "[]" else tuple(map(rule_of, from_json(rules))),
        item_hash=item_hash,
    )


def rating_of(row: Sequence[Any]) -> Rating:
    """The rating in a row of `RATING_COLUMNS`."""
    reasoning, evidence, marks, asked, instrument, detail, at = row[len(SCORED_COLUMNS) :]
    return scored_rating_of(row[: len(SCORED_COLUMNS)])._replace(
        reasoning=reasoning,
        evidence=() if evidence == "[]" else tuple(from_json(evidence)),
        marks=frozenset(Mark(mark) for mark in marks.split()),
        asked=asked,
        instrument=instrument,
        detail=detail,
        at=at,
    )


@lru_cache(256)  # there are few different outcomes, and many ratings
def outcome_of(state: str, value: str | None, error: str | None) -> Outcome:
    """The outcome in three columns. Scores are stored as text, like YES and NO."""
    answer: Value | None = int(value) if value is not None and value.lstrip("-").isdigit() else value
    return Outcome(State(state), answer, ErrorKind(error) if error else None)


def rule_of(fields: Mapping[str, Any]) -> RuleFinding:
    """The finding in its JSON."""
    finding = RuleFinding(**fields)
    # In earlier versions other rules called for a person too; word lists no longer do.
    holds = finding.consistency == Consistency.VIOLATED and finding.rule == HOLDS_BACK
    return finding._replace(consistency=Consistency.VIOLATED if holds else Consistency.NOTICE)


# As literals, because only the values of a row are passed with the statement.
_NOT_ASKED: list[Any] = [
    literal_column(f"'{kind}'") for kind in (ErrorKind.BUDGET, ErrorKind.SKIPPED, ErrorKind.NOT_RECORDED)
]


def insert_into(table: Table, dialect: str) -> Any:
    """An insert of this database that can define what happens where the row exists already."""
    if dialect != "postgresql":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql  # only where it is used: every run and every command loads this module

    return postgresql.insert(table)


class Upsert:
    """Saves rows of one table that has a column `error`."""

    def __init__(self, table: Table, key: Sequence[str], dialect: Dialect, summed: Sequence[str] = ()) -> None:
        """`key` names the columns that are unique together, `summed` those that add up what was replaced."""
        columns = [column.name for column in table.c if not column.primary_key]
        insert = insert_into(table, dialect.name).values({name: bindparam(name) for name in columns})
        news = {name: insert.excluded[name] for name in columns if name not in key}
        for name in summed:
            before, now = table.c[name], insert.excluded[name]
            # The same answer may be imported twice.
            both = case((table.c.at == insert.excluded.at, now), else_=before + now)
            news[name] = func.coalesce(both, now, before)
        new, old = insert.excluded.error, table.c.error
        newer = new.is_(None) | new.not_in(_NOT_ASKED) | old.in_(_NOT_ASKED)
        kept = insert.on_conflict_do_update(index_elements=key, set_=news, where=old.is_not(None) & newer)
        self._statement = str(kept.inline().compile(dialect=dialect))

    def save(self, connection: Connection, rows: Sequence[tuple[Any, ...]]) -> int:
        """Save `rows`; returns how many are new or replaced an ERROR.

        A row has the values of all columns but the primary key, in the order of the table, their texts escaped.
        """
        if not rows:
            return 0
        done = connection.exec_driver_sql(self._statement, rows, execution_options={"preserve_rowcount": True})
        return done.rowcount
