"""Conversations of a study by their keys, and what its judges' answers cost."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple, TypeVar

from sqlalchemy import func, select

from attunement.study import Kept, Study, tables
from attunement.study.encoding import conversation_of

T = TypeVar("T")


def batched(entries: Iterable[T], size: int) -> Iterator[list[T]]:
    """The entries, so many at a time."""
    iterator = iter(entries)
    while batch := list(islice(iterator, size)):
        yield batch


def kept_by_key(study: Study, keys: Sequence[int]) -> dict[int, Kept]:
    """Those of these conversations that are in the study."""
    table = tables.conversations
    with study.reading() as connection:
        rows = connection.execute(select(table).where(table.c.key.in_(keys))).mappings()
        return {row["key"]: Kept(row["key"], conversation_of(row)) for row in rows}


def characters(study: Study) -> int:
    """About how many characters of transcript and reasoning the study holds."""
    said = func.coalesce(func.sum(func.length(tables.conversations.c.turns)), 0)
    reasons = func.coalesce(func.sum(func.length(tables.ratings.c.reasoning)), 0)
    with study.reading() as connection:
        return int(connection.scalar(select(said)) or 0) + int(connection.scalar(select(reasons)) or 0)


class Costs(NamedTuple):
    """What the answers of one judge took."""

    rater: str
    answers: int
    failed: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    cost: float | None
    """None where no answer has a price."""
    unpriced: int
    seconds: float | None
    """The mean time of an answer."""
    first: str
    last: str


def costs(study: Study) -> list[Costs]:
    """By judge, in the order in which they joined; over the whole study, whatever the instrument."""
    answers, raters = tables.answers.c, tables.raters.c
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
        return [Costs(*row) for row in connection.execute(query)]
