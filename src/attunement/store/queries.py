"""What analyses and reports ask of a study besides scorecards: ratings as columns, reasons, quotations, costs."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, func, or_, select, text

from attunement.conversations import Turn
from attunement.conversations.model import fingerprint
from attunement.instruments import Instrument
from attunement.ratings import ErrorKind, RaterKind, Round
from attunement.store.connection import damage_errors
from attunement.store.rows import Rater, StoredConversation, conversation_of, from_json
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
    rounds = select(ratings.c.round, func.count()).where(_worded(instrument)).group_by(ratings.c.round)
    found = dict[str, int](
        (f"of the {name} round", count) for name, count in study.all(rounds) if name not in _ENTERING
    )
    reworded = _of_items(instrument) & (ratings.c.round == Round.MAIN) & ~_same_words(instrument)
    for reason, where in (
        ("unreadable or off the scale, and refused", _worded(instrument) & (ratings.c.error == ErrorKind.MALFORMED)),
        ("of items in another wording", reworded),
    ):
        ((count,),) = study.all(select(func.count()).where(where))
        if count:
            found[reason] = count
    return found


def _of_items(instrument: Instrument) -> ColumnElement[bool]:
    return ratings.c.item.in_([item.id for item in instrument.items])


def _same_words(instrument: Instrument) -> ColumnElement[bool]:
    return ratings.c.item_hash.in_(list(instrument.item_hashes.values()))


def _worded(instrument: Instrument) -> ColumnElement[bool]:
    """Whether a rating's item is in the instrument, word for word."""
    return _same_words(instrument) & _of_items(instrument)


def main_ratings(instrument: Instrument) -> ColumnElement[bool]:
    """Whether a rating is of the main round and of an item as it is worded in the instrument."""
    return _same_words(instrument) & (ratings.c.round == Round.MAIN)


def example_conversations(study: Study, instrument: Instrument) -> list[int]:
    """The keys of conversations that are worked examples of the instrument: a judge may have read their answers."""
    marks = {
        fingerprint(tuple(Turn(turn.user, turn.assistant) for turn in example.turns))
        for item in instrument.items
        for example in item.examples
    }
    return [key for (key,) in study.all(select(conversations.c.key).where(conversations.c.fingerprint.in_(marks)))]


def judges_evidence(study: Study, instrument: Instrument) -> Iterator[tuple[str, str, list[Mapping[str, Any]]]]:
    """The name of the judge, the item, and the checked quotations of each rating that has any."""
    query = (
        select(raters.c.name, ratings.c.item, ratings.c.evidence)
        .where(ratings.c.rater == raters.c.key, raters.c.kind == RaterKind.MODEL)
        .where(main_ratings(instrument), ratings.c.evidence != "[]")
    )
    with damage_errors(study.place):
        for row in study.stream(query):
            yield row.name, row.item, from_json(row.evidence)


def answering_models(study: Study, rater: Rater) -> list[str]:
    """The models that answered for this judge, as the server named them."""
    query = select(answers.c.model).where(answers.c.rater == rater.key, answers.c.model.is_not(None)).distinct()
    return sorted(str(model) for (model,) in study.all(query))


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
    for conversation, turn, item, prompt, item_hash in study.stream(query):
        if item_hash != instrument.item_hashes.get(item):
            continue
        use = PromptUse(conversation, turn, prompt)
        of_prompt = items.setdefault(use, [])
        if item not in of_prompt:  # repeats of a question have the same prompt
            of_prompt.append(item)
        last[conversation, turn, item] = use
    return {use: items[use] for use in set(last.values())}


def conversations_by_key(study: Study, keys: Sequence[int]) -> dict[int, StoredConversation]:
    """Those of these conversations that are in the study."""
    rows = study.all(select(conversations).where(conversations.c.key.in_(keys)))
    return {row.key: StoredConversation(row.key, conversation_of(row)) for row in rows}


def largest_systems(study: Study, most: int) -> list[str]:
    """The systems with the most conversations, by name."""
    system = conversations.c.system
    query = select(system).group_by(system).order_by(func.count().desc(), system).limit(most)
    return sorted(name for (name,) in study.all(query))


def reasons_by_conversation(study: Study, instrument: Instrument, keys: Sequence[int]) -> dict[int, list[str]]:
    """By conversation: why raters answered as they did."""
    query = select(ratings.c.conversation, ratings.c.reasoning).where(ratings.c.conversation.in_(keys))
    found: dict[int, list[str]] = {}
    for key, reasoning in study.all(query.where(main_ratings(instrument))):
        found.setdefault(key, []).append(reasoning)
    return found


def with_lost_quotes(study: Study, instrument: Instrument, keys: Sequence[int]) -> set[int]:
    """Those of these conversations in which a rater quotes words, or names a turn, that are not there."""
    lost = or_(*(ratings.c.evidence.contains(f'"standing":"{kind}"') for kind in ("not_found", "no_such_turn")))
    query = select(ratings.c.conversation).distinct().where(ratings.c.conversation.in_(keys))
    return {key for (key,) in study.all(query.where(main_ratings(instrument), lost))}


def text_size(study: Study) -> int:
    """About how many characters of transcript and reasoning the study holds."""
    lengths = (func.sum(func.length(column)) for column in (conversations.c.turns, ratings.c.reasoning))
    return sum(int(size or 0) for length in lengths for (size,) in study.all(select(length)))


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


def study_cost(study: Study) -> float:
    """What all judges together have cost, in dollars, as far as prices are known."""
    return sum(judge.cost or 0.0 for judge in judge_costs(study))


def judge_costs(study: Study) -> list[JudgeCost]:
    """By judge, in the order in which they joined; over the whole study, whatever the instrument."""
    sums = (answers.c.prompt_tokens, answers.c.cached_tokens, answers.c.completion_tokens, answers.c.cost)
    query = (
        select(raters.c.name, func.count(), func.count(answers.c.error), *map(func.sum, sums))
        .add_columns(func.count() - func.count(answers.c.cost), func.avg(answers.c.latency))
        .add_columns(func.min(answers.c.at), func.max(answers.c.at))
        .where(answers.c.rater == raters.c.key)
        .group_by(raters.c.key, raters.c.name)
        .order_by(raters.c.key)
    )
    return [JudgeCost(*row) for row in study.all(query)]


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
