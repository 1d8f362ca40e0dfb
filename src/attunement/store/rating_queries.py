"""Queries on ratings for the analysis: whole columns instead of one record a rating."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, func, select

from attunement.conversations import Turn
from attunement.conversations.model import fingerprint
from attunement.instruments import Instrument
from attunement.ratings import ErrorKind, RaterKind, Round
from attunement.store.rows import Rater, from_json
from attunement.store.schema import answers, conversations, raters, ratings
from attunement.store.study import Study

_ROWS_AT_ONCE = 50_000
_ENTERING = [Round.MAIN, Round.REPEAT]


class RatingColumns(NamedTuple):
    """Ratings of one instrument as columns: the entries at one place are one rating."""

    conversation: Sequence[int]
    turn: Sequence[int]
    item: Sequence[str]
    rater: Sequence[int]
    repeat: Sequence[int]
    round: Sequence[str]
    state: Sequence[str]
    value: Sequence[str | None]


def rating_columns(study: Study, instrument: Instrument, raters: Collection[int]) -> Iterator[RatingColumns]:
    """The ratings of the main and the repeat round by these raters, in the order in which they were saved.

    Only ratings of items as they are worded in the instrument count.
    """
    columns = [ratings.c[name] for name in RatingColumns._fields]
    wanted = ratings.c.round.in_(_ENTERING) & _worded(instrument) & ratings.c.rater.in_(raters)
    query = select(*columns).where(wanted).order_by(ratings.c.key)
    with study.reading() as connection, connection.execution_options(yield_per=_ROWS_AT_ONCE).execute(query) as rows:
        for part in rows.partitions():
            yield RatingColumns(*zip(*part, strict=True))


def count_other_ratings(study: Study, instrument: Instrument) -> dict[str, int]:
    """How many ratings of the instrument's items `rating_columns` does not bring, by the reason."""
    found: dict[str, int] = {}
    items = ratings.c.item.in_([item.id for item in instrument.items])
    reworded = items & (ratings.c.round == Round.MAIN) & ratings.c.item_hash.not_in(_hashes(instrument))
    malformed = _worded(instrument) & (ratings.c.error == ErrorKind.MALFORMED)
    rounds = select(ratings.c.round, func.count()).where(_worded(instrument)).group_by(ratings.c.round)
    with study.reading() as connection:
        for name, count in connection.execute(rounds):
            if name not in _ENTERING:
                found[f"of the {name} round"] = count
        for reason, where in (
            ("unreadable or off the scale, and refused", malformed),
            ("of items in another wording", reworded),
        ):
            if count := connection.scalar(select(func.count()).where(where)):
                found[reason] = count
    return found


def _worded(instrument: Instrument) -> ColumnElement[bool]:
    """Whether a rating's item is in the instrument, word for word."""
    items = ratings.c.item.in_([item.id for item in instrument.items])
    return ratings.c.item_hash.in_(_hashes(instrument)) & items


def _hashes(instrument: Instrument) -> list[str]:
    return list(instrument.item_hashes.values())


def example_conversations(study: Study, instrument: Instrument) -> list[int]:
    """The keys of conversations that are worked examples of the instrument: a judge may have read their answers."""
    marks = {
        fingerprint(tuple(Turn(turn.user, turn.assistant) for turn in example.turns))
        for item in instrument.items
        for example in item.examples
    }
    with study.reading() as connection:
        query = select(conversations.c.key).where(conversations.c.fingerprint.in_(marks))
        return list(connection.scalars(query))


def judges_evidence(study: Study, instrument: Instrument) -> Iterator[tuple[str, str, list[Mapping[str, Any]]]]:
    """The name of the judge, the item, and the checked quotations of each rating that has any."""
    query = (
        select(raters.c.name, ratings.c.item, ratings.c.evidence)
        .where(ratings.c.rater == raters.c.key, raters.c.kind == RaterKind.MODEL, ratings.c.round == Round.MAIN)
        .where(ratings.c.item_hash.in_(_hashes(instrument)), ratings.c.evidence != "[]")
    )
    with study.reading() as connection, connection.execution_options(yield_per=1000).execute(query) as rows:
        for name, item, evidence in rows:
            yield name, item, from_json(evidence)


def answering_models(study: Study, rater: Rater) -> list[str]:
    """The models that answered for this judge, as the server named them."""
    query = select(answers.c.model).where(answers.c.rater == rater.key, answers.c.model.is_not(None)).distinct()
    with study.reading() as connection:
        return sorted(str(model) for model in connection.scalars(query))


class PromptUse(NamedTuple):
    """One prompt about one unit, by its hash; turn 0 is the whole conversation."""

    conversation: int
    turn: int
    prompt: str


def prompts_in_use(
    study: Study, instrument: Instrument, rater: Rater, conversations: Sequence[int]
) -> dict[PromptUse, list[str]]:
    """The items of each prompt whose answers count: of several answers to one item the last one does."""
    table = ratings.c
    query = (
        select(table.conversation, table.turn, table.item, table.asked, table.item_hash)
        .where(table.rater == rater.key, table.round == Round.MAIN, table.conversation.in_(conversations))
        .order_by(table.key)
    )
    items: dict[PromptUse, list[str]] = {}
    last: dict[tuple[int, int, str], PromptUse] = {}
    with study.reading() as connection:
        for conversation, turn, item, prompt, item_hash in connection.execute(query):
            if item_hash != instrument.item_hashes.get(item):
                continue
            use = PromptUse(conversation, turn, prompt)
            of_prompt = items.setdefault(use, [])
            if item not in of_prompt:  # repeats of a question have the same prompt
                of_prompt.append(item)
            last[conversation, turn, item] = use
    return {use: items[use] for use in set(last.values())}
