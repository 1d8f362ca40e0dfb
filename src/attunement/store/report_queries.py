"""What reports ask of a study besides scorecards: conversations by key, reasons, lost quotations, sizes and costs."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, func, or_, select, text

from attunement.instruments import Instrument
from attunement.ratings import Round
from attunement.store import schema
from attunement.store.rows import StoredConversation, conversation_of
from attunement.store.study import Study


def conversations_by_key(study: Study, keys: Sequence[int]) -> dict[int, StoredConversation]:
    """Those of these conversations that are in the study."""
    table = schema.conversations
    with study.reading() as connection:
        rows = connection.execute(select(table).where(table.c.key.in_(keys)))
        return {row.key: StoredConversation(row.key, conversation_of(row)) for row in rows}


def largest_systems(study: Study, most: int) -> list[str]:
    """The systems with the most conversations, by name."""
    system = schema.conversations.c.system
    query = select(system).group_by(system).order_by(func.count().desc(), system).limit(most)
    with study.reading() as connection:
        return sorted(connection.scalars(query))


def reasons_by_conversation(study: Study, instrument: Instrument, keys: Sequence[int]) -> dict[int, list[str]]:
    """By conversation: why raters answered as they did."""
    ratings = schema.ratings.c
    query = select(ratings.conversation, ratings.reasoning).where(ratings.conversation.in_(keys))
    query = query.where(ratings.round == Round.MAIN, ratings.item_hash.in_(instrument.item_hashes.values()))
    found: dict[int, list[str]] = {}
    with study.reading() as connection:
        for key, reasoning in connection.execute(query):
            found.setdefault(key, []).append(reasoning)
    return found


def with_lost_quotes(study: Study, instrument: Instrument, keys: Sequence[int]) -> set[int]:
    """Those of these conversations in which a rater quotes words, or names a turn, that are not there."""
    ratings = schema.ratings.c
    lost = or_(*(ratings.evidence.contains(f'"standing":"{kind}"') for kind in ("not_found", "no_such_turn")))
    query = select(ratings.conversation).distinct().where(ratings.conversation.in_(keys), ratings.round == Round.MAIN)
    query = query.where(ratings.item_hash.in_(instrument.item_hashes.values()), lost)
    with study.reading() as connection:
        return set(connection.scalars(query))


def text_size(study: Study) -> int:
    """About how many characters of transcript and reasoning the study holds."""
    transcripts = func.coalesce(func.sum(func.length(schema.conversations.c.turns)), 0)
    reasons = func.coalesce(func.sum(func.length(schema.ratings.c.reasoning)), 0)
    with study.reading() as connection:
        return int(connection.scalar(select(transcripts)) or 0) + int(connection.scalar(select(reasons)) or 0)


class JudgeCost(NamedTuple):
    """What the answers of one judge took."""

    rater: str
    answers: int
    failed: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    cost: float | None  # None where no answer has a price
    unpriced: int
    seconds: float | None  # the mean time of an answer
    first: str
    last: str


def judge_costs(study: Study) -> list[JudgeCost]:
    """By judge, in the order in which they joined; over the whole study, whatever the instrument."""
    answers, raters = schema.answers.c, schema.raters.c
    query = (
        select(
            raters.name,
            func.count(),
            func.count(answers.error),
            func.sum(answers.prompt_tokens),
            func.sum(answers.cached_tokens),
            func.sum(answers.completion_tokens),
            func.sum(answers.cost),
            func.count() - func.count(answers.cost),
            func.avg(answers.latency),
            func.min(answers.at),
            func.max(answers.at),
        )
        .where(answers.rater == raters.key)
        .group_by(raters.key, raters.name)
        .order_by(raters.key)
    )
    with study.reading() as connection:
        return [JudgeCost(*row) for row in connection.execute(query)]


def change_counter(connection: Connection) -> Callable[[], object]:
    """A function whose result changes whenever something else has written to the database."""
    query = {
        "sqlite": "PRAGMA data_version",
        # The server's own statistics; they lag by up to a second.
        "postgresql": "SELECT sum(n_tup_ins + n_tup_upd + n_tup_del) FROM pg_stat_user_tables",
    }[connection.dialect.name]

    def changes() -> object:
        try:
            return connection.scalar(text(query))
        finally:
            connection.rollback()  # or it would see the same moment for ever

    return changes
