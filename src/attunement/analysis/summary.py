"""The whole analysis of a study or a table: people with people, judges with people, judges with judges.

One `Agreement` has what is known about every item. `analyse_agreement` makes it from a ratings table; `parts` for
each value of a column, such as the language.

`study_agreement` and `file_agreement` are what the command line, the reports and Python programs call.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from attunement.analysis.judge_agreement import (
    WORD_COUNT,
    Citations,
    baselines,
    citations,
    ratings_of_sample,
    text_counts,
)
from attunement.analysis.ratings_file import FileColumns, read_ratings
from attunement.analysis.ratings_table import AnswerState, ItemMatrix, RatedItem, RatingsTable, collect_ratings
from attunement.analysis.reliability import Reliability, Retest, reliability, retest
from attunement.analysis.trust import ItemContext, TrustCard, trust_card
from attunement.errors import InputError
from attunement.instruments import Instrument
from attunement.statistics.bootstrap import clustered_interval
from attunement.statistics.correlation import ICC, icc
from attunement.statistics.kappa import PairwiseKappa, judge_kappa, people_kappa, people_kappa_statistic
from attunement.statistics.results import Interval, Undefined
from attunement.statistics.tables import Floats
from attunement.store import Study


class JudgePair(NamedTuple):
    first: str
    second: str
    agreement: PairwiseKappa | Undefined


class PeopleDetails(NamedTuple):
    icc: ICC | Undefined  # ICC(2,k): how reliable the mean of a unit's raters is
    interval: Interval | Undefined  # of how far single raters agree
    retest: Retest | Undefined  # all people together, each compared with their own earlier answers


class ItemAgreement(NamedTuple):
    item: RatedItem
    conversations: int  # those that people rated, or where there are no people those that judges rated
    units: int
    answers: dict[str, int]
    """How often each answer was given, by people or where there are none by judges; NA and no answer among them."""
    people: Reliability
    people_kappa: PairwiseKappa | Undefined  # how far any two people agree
    cards: tuple[TrustCard, ...]  # one a judge
    baselines: dict[str, PairwiseKappa | Undefined]  # how far the trivial judges agree with people
    details: PeopleDetails | None
    judge_pairs: tuple[JudgePair, ...]
    judge_retests: dict[str, Retest]  # judges that were asked again, also where no person rated


@dataclass(frozen=True)
class Agreement:
    """What is known about all items, and what it rests on."""

    items: tuple[ItemAgreement, ...]
    people: tuple[str, ...]
    judges: tuple[str, ...]
    left_out: Counter[str]
    notes: tuple[str, ...] = ()
    part: str = ""  # which part of the conversations this is; empty for all of them
    conversations: int = 0
    professions: Mapping[str, int] = field(default_factory=Counter[str])
    """What the people say they are by profession, and how many are so; those who said nothing are not counted."""
    parts: tuple["Agreement", ...] = field(default=())


class StudyContext(NamedTuple):
    counts: Mapping[str, Floats] | None = None  # for each unit what trivial judges count: see `baselines.text_counts`
    citations: Mapping[tuple[str, str], Citations] | None = None
    weights: Floats | None = None  # for each conversation one over its probability of being drawn


NA, NO_ANSWER = "does not apply", "no answer"


def chosen(
    ratings: RatingsTable, people: Sequence[str], judges: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The people and the judges who are meant.

    People are chosen by name, or by anything that is known about them, such as a profession; judges by name. Without a
    choice all of them are meant.

    Raises:
        InputError: Nobody fits.
    """
    wanted, found = {name.casefold() for name in people}, list[str]()
    for rater in ratings.raters:
        known: list[Any] = [rater.name]
        for value in rater.settings.values():
            known += value if isinstance(value, list) else [value]
        fits = not people or wanted & {str(each).casefold() for each in known}
        if rater.name in ratings.people and fits:
            found.append(rater.name)
    if people and not found:
        raise InputError(
            f"nobody fits --people {', '.join(people)}; there are {', '.join(ratings.people[:8]) or 'no people'}"
        )
    for name in judges:
        if name not in ratings.judges:
            raise InputError(f"there is no judge {name!r}; there are {', '.join(ratings.judges[:8]) or 'none'}")
    return tuple(found), tuple(name for name in ratings.judges if not judges or name in judges)


def analyse_agreement(
    ratings: RatingsTable,
    people: Sequence[str] | None = None,
    judges: Sequence[str] | None = None,
    *,
    items: Sequence[str] = (),
    context: StudyContext | None = None,
    full: bool = False,
) -> Agreement:
    """All that is known about the agreement of these people and judges.

    Args:
        ratings: The ratings.
        people: Those who count as people here; by default all people.
        judges: The judges to compare with them; by default all judges.
        items: Only these items, by id.
        context: What is known in addition to the ratings.
        full: Whether to compute what only a full report shows.
    """
    people = ratings.people if people is None else tuple(people)
    judges = ratings.judges if judges is None else tuple(judges)
    found = [
        _item(ratings, number, people, judges, context or StudyContext(), full=full)
        for number, item in enumerate(ratings.items)
        if not items or item.id in items
    ]
    professions = [rater.settings.get("profession") for rater in ratings.raters if rater.name in people]
    return Agreement(
        items=tuple(found),
        people=people,
        judges=judges,
        left_out=ratings.left_out,
        notes=ratings.notes,
        conversations=len(np.unique(ratings.unit_conversation[ratings.unit])),
        professions=Counter(str(profession) for profession in professions if profession),
    )


def parts(ratings: RatingsTable, column: str) -> dict[str, RatingsTable]:
    """The ratings of each value of a column: `system`, or anything in the conversations' metadata.

    Raises:
        InputError: No conversation has it.
    """
    if column == "system":
        values = [each.identity.system for each in ratings.conversations]
    else:
        known = dict.fromkeys(name for each in ratings.conversations for name in each.metadata)
        if column not in known and ratings.conversations:
            raise InputError(f"no conversation has {column!r}; there are {', '.join(['system', *known][:12])}")
        found = [each.metadata.get(column) for each in ratings.conversations]
        values = ["not stated" if value is None or value == "" else str(value) for value in found]
    every = np.array(values, dtype=np.object_)
    return {value: ratings.of_conversations(every == value) for value in sorted(set(values))}


def _item(
    ratings: RatingsTable,
    number: int,
    people: tuple[str, ...],
    judges: tuple[str, ...],
    context: StudyContext,
    *,
    full: bool,
) -> ItemAgreement:
    matrix = ratings.item_matrix(number)
    item, ordered = matrix.item, matrix.item.scale.ordered
    by_people = matrix.columns(people)
    status = reliability(by_people.values, matrix.conversation, item.scale)
    of_units = _item_context(ratings, matrix, by_people, context)
    retests = {judge: retest(ratings.repeated_answers(number, judge)[0], ordered=ordered) for judge in judges}
    cards: list[TrustCard] = []
    for judge in judges:
        if (matrix.states[:, matrix.column_of(judge)] != AnswerState.NOT_ASKED).any():
            repeats = (retests[judge], (context.citations or {}).get((judge, item.id))) if full else None
            cards.append(trust_card(matrix, by_people, judge, status, of_units, repeats))
    asked = by_people if (by_people.states != AnswerState.NOT_ASKED).any() else matrix.columns(judges)
    rated = (asked.states != AnswerState.NOT_ASKED).any(axis=1)
    kappa = people_kappa(by_people.values, ordered=ordered)
    values = {judge: matrix.values[:, [matrix.column_of(judge)]] for judge in judges}
    return ItemAgreement(
        item=item,
        conversations=len(np.unique(matrix.conversation[rated])),
        units=int(rated.sum()),
        answers=_answers(asked),
        people=status,
        people_kappa=kappa,
        cards=tuple(cards),
        baselines={
            name: judge_kappa(answers, by_people.values, ordered=ordered)
            for name, answers in of_units.baselines.items()
        },
        details=_people_details(ratings, number, by_people, kappa) if full else None,
        judge_pairs=tuple(
            JudgePair(first, second, judge_kappa(values[first][:, 0], values[second], ordered=ordered))
            for first, second in (combinations(judges, 2) if full else ())
        ),
        judge_retests={judge: found for judge, found in retests.items() if isinstance(found, Retest)},
    )


def _item_context(ratings: RatingsTable, matrix: ItemMatrix, people: ItemMatrix, context: StudyContext) -> ItemContext:
    counts = {name: count[matrix.units] for name, count in (context.counts or {}).items()}
    names = [each.identity.system for each in ratings.conversations]
    systems, system = np.unique(np.array(names, dtype=np.str_), return_inverse=True)
    return ItemContext(
        baselines=baselines(counts, people.values, matrix.item.scale),
        words=counts.get(WORD_COUNT),
        system=system.astype(np.int64)[matrix.conversation],
        systems=tuple(systems.tolist()),
        weights=None if context.weights is None else context.weights[matrix.conversation],
    )


def _answers(matrix: ItemMatrix) -> dict[str, int]:
    scale = matrix.item.scale
    counts = {word: int((matrix.values == value).sum()) for value, word in zip(scale.values, scale.words, strict=True)}
    missing = np.isin(matrix.states, [AnswerState.ABSTAINED, AnswerState.ERROR])
    more = {NA: int((matrix.states == AnswerState.NA).sum()), NO_ANSWER: int(missing.sum())}
    return counts | {word: count for word, count in more.items() if count}


def _people_details(
    ratings: RatingsTable, number: int, people: ItemMatrix, kappa: PairwiseKappa | Undefined
) -> PeopleDetails:
    ordered = people.item.scale.ordered
    interval: Interval | Undefined
    if isinstance(kappa, PairwiseKappa):
        interval = clustered_interval(people_kappa_statistic(people.values, ordered=ordered), people.conversation)
    else:
        interval = kappa
    answers = [ratings.repeated_answers(number, rater.name)[0] for rater in people.raters]
    widest = max((each.shape[1] for each in answers), default=0)
    padded = [np.pad(each, ((0, 0), (0, widest - each.shape[1])), constant_values=np.nan) for each in answers]
    own = retest(np.vstack(padded), ordered=ordered) if padded else Undefined("there are no people")
    mean = icc(people.values, 2, average=True) if ordered else Undefined("the answers have no order")
    return PeopleDetails(mean, interval, own)


class AgreementOptions(NamedTuple):
    """Whom and what to look at; without a choice all of it."""

    judges: tuple[str, ...] = ()
    people: tuple[str, ...] = ()  # by name, or by anything that is known of them, such as a profession
    items: tuple[str, ...] = ()
    by: str | None = None  # also for each part: `system`, or a name in the conversations' metadata
    full: bool = False  # whether to compute what only a full report shows


def study_agreement(study: Study, instrument: Instrument, options: AgreementOptions | None = None) -> Agreement:
    """How far people and judges agree in a study, on the items of one instrument.

    Where a sample was drawn for people, figures rest on it, and on its `certify` part where it was split.

    Raises:
        InstrumentError: There is no such item.
        InputError: Nobody fits the options, or no conversation has the column.
    """
    options = options or AgreementOptions()
    for name in options.items:
        instrument.item(name)
    sample = ratings_of_sample(study, instrument.id, collect_ratings(study, instrument))
    quoted = citations(study, instrument) if options.full else None
    found = _with_parts(sample.table, options, StudyContext(text_counts(study, sample.table), quoted, sample.weights))
    return replace(found, notes=(*sample.notes, *found.notes))


def file_agreement(path: Path, reading: FileColumns, options: AgreementOptions | None = None) -> Agreement:
    """How far raters agree in a table of ratings.

    Raises:
        InputError: The table cannot be read as `reading` says, or nobody fits the options.
    """
    options = options or AgreementOptions()
    ratings = read_ratings(path, reading)
    known = [each.id for each in ratings.items]
    for name in options.items:
        if name not in known:
            raise InputError(f"{path} has no item {name!r}; it has {', '.join(known[:12])}")
    return _with_parts(ratings, options, StudyContext())


def _with_parts(ratings: RatingsTable, options: AgreementOptions, context: StudyContext) -> Agreement:
    people, judges = chosen(ratings, options.people, options.judges)
    pieces: Mapping[str, RatingsTable] = parts(ratings, options.by) if options.by else {}
    whole, *others = (
        analyse_agreement(piece, people, judges, items=options.items, context=context, full=options.full)
        for piece in (ratings, *pieces.values())
    )
    return replace(whole, parts=tuple(replace(part, part=name) for name, part in zip(pieces, others, strict=True)))
